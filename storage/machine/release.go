package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

// releaseLock gives a hold back and grants the next waiters. A hold that is not there any more is an answer.
func (c lockVerbs) releaseLock(r *storev1.ReleaseLock) (*storev1.ReleaseLockResult, error) {
	n, err := c.name(r.GetKey())
	if err != nil {
		return nil, err
	}
	if len(r.GetPut()) > valueBytesMax {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_VALUE_TOO_LONG, len(r.GetPut()), valueBytesMax)
	}
	how := ending{cause: storev1.HoldEndCause_HOLD_END_CAUSE_RELEASED, released: true}
	ref := r.GetSession()
	if r.GetForce() {
		ref = &storev1.SessionRef{SessionId: ref.GetSessionId()}
		how.cause, how.reason = storev1.HoldEndCause_HOLD_END_CAUSE_FORCE_RELEASED, r.GetReason()
	}
	l, h, err := c.namedHold(n, ref, r.GetOwner(), r.GetLockIndex())
	if err != nil {
		return nil, err
	}
	if h == nil {
		return c.notReleased(l)
	}
	how.keyFollows = r.GetValueOp() != nil
	if err = c.endHold(l, h, how); err != nil {
		return nil, err
	}
	if err = c.releaseKey(l, r); err != nil {
		return nil, err
	}
	before := c.granted
	if err = c.queue.grantTouched(); err != nil {
		return nil, err
	}
	return &storev1.ReleaseLockResult{Released: true, Granted: uint32(c.granted - before)}, nil
}

// namedHold returns a lock, and the valid hold that a live session's owner has of it, if it is the one of that number; zero
// is any. There may be no such hold.
func (c lockVerbs) namedHold(
	n layout.Name, ref *storev1.SessionRef, owner string, lockIndex uint64,
) (*lock, *storev1.HoldRecord, error) {
	s, err := c.sessions.session(ref)
	if err != nil {
		return nil, nil, err
	}
	l, err := c.lock(n)
	if err != nil {
		return nil, nil, err
	}
	h, err := c.ownHold(l, s.id, owner)
	if err != nil || h == nil || (lockIndex != 0 && lockIndex != h.GetLockIndex()) {
		return l, nil, err
	}
	return l, h, nil
}

// notReleased answers that there was nothing to release.
func (c lockVerbs) notReleased(l *lock) (*storev1.ReleaseLockResult, error) {
	state, err := records.LockState(c.rows, l.name, l.head)
	return &storev1.ReleaseLockResult{Lock: state}, err
}

// releaseKey does to the key what the release asks for. Flags stay.
func (c lockVerbs) releaseKey(l *lock, r *storev1.ReleaseLock) error {
	switch op := r.GetValueOp().(type) {
	case *storev1.ReleaseLock_Put:
		k, err := c.keyFacts(l.name)
		if err != nil {
			return err
		}
		if err = c.needSpaceFor(k, op.Put); err != nil {
			return err
		}
		_, err = c.keys.writeKey(l.name, l.head, k, write{value: op.Put, flags: k.record.GetFlags()})
		return err
	case *storev1.ReleaseLock_Delete:
		return c.keys.deleteKey(l.name, nil)
	default:
		return nil
	}
}

// resign gives an EXCLUSIVE hold up: to the next waiter, or past the queue to a candidate who waits.
func (c lockVerbs) resign(r *storev1.Resign) (*storev1.ReleaseLockResult, error) {
	if len(r.GetToSessionId()) == 0 {
		return c.releaseLock(&storev1.ReleaseLock{
			Key: r.GetKey(), Session: r.GetSession(), Owner: r.GetOwner(), LockIndex: r.GetLockIndex(),
		})
	}
	n, err := c.name(r.GetKey())
	if err != nil {
		return nil, err
	}
	l, h, err := c.namedHold(n, r.GetSession(), r.GetOwner(), r.GetLockIndex())
	if err != nil {
		return nil, err
	}
	if h == nil {
		return c.notReleased(l)
	}
	if h.GetMode() != storev1.LockMode_LOCK_MODE_EXCLUSIVE {
		return nil, c.mismatch(l, storev1.FailureDetail_FAILURE_DETAIL_ONLY_EXCLUSIVE_RESIGNS)
	}
	p, err := c.candidate(l, r)
	if err != nil {
		return nil, err
	}
	how := ending{cause: storev1.HoldEndCause_HOLD_END_CAUSE_RESIGNED, released: true}
	if err = c.endHold(l, h, how); err != nil {
		return nil, err
	}
	before := c.granted
	if err = c.queue.grantPlace(l, p); err != nil {
		return nil, err
	}
	if err = c.queue.grantTouched(); err != nil {
		return nil, err
	}
	return &storev1.ReleaseLockResult{Released: true, Granted: uint32(c.granted - before)}, nil
}

// candidate returns the place of the candidate that a resignation names, or why it cannot be granted.
func (c lockVerbs) candidate(l *lock, r *storev1.Resign) (*place, error) {
	id, err := rule.SessionID(r.GetToSessionId())
	if err != nil {
		return nil, err
	}
	p, err := c.ownPlace(l, id, r.GetToOwner())
	if err != nil {
		return nil, err
	}
	dead, err := c.queue.isDead(p)
	if err != nil {
		return nil, err
	}
	if dead {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_CANDIDATE_NOT_FOUND,
			storev1.FailureDetail_FAILURE_DETAIL_CANDIDATE_MISSING, id, l.name.Key)
		f.Failure.Key = l.name.Key
		f.Failure.SessionId = id[:]
		return nil, f
	}
	frozen, err := records.IsFrozen(c.rows)
	if err != nil {
		return nil, err
	}
	if frozen {
		return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_FROZEN, storev1.FailureDetail_FAILURE_DETAIL_GRANTS_FROZEN)
	}
	return c.wholePlace(l.name, p.number)
}
