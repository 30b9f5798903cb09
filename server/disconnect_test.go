package server_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

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
