package consulhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
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

// TestAStaleReadDoesNotWaitForAnIndexThatTheClusterLacks asks with an index ahead of the cluster: as without stale, it is answered at once, with the real
// index.
func TestAStaleReadDoesNotWaitForAnIndexThatTheClusterLacks(t *testing.T) {
	r := newRig(t)
	for range 2 {
		r.want("PUT", "/v1/kv/a", "1", 200, "true")
	}
	for _, path := range []string{
		"/v1/kv/a?", "/v1/kv/none?", "/v1/kv/a?recurse&", "/v1/session/list?", "/v1/session/info/none?", "/v1/session/info/" + idA + "?", "/v1/session/node/node-1?",
		"/v1/catalog/nodes?", "/v1/catalog/services?", "/v1/catalog/services?node-meta=a:b&", "/v1/catalog/service/web?", "/v1/catalog/node/none?",
		"/v1/health/service/web?", "/v1/health/checks/web?", "/v1/health/node/none?", "/v1/health/state/any?", "/v1/query?", "/v1/query/" + idA + "?",
	} {
		want := r.send("GET", path+"index=1000&wait=10m", "")
		if got := r.send("GET", path+"stale&index=1000&wait=10m", ""); got.index(t) != 2 || got.status != want.status || got.body != want.body {
			t.Errorf("%s: got %d %s with index %d, want %d %s with 2", path, got.status, got.body, got.index(t), want.status, want.body)
		}
	}
}

// TestAStaleReadWaitsWithTheRightsOfARead waits with a token that may read no more than what it waits for.
func TestAStaleReadWaitsWithTheRightsOfARead(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	token := r.bootstrap("key \"a\" rw\nservice \"web\" read\nnode * read\n")
	show := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	for range 2 {
		r.sendAs("PUT", "/v1/kv/a", "1", show)
	}
	for _, path := range []string{"/v1/kv/a?", "/v1/health/service/web?"} {
		for _, index := range []int{1000, 2} {
			got := r.sendAs("GET", fmt.Sprintf("%sstale&index=%d&wait=20ms", path, index), "", show)
			if got.status != 200 || got.header.Get("X-Consul-Index") != "2" {
				t.Errorf("%s, index %d: got %d %s with index %q, want 200 with 2", path, index, got.status, got.body, got.header.Get("X-Consul-Index"))
			}
		}
	}
}

// TestAWaitForAServiceTakesTheRightsOfItsRead waits with a token that may read one service and all nodes, while the service runs on one: for a change
// in vain, and for one of the node.
func TestAWaitForAServiceTakesTheRightsOfItsRead(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	token := r.bootstrap("service \"web\" read\nnode * read\nnode \"web-a\" write\n")
	show := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	for i, path := range []string{"catalog/service/web?", "health/service/web?", "health/checks/web?node-meta=rack:r1&"} {
		index := r.sendAs("GET", "/v1/"+path, "", show).index(t)
		if got := r.sendAs("GET", fmt.Sprintf("/v1/%sindex=%d&wait=20ms", path, index), "", show); got.status != 200 || got.index(t) != index {
			t.Fatalf("%s: got %d %s with index %q, want 200 with %d", path, got.status, got.body, got.header.Get("X-Consul-Index"), index)
		}
		set := fmt.Sprintf(`[{"Node":{"Verb":"set","Node":{"Node":"web-A","Address":"10.0.1.%d"}}}]`, i)
		if got := r.sendAs("PUT", "/v1/txn", set, show); got.status != 200 {
			t.Fatalf("set the node: got %d %s", got.status, got.body)
		}
		if got := r.sendAs("GET", fmt.Sprintf("/v1/%sindex=%d&wait=10m", path, index), "", show); got.status != 200 || got.index(t) <= index {
			t.Errorf("%s: got %d %s with index %q, want 200 with one after %d", path, got.status, got.body, got.header.Get("X-Consul-Index"), index)
		}
	}
}

// behind is a connection to a member that lacks the last changes, or to one without a leader.
type behind struct {
	grpc.ClientConnInterface
	revision atomic.Uint64 // that the member has
	leader   bool
}

// Invoke answers a call. A linearizable read waits in vain, a stale one for its revision.
func (b *behind) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	reads, ok := request.(interface{ GetRead() *tenurev1.ReadOptions })
	switch {
	case !ok:
		return b.ClientConnInterface.Invoke(ctx, method, request, response, options...)
	case !reads.GetRead().GetStale() && !b.leader:
		return status.Error(codes.DeadlineExceeded, "no leader")
	}
	for !reads.GetRead().GetStale() || b.revision.Load() < reads.GetRead().GetMinRevision() {
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-time.After(time.Millisecond):
		}
	}
	err := b.ClientConnInterface.Invoke(ctx, method, request, response, options...)
	if shows, ok := response.(interface {
		GetHeader() *tenurev1.ResponseHeader
	}); ok && err == nil {
		shows.GetHeader().Revision = min(shows.GetHeader().GetRevision(), b.revision.Load())
	}
	return err
}

// TestStaleReadsWaitForTheirIndex waits with stale for what follows an index that the member does not have yet, while the cluster may have it: neither
// its coming, nor what is unrelated, ends the wait. One that did not come in time is not in the answer.
func TestStaleReadsWaitForTheirIndex(t *testing.T) {
	for name, leader := range map[string]bool{"a member that lags": true, "a member without leader": false} {
		t.Run(name, func(t *testing.T) {
			member := &behind{leader: leader}
			r := newRig(t, func(o *consulhttp.Options) {
				member.ClientConnInterface = o.Conn
				o.Conn = member
			})
			for range 4 {
				r.want("PUT", "/v1/kv/a", "1", 200, "true")
			}
			member.revision.Store(3)
			for path, want := range map[string]uint64{"/v1/kv/a?stale": 4, "/v1/kv/a?stale&recurse": 3, "/v1/session/list?stale": 3} {
				if got := r.send("GET", path+"&index=1000&wait=20ms", ""); got.index(t) != want {
					t.Errorf("%s: after a wait for what did not come, the index is %d, want %d", path, got.index(t), want)
				}
			}
			waiting := r.block("/v1/kv/a?stale&index=4&wait=10m")
			r.awaitBlocked(1)
			r.want("PUT", "/v1/kv/other", "1", 200, "true")
			member.revision.Store(5)
			r.awaitBlocked(1)
			if n := r.counter("tenure_consul_wakes_total"); n != 0 {
				t.Errorf("%v waits were woken by what is unrelated", n)
			}
			r.want("PUT", "/v1/kv/a", "2", 200, "true")
			if got := await(t, waiting); got.status != 200 || got.index(t) != 6 {
				t.Errorf("got %d with index %d, want 6", got.status, got.index(t))
			}
		})
	}
}
