package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestAttachTellsTheHighestRequest lets a process go on with its numbers after it lost its own count.
func TestAttachTellsTheHighestRequest(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	put := func(sequence, doneBelow uint64, ifRevision *uint64) error {
		_, err := m.Put(t.Context(), &tenurev1.PutRequest{
			Key: "k", IfRevision: ifRevision, Options: &tenurev1.CallOptions{Epoch: 1, RequestId: &tenurev1.RequestID{
				SessionId: id, Sequence: sequence, DoneBelow: doneBelow,
			}},
		})
		return err
	}
	highest := func(want uint64) {
		t.Helper()
		r, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id})
		if err != nil || r.GetMaxSequence() != want {
			t.Errorf("got %d, %v, want %d", r.GetMaxSequence(), err, want)
		}
	}
	highest(0)
	for _, sequence := range []uint64{1, 7, 3} {
		if err := put(sequence, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	highest(7)
	// A refused change was done, too: its answer is remembered.
	if err := put(9, 8, new(uint64(1<<40))); err == nil {
		t.Fatal("a put with a wrong revision is no error")
	}
	highest(9)
	if err := put(9, 9, nil); err == nil {
		t.Fatal("a used number is no error")
	}
	highest(9)
	taken, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{
		SessionId: id, TakeOver: true, Options: &tenurev1.CallOptions{Epoch: 1},
	})
	if err != nil || taken.GetMaxSequence() != 0 {
		t.Errorf("under a new epoch: got %d, %v, want 0", taken.GetMaxSequence(), err)
	}
}

// TestARetryUnderASessionThatIsForgotten ends a session whose request was applied, and lets both its window and its end
// be forgotten. Whether the request was applied is then unknown, not denied; while the window is kept, it answers.
func TestARetryUnderASessionThatIsForgotten(t *testing.T) {
	m := start(t)
	one := uint32(1)
	if _, err := m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{EndedSessionsMax: &one}}); err != nil {
		t.Fatal(err)
	}
	id := m.openSession(t, "alice")
	put := func() (*tenurev1.PutResponse, error) {
		return m.Put(t.Context(), &tenurev1.PutRequest{
			Key: "k", Options: &tenurev1.CallOptions{Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: id, Sequence: 1}},
		})
	}
	first, err := put()
	if err != nil {
		t.Fatal(err)
	}
	for _, ended := range []string{id, m.openSession(t, "bob")} {
		if _, err = m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: ended}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: id})
	wantError(t, err, codes.NotFound, "SESSION_NOT_FOUND")
	again, err := put()
	if err != nil || again.GetKv().GetModRevision() != first.GetKv().GetModRevision() {
		t.Errorf("while the window is kept: got %v, %v, want the first answer %v", again, err, first)
	}
	now, err := m.GetLimits(t.Context(), &tenurev1.GetLimitsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.Compact(t.Context(), &tenurev1.CompactRequest{Revision: now.GetHeader().GetRevision()}); err != nil {
		t.Fatal(err)
	}
	_, err = put()
	wantError(t, err, codes.NotFound, "SESSION_NOT_FOUND")
	if got := infoOf(err).GetMetadata()["applied"]; got != "unknown" {
		t.Errorf("got applied %q, want unknown", got)
	}
}

// TestAttemptsToAttachAreOrderedByTheirNumber sends attempts of one process in another order than it made them.
func TestAttemptsToAttachAreOrderedByTheirNumber(t *testing.T) {
	m := start(t)
	created, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{WantSecret: true, InstanceId: []byte("first")})
	if err != nil {
		t.Fatal(err)
	}
	id := created.GetSessionId()
	epoch := uint64(1)
	attach := func(instance string, attempt uint64, takeOver bool) error {
		_, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{
			SessionId: id, InstanceId: []byte(instance), Attempt: attempt, TakeOver: takeOver,
			Options: &tenurev1.CallOptions{SessionSecret: created.GetSecret(), Epoch: epoch},
		})
		return err
	}
	want := func(instance string, attempt uint64, outdatedBy string) {
		t.Helper()
		err := attach(instance, attempt, false)
		if outdatedBy == "" {
			if err != nil {
				t.Errorf("attempt %d of %s: %v", attempt, instance, err)
			}
			return
		}
		wantError(t, err, codes.FailedPrecondition, "ATTEMPT_OUTDATED")
		if info := infoOf(err).GetMetadata(); info["attempt"] != outdatedBy || info["applied"] != "no" {
			t.Errorf("attempt %d: got %v, want that attempt %s came first", attempt, info, outdatedBy)
		}
	}
	want("first", 2, "")
	want("first", 1, "2")
	want("first", 2, "") // Sent twice.
	want("first", 5, "")
	want("first", 4, "5")
	want("first", 0, "") // Not ordered.
	// Who is not the session's instance changes nothing.
	wantError(t, attach("second", 9, false), codes.FailedPrecondition, "EPOCH_MISMATCH")
	want("first", 6, "")
	if err := attach("second", 1, true); err != nil {
		t.Fatal(err)
	}
	wantError(t, attach("first", 7, false), codes.FailedPrecondition, "SESSION_SUPERSEDED")
	epoch = 2
	want("second", 2, "")
	want("second", 1, "2")
}

// TestAttemptsOfStrangersAreNotOrdered attaches processes that do not say who they are, each with a count of its own.
func TestAttemptsOfStrangersAreNotOrdered(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "open")
	for _, attempt := range []uint64{7, 1, 3} {
		_, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id, Attempt: attempt})
		if err != nil {
			t.Errorf("attempt %d: %v, want that nobody else's count matters", attempt, err)
		}
	}
}

// TestAWaitEndsWithATakeover lets another process take over a session that waits. The one that waited is told so, and not of
// the lock, which is granted to the session later.
func TestAWaitEndsWithATakeover(t *testing.T) {
	m := start(t)
	holder, waits := m.openSession(t, "holder"), m.openSession(t, "waits")
	if r, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "l", SessionId: holder}); err != nil || !r.GetAcquired() {
		t.Fatalf("got %v, %v, want the lock", r, err)
	}
	stream, err := m.AcquireLock(t.Context(), &tenurev1.AcquireLockRequest{
		Key: "l", SessionId: waits, Options: &tenurev1.CallOptions{Epoch: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if step, recvErr := stream.Recv(); recvErr != nil || step.GetQueued() == nil {
		t.Fatalf("got %v, %v, want a place", step, recvErr)
	}
	_, err = m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{
		SessionId: waits, TakeOver: true, InstanceId: []byte("another"), Options: &tenurev1.CallOptions{Epoch: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	step, err := stream.Recv()
	if err == nil {
		t.Fatalf("got %v, want the end of the wait", step)
	}
	wantError(t, err, codes.FailedPrecondition, "SESSION_SUPERSEDED")
	r, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: "l"})
	if err != nil || len(r.GetLock().GetPlaces()) != 1 {
		t.Errorf("places: got %v, %v, want the session's", r.GetLock().GetPlaces(), err)
	}
}
