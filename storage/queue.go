package storage

import (
	"encoding/binary"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// place is one place in a queue.
type place struct {
	number uint64
	waiter *storev1.WaiterRecord
}

// ownPlace returns the place of a session's owner without its value, or nil.
func (w *work) ownPlace(l *lock, id SessionID, owner string) (*place, error) {
	value, ok, err := w.rows.get(layout.OwnerRow(id, layout.ObjectPlace, l.name, owner))
	if err != nil || !ok {
		return nil, err
	}
	if len(value) != 8 {
		return nil, fmt.Errorf("%w: place of session %s in %q", ErrCorrupt, id, l.name.Key)
	}
	return w.place(l.name, binary.BigEndian.Uint64(value))
}

// place returns the place of a number without the value that its grant writes, which may be large; nil if there is none.
func (w *work) place(n layout.Name, number uint64) (*place, error) {
	return w.readPlace(n, number, decodeWaiter)
}

// wholePlace is place with the value: for those who grant the place, or write it again.
func (w *work) wholePlace(n layout.Name, number uint64) (*place, error) {
	return w.readPlace(n, number, func(value []byte) (*storev1.WaiterRecord, error) {
		r := &storev1.WaiterRecord{}
		return r, layout.Decode(value, r)
	})
}

func (w *work) readPlace(
	n layout.Name, number uint64, decodePlace func(value []byte) (*storev1.WaiterRecord, error),
) (*place, error) {
	p := &place{number: number}
	found, err := w.rows.view(layout.NumberedRow(layout.RowPlace, n, number), func(value []byte) (err error) {
		p.waiter, err = decodePlace(value)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("place %d of %q: %w", number, n.Key, err)
	}
	if !found {
		return nil, nil
	}
	return p, nil
}

// removePlace takes the rows of a place away. What the place was to its session is the caller's.
func (c queueVerbs) removePlace(l *lock, p *place) error {
	id := SessionID(p.waiter.GetSessionId())
	c.rows.remove(layout.NumberedRow(layout.RowPlace, l.name, p.number))
	owned := layout.OwnerRow(id, layout.ObjectPlace, l.name, p.waiter.GetOwner())
	c.rows.removeSized(owned, uint64(len(owned)+8))
	if p.waiter.GetWaitMs() > 0 {
		wait := layout.NumberedRow(layout.RowWait, l.name, p.number)
		c.rows.removeSized(wait, uint64(len(wait)+len(id)+8))
	}
	return c.leaveQueue(l, p.waiter.GetOrdinal())
}

// leave ends a wait without a grant. Those behind may have waited only for this one.
func (c queueVerbs) leave(l *lock, p *place, cause storev1.WaitEndCause, reason string) error {
	if err := c.removePlace(l, p); err != nil {
		return err
	}
	if err := c.sessions.dropObject(SessionID(p.waiter.GetSessionId())); err != nil {
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
	c.touch(l.name)
	return c.locks.saveLock(l)
}
