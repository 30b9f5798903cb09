package service

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// goneUnknown is the reason for a waiter whose place is gone, while nothing that is still there says why.
const goneUnknown = "the place is gone, and the history that says why is too long to look through, or forgotten"

// lookUp finds out in the state what happened to a place whose events are forgotten, or are too many to look through, as
// after a snapshot was installed. It returns nil if the wait goes on.
func (t *placeTeller) lookUp() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	revision, step, err := t.ending()
	if err != nil || step == nil {
		return err
	}
	return t.end(revision, step)
}

// ending returns how the wait ended, and the revision that shows it; no step if the wait goes on. Its snapshot is closed
// before anything is sent: a client that does not read would hold it.
func (t *placeTeller) ending() (uint64, *tenurev1.AcquireLockResponse, error) {
	s, err := t.api.LocalSnapshot()
	if err != nil {
		return 0, nil, err
	}
	defer t.api.CloseSnapshot(s)
	w := t.waiting
	rejected, epoch, err := endOfSession(s, w.acquire)
	if err != nil {
		return 0, nil, err
	}
	if err = t.superseded(epoch); err != nil {
		return 0, nil, err
	}
	waiter, err := s.Waiter(w.acquire.GetKey(), w.place)
	if err != nil {
		return 0, nil, err
	}
	if waiter != nil {
		var before int
		before, err = s.Position(w.acquire.GetKey(), w.place)
		w.position = uint32(before)
		w.after = watch.Position{Revision: s.At.Revision, Index: watch.Whole}
		return 0, nil, err
	}
	hold, err := holdAt(s, w.acquire)
	if err != nil {
		return 0, nil, err
	}
	if hold != nil {
		return s.At.Revision, &tenurev1.AcquireLockResponse{
			Step: &tenurev1.AcquireLockResponse_Granted{Granted: call.HoldToProto(hold, s.At.HistoryID, t.api.Timers)},
		}, nil
	}
	lock, _, err := s.Lock(w.acquire.GetKey())
	if err != nil {
		return 0, nil, err
	}
	if rejected == nil {
		rejected = &tenurev1.LockRejectedStep{Reason: goneUnknown}
		if heldSince(lock, w) {
			rejected.Reason = lostBeforeTold
		}
	}
	rejected.Lock = call.LockToProto(lock.State, s.At.HistoryID, t.api.Timers)
	return s.At.Revision, &tenurev1.AcquireLockResponse{
		Step: &tenurev1.AcquireLockResponse_Rejected{Rejected: rejected},
	}, nil
}

// endOfSession returns what the end of a waiter's session says about the wait, nil if the session lives or its end is
// forgotten, and the session's last epoch.
func endOfSession(s *call.Snapshot, acquire *storev1.AcquireLock) (*tenurev1.LockRejectedStep, uint64, error) {
	id, err := storage.SessionIDFromBytes(acquire.GetSession().GetSessionId())
	if err != nil {
		return nil, 0, err
	}
	record, live, err := s.Session(id)
	if err != nil {
		return nil, 0, err
	}
	if live {
		_, marked, markErr := s.EndMark(record)
		if markErr != nil || !marked {
			return nil, record.GetEpoch(), markErr
		}
		return &tenurev1.LockRejectedStep{Cause: tenurev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED}, record.GetEpoch(), nil
	}
	ended, known, err := s.EndedSession(id)
	if err != nil || !known {
		return nil, 0, err
	}
	return &tenurev1.LockRejectedStep{
		Cause:  tenurev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED,
		Reason: ended.GetReason(),
	}, ended.GetSession().GetEpoch(), nil
}

// heldSince tells whether the lock remembers that the waiter held it, and lost it, after it queued.
func heldSince(lock storage.LockInfo, w *waiting) bool {
	for _, past := range lock.Past {
		if past.GetFencingToken() > w.place && past.GetOwner() == w.acquire.GetOwner() &&
			string(past.GetSessionId()) == string(w.acquire.GetSession().GetSessionId()) {
			return true
		}
	}
	return false
}

// holdAt returns the valid hold of a request's session and owner; nil if there is none.
func holdAt(s *call.Snapshot, acquire *storev1.AcquireLock) (*storev1.HoldState, error) {
	id, err := storage.SessionIDFromBytes(acquire.GetSession().GetSessionId())
	if err != nil {
		return nil, err
	}
	objects, err := s.SessionObjects(id)
	if err != nil {
		return nil, err
	}
	for _, h := range objects.Holds {
		if h.GetKey() == acquire.GetKey() && h.GetOwner() == acquire.GetOwner() {
			return h, nil
		}
	}
	return nil, nil //nolint:nilnil // That there is none is an answer.
}
