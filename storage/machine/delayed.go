package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// beginDelay keeps a lost hold as a delayed one: from version 2 on apart from the valid ones.
func (c lockVerbs) beginDelay(l *lock, h *storev1.HoldRecord, how ending) error {
	h.Delayed = true
	h.DelayMs = how.delayMs
	h.Cause = how.cause
	h.LostTimeMs = c.wallMs
	l.head.Delayed++
	l.head.PermitsDelayed += h.GetPermits()
	record, err := layout.Encode(h)
	if err != nil {
		return err
	}
	among := layout.NumberedRow(layout.RowHold, l.name, h.GetLockIndex())
	value := layout.AppendUint64s(nil, h.GetFencingToken(), uint64(how.delayMs))
	if c.state.ClusterVersion < layout.Version2 {
		c.rows.Set(among, record)
	} else {
		c.rows.Remove(among)
		value = append(value, record...)
	}
	c.rows.Set(layout.NumberedRow(layout.RowDelay, l.name, h.GetLockIndex()), value)
	c.emitLock(l.name, &storev1.Event{Kind: &storev1.Event_LockDelayBegun{LockDelayBegun: &storev1.LockDelayBegun{
		Key:          l.name.Key,
		LockIndex:    h.GetLockIndex(),
		FencingToken: h.GetFencingToken(),
		DelayMs:      how.delayMs,
		SessionId:    h.GetSessionId(),
		SessionName:  h.GetSessionName(),
		Owner:        h.GetOwner(),
	}}})
	return nil
}

// endDelays ends lock-delays that have run, and grants what they stood against.
func (c lockVerbs) endDelays(e *storev1.EndDelays) (*storev1.Result, error) {
	if err := c.checkTerm(e.GetTerm()); err != nil {
		return nil, err
	}
	for _, ref := range e.GetDelays() {
		n, err := c.name(ref.GetKey())
		if err != nil {
			return nil, err
		}
		h, err := c.hold(n, ref.GetLockIndex())
		if err != nil {
			return nil, err
		}
		if !h.GetDelayed() || h.GetFencingToken() != ref.GetFencingToken() {
			continue
		}
		if err := c.endDelay(n, h); err != nil {
			return nil, err
		}
	}
	return &storev1.Result{}, c.queue.grantTouched()
}

func (c lockVerbs) endDelay(n layout.Name, h *storev1.HoldRecord) error {
	l, err := c.lock(n)
	if err != nil {
		return err
	}
	record := layout.NumberedRow(layout.RowHold, n, h.GetLockIndex())
	_, among, err := c.rows.Get(record)
	if err != nil {
		return err
	}
	if among {
		c.rows.Remove(record)
	}
	c.rows.Remove(layout.NumberedRow(layout.RowDelay, n, h.GetLockIndex()))
	l.head.Delayed--
	l.head.PermitsDelayed -= h.GetPermits()
	c.emitLock(n, &storev1.Event{Kind: &storev1.Event_LockDelayEnded{LockDelayEnded: &storev1.LockDelayEnded{
		Key:          n.Key,
		LockIndex:    h.GetLockIndex(),
		FencingToken: h.GetFencingToken(),
	}}})
	c.queue.touch(n)
	return c.saveLock(l)
}
