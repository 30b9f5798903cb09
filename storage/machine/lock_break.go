package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// breakMax is how many holds and places one command takes away.
	breakMax = 1024
	// breakBytesMax is how many bytes of rows it writes before it leaves the rest.
	breakBytesMax = 4 << 20
	// breakReadMax is how many holds it looks at: most may be delayed ones that were lost under version 1.
	breakReadMax = 4096
)

// lockBreak is a break under way.
type lockBreak struct {
	lock   *lock
	reason string
	point  *storev1.BreakPoint // where the next command goes on
	left   *table.Stint
	result *storev1.BreakLockResult
}

// breakLock takes a lock away: from a session, or one owner of it, or from all holders. Waiters go only with their
// session named. Lock-delay applies, and keys stay. What one command leaves is for the next, which is told where to go on; what was
// granted or queued since the first one is none of it.
func (c breakVerbs) breakLock(b *storev1.BreakLock) (*storev1.BreakLockResult, error) {
	n, err := c.name(b.GetKey())
	if err != nil {
		return nil, err
	}
	if len(b.GetSessionId()) == 0 && b.Owner != nil {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_BREAK_WITHOUT_SESSION)
	}
	if b.GetFrom() != nil || b.GetMost() != 0 {
		if err = rule.NeedVersion2(c.state.ClusterVersion); err != nil {
			return nil, err
		}
	}
	l, err := c.lock(n)
	if err != nil {
		return nil, err
	}
	k := &lockBreak{lock: l, reason: b.GetReason(), left: c.breakStint(b.GetMost()), result: &storev1.BreakLockResult{}}
	k.point = &storev1.BreakPoint{
		Revision: c.state.Revision, LastLockIndex: l.head.GetLockIndex(), AfterLockIndex: b.GetFrom().GetAfterLockIndex(),
	}
	if from := b.GetFrom(); from != nil {
		k.point.Revision, k.point.LastLockIndex = from.GetRevision(), from.GetLastLockIndex()
	}
	if len(b.GetSessionId()) == 0 {
		err = c.breakAll(k)
	} else {
		err = c.breakSession(k, b)
	}
	if err != nil {
		return nil, err
	}
	if k.result.GetRemaining() > 0 {
		k.result.Next = k.point
	}
	return k.result, c.queue.grantTouched()
}

// breakStint returns how much one command breaks.
func (c breakVerbs) breakStint(most uint32) *table.Stint {
	if c.state.ClusterVersion < layout.Version2 {
		return table.Endless()
	}
	s := &table.Stint{Rows: breakMax, Bytes: breakBytesMax}
	if most > 0 {
		s.Rows = min(s.Rows, int(most))
	}
	return s
}

// breakAll takes the valid holds away from all holders, in their order.
func (c breakVerbs) breakAll(k *lockBreak) error {
	holds, last, more, err := c.holdsToBreak(k)
	if err != nil {
		return err
	}
	for _, h := range holds {
		if k.left.Over() {
			more = true
			break
		}
		if err = c.breakHold(k, h); err != nil {
			return err
		}
		k.point.AfterLockIndex = h.GetLockIndex()
	}
	if !more {
		return nil
	}
	if int(k.result.GetHolds()) == len(holds) {
		k.point.AfterLockIndex = last
	}
	newer, err := c.grantedSince(k)
	if err != nil {
		return err
	}
	k.result.Remaining = k.lock.head.GetHolders() - newer
	return nil
}

// holdsToBreak returns the valid holds that come next, the last one that it looked at, and whether there may be more.
func (c breakVerbs) holdsToBreak(k *lockBreak) (holds []*storev1.HoldRecord, last uint64, more bool, err error) {
	readMax := breakReadMax
	if c.state.ClusterVersion < layout.Version2 {
		readMax = k.left.Rows
	}
	last = k.point.GetAfterLockIndex()
	read := 0
	err = records.ScanHolds(c.rows, k.lock.name, last, func(h *storev1.HoldRecord) bool {
		if h.GetFencingToken() > k.point.GetRevision() {
			return false
		}
		if more = len(holds) >= k.left.Rows || read >= readMax; more {
			return false
		}
		read++
		last = h.GetLockIndex()
		if !h.GetDelayed() {
			holds = append(holds, h)
		}
		return true
	})
	return holds, last, more, err
}

