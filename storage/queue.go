package storage

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// place is one place in a queue.
type place struct {
	number uint64
	waiter *storev1.WaiterRecord
}

// ownPlace returns the place of a session's owner, or nil.
func (w *work) ownPlace(l *lock, id SessionID, owner string) (*place, error) {
	value, ok, err := w.rows.get(ownerRow(id, objectPlace, l.name, owner))
	if err != nil || !ok {
		return nil, err
	}
	if len(value) != 8 {
		return nil, fmt.Errorf("%w: place of session %s in %q", ErrCorrupt, id, l.name.key)
	}
	return w.place(l.name, binary.BigEndian.Uint64(value))
}

// place returns the place of a number, or nil.
func (w *work) place(n name, number uint64) (*place, error) {
	value, ok, err := w.rows.get(numberedRow(rowPlace, n, number))
	if err != nil || !ok {
		return nil, err
	}
	p := &place{number: number, waiter: &storev1.WaiterRecord{}}
	if err := decode(value, p.waiter); err != nil {
		return nil, fmt.Errorf("place %d of %q: %w", number, n.key, err)
	}
	return p, nil
}

// removePlace takes the rows of a place away. What the place was to its session is the caller's.
func (c *command) removePlace(l *lock, p *place) {
	id := SessionID(p.waiter.GetSessionId())
	c.rows.remove(numberedRow(rowPlace, l.name, p.number))
	c.rows.remove(ownerRow(id, objectPlace, l.name, p.waiter.GetOwner()))
	if p.waiter.GetWaitMs() > 0 {
		c.rows.remove(numberedRow(rowWait, l.name, p.number))
	}
	l.head.Waiters--
}

// leave ends a wait without a grant. Those behind may have waited only for this one.
func (c *command) leave(l *lock, p *place, cause storev1.WaitEndCause, reason string) error {
	c.removePlace(l, p)
	if err := c.dropObject(SessionID(p.waiter.GetSessionId())); err != nil {
		return err
	}
	c.emitLock(l.name, &storev1.Event{Kind: &storev1.Event_LockLeft{LockLeft: &storev1.LockLeft{
		Key:       l.name.key,
		Place:     p.number,
		SessionId: p.waiter.GetSessionId(),
		Owner:     p.waiter.GetOwner(),
		Cause:     cause,
		Reason:    reason,
	}}})
	c.touch(l.name)
	return c.saveLock(l)
}

// touch notes that waiters of a lock may be granted at the end of the command.
func (c *command) touch(n name) {
	if c.isTouched[n] {
		return
	}
	if c.isTouched == nil {
		c.isTouched = make(map[name]bool)
	}
	c.isTouched[n] = true
	c.touched = append(c.touched, n)
}

// grantTouched grants to the waiters of all locks that the command touched, in the order it touched them.
func (c *command) grantTouched() error {
	if c.grantsLater {
		return nil
	}
	touched := c.touched
	c.touched, c.isTouched = nil, nil
	for _, n := range touched {
		if err := c.grantQueue(n); err != nil {
			return err
		}
	}
	return nil
}

// grantQueue grants to a lock's waiters from the first on, until one does not fit. Nobody passes: where it stops, for
// whatever reason, all behind wait on. What the command has no room for is left to GrantWaiters.
func (c *command) grantQueue(n name) error {
	l, err := c.lock(n)
	if err != nil {
		return err
	}
	if l.head.GetWaiters() == 0 {
		return c.markUngranted(n, false)
	}
	next, left, err := c.nextGrants(l)
	if err != nil {
		return err
	}
	for _, p := range next {
		if err := c.grantPlace(l, p); err != nil {
			return err
		}
	}
	return c.markUngranted(n, left)
}

