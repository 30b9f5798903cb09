package machine

import (
	"math"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

// ownerBytesMax is the longest name of an owner.
const ownerBytesMax = 256

// acquireLock takes a lock, or queues for it, or tells who stands before.
func (c lockVerbs) acquireLock(a *storev1.AcquireLock) (*storev1.AcquireLockResult, error) {
	n, err := c.name(a.GetKey())
	if err != nil {
		return nil, err
	}
	if err = checkAcquire(a); err != nil {
		return nil, err
	}
	s, err := c.sessions.session(a.GetSession())
	if err != nil {
		return nil, err
	}
	l, err := c.lock(n)
	if err != nil {
		return nil, err
	}
	out, err := c.attach(l, s, a)
	if err != nil || out != nil {
		return out, err
	}
	if err = c.checkMode(l, a); err != nil {
		return nil, err
	}
	ask := request{
		session: s, owner: a.GetOwner(), mode: a.GetMode(), permits: a.GetPermits(), limit: a.GetLimit(),
	}
	free, err := c.free(l, ask)
	switch {
	case err != nil:
		return nil, err
	case free:
		if err = c.needSpace(); err != nil {
			return nil, err
		}
		h, err := c.grant(l, ask)
		if err != nil {
			return nil, err
		}
		return holdResult(n, h), c.queue.keyGranted(l, ask.mode, write{
			value: a.GetValue(), flags: a.GetFlags(), byLock: c.keys.keyGoes(a),
		})
	case a.GetQueue():
		return c.queue.enqueue(l, ask, a)
	default:
		state, err := records.LockState(c.rows, n, l.head)
		return &storev1.AcquireLockResult{Outcome: &storev1.AcquireLockResult_Refused{Refused: state}}, err
	}
}

func holdResult(n layout.Name, h *storev1.HoldRecord) *storev1.AcquireLockResult {
	return &storev1.AcquireLockResult{Outcome: &storev1.AcquireLockResult_Hold{Hold: records.HoldState(n.Key, h)}}
}

// checkAcquire refuses what the server should have.
func checkAcquire(a *storev1.AcquireLock) error {
	semaphore := a.GetMode() == storev1.LockMode_LOCK_MODE_SEMAPHORE
	switch {
	case a.GetMode() == storev1.LockMode_LOCK_MODE_UNSPECIFIED:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_LOCK_WITHOUT_MODE)
	case semaphore && (a.GetPermits() == 0 || a.GetPermits() > a.GetLimit()):
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_PERMITS_OUT_OF_RANGE)
	case !semaphore && (a.GetPermits() != 0 || a.GetLimit() != 0):
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_PERMITS_WITHOUT_SEMAPHORE)
	case len(a.GetOwner()) > ownerBytesMax:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_OWNER_TOO_LONG, len(a.GetOwner()), ownerBytesMax)
	case len(a.GetValue()) > valueBytesMax:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_VALUE_TOO_LONG, len(a.GetValue()), valueBytesMax)
	case a.GetWaitMs() < 0:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_NEGATIVE_WAIT)
	case a.GetWaitMs() > 0 && !a.GetQueue():
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_WAIT_WITHOUT_QUEUE)
	default:
		return nil
	}
}

// attach answers a call whose session and owner hold or queue already; nil if they do not.
func (c lockVerbs) attach(l *lock, s session, a *storev1.AcquireLock) (*storev1.AcquireLockResult, error) {
	h, err := c.ownHold(l, s.id, a.GetOwner())
	if err != nil {
		return nil, err
	}
	if h != nil {
		if h.GetMode() != a.GetMode() || h.GetPermits() != a.GetPermits() {
			return nil, c.mismatch(l, storev1.FailureDetail_FAILURE_DETAIL_HELD_OTHERWISE)
		}
		out := holdResult(l.name, h)
		out.Attached = true
		return out, nil
	}
	p, err := c.ownPlace(l, s.id, a.GetOwner())
	if err != nil || p == nil {
		return nil, err
	}
	if p.waiter.GetMode() != a.GetMode() || p.waiter.GetPermits() != a.GetPermits() {
		return nil, c.mismatch(l, storev1.FailureDetail_FAILURE_DETAIL_WAITS_OTHERWISE)
	}
	if a.GetQueue() {
		if err = c.find(l.name, p); err != nil {
			return nil, err
		}
	}
	state, err := records.LockState(c.rows, l.name, l.head)
	return &storev1.AcquireLockResult{
		Outcome:  &storev1.AcquireLockResult_Place{Place: &storev1.PlaceState{Place: p.number}},
		Attached: true,
		Lock:     state,
	}, err
}

