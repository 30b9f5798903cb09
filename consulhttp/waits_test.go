package consulhttp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp"
)

// still is a member in which nothing changes.
type still struct{ *island }

// NewStream opens a watch without events.
func (still) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &silent{changedOnce{ctx: ctx}}, nil
}

// silent is a watch without events.
type silent struct{ changedOnce }

// RecvMsg waits for the end of the watch.
func (s *silent) RecvMsg(any) error {
	<-s.ctx.Done()
	return s.ctx.Err()
}

// TestWaitsTakeAsLongAsTheyShould waits in vain for different times: up to a sixteenth is added, so that clients do not come back together.
func TestWaitsTakeAsLongAsTheyShould(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"index=7": 300 * time.Second, "index=7&wait=": 300 * time.Second, "index=7&wait=0s": 300 * time.Second, "index=7&wait=-5s": 300 * time.Second,
		"index=7&wait=10s": 10 * time.Second, "index=7&wait=15000ms": 15 * time.Second, "index=7&wait=10m": 600 * time.Second, "index=7&wait=24h": 600 * time.Second,
		"index=7&wait=1ns": time.Nanosecond, "index=7&wait=10s&stale": 10 * time.Second,
		"wait=10m": 0, "index=0&wait=10m": 0, "index=&wait=10m": 0,
		"index=1": time.Second, "index=1&wait=10m": time.Second, "index=1&wait=100ms": 100 * time.Millisecond,
	} {
		t.Run(query, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := consulhttp.New(consulhttp.Options{Conn: still{&island{leader: true}}})
				if err != nil {
					t.Fatal(err)
				}
				different := map[time.Duration]bool{}
				for range 50 {
					w, began := httptest.NewRecorder(), time.Now()
					h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/kv/a?"+query, nil))
					took := time.Since(began)
					different[took] = true
					if w.Code != 200 || w.Header().Get("X-Consul-Index") != "7" || took < want || took > want+want/16 {
						t.Fatalf("got %d with index %s after %v, want 200 with 7 after %v to %v", w.Code, w.Header().Get("X-Consul-Index"), took, want, want+want/16)
					}
				}
				if want > time.Second && len(different) < 10 {
					t.Errorf("50 waits ended after %d different times", len(different))
				}
			})
		})
	}
}

// TestStaleReadsWaitForTheirIndex waits with stale for what follows an index that the member does not have yet: neither its coming, nor what is
// unrelated, ends the wait.
func TestStaleReadsWaitForTheirIndex(t *testing.T) {
	r := newRig(t)
	for range 2 {
		r.want("PUT", "/v1/kv/a", "1", 200, "true")
	}
	for _, path := range []string{"/v1/kv/a?stale", "/v1/kv/none?stale", "/v1/kv/a?stale&recurse", "/v1/session/list?stale"} {
		if got := r.send("GET", path+"&index=1000&wait=20ms", ""); got.index(t) != 1000 {
			t.Errorf("%s: after a wait for what did not come, the index is %d, want 1000", path, got.index(t))
		}
	}
	waiting := r.block("/v1/kv/a?stale&index=4&wait=10m")
	r.awaitBlocked(1)
	for i := range 3 { // The third, the fourth and the fifth change.
		r.want("PUT", fmt.Sprintf("/v1/kv/other/%d", i), "1", 200, "true")
	}
	r.awaitBlocked(1)
	if n := r.counter("tenure_consul_wakes_total"); n != 0 {
		t.Errorf("%v waits were woken by what is unrelated", n)
	}
	r.want("PUT", "/v1/kv/a", "2", 200, "true")
	if got := await(t, waiting); got.status != 200 || got.index(t) != 6 {
		t.Errorf("got %d with index %d, want 6", got.status, got.index(t))
	}
}