// grantedSince counts the valid holds that were granted since the first command of a break, as far as one command looks.
func (c breakVerbs) grantedSince(k *lockBreak) (newer uint32, err error) {
	if k.lock.head.GetLockIndex() <= k.point.GetLastLockIndex() {
		return 0, nil
	}
	read := 0
	err = records.ScanHolds(c.rows, k.lock.name, k.point.GetLastLockIndex(), func(h *storev1.HoldRecord) bool {
		if !h.GetDelayed() {
			newer++
		}
		read++
		return read < breakReadMax
	})
	return newer, err
}

// breakSession takes the holds and the places of a session away, or those of one owner of it.
func (c breakVerbs) breakSession(k *lockBreak, b *storev1.BreakLock) error {
	holds, places, err := c.brokenRows(k.lock, b)
	if err != nil {
		return err
	}
	if c.state.ClusterVersion < layout.Version2 {
		if err = c.breakHolds(k, holds); err != nil {
			return err
		}
		return c.breakPlaces(k, places)
	}
	// The end of the last hold may delete the key, which is the last event of the lock.
	if err = c.breakPlaces(k, places); err != nil {
		return err
	}
	return c.breakHolds(k, holds)
}

// breakHolds takes holds away that were there when the break began.
func (c breakVerbs) breakHolds(k *lockBreak, holds []*storev1.HoldRecord) error {
	for _, h := range holds {
		switch {
		case h.GetFencingToken() > k.point.GetRevision():
		case k.left.Over():
			k.result.Remaining++
		default:
			if err := c.breakHold(k, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// breakHold takes a valid hold of a lock away. Its lock-delay begins.
func (c breakVerbs) breakHold(k *lockBreak, h *storev1.HoldRecord) error {
	r, err := c.sessionRecord(layout.SessionID(h.GetSessionId()))
	if err != nil {
		return err
	}
	mark := c.rows.Mark()
	err = c.locks.endHold(k.lock, h, ending{
		cause: storev1.HoldEndCause_HOLD_END_CAUSE_BROKEN, reason: k.reason, delayMs: r.GetLockDelayMs(),
	})
	k.result.Holds++
	k.left.Spend(1, c.rows.WrittenSince(mark))
	return err
}

// breakPlaces takes places in the queue of a lock away that were there when the break began.
func (c breakVerbs) breakPlaces(k *lockBreak, places []*place) error {
	for _, p := range places {
		switch {
		case p.number > k.point.GetRevision():
		case k.left.Over():
			k.result.Remaining++
		default:
			mark := c.rows.Mark()
			if err := c.queue.leave(k.lock, p, storev1.WaitEndCause_WAIT_END_CAUSE_BROKEN, k.reason); err != nil {
				return err
			}
			k.result.Places++
			k.left.Spend(1, c.rows.WrittenSince(mark))
		}
	}
	return nil
}

// brokenRows returns the valid holds and the places of a session, or of one owner of it.
func (c breakVerbs) brokenRows(l *lock, b *storev1.BreakLock) (holds []*storev1.HoldRecord, places []*place, err error) {
	id, err := rule.SessionID(b.GetSessionId())
	if err != nil {
		return nil, nil, err
	}
	all, err := c.sessionHolds(l, id)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range all {
		if b.Owner == nil || b.GetOwner() == h.GetOwner() {
			holds = append(holds, h)
		}
	}
	owners, err := c.waitingOwners(l, id)
	if err != nil {
		return nil, nil, err
	}
	for _, owner := range owners {
		if b.Owner != nil && b.GetOwner() != owner {
			continue
		}
		p, err := c.ownPlace(l, id, owner)
		if err != nil {
			return nil, nil, err
		}
		places = append(places, p)
	}
	return holds, places, nil
}

// waitingOwners returns the owners of a session's places in a queue, in order.
func (c breakVerbs) waitingOwners(l *lock, id layout.SessionID) ([]string, error) {
	var owners []string
	from := layout.OwnerRow(id, layout.ObjectPlace, l.name, "")
	err := c.rows.Scan(from, layout.RowsEnd(from), func(row, _ []byte) (bool, error) {
		owners = append(owners, string(row[len(from):]))
		return true, nil
	})
	return owners, err
}
