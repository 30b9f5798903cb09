package server_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// TestPlaceOfWhoGoesAway checks who keeps a place in a queue when the connection breaks: gRPC does and REST does not,
// unless the request says otherwise.
func TestPlaceOfWhoGoesAway(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := start(t, func(c *server.Config) { c.Registry = registry })
	holder := m.openSession(t, "holder")
	for what, c := range map[string]struct {
		path, body string // over REST
		leave      *bool  // over gRPC
		keeps      bool
	}{
		"REST waits for a lock":                 {path: "/v1/lock-queue/", body: `{"sessionId":"ID"}`},
		"REST waits for a lock and keeps":       {path: "/v1/lock-queue/", body: `{"sessionId":"ID","leaveOnDisconnect":false}`, keeps: true},
		"REST campaigns":                        {path: "/v1/elections/", body: `{"sessionId":"ID"}`},
		"gRPC waits for a lock":                 {keeps: true},
		"gRPC waits for a lock and leaves":      {leave: new(true)},
		"gRPC waits for a lock and says it not": {leave: new(false), keeps: true},
	} {
		t.Run(what, func(t *testing.T) {
			key := strings.ReplaceAll(what, " ", "-")
			m.acquire(t, &tenurev1.AcquireLockRequest{Key: key, SessionId: holder}).ended()
			waiter := m.openSession(t, "waiter")
			if c.path == "" {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stream, err := m.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: key, SessionId: waiter, LeaveOnDisconnect: c.leave})
				if err != nil {
					t.Fatal(err)
				}
				acquiring{t: t, stream: stream}.next()
				cancel()
			} else {
				m.queueAndGoAway(t, c.path+key, strings.Replace(c.body, "ID", waiter, 1))
			}
			awaitGauge(t, registry, "tenure_watch_watchers", 0) // The call has ended.
			if !c.keeps {
				m.awaitWaiters(t, key, 0)
				return
			}
			// The place is still granted after all.
			m.release(t, key, holder)
			lock, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: key})
			if err != nil || len(lock.GetLock().GetHolds()) != 1 || lock.GetLock().GetHolds()[0].GetSequencer().GetSessionId() != waiter {
				t.Errorf("got %v, %v, want it in the hands of the waiter", lock, err)
			}
		})
	}
}

// TestTheLastBrokenCallLeavesThePlace checks that a call which breaks, and was to leave the queue then, takes no place
// away that another call of the same session and owner waits on, and that the last one does.
func TestTheLastBrokenCallLeavesThePlace(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := start(t, func(c *server.Config) { c.Registry = registry })
	holder := m.openSession(t, "holder")
	for what, c := range map[string]struct {
		requestID  bool // both calls are attempts of one request
		secondGoes bool // else the first call breaks
		bothGo     bool
	}{
		"the first breaks, and the second found its place":             {},
		"the first breaks, and the second is a retry of the same call": {requestID: true},
		"the second breaks, and the first made the place":              {secondGoes: true},
		"both break":                  {secondGoes: true, bothGo: true},
		"both break, the first first": {bothGo: true},
		"both break, and the second is a retry of the same call": {requestID: true, bothGo: true},
	} {
		t.Run(what, func(t *testing.T) {
			key := strings.ReplaceAll(what, " ", "-")
			m.acquire(t, &tenurev1.AcquireLockRequest{Key: key, SessionId: holder}).ended()
			waiter := m.openSession(t, "waiter")
			request := &tenurev1.AcquireLockRequest{Key: key, SessionId: waiter, LeaveOnDisconnect: new(true)}
			if c.requestID {
				request.Options = &tenurev1.CallOptions{
					Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: waiter, Sequence: 1},
				}
			}
			var calls [2]acquiring
			var breaks [2]context.CancelFunc
			for i := range calls {
				var ctx context.Context
				ctx, breaks[i] = context.WithCancel(t.Context())
				defer breaks[i]()
				stream, err := m.AcquireLock(ctx, request)
				if err != nil {
					t.Fatal(err)
				}
				calls[i] = acquiring{t: t, stream: stream}
				calls[i].next()
			}
			goes, stays := 0, 1
			if c.secondGoes {
				goes, stays = 1, 0
			}
			breaks[goes]()
			awaitGauge(t, registry, "tenure_server_streams", 1) // That call has ended, and left what it leaves.
			m.awaitWaiters(t, key, 1)
			if c.bothGo {
				breaks[stays]()
				awaitGauge(t, registry, "tenure_server_streams", 0)
				m.awaitWaiters(t, key, 0)
				return
			}
			m.release(t, key, holder)
			if got := calls[stays].ended().GetGranted().GetSequencer().GetSessionId(); got != waiter {
				t.Errorf("granted to %q, want the waiter", got)
			}
			awaitGauge(t, registry, "tenure_server_streams", 0)
		})
	}
}

