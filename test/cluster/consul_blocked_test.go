package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// A process of few descriptors has no room for many connections of one address: beyond addressConnections, they come from so many addresses.
const addressConnections, addresses = 1000, 4

// blockedKiBMax is how much memory a member may take for a blocked request; see docs/operations.md.
const blockedKiBMax = 96

// TestManyBlockedRequestsOfConsul holds blocked requests on one member, 10 000 with TENURE_SOAK=1, and prints how much memory one takes, and how long
// it takes until changes wake them: of one's own key, of a key and of a prefix that all wait for. A change wakes whoever waits for it, and
// nobody else.
func TestManyBlockedRequestsOfConsul(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	n, wakes, long := 300, 20, os.Getenv("TENURE_SOAK") == "1"
	if long {
		n, wakes = 10_000, 200
	}
	m := rig.Start(ctx, t, binary, "--consul-http", "127.0.0.1:0")
	for range 2 { // An index of 1 would not wait.
		send(ctx, t, m, http.MethodPut, "kv/first", "1")
	}
	before := rig.ResidentKiB(m)
	own := block(ctx, t, m, n, func(i int) string { return fmt.Sprintf("kv/own/%d?", i) })
	taken := float64(rig.ResidentKiB(m)-before) / float64(n)
	var took []time.Duration
	for i := range wakes {
		began := time.Now()
		send(ctx, t, m, http.MethodPut, fmt.Sprintf("kv/own/%d", i), "1")
		took = append(took, own.ended(ctx, t, i).Sub(began))
	}
	awaitBlocked(ctx, t, m, n-wakes, never)
	t.Logf("%d blocked requests: %.1f KiB of memory each", n, taken)
	say := func(what string, took []time.Duration) {
		slices.Sort(took)
		t.Logf("%s: p50 %v, p99 %v, slowest %v", what, took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	}
	say("one is woken by its own key", took)
	own.leave()
	awaitBlocked(ctx, t, m, 0, never)
	for _, by := range []struct{ what, read, key string }{{"a key", "kv/all?", "kv/all"}, {"a prefix", "kv/every/?keys&", "kv/every/1"}} {
		all := block(ctx, t, m, n, func(int) string { return by.read })
		began := time.Now()
		send(ctx, t, m, http.MethodPut, by.key, "1")
		took = took[:0]
		for i := range n {
			took = append(took, all.ended(ctx, t, i).Sub(began))
		}
		say("all are woken by "+by.what, took)
		all.leave()
		awaitBlocked(ctx, t, m, 0, never)
	}
	if long && taken > blockedKiBMax {
		t.Errorf("a blocked request takes %.1f KiB, want at most %d", taken, blockedKiBMax)
	}
}

// blockedRequests are requests that wait, each on a connection of its own.
type blockedRequests struct {
	conns []net.Conn
	ends  []chan time.Time // of each, when its answer came
	lost  atomic.Int64     // how many ended otherwise
	// fail closes failed, when the first one does.
	fail   func()
	failed chan struct{}
}

// block sends so many requests, and returns when all of them wait.
func block(ctx context.Context, t *testing.T, m *rig.Member, n int, path func(i int) string) *blockedRequests {
	t.Helper()
	b := &blockedRequests{failed: make(chan struct{})}
	b.fail = sync.OnceFunc(func() { close(b.failed) })
	t.Cleanup(b.leave)
	for i := range n {
		from := &net.Dialer{}
		if n > addressConnections {
			from.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%addresses))}
		}
		conn, err := from.DialContext(ctx, "tcp", m.Addresses.Consul)
		if err != nil {
			t.Fatal(err)
		}
		b.conns, b.ends = append(b.conns, conn), append(b.ends, make(chan time.Time, 1))
		if _, err = fmt.Fprintf(conn, "GET /v1/%sindex=2&wait=10m HTTP/1.1\r\nHost: localhost\r\n\r\n", path(i)); err != nil {
			t.Fatal(err)
		}
		go func() { // It ends with its connection.
			line, _ := bufio.NewReaderSize(conn, 64).ReadString('\n') // A connection that was left has none.
			if line == "HTTP/1.1 200 OK\r\n" {
				b.ends[i] <- time.Now()
			} else {
				b.lost.Add(1)
				b.fail()
			}
		}()
	}
	awaitBlocked(ctx, t, m, n, func() bool { return b.lost.Load() > 0 })
	if lost := b.lost.Load(); lost > 0 {
		t.Fatalf("%d of %d requests were not kept", lost, n)
	}
	return b
}

// ended waits for the end of a request, and returns when it came.
func (b *blockedRequests) ended(ctx context.Context, t *testing.T, i int) time.Time {
	t.Helper()
	select {
	case at := <-b.ends[i]:
		return at
	case <-b.failed:
		t.Fatal("a request that waited was not answered with 200")
		return time.Time{}
	case <-ctx.Done():
		t.Fatalf("request %d was not answered", i)
		return time.Time{}
	}
}

// leave hangs up.
func (b *blockedRequests) leave() {
	for _, conn := range b.conns {
		_ = conn.Close() // It may be closed already.
	}
}

// never says that it is never in vain.
func never() bool { return false }
