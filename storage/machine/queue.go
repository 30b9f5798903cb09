package machine

import (
	"encoding/binary"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

// place is one place in a queue.
type place struct {
	number     uint64
	waiter     *storev1.WaiterRecord
	rowBytes   uint64 // of its row
	valueBytes int    // that its grant writes
	dead       bool   // it is not granted: the end list has ended its session
}

// ownPlace returns the place of a session's owner without its value, or nil.
func (w *Work) ownPlace(l *lock, id layout.SessionID, owner string) (*place, error) {
	value, ok, err := w.owned(layout.OwnerRow(id, layout.ObjectPlace, l.name, owner), l.head.GetWaiters())
	if err != nil || !ok {
		return nil, err
	}
	if len(value) != 8 {
		return nil, fmt.Errorf("%w: place of session %s in %q", layout.ErrCorrupt, id, l.name.Key)
	}
	return w.place(l.name, binary.BigEndian.Uint64(value))
}

// place returns the place of a number without the value that its grant writes, which may be large; nil if there is none.
func (w *Work) place(n layout.Name, number uint64) (*place, error) {
	b, found, err := w.readBrief(layout.NumberedRow(layout.RowPlaceBrief, n, number))
	if err == nil && !found {
		row := layout.NumberedRow(layout.RowPlace, n, number)
		found, err = w.rows.View(row, func(value []byte) (err error) {
			b, err = layout.BriefOf(row, value, records.WaiterValueField)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("place %d of %q: %w", number, n.Key, err)
	}
	if !found {
		return nil, nil
	}
	p := &place{number: number, waiter: &storev1.WaiterRecord{}, rowBytes: b.RowBytes, valueBytes: b.ValueBytes}
	if err = layout.Decode(b.Record, p.waiter); err != nil {
		return nil, fmt.Errorf("place %d of %q: %w", number, n.Key, err)
	}
	return p, nil
}

// wholePlace is place with the value: for those who grant the place, or write it again.
func (w *Work) wholePlace(n layout.Name, number uint64) (*place, error) {
	row := layout.NumberedRow(layout.RowPlace, n, number)
	var p *place
	_, err := w.rows.View(row, func(value []byte) (err error) {
		p, err = decodePlace(number, row, value)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("place %d of %q: %w", number, n.Key, err)
	}
	return p, nil
}

// decodePlace reads a place's row with the value that its grant writes.
func decodePlace(number uint64, row, value []byte) (*place, error) {
	r := &storev1.WaiterRecord{}
	err := layout.Decode(value, r)
	return &place{number: number, waiter: r, rowBytes: uint64(len(row) + len(value)), valueBytes: len(r.GetValue())}, err
}

// savePlace writes a place's row.
func (c queueVerbs) savePlace(n layout.Name, number uint64, r *storev1.WaiterRecord) error {
	value, err := layout.Encode(r)
	if err != nil {
		return err
	}
	row, valueBytes := layout.NumberedRow(layout.RowPlace, n, number), len(r.GetValue())
	if err = c.saveBrief(layout.NumberedRow(layout.RowPlaceBrief, n, number), row, value, records.WaiterValueField, valueBytes, valueBytes); err != nil {
		return err
	}
	c.rows.Set(row, value)
	return nil
}

// removePlace takes the rows of a place away. What the place was to its session is the caller's.
func (c queueVerbs) removePlace(l *lock, p *place) error {
	id := layout.SessionID(p.waiter.GetSessionId())
	c.rows.RemoveSized(layout.NumberedRow(layout.RowPlace, l.name, p.number), p.rowBytes)
	c.dropBrief(layout.NumberedRow(layout.RowPlaceBrief, l.name, p.number), p.valueBytes)
	owned := layout.OwnerRow(id, layout.ObjectPlace, l.name, p.waiter.GetOwner())
	c.rows.RemoveSized(owned, uint64(len(owned)+8))
	if p.waiter.GetWaitMs() > 0 {
		wait := layout.NumberedRow(layout.RowWait, l.name, p.number)
		c.rows.RemoveSized(wait, uint64(len(wait)+len(id)+8))
	}
	return c.leaveQueue(l, p.waiter.GetOrdinal())
}

// leave ends a wait without a grant. Those behind may have waited only for this one.
func (c queueVerbs) leave(l *lock, p *place, cause storev1.WaitEndCause, reason string) error {
	c.touch(l.name)
	return c.endWait(l, p, cause, reason)
}

// endWait ends a wait without a grant.
func (c queueVerbs) endWait(l *lock, p *place, cause storev1.WaitEndCause, reason string) error {
	if err := c.removePlace(l, p); err != nil {
		return err
	}
	if err := c.sessions.dropObject(layout.SessionID(p.waiter.GetSessionId())); err != nil {
		return err
	}
	c.emitLock(l.name, &storev1.Event{Kind: &storev1.Event_LockLeft{LockLeft: &storev1.LockLeft{
		Key:       l.name.Key,
		Place:     p.number,
		SessionId: p.waiter.GetSessionId(),
		Owner:     p.waiter.GetOwner(),
		Cause:     cause,
		Reason:    reason,
	}}})
	return c.locks.saveLock(l)
}

// joinQueue counts a new last waiter.
func (c queueVerbs) joinQueue(l *lock, place uint64) error {
	ordinal := l.head.GetQueued()
	part, err := records.ReadQueuePart(c.rows, l.name, ordinal)
	if err != nil {
		return err
	}
	if part.Waiters == 0 {
		part.Begin(place, c.state.ClusterVersion >= layout.Version2)
	}
	part.Join(ordinal)
	c.rows.Set(records.QueuePartRow(l.name, ordinal), part.Row())
	l.head.Waiters++
	l.head.Queued++
	return nil
}

// leaveQueue counts a waiter less. An empty queue counts anew.
func (c queueVerbs) leaveQueue(l *lock, ordinal uint64) error {
	part, err := records.ReadQueuePart(c.rows, l.name, ordinal)
	if err != nil {
		return err
	}
	switch row := records.QueuePartRow(l.name, ordinal); part.Waiters {
	case 0:
		return fmt.Errorf("%w: queue of %q has no part of waiter %d", layout.ErrCorrupt, l.name.Key, ordinal)
	case 1:
		c.rows.Remove(row)
	default:
		part.Leave(ordinal)
		c.rows.Set(row, part.Row())
	}
	l.head.Waiters--
	if l.head.GetWaiters() == 0 {
		l.head.Queued = 0
	}
	return nil
}