// find notes that one more call waits on a place.
func (c lockVerbs) find(n layout.Name, p *place) error {
	if p.waiter.GetFound() {
		return nil
	}
	whole, err := c.wholePlace(n, p.number)
	if err != nil {
		return err
	}
	if c.state.ClusterVersion < layout.Version3 || whole.valueBytes >= layout.BriefValueMin {
		whole.waiter.Found = true // Each count writes the place anew, and its value with it.
	} else {
		whole.waiter.MoreCalls++
	}
	return c.queue.savePlace(n, p.number, whole.waiter)
}

// leftByOne notes that a call no longer waits on a place, and reports whether the place remains because others do. One that was found before
// cluster version 3, or whose value is large, remains: nobody has counted them.
func (c queueVerbs) leftByOne(n layout.Name, p *place) (remains bool, err error) {
	if p.waiter.GetFound() || p.waiter.GetMoreCalls() == 0 {
		return p.waiter.GetFound(), nil
	}
	whole, err := c.wholePlace(n, p.number)
	if err != nil {
		return false, err
	}
	whole.waiter.MoreCalls--
	return true, c.savePlace(n, p.number, whole.waiter)
}

// findAgain notes that a retry which got the first result waits on the place that the first attempt made.
func (c lockVerbs) findAgain(cmd *storev1.Command, result *storev1.Result) error {
	made := result.GetAcquireLock().GetPlace()
	if made == nil {
		return nil
	}
	n := layout.Name{NS: c.ns, Key: cmd.GetAcquireLock().GetKey()}
	p, err := c.place(n, made.GetPlace())
	if err != nil || p == nil {
		return err
	}
	if err := c.find(n, p); err != nil {
		return err
	}
	c.rows.Seal(c.sum)
	return nil
}

// checkMode refuses to mix SEMAPHORE with the two other modes, and limits of permits, while a lock is in use.
func (c lockVerbs) checkMode(l *lock, a *storev1.AcquireLock) error {
	const semaphore = storev1.LockMode_LOCK_MODE_SEMAPHORE
	used := l.head.GetMode()
	switch {
	case used == storev1.LockMode_LOCK_MODE_UNSPECIFIED:
		return nil
	case (used == semaphore) != (a.GetMode() == semaphore):
		return c.mismatch(l, storev1.FailureDetail_FAILURE_DETAIL_IN_USE_AS, used)
	case used == semaphore && l.head.GetLimit() != a.GetLimit():
		return c.mismatch(l, storev1.FailureDetail_FAILURE_DETAIL_OTHER_LIMIT, l.head.GetLimit(), a.GetLimit())
	default:
		return nil
	}
}

// mismatch returns the failure of a request whose mode, permits or limit do not go with what is.
func (c lockVerbs) mismatch(l *lock, detail storev1.FailureDetail, arguments ...any) error {
	state, err := records.LockState(c.rows, l.name, l.head)
	if err != nil {
		return err
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_LOCK_MODE_MISMATCH, detail, append([]any{l.name.Key}, arguments...)...)
	f.Failure.Key = l.name.Key
	f.Failure.Lock = state
	f.Failure.Limit = uint64(l.head.GetLimit())
	return f
}