// TestPlaceOfWhoGoesAwayBeforeItIsMade has calls break while their command is being written to the log. What they are to
// leave when they break is left as soon as it is made, and they end before that.
func TestPlaceOfWhoGoesAwayBeforeItIsMade(t *testing.T) {
	registry, disk := prometheus.NewRegistry(), newHeldDisk()
	m := startMember(t, func(c *server.Config) { c.Registry, c.FS = registry, disk })
	holder := m.openSession(t, "holder")
	acquire := func(leave *bool) func(context.Context, string, string) {
		return func(ctx context.Context, key, waiter string) {
			stream, err := m.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: key, SessionId: waiter, LeaveOnDisconnect: leave})
			if err == nil {
				_, _ = stream.Recv()
			}
		}
	}
	try := func(ctx context.Context, key, waiter string) {
		_, _ = m.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: key, SessionId: waiter, Wait: durationpb.New(time.Minute)})
	}
	post := func(path string) func(context.Context, string, string) {
		return func(ctx context.Context, key, waiter string) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.at.HTTP+path+key, strings.NewReader(`{"sessionId":"`+waiter+`"}`))
			if err != nil {
				t.Error(err)
				return
			}
			if answer, err := http.DefaultClient.Do(r); err == nil {
				_ = answer.Body.Close()
			}
		}
	}
	for what, c := range map[string]struct {
		call  func(ctx context.Context, key, waiter string)
		free  bool // the lock
		keeps bool // the place, or the hold
	}{
		"waits for a lock and leaves":          {call: acquire(new(true))},
		"waits for a lock":                     {call: acquire(nil), keeps: true},
		"tries to get a lock for a while":      {call: try},
		"waits over REST":                      {call: post("/v1/lock-queue/")},
		"campaigns over REST":                  {call: post("/v1/elections/")},
		"gets a free lock and leaves no place": {call: acquire(new(true)), free: true, keeps: true},
		"tries to get a free lock":             {call: try, free: true, keeps: true},
	} {
		t.Run(what, func(t *testing.T) {
			key := strings.ReplaceAll(what, " ", "-")
			if !c.free {
				m.acquire(t, &tenurev1.AcquireLockRequest{Key: key, SessionId: holder}).ended()
			}
			waiter := m.openSession(t, "waiter")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			release, before := disk.hold(t), disk.syncs.Load()
			var under sync.WaitGroup
			under.Go(func() { c.call(ctx, key, waiter) })
			await(t, "the command is being written", func() bool { return disk.syncs.Load() > before })
			cancel()
			under.Wait()
			await(t, "the call has ended", func() bool {
				return sharedValue(t, registry, "tenure_server_shared_used", "limit", "waits_max") == 0
			})
			release()
			m.put(t, "after", "the command") // It comes after it in the log.
			if !c.free {
				waiting := uint32(0)
				if c.keeps {
					waiting = 1
				}
				m.awaitWaiters(t, key, waiting)
				m.release(t, key, holder)
			}
			lock, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: key})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(lock.GetLock().GetHolds()) == 1; got != c.keeps {
				t.Errorf("the lock is %v, want that the waiter holds it: %v", lock.GetLock(), c.keeps)
			}
		})
	}
}

// queueAndGoAway waits for a lock over REST as curl does, and closes the connection once it is queued.
func (m *member) queueAndGoAway(t *testing.T, path, body string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.at.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	cancel()
	_ = answer.Body.Close()
	if err != nil || !strings.Contains(line, `"queued"`) {
		t.Fatalf("first line is %q, %v; want that it is queued", line, err)
	}
}
