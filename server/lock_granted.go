package server

import (
	"bytes"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
)

// lostBeforeTold is the reason for a caller who was granted the lock, and lost it before it was told.
const lostBeforeTold = "the lock was granted, and lost again before this answer"

// grantedStep is the last message for a waiter who was granted a lock. The grant may be found in history, by a call that came
// again: a live session that does not hold any more must not be told that it does. (A request that was granted at once, and
// comes again with its request id, gets its first answer, as every change does.)
func (a *api) grantedStep(acquire *storev1.AcquireLock, granted *storev1.HoldState) (*tenurev1.AcquireLockResponse, error) {
	hold, err := a.holdNow(acquire, granted)
	if err != nil {
		return nil, err
	}
	if hold != nil {
		return &tenurev1.AcquireLockResponse{
			Step: &tenurev1.AcquireLockResponse_Granted{Granted: holdToProto(hold, a.history(), a.timers)},
		}, nil
	}
	lock, err := a.lockNow(acquire.GetKey())
	if err != nil {
		return nil, err
	}
	return &tenurev1.AcquireLockResponse{
		Step: &tenurev1.AcquireLockResponse_Rejected{Rejected: &tenurev1.LockRejectedStep{Reason: lostBeforeTold, Lock: lock}},
	}, nil
}

// holdNow returns the hold that a grant made, if it is one still: as this member has it, or, after another process took the
// session over, the one that it became; nil if the session lives and does not hold. What an ended session was granted stays
// its answer.
func (a *api) holdNow(acquire *storev1.AcquireLock, granted *storev1.HoldState) (*storev1.HoldState, error) {
	if a.node.Store().Applied().Revision == granted.GetFencingToken() {
		return granted, nil // Nothing has happened since.
	}
	s, err := a.localSnapshot()
	if err != nil {
		return nil, err
	}
	defer a.closeSnapshot(s)
	hold, found, err := s.Hold(granted.GetKey(), granted.GetLockIndex())
	if err != nil {
		return nil, err
	}
	if found && !hold.GetDelayed() && bytes.Equal(hold.GetSessionId(), granted.GetSessionId()) &&
		hold.GetFencingToken() == granted.GetFencingToken() {
		return granted, nil
	}
	id, err := storage.SessionIDFromBytes(acquire.GetSession().GetSessionId())
	if err != nil {
		return nil, err
	}
	if _, live, err := s.Session(id); err != nil || !live {
		return granted, err
	}
	return holdAt(s, acquire)
}