// nextGrants returns the places to grant now, and whether more would be granted but for the size of the command or a
// freeze.
func (c *command) nextGrants(l *lock) (next []*place, left bool, err error) {
	frozen, err := isFrozen(c.rows)
	if err != nil {
		return nil, false, err
	}
	limits, err := c.effectiveLimits()
	if err != nil {
		return nil, false, err
	}
	after := proto.CloneOf(l.head)
	from := nameRows(rowPlace, l.name)
	err = c.rows.scan(from, rowsEnd(from), func(row, value []byte) (bool, error) {
		p := &place{waiter: &storev1.WaiterRecord{}}
		var ok bool
		if _, p.number, ok = cutNumberedRow(row); !ok {
			return false, fmt.Errorf("%w: place in %q", ErrCorrupt, l.name.key)
		}
		if err = decode(value, p.waiter); err != nil {
			return false, err
		}
		if !fits(after, limits.GetHoldersMax(), p.waiter.GetMode(), p.waiter.GetPermits()) {
			return false, nil
		}
		if frozen || c.granted+len(next) >= grantsMax {
			left = true
			return false, nil
		}
		after.Mode = p.waiter.GetMode()
		after.Holders++
		after.PermitsHeld += p.waiter.GetPermits()
		next = append(next, p)
		return true, nil
	})
	return next, left, err
}

// grantPlace turns a place into a hold, and writes the key as the waiter wished.
func (c *command) grantPlace(l *lock, p *place) error {
	id := SessionID(p.waiter.GetSessionId())
	r, err := c.sessionRecord(id)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("%w: place %d of %q without session", ErrCorrupt, p.number, l.name.key)
	}
	c.removePlace(l, p)
	ask := request{
		session: session{id: id, record: r},
		owner:   p.waiter.GetOwner(),
		mode:    p.waiter.GetMode(),
		permits: p.waiter.GetPermits(),
		limit:   l.head.GetLimit(),
		place:   p.number,
	}
	if _, err := c.grant(l, ask); err != nil {
		return err
	}
	return c.keyGranted(l, ask.mode, p.waiter.GetValue(), p.waiter.GetFlags())
}

// keyGranted does to a key what a grant from AcquireLock does: a missing one is made, a given value is written, and an
// EXCLUSIVE grant moves an existing one.
func (c *command) keyGranted(l *lock, mode storev1.LockMode, value []byte, flags uint64) error {
	k, err := c.keyRecord(l.name)
	if err != nil {
		return err
	}
	switch {
	case value != nil || k == nil:
		_, err = c.writeKey(l.name, l.head, k, write{value: value, flags: flags})
	case mode == storev1.LockMode_LOCK_MODE_EXCLUSIVE:
		err = c.moveKey(l.name, l.head, storev1.KeyChange_KEY_CHANGE_GRANTED)
	}
	return err
}

// markUngranted notes whether a lock's waiters are left to GrantWaiters.
func (c *command) markUngranted(n name, left bool) error {
	row := nameRow(rowUngranted, n)
	_, marked, err := c.rows.get(row)
	if err != nil || marked == left {
		return err
	}
	if left {
		c.rows.set(row, nil)
		c.state.GrantsLeft++
		return nil
	}
	c.rows.remove(row)
	c.state.GrantsLeft--
	return nil
}

// grantWaiters grants what earlier commands left because of their size.
func (c *command) grantWaiters(g *storev1.GrantWaiters) (*storev1.Result, error) {
	if err := c.checkTerm(g.GetTerm()); err != nil {
		return nil, err
	}
	frozen, err := isFrozen(c.rows)
	if err != nil {
		return nil, err
	}
	if frozen {
		return nil, broken(storev1.FailureReason_FAILURE_REASON_FROZEN, "grants are frozen after a restore")
	}
	return &storev1.Result{}, c.grantLeft()
}

// grantLeft grants to the waiters of locks that were left ungranted, by key, as many as one command may.
func (c *command) grantLeft() error {
	var names []name
	err := c.rows.scan([]byte{rowUngranted}, []byte{rowUngranted + 1}, func(row, _ []byte) (bool, error) {
		n, ok := cutNameRow(row)
		if !ok {
			return false, fmt.Errorf("%w: lock left ungranted", ErrCorrupt)
		}
		names = append(names, n)
		return len(names) < grantsMax, nil
	})
	if err != nil {
		return err
	}
	for _, n := range names {
		if c.granted >= grantsMax {
			return nil
		}
		if err := c.grantQueue(n); err != nil {
			return err
		}
	}
	return nil
}
