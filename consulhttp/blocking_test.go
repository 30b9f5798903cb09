package consulhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
)

// TestWaitsEndWithAChange waits for each kind of selection, writes much that is not selected, and then a change.
func TestWaitsEndWithAChange(t *testing.T) {
	r := newRig(t)
	id := r.session(`{"Name":"first"}`)
	r.want("PUT", "/v1/kv/there", "1", 200, "true")
	r.want("PUT", "/v1/kv/held?acquire="+id, "1", 200, "true")
	r.want("PUT", "/v1/kv/p/1", "1", 200, "true")
	ending := r.session("")
	waits := []struct {
		path   string
		change func()
		want   string // that the answer has
	}{
		{"/v1/kv/there?", func() { r.want("PUT", "/v1/kv/there", "2", 200, "true") }, `"Value":"Mg=="`},
		{"/v1/kv/there?raw&", func() { r.want("DELETE", "/v1/kv/there", "", 200, "true") }, ""},
		{"/v1/kv/missing?", func() { r.want("PUT", "/v1/kv/missing", "3", 200, "true") }, `"Value":"Mw=="`},
		{"/v1/kv/held?", func() { r.want("PUT", "/v1/kv/held?release="+id, "", 200, "true") }, `"LockIndex":1`},
		{"/v1/kv/p/?recurse&", func() { r.want("PUT", "/v1/kv/p/2", "", 200, "true") }, `"Key":"p/2"`},
		{"/v1/kv/p/?keys&", func() { r.want("DELETE", "/v1/kv/p/1", "", 200, "true") }, `["p/2"]`},
		{"/v1/kv/q/?recurse&", func() { r.want("PUT", "/v1/kv/q/1", "", 200, "true") }, `"Key":"q/1"`},
		{"/v1/session/info/" + ending + "?", func() { r.want("PUT", "/v1/session/destroy/"+ending, "", 200, "true") }, "[]"},
		{"/v1/session/list?", func() { r.session(`{"Name":"second"}`) }, `"Name":"second"`},
		{"/v1/session/node/node-1?", func() { r.want("PUT", "/v1/session/destroy/"+id, "", 200, "true") }, `"Name":"second"`},
	}
	native := tenurev1.NewSessionServiceClient(r.grpc)
	for _, w := range waits {
		before := r.send("GET", w.path, "").index(t)
		woken := r.counter("tenure_consul_wakes_total")
		waiting := r.block(fmt.Sprintf("%sindex=%d&wait=10m", w.path, r.send("GET", w.path, "").index(t)))
		r.awaitBlocked(1)
		for i := range 50 {
			r.want("PUT", fmt.Sprintf("/v1/kv/unrelated/%d", i), "x", 200, "true")
		}
		if !strings.HasPrefix(w.path, "/v1/session/list") {
			// A session of another node is nobody's who waits here.
			made, err := native.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Node: "elsewhere"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := native.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: made.GetSessionId()}); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.counter("tenure_consul_wakes_total") - woken; n != 0 {
			t.Errorf("%s: %v unrelated writes woke it", w.path, n)
		}
		w.change()
		got := await(t, waiting)
		if !strings.Contains(got.body, w.want) || got.status != 200 && got.status != 404 || got.index(t) <= before {
			t.Errorf("%s: got %d %s with index %d, want %s and one after %d", w.path, got.status, got.body, got.index(t), w.want, before)
		}
		if n := r.counter("tenure_consul_wakes_total") - woken; n != 1 {
			t.Errorf("%s: it counts %v wakes, want 1", w.path, n)
		}
	}
}