// enqueue gives a request the last place in the queue.
func (c queueVerbs) enqueue(l *lock, ask request, a *storev1.AcquireLock) (*storev1.AcquireLockResult, error) {
	limits, err := c.effectiveLimits()
	if err != nil {
		return nil, err
	}
	if l.head.GetWaiters() >= limits.GetWaitersMax() {
		return nil, rule.Exceeded("waiters_max", uint64(limits.GetWaitersMax()))
	}
	if err = c.needSpace(); err != nil {
		return nil, err
	}
	if err = c.sessions.addObject(ask.session.id); err != nil {
		return nil, err
	}
	place := c.revision
	err = c.savePlace(l.name, place, &storev1.WaiterRecord{
		FormatVersion: layout.RecordFormat,
		SessionId:     ask.session.id[:],
		Owner:         ask.owner,
		Mode:          ask.mode,
		Permits:       ask.permits,
		Value:         a.GetValue(),
		Flags:         a.GetFlags(),
		WaitMs:        a.GetWaitMs(),
		QueueTimeMs:   c.wallMs,
		QueueRevision: c.revision,
		Ordinal:       l.head.GetQueued(),
		KeyGoes:       c.keys.keyGoes(a),
	})
	if err != nil {
		return nil, err
	}
	c.rows.Set(layout.OwnerRow(ask.session.id, layout.ObjectPlace, l.name, ask.owner), layout.AppendUint64s(nil, place))
	if a.GetWaitMs() > 0 {
		c.rows.Set(layout.NumberedRow(layout.RowWait, l.name, place), layout.AppendUint64s(ask.session.id[:], uint64(a.GetWaitMs())))
	}
	position := l.head.GetWaiters()
	if position == 0 {
		if err = c.markFirst(l, limits, ask); err != nil {
			return nil, err
		}
	}
	if err = c.joinQueue(l, place); err != nil {
		return nil, err
	}
	if l.head.GetMode() == storev1.LockMode_LOCK_MODE_UNSPECIFIED {
		l.head.Mode, l.head.Limit = ask.mode, ask.limit
	}
	if err = c.locks.saveLock(l); err != nil {
		return nil, err
	}
	told := position
	if c.state.ClusterVersion < layout.Version2 {
		told = 0 // The program of version 1 did not tell.
	}
	c.emitLock(l.name, &storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{
		Key:       l.name.Key,
		Place:     place,
		SessionId: ask.session.id[:],
		Owner:     ask.owner,
		Mode:      ask.mode,
		Permits:   ask.permits,
		WaitMs:    a.GetWaitMs(),
		Position:  told,
	}}})
	state, err := records.LockState(c.rows, l.name, l.head)
	return &storev1.AcquireLockResult{
		Outcome: &storev1.AcquireLockResult_Place{Place: &storev1.PlaceState{Place: place, Position: position}},
		Lock:    state,
	}, err
}

// markFirst notes what else than the holds of others the first waiter of a lock waits for.
func (c queueVerbs) markFirst(l *lock, limits *storev1.Limits, ask request) error {
	switch {
	case fits(l.head, limits.GetHoldersMax(), ask.mode, ask.permits): // Only a freeze stands before it.
		return c.markUngranted(l.name, true)
	case fits(l.head, math.MaxUint32, ask.mode, ask.permits):
		return c.markBlocked(l.name, true)
	default:
		return nil
	}
}

// cancelWait gives a place up. Where the grant came first, it says so and leaves the hold.
func (c queueVerbs) cancelWait(w *storev1.CancelWait) (*storev1.CancelWaitResult, error) {
	n, err := c.name(w.GetKey())
	if err != nil {
		return nil, err
	}
	s, err := c.sessions.session(w.GetSession())
	if err != nil {
		return nil, err
	}
	l, err := c.lock(n)
	if err != nil {
		return nil, err
	}
	p, err := c.ownPlace(l, s.id, w.GetOwner())
	if err != nil {
		return nil, err
	}
	if p == nil {
		var h *storev1.HoldRecord
		if h, err = c.ownHold(l, s.id, w.GetOwner()); err != nil || h == nil {
			return &storev1.CancelWaitResult{}, err
		}
		return &storev1.CancelWaitResult{Hold: records.HoldState(n.Key, h)}, nil
	}
	remains := w.GetPlace() != 0 && w.GetPlace() != p.number
	if w.GetUnlessFound() && !remains {
		remains, err = c.leftByOne(n, p)
	}
	if err != nil || remains {
		return &storev1.CancelWaitResult{}, err
	}
	if err = c.leave(l, p, storev1.WaitEndCause_WAIT_END_CAUSE_CANCELLED, ""); err != nil {
		return nil, err
	}
	return &storev1.CancelWaitResult{Cancelled: true}, c.grantTouched()
}

// endWaits ends waits whose time has run out.
func (c queueVerbs) endWaits(e *storev1.EndWaits) (*storev1.Result, error) {
	if err := c.checkTerm(e.GetTerm()); err != nil {
		return nil, err
	}
	for _, ref := range e.GetPlaces() {
		n, err := c.name(ref.GetKey())
		if err != nil {
			return nil, err
		}
		p, err := c.place(n, ref.GetPlace())
		if err != nil {
			return nil, err
		}
		if p == nil || string(p.waiter.GetSessionId()) != string(ref.GetSessionId()) {
			continue
		}
		l, err := c.lock(n)
		if err != nil {
			return nil, err
		}
		if err := c.leave(l, p, storev1.WaitEndCause_WAIT_END_CAUSE_TIMED_OUT, ""); err != nil {
			return nil, err
		}
	}
	return &storev1.Result{}, c.grantTouched()
}
