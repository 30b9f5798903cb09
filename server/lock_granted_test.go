package server_test

import (
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestAGrantThatIsLostIsNotTold asks again for a lock whose answer was lost, after the lock was lost, too. The first answer
// is remembered, but to send it would make the caller believe that it holds.
func TestAGrantThatIsLostIsNotTold(t *testing.T) {
	m := start(t)
	alice, bob := m.openSession(t, "alice"), m.openSession(t, "bob")
	request := func(session string) *tenurev1.AcquireLockRequest {
		return &tenurev1.AcquireLockRequest{Key: "k", SessionId: session, Options: &tenurev1.CallOptions{
			Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: session, Sequence: 1},
		}}
	}
	lose := func(t *testing.T) {
		t.Helper()
		broken, err := m.BreakLock(t.Context(), &tenurev1.BreakLockRequest{Key: "k", Reason: "test"})
		if err != nil || broken.GetHolds() != 1 {
			t.Fatalf("got %v, %v, want that one hold is broken", broken, err)
		}
	}
	want := func(t *testing.T, session string, granted bool) {
		t.Helper()
		a := m.acquire(t, request(session))
		if got := a.ended(); (got.GetGranted() != nil) != granted {
			t.Errorf("got %v, want granted: %v", got, granted)
		}
	}
	want(t, alice, true)
	t.Run("a retry while it holds", func(t *testing.T) { want(t, alice, true) })
	queued := m.acquire(t, request(bob))
	if queued.next().GetQueued() == nil {
		t.Fatal("bob does not queue")
	}
	m.release(t, "k", alice)
	if queued.ended().GetGranted() == nil {
		t.Fatal("bob was not granted the lock")
	}
	t.Run("a retry of who queued", func(t *testing.T) { want(t, bob, true) })
	t.Run("a retry after the release", func(t *testing.T) { want(t, alice, false) })
	lose(t)
	t.Run("a retry of who queued, after a break", func(t *testing.T) { want(t, bob, false) })
}

// TestAGrantOutlivesItsSessionAsAnAnswer retries after the session's end: the answer is what it was, for nobody takes an
// ended session for one that holds.
func TestAGrantOutlivesItsSessionAsAnAnswer(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "alice")
	request := &tenurev1.AcquireLockRequest{Key: "k", SessionId: id, Options: &tenurev1.CallOptions{
		Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: id, Sequence: 1},
	}}
	first := m.acquire(t, request).ended().GetGranted().GetSequencer().GetFencingToken()
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if got := m.acquire(t, request).ended().GetGranted().GetSequencer().GetFencingToken(); got != first {
		t.Errorf("got token %d, want %d", got, first)
	}
}