// TestUnrelatedWritesWakeNobody counts the waits that end while others write, 10 000 times with TENURE_SOAK=1: to keys whose names are like those
// that are waited for, to sessions and to the catalog. Then each wait ends with its own change, once.
func TestUnrelatedWritesWakeNobody(t *testing.T) {
	writes := 500
	if os.Getenv("TENURE_SOAK") == "1" {
		writes = 10_000
	}
	r := newRig(t)
	r.want("PUT", "/v1/kv/there", "1", 200, "true")
	r.want("PUT", "/v1/kv/p/1", "1", 200, "true")
	paths := []string{
		"/v1/kv/there?", "/v1/kv/there?stale&", "/v1/kv/missing?", "/v1/kv/p/?recurse&", "/v1/kv/p/?keys&", "/v1/kv/empty/?recurse&",
		"/v1/catalog/service/web?", "/v1/health/service/web?", "/v1/query?",
	}
	index := r.send("GET", "/v1/session/list", "").index(t)
	var waits []<-chan *reply
	for _, path := range paths {
		waits = append(waits, r.block(fmt.Sprintf("%sindex=%d&wait=10m", path, index)))
	}
	r.awaitBlocked(len(paths))
	unrelated := []func(i int) error{
		put(t, r, "there-%d"), put(t, r, "there/%d"), put(t, r, "missing/%d"), put(t, r, "p-%d"), put(t, r, "empty%d"), put(t, r, "other/%d"),
		func(i int) error {
			_, err := r.try(t.Context(), "PUT", "/v1/catalog/register", strings.NewReader(fmt.Sprintf(
				`{"Node":"n","Address":"10.0.0.1","Service":{"Service":"other","Port":%d}}`, 1+i%1000)))
			return err
		},
	}
	var writers errgroup.Group
	for w := range 8 {
		writers.Go(func() error {
			for i := w; i < writes; i += 8 {
				if err := unrelated[i%len(unrelated)](i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d unrelated writes: %v of %d waits were woken", writes, r.counter("tenure_consul_wakes_total"), len(paths))
	if blocked, woken := r.counter("tenure_consul_blocked"), r.counter("tenure_consul_wakes_total"); woken != 0 || blocked != float64(len(paths)) {
		t.Fatalf("after %d unrelated writes %v waits were woken, and %v of %d go on", writes, woken, blocked, len(paths))
	}
	for _, key := range []string{"there", "missing", "p/2", "empty/1"} {
		r.want("PUT", "/v1/kv/"+key, "2", 200, "true")
	}
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	r.query(`{"Name":"web","Service":{"Service":"web"}}`)
	for i, wait := range waits {
		if got := await(t, wait); got.status != 200 || got.index(t) <= index+uint64(writes/2) {
			t.Errorf("%s: got %d with index %d", paths[i], got.status, got.index(t))
		}
	}
	if woken := r.counter("tenure_consul_wakes_total"); woken != float64(len(paths)) {
		t.Errorf("%v waits were woken, want %d", woken, len(paths))
	}
}

// put returns what writes a key whose name has the number of the write.
func put(t *testing.T, r *rig, key string) func(i int) error {
	t.Helper()
	kv := tenurev1.NewKVServiceClient(r.grpc)
	return func(i int) error {
		_, err := kv.Put(t.Context(), &tenurev1.PutRequest{Key: fmt.Sprintf(key, i)})
		return err
	}
}

// TestChangesThatWereMissedAreNotWaitedFor asks with indexes before changes that have happened already.
func TestChangesThatWereMissedAreNotWaitedFor(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	at := r.row("a").ModifyIndex
	r.want("PUT", "/v1/kv/b", "1", 200, "true")
	r.want("DELETE", "/v1/kv/a", "", 200, "true")
	for _, path := range []string{"/v1/kv/a", "/v1/kv/a?recurse", "/v1/kv/a?keys"} {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		got := r.send("GET", fmt.Sprintf("%s%sindex=%d&wait=10m", path, separator, at), "")
		if got.status != 404 || got.index(t) <= at {
			t.Errorf("%s: got %d %s with index %d", path, got.status, got.body, got.index(t))
		}
	}
	// An index that the cluster has not reached is not waited for either.
	for _, path := range []string{"/v1/kv/a", "/v1/kv/b", "/v1/session/list", "/v1/kv/?keys"} {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		got := r.send("GET", path+separator+"index=9007199254740991&wait=10m", "")
		if got.status != 200 && got.status != 404 {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
}

// TestWaitsWithoutAChangeEndWithTheirIndex waits in vain: whoever compares indexes sees none.
func TestWaitsWithoutAChangeEndWithTheirIndex(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/first", "1", 200, "true")
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	id := r.session("")
	for i := range 5 {
		r.want("PUT", fmt.Sprintf("/v1/kv/other/%d", i), "x", 200, "true")
	}
	for _, path := range []string{
		"/v1/kv/a?", "/v1/kv/none?", "/v1/kv/a?stale&", "/v1/kv/none?stale&", "/v1/kv/?keys&", "/v1/kv/none?recurse&",
		"/v1/session/list?", "/v1/session/info/" + id + "?", "/v1/session/info/none?", "/v1/session/node/node-1?",
	} {
		index := r.send("GET", path, "").index(t)
		got := r.send("GET", fmt.Sprintf("%sindex=%d&wait=20ms", path, index), "")
		if got.index(t) != index {
			t.Errorf("%s: after a wait for %d the index is %d", path, index, got.index(t))
		}
		if first := r.send("GET", path, ""); first.body != got.body || first.status != got.status {
			t.Errorf("%s: after a wait: got %d %s, want %d %s", path, got.status, got.body, first.status, first.body)
		}
	}
}

// TestAnEmptyStoreCanBeWaitedFor waits with the index that an empty store has.
func TestAnEmptyStoreCanBeWaitedFor(t *testing.T) {
	r := newRig(t)
	index := r.send("GET", "/v1/kv/a", "").index(t)
	written := make(chan error, 1)
	go func() {
		_, err := r.try(t.Context(), "PUT", "/v1/kv/a", strings.NewReader("1"))
		written <- err
	}()
	for deadline := time.Now().Add(patience); ; {
		got := r.send("GET", fmt.Sprintf("/v1/kv/a?index=%d&wait=10m", index), "")
		if index = got.index(t); got.status == 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// TestTheFirstChangeIsNotMissed waits with the index of an empty store, after the only change that it has had, and then with
// what the answer says. Whoever waits with the first index always is not answered at once.
func TestTheFirstChangeIsNotMissed(t *testing.T) {
	r := newRig(t)
	index := r.send("GET", "/v1/kv/a", "").index(t)
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	for range 2 {
		got := r.send("GET", fmt.Sprintf("/v1/kv/a?index=%d&wait=10m", index), "")
		if got.status != 200 || got.index(t) != 1 {
			t.Errorf("got %d %s with index %d", got.status, got.body, got.index(t))
		}
	}
	r.want("PUT", "/v1/kv/b", "1", 200, "true")
	got := r.send("GET", fmt.Sprintf("/v1/kv/a?index=%d&wait=10m", index), "")
	if got.status != 200 || got.index(t) != 2 {
		t.Errorf("got %d %s with index %d, want 2", got.status, got.body, got.index(t))
	}
	waiting := r.block("/v1/kv/a?index=2&wait=10m")
	r.awaitBlocked(1)
	r.want("PUT", "/v1/kv/a", "2", 200, "true")
	if got := await(t, waiting); got.status != 200 || got.index(t) != 3 {
		t.Errorf("got %d %s with index %d, want 3", got.status, got.body, got.index(t))
	}
}

// TestForgottenHistoryEndsWaits compacts, and waits with an index from before. A key that is there, and a session, tell by
// themselves that nothing has changed.
func TestForgottenHistoryEndsWaits(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	id := r.session("")
	index := r.send("GET", "/v1/session/list", "").index(t)
	for i := range 5 {
		r.want("PUT", "/v1/kv/other", fmt.Sprint(i), 200, "true")
	}
	cluster := tenurev1.NewClusterServiceClient(r.grpc)
	status, err := cluster.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Compact(t.Context(), &tenurev1.CompactRequest{Revision: status.GetHeader().GetRevision()}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/kv/none", "/v1/session/list", "/v1/session/info/none", "/v1/session/node/node-1"} {
		if got := r.send("GET", fmt.Sprintf("%s?index=%d&wait=10m", path, index), ""); got.index(t) <= index {
			t.Errorf("%s: the index is %d, want one after %d", path, got.index(t), index)
		}
	}
	for _, path := range []string{"/v1/kv/a", "/v1/session/info/" + id} {
		if got := r.send("GET", fmt.Sprintf("%s?index=%d&wait=20ms", path, index), ""); got.index(t) != index {
			t.Errorf("%s: the index is %d, want %d, because nothing has changed", path, got.index(t), index)
		}
	}
	waiting := r.block(fmt.Sprintf("/v1/kv/a?index=%d&wait=10m", index))
	r.awaitBlocked(1)
	r.want("PUT", "/v1/kv/a", "2", 200, "true")
	if got := await(t, waiting); got.index(t) <= index || got.status != 200 {
		t.Errorf("got %d with index %d", got.status, got.index(t))
	}
}

// TestAClientThatLeavesEndsItsWait breaks the connections of waits.
func TestAClientThatLeavesEndsItsWait(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/first", "1", 200, "true")
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	at := r.row("a").ModifyIndex
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 10)
	for range cap(ended) {
		go func() {
			_, err := r.try(ctx, "GET", fmt.Sprintf("/v1/kv/a?index=%d", at), nil)
			ended <- err
		}()
	}
	r.awaitBlocked(cap(ended))
	cancel()
	r.awaitBlocked(0)
	for range cap(ended) {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("a wait that was left has an answer")
			}
		case <-time.After(patience):
			t.Fatal("a wait does not end")
		}
	}
}

// TestBlockedRequestsAreShared fills all the places of one client: it is refused, and another client is not.
func TestBlockedRequestsAreShared(t *testing.T) {
	const most = 8
	r := newRig(t, func(o *consulhttp.Options) { o.BlockedMax = most })
	other := &rig{t: t, base: r.base, registry: r.registry, client: clientFrom(t, "127.0.0.2")}
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	const path = "/v1/kv/none?index=2&wait=10m"
	r.want("PUT", "/v1/kv/b", "1", 200, "true")
	var waits []<-chan *reply
	for range most / 2 {
		waits = append(waits, r.block(path))
	}
	r.awaitBlocked(most / 2)
	refused := "Too many requests from this address are blocked; all clients together can have 8."
	r.want("GET", path, "", http.StatusTooManyRequests, refused)
	if got := r.send("GET", "/v1/kv/a?raw", ""); got.status != 200 || got.body != "1" {
		t.Errorf("a read that does not wait: got %d %s", got.status, got.body)
	}
	for range 2 {
		waits = append(waits, other.block(path))
	}
	r.awaitBlocked(most/2 + 2)
	other.want("GET", path, "", http.StatusTooManyRequests, refused)
	r.want("PUT", "/v1/kv/none", "1", 200, "true")
	for _, wait := range waits {
		if got := await(t, wait); got.status != 200 {
			t.Errorf("a wait that had a place: got %d %s", got.status, got.body)
		}
	}
	waits = []<-chan *reply{r.block("/v1/kv/none?index=3&wait=10m")}
	r.awaitBlocked(1)
	r.want("DELETE", "/v1/kv/none", "", 200, "true")
	await(t, waits[0])
}

// TestExemptCallersGetAllPlaces fills all places from an address that stands for many clients.
func TestExemptCallersGetAllPlaces(t *testing.T) {
	const most = 8
	r := newRig(t, func(o *consulhttp.Options) {
		o.BlockedMax = most
		var err error
		if o.Callers, err = share.ParseExempt([]string{"127.0.0.0/24"}); err != nil {
			t.Error(err)
		}
	})
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	r.want("PUT", "/v1/kv/b", "1", 200, "true")
	const path = "/v1/kv/none?index=2&wait=10m"
	var waits []<-chan *reply
	for range most {
		waits = append(waits, r.block(path))
	}
	r.awaitBlocked(most)
	r.want("GET", path, "", http.StatusTooManyRequests, "Too many requests from this address are blocked; all clients together can have 8.")
	r.want("PUT", "/v1/kv/none", "1", 200, "true")
	for _, wait := range waits {
		if got := await(t, wait); got.status != 200 {
			t.Errorf("a wait that had a place: got %d %s", got.status, got.body)
		}
	}
}

// clientFrom returns a client of HTTP with an address of its own.
func clientFrom(t *testing.T, address string) *http.Client {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Skipf("this machine has one loopback address: %v", err)
	}
	_ = l.Close() // It was only to see whether there is such an address.
	transport := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext, MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// TestAClientThatClosesItsHalfHasGone closes the half of a connection that sends: that is how the library of HTTP sees a client that has gone.
// It is not told to try again.
func TestAClientThatClosesItsHalfHasGone(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	r.want("PUT", "/v1/kv/b", "1", 200, "true")
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err = io.WriteString(conn, "GET /v1/kv/none?index=2&wait=10m HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r.awaitBlocked(1)
	if half, ok := conn.(*net.TCPConn); !ok || half.CloseWrite() != nil {
		t.Fatal("the half cannot be closed")
	}
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode != 499 {
		t.Errorf("got %d, want 499", got.StatusCode)
	}
}
