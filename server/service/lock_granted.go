package service

import (
	"bytes"
	"strconv"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// lostBeforeTold is the reason for a caller who was granted the lock, and lost it before it was told.
const lostBeforeTold = "the lock was granted, and lost again before this answer"

// grantedStep is the last message for a waiter who was granted a lock. The grant may be found in history, by a call that came
// again: a live session that does not hold any more must not be told that it does. (A request that was granted at once, and
// comes again with its request id, gets its first answer, as every change does.)
func (a *Locks) grantedStep(acquire *storev1.AcquireLock, granted *storev1.HoldState) (*tenurev1.AcquireLockResponse, error) {
	hold, err := a.holdNow(acquire, granted)
	if err != nil {
		return nil, err
	}
	if hold != nil {
		return &tenurev1.AcquireLockResponse{
			Step: &tenurev1.AcquireLockResponse_Granted{Granted: call.HoldToProto(hold, a.History(), a.Timers)},
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

// holdNow returns the hold that a grant made, if it is one still: as this member has it, or, for a caller of no epoch after a
// takeover, the one that it became; nil if the session lives and does not hold. A caller of an epoch gets an error after a
// takeover: the hold, its number and its token are the new process's. What an ended session was granted stays its answer.
func (a *Locks) holdNow(acquire *storev1.AcquireLock, granted *storev1.HoldState) (*storev1.HoldState, error) {
	if a.Node.Store().Applied().Revision == granted.GetFencingToken() {
		return granted, nil // Nothing has happened since.
	}
	s, err := a.LocalSnapshot()
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
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
	record, live, err := s.Session(id)
	if err != nil || !live {
		return granted, err
	}
	if err := takenOver(acquire, record.GetEpoch()); err != nil {
		return nil, err
	}
	return holdAt(s, acquire)
}

// takenOver returns the error for a caller whose session another process has taken over; nil if it is not so, or the caller
// named no epoch.
func takenOver(acquire *storev1.AcquireLock, epoch uint64) error {
	own := acquire.GetSession().GetEpoch()
	if own == 0 || epoch <= own {
		return nil
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED,
		"another process took the session over while it waited").With("epoch", strconv.FormatUint(epoch, 10))
}
