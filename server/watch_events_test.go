package server_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestEventsSayWhatAReadWouldHaveSaid checks that who only follows events knows of keys and holds what others read.
func TestEventsSayWhatAReadWouldHaveSaid(t *testing.T) {
	m := start(t)
	m.put(t, "k", "first")
	w := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"k"}, Locks: []string{"k"}, Previous: true})
	m.put(t, "k", "second")
	read, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if kv := w.events(1)[0].GetKv(); !proto.Equal(kv, read.GetKv()) {
		t.Errorf("the event shows %v, want %v", kv, read.GetKv())
	}
	releasing, losing := m.openSession(t, "releasing"), m.openSession(t, "losing")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: releasing}).ended()
	m.release(t, "k", releasing)
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: losing}).ended()
	if _, err := m.BreakLock(t.Context(), &tenurev1.BreakLockRequest{Key: "k", Reason: "stuck"}); err != nil {
		t.Fatal(err)
	}
	named := map[tenurev1.EventType]string{
		tenurev1.EventType_EVENT_TYPE_LOCK_RELEASED:    "releasing",
		tenurev1.EventType_EVENT_TYPE_LOCK_LOST:        "losing",
		tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_BEGUN: "losing",
	}
	ids := map[string]string{"releasing": releasing, "losing": losing}
	for len(named) > 0 {
		for _, e := range w.next().GetEvents().GetEvents() {
			want, ok := named[e.GetType()]
			if !ok {
				continue
			}
			delete(named, e.GetType())
			if hold := e.GetHold(); hold.GetSessionName() != want || hold.GetSequencer().GetSessionId() != ids[want] {
				t.Errorf("%v: the hold is %v, want one of the session %q", e.GetType(), hold, want)
			}
			if left := e.GetHold().GetDelayLeft().AsDuration(); e.GetType() == tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_BEGUN && left != 15*time.Second {
				t.Errorf("the delay is %v, want 15s", left)
			}
		}
	}
}

// TestQueuedEventsSayHowManyWaitBefore checks the position of those who join a queue.
func TestQueuedEventsSayHowManyWaitBefore(t *testing.T) {
	m := start(t)
	w := m.watch(t, &tenurev1.WatchRequest{Locks: []string{"k"}})
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "holder")}).ended()
	const waiters = 3
	sessions := make([]string, waiters)
	for i := range sessions {
		sessions[i] = m.openSession(t, "waiter")
		m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: sessions[i]}).next()
	}
	for position := uint32(0); position < waiters; {
		for _, e := range w.next().GetEvents().GetEvents() {
			if e.GetType() != tenurev1.EventType_EVENT_TYPE_LOCK_QUEUED {
				continue
			}
			if place := e.GetPlace(); place.GetSessionId() != sessions[position] || place.GetPosition() != position {
				t.Errorf("got the place %v, want position %d of session %s", place, position, sessions[position])
			}
			position++
		}
	}
}
