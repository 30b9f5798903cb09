package service

import (
	"testing"

	"go.uber.org/zap"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// marked returns the services of a member whose state has a session that has ended, and whose hold is not freed yet.
func marked(t *testing.T) (_ *Services, id storage.SessionID, hold *tenurev1.Hold) {
	t.Helper()
	id = storage.SessionID{1}
	store := stores.WithMarked(t, id, "lock")
	if marks := store.Applied().EndMarks; marks == 0 {
		t.Fatal("the end list is empty")
	}
	timers, err := expiry.New(expiry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan error)
	close(answers)
	a := New(Options{Caller: &call.Caller{
		Node: &provingNode{store: store, answers: answers}, Log: zap.NewNop(), Stopping: t.Context(), Timers: timers,
	}})
	lock, err := a.Locks.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: "lock"})
	if err != nil || len(lock.GetLock().GetHolds()) != 1 {
		t.Fatalf("got %v, %v, want a lock that is held until the end is carried out", lock, err)
	}
	return a, id, lock.GetLock().GetHolds()[0]
}

func TestASessionOnTheEndListIsDeadToAllWhoAsk(t *testing.T) {
	a, id, _ := marked(t)
	got, err := a.Sessions.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: id.String()})
	if cause := got.GetSession().GetEnd().GetCause(); err != nil || cause != tenurev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED {
		t.Errorf("GetSession: got an end of cause %v, %v, want one with its node", cause, err)
	}
	_, attach := a.Sessions.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id.String()})
	_, live := a.Sessions.LiveSession(t.Context(), id)
	for call, err := range map[string]error{"AttachSession": attach, "LiveSession": live} {
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED {
			t.Errorf("%s: got %v, want SESSION_EXPIRED", call, err)
		}
	}
}

// TestAHoldOfASessionOnTheEndListIsNotValid asks whether a sequencer is valid that every guard refuses.
func TestAHoldOfASessionOnTheEndListIsNotValid(t *testing.T) {
	a, _, hold := marked(t)
	check, err := a.Locks.CheckSequencer(t.Context(), &tenurev1.CheckSequencerRequest{
		Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: hold.GetSequencer()},
	})
	if err != nil || check.GetHolds() {
		t.Errorf("got %v, %v, want that it does not hold", check.GetHolds(), err)
	}
}
