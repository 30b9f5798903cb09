package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestAGrantThatIsLostIsNotTold queues again after the stream broke, and after the lock was granted and lost. The request is
// remembered as one that queues, and history has the grant, but to tell of it would make the caller believe that it holds.
// After the session's end it is told: nobody takes an ended session for one that holds.
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
	lose(t)
	t.Run("a retry of who queued, after a break", func(t *testing.T) { want(t, bob, false) })
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: bob}); err != nil {
		t.Fatal(err)
	}
	t.Run("a retry of who queued, after the session's end", func(t *testing.T) { want(t, bob, true) })
}

// takeOver lets another process have a session of epoch 1.
func (m *member) takeOver(t *testing.T, session string) {
	t.Helper()
	_, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{
		SessionId: session, InstanceId: []byte("another"), TakeOver: true, Options: &tenurev1.CallOptions{Epoch: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAGrantBeforeATakeoverIsNotTold asks again for a lock that was granted before another process took the session over. The
// session still holds it, under another number and token, which are the other process's alone.
func TestAGrantBeforeATakeoverIsNotTold(t *testing.T) {
	for name, again := range map[string]func(m *member, session string, o *tenurev1.CallOptions) (any, error){
		"by a call that waits": func(m *member, session string, o *tenurev1.CallOptions) (any, error) {
			stream, err := m.AcquireLock(t.Context(), &tenurev1.AcquireLockRequest{Key: "k", SessionId: session, Options: o})
			for err == nil {
				var step *tenurev1.AcquireLockResponse
				if step, err = stream.Recv(); step.GetGranted() != nil || step.GetRejected() != nil {
					return step, err
				}
			}
			return nil, err
		},
		"by a try that waits": func(m *member, session string, o *tenurev1.CallOptions) (any, error) {
			return m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{
				Key: "k", SessionId: session, Wait: seconds(30), Options: o,
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t)
			alice, bob := m.openSession(t, "alice"), m.openSession(t, "bob")
			m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: alice}).ended()
			options := &tenurev1.CallOptions{Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: bob, Sequence: 1}}
			first := make(chan error, 1)
			go func() {
				_, err := again(m, bob, options)
				first <- err
			}()
			m.awaitWaiters(t, "k", 1)
			m.release(t, "k", alice)
			if err := <-first; err != nil {
				t.Fatal(err)
			}
			m.takeOver(t, bob)
			got, err := again(m, bob, options)
			if err == nil {
				t.Fatalf("got %v, want that another process has the session", got)
			}
			wantError(t, err, codes.FailedPrecondition, "SESSION_SUPERSEDED")
			if applied := infoOf(err).GetMetadata()["applied"]; applied != "yes" {
				t.Errorf("got applied %q, want yes: the lock was granted", applied)
			}
		})
	}
}

// TestAPlaceAfterATakeoverIsNotTold asks again, after a takeover, for a place that the request had found, not made. What
// such a call watches begins at the present, behind the takeover; the lock is granted after that.
func TestAPlaceAfterATakeoverIsNotTold(t *testing.T) {
	m := start(t)
	alice, bob := m.openSession(t, "alice"), m.openSession(t, "bob")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: alice}).ended()
	request := func(sequence uint64) acquiring {
		return m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: bob, Options: &tenurev1.CallOptions{
			Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: bob, Sequence: sequence},
		}})
	}
	for sequence := range uint64(2) {
		if request(sequence+1).next().GetQueued() == nil {
			t.Fatal("bob does not queue")
		}
	}
	m.takeOver(t, bob)
	again := request(2)
	step, err := again.stream.Recv()
	if err == nil {
		m.release(t, "k", alice)
		t.Fatalf("got %v, then %v; want that another process has the session", step, again.ended())
	}
	wantError(t, err, codes.FailedPrecondition, "SESSION_SUPERSEDED")
}
