package tenure_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// connectionsOfMany is how many connections a client has that has thousands of waits and watches: they are calls on lines of one, and other calls have one of
// their own.
const connectionsOfMany = 2

// streamsOfMany is how many streams those are at most: that of renewals, a line for calls, and lines of 4 096.
const streamsOfMany = 4

// countedConn is a connection that tells when it is closed.
type countedConn struct {
	net.Conn

	once   sync.Once
	closed func()
}

func (c *countedConn) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

// counted returns a dialer, and how many of its connections are open.
func counted() (tenure.Option, *atomic.Int64) {
	open := &atomic.Int64{}
	return tenure.WithDialer(func(ctx context.Context, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &countedConn{Conn: c, closed: func() { open.Add(-1) }}, nil
	}), open
}

// each calls f for so many numbers, a few at a time.
func each(n int, f func(i int)) {
	var working sync.WaitGroup
	next := &atomic.Int64{}
	for range 32 {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	working.Wait()
}

// TestManySessionsWaitsAndWatchesInOneClient has more of each than a connection of a member before could carry streams. All are served, and calls pass
// beside them.
func TestManySessionsWaitsAndWatchesInOneClient(t *testing.T) {
	many, watches := 1100, 100
	if os.Getenv("TENURE_SOAK") == "1" {
		many, watches = 3000, 3000
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	member := rig.Start(ctx, t, binary)
	dialer, connections := counted()
	c, err := tenure.Open("tenure://"+member.Addresses.GRPC+"/app?ttl="+longTTL.String(), dialer)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	m := &manyOf{client: c, ctx: ctx, sessions: make([]*tenure.Session, many), counted: make(chan struct{})}
	each(many, func(i int) {
		s, failed := c.OpenSession(ctx)
		if failed != nil {
			t.Error(failed)
			cancel()
			return
		}
		m.sessions[i] = s
	})
	if t.Failed() {
		t.FailNow()
	}
	held, err := m.sessions[0].Lock("lock").Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m.watch(watches)
	m.wait(t)
	slowest := puts(ctx, t, c)
	settle(t, func() string { return servedAt(ctx, member, many+watches) })
	settle(t, func() string {
		// Where one cannot be made in time, its streams are on the first.
		if got, want := int(connections.Load()), connectionsOfMany; got > want || got < want-1 {
			return fmt.Sprintf("%d connections, want %d", got, want)
		}
		return ""
	})
	t.Logf("%d sessions, %d waits, %d watches: a put beside them took %v at most; %d connections, at most %d streams, resident memory of this process %s",
		many, many, watches, slowest, connections.Load(), streamsOfMany, resident())
	close(m.counted)
	if err := held.Release(ctx); err != nil {
		t.Error(err)
	}
	m.working.Wait()
	if m.granted.Load() != int64(many) || m.told.Load() != int64(watches) {
		t.Errorf("of %d waits %d were granted, of %d watches %d were told", many, m.granted.Load(), watches, m.told.Load())
	}
	t.Logf("%d waits were granted, %d watches were told", m.granted.Load(), m.told.Load())
	for _, s := range m.sessions {
		if state, cause := s.State(); state != tenure.StateConnected {
			t.Fatalf("a session is %v %v", state, cause)
		}
	}
}

// puts makes calls one after another, and returns how long the slowest took. The watches are told of the last of them.
func puts(ctx context.Context, t *testing.T, c *tenure.Client) (slowest time.Duration) {
	t.Helper()
	for _, key := range []string{"other", "other", "other", "other", "other", "other", "other", "other", "other", "put"} {
		begun := time.Now()
		if _, err := c.KV().Put(ctx, key, []byte("beside them")); err != nil {
			t.Error(err)
		}
		slowest = max(slowest, time.Since(begun))
	}
	return slowest
}

// resident returns how much memory this process has, as the system says; nothing where it does not say so.
func resident() string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// manyOf is what the sessions of one client do.
type manyOf struct {
	client   *tenure.Client
	ctx      context.Context
	sessions []*tenure.Session
	working  sync.WaitGroup
	granted  atomic.Int64
	told     atomic.Int64
	counted  chan struct{} // Closed when streams were counted.
}

// watch begins so many watches, each of which wants to be told of one put.
func (m *manyOf) watch(n int) {
	begun := make(chan struct{}, n)
	for range n {
		m.working.Go(func() {
			for _, err := range m.client.Watch(m.ctx, tenure.OnKeys("put"), tenure.OnStart(func(uint64) { begun <- struct{}{} })) {
				if err != nil {
					return
				}
				m.told.Add(1)
				<-m.counted // It stays, so that it can be counted.
				return
			}
		})
	}
	for range n {
		select {
		case <-begun:
		case <-m.ctx.Done():
		}
	}
}

// wait lets each session wait for the lock, and returns when all queue. Who gets the lock gives it to the next.
func (m *manyOf) wait(t *testing.T) {
	t.Helper()
	queued := make(chan struct{}, 1<<20)
	for _, s := range m.sessions {
		var once sync.Once
		tell := func(tenure.Queued) { once.Do(func() { queued <- struct{}{} }) }
		m.working.Go(func() {
			held, err := s.Lock("lock", tenure.WithQueuedFunc(tell)).Acquire(m.ctx)
			if err != nil {
				return
			}
			m.granted.Add(1)
			if err := held.Release(m.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range m.sessions {
		select {
		case <-queued:
		case <-m.ctx.Done():
			t.Fatalf("%d of %d queue", i, len(m.sessions))
		}
	}
}

// servedAt returns what is wrong with how a member serves so many waits and watches, or nothing.
func servedAt(ctx context.Context, member *rig.Member, want int) string {
	_, text, err := member.Fetch(ctx, "/metrics")
	if err != nil {
		return err.Error()
	}
	number := func(metric string) int {
		found := regexp.MustCompile(`(?m)^` + metric + ` (.*)$`).FindSubmatch(text)
		if found == nil {
			return -1
		}
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			return -1
		}
		return n
	}
	// Each line is a stream, which counts as one that waits, and so does each call on it; renewals have a stream of their own.
	streams, waits := number("tenure_server_streams"), number(`tenure_server_shared_used{limit="waits_max"}`)
	if streams < 2 || streams > streamsOfMany || waits < want || waits > want+streams {
		return fmt.Sprintf("the member serves %d streams and %d waits, want at most %d and about %d", streams, waits, streamsOfMany, want)
	}
	return ""
}
