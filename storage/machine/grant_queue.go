package machine

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

const (
	// grantsMax is how many waiters one command grants; grantsMax1 was it under version 1.
	grantsMax  = 256
	grantsMax1 = 4096
	// grantBytesMax is how many bytes of waiters, with the values that they write, and of the keys that are granted, one command reads
	// before it leaves the rest. A first waiter that must wait on counts, too.
	// Version 1 had no bound.
	grantBytesMax = 4 << 20
)

// grantsMax returns how many waiters the command grants at most.
func (c queueVerbs) grantsMax() int {
	if c.state.ClusterVersion < layout.Version2 {
		return grantsMax1
	}
	return grantsMax
}

// grantsOver reports whether the command grants no more than it has, and so many that it is about to.
func (c queueVerbs) grantsOver(pending int) bool {
	return c.granted+c.passed+pending >= c.grantsMax() || c.state.ClusterVersion >= layout.Version2 && c.readBytes >= grantBytesMax
}

// touch notes that waiters of a lock may be granted at the end of the command.
func (c queueVerbs) touch(n layout.Name) {
	if c.isTouched[n] {
		return
	}
	if c.isTouched == nil {
		c.isTouched = make(map[layout.Name]bool)
	}
	c.isTouched[n] = true
	c.touched = append(c.touched, n)
}

// grantTouched grants to the waiters of all locks that the command touched, in the order it touched them.
func (c queueVerbs) grantTouched() error {
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
func (c queueVerbs) grantQueue(n layout.Name) error {
	l, err := c.lock(n)
	if err != nil {
		return err
	}
	var stop queueStop
	switch {
	case l.head.GetWaiters() == 0:
	case c.state.ClusterVersion >= layout.Version2 && c.grantsOver(0):
		stop = stopLeft // Whoever is first there is not even read.
	default:
		var next []*place
		if next, stop, err = c.nextGrants(l); err != nil {
			return err
		}
		for _, p := range next {
			if err := c.grantPlace(l, p); err != nil {
				return err
			}
		}
	}
	if err := c.markBlocked(n, stop == stopLimit); err != nil {
		return err
	}
	return c.markUngranted(n, stop == stopLeft)
}

// queueStop says what the first waiter waits for, once all before it were granted.
type queueStop int

const (
	stopOthers queueStop = iota // for holds of others, or nobody waits
	stopLeft                    // for GrantWaiters, or the end of a freeze
	stopLimit                   // for nothing but a higher limit of holders
)

// nextGrants returns the places to grant now, those of dead sessions among them, and what the next one waits for.
func (c queueVerbs) nextGrants(l *lock) (next []*place, stop queueStop, err error) {
	frozen, err := records.IsFrozen(c.rows)
	if err != nil {
		return nil, stopOthers, err
	}
	limits, err := c.effectiveLimits()
	if err != nil {
		return nil, stopOthers, err
	}
	after := proto.CloneOf(l.head)
	from := layout.NameRows(layout.RowPlace, l.name)
	err = c.rows.Scan(from, layout.RowsEnd(from), func(row, value []byte) (bool, error) {
		_, number, ok := layout.CutNumberedRow(row)
		if !ok {
			return false, fmt.Errorf("%w: place in %q", layout.ErrCorrupt, l.name.Key)
		}
		p, placeErr := decodePlace(number, row, value)
		if placeErr != nil {
			return false, placeErr
		}
		over := c.grantsOver(len(next))
		c.readBytes += uint64(len(row) + len(value))
		if p.dead, err = c.isDead(p); err != nil {
			return false, err
		}
		if !p.dead && !fits(after, limits.GetHoldersMax(), p.waiter.GetMode(), p.waiter.GetPermits()) {
			if fits(after, math.MaxUint32, p.waiter.GetMode(), p.waiter.GetPermits()) {
				stop = stopLimit
			}
			return false, nil
		}
		if frozen || over {
			stop = stopLeft
			return false, nil
		}
		next = append(next, p)
		if p.dead {
			return true, nil
		}
		after.Mode = p.waiter.GetMode()
		after.Holders++
		after.PermitsHeld += p.waiter.GetPermits()
		return true, nil
	})
	return next, stop, err
}

// isDead reports whether a place has no live waiter: there is no place, or, from version 3 on, the end list has ended its session.
func (c queueVerbs) isDead(p *place) (bool, error) {
	if p == nil || c.state.ClusterVersion < layout.Version3 {
		return p == nil, nil
	}
	return c.catalog.MarkedSession(layout.SessionID(p.waiter.GetSessionId()))
}

// grantPlace turns a place into a hold, and writes the key as the waiter wished. The wait of a dead session ends instead.
func (c queueVerbs) grantPlace(l *lock, p *place) error {
	if p.dead {
		c.passed++
		return c.endWait(l, p, storev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED, "")
	}
	id := layout.SessionID(p.waiter.GetSessionId())
	r, err := c.sessionRecord(id)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("%w: place %d of %q without session", layout.ErrCorrupt, p.number, l.name.Key)
	}
	if err = c.removePlace(l, p); err != nil {
		return err
	}
	ask := request{
		session: session{id: id, record: r},
		owner:   p.waiter.GetOwner(),
		mode:    p.waiter.GetMode(),
		permits: p.waiter.GetPermits(),
		limit:   l.head.GetLimit(),
		place:   p.number,
	}
	if _, err := c.locks.grant(l, ask); err != nil {
		return err
	}
	return c.keyGranted(l, ask.mode, write{
		value: p.waiter.GetValue(), flags: p.waiter.GetFlags(), byLock: p.waiter.GetKeyGoes(),
	})
}

// keyGranted does to a key what a grant from AcquireLock does: a missing one is made, a given value is written, and an
// EXCLUSIVE grant moves an existing one. A key that a lock made stays from the first grant on that wants it to.
func (c queueVerbs) keyGranted(l *lock, mode storev1.LockMode, w write) error {
	k, err := c.keyFacts(l.name)
	if err != nil {
		return err
	}
	c.readBytes += uint64(k.rowBytes)
	if k.record.GetMadeByLock() && !w.byLock {
		if k, err = c.keepKey(l.name, k); err != nil {
			return err
		}
	}
	switch {
	case w.value != nil || k.record == nil:
		w.byLock = w.byLock && w.value == nil
		_, err = c.keys.writeKey(l.name, l.head, k, w)
	case mode == storev1.LockMode_LOCK_MODE_EXCLUSIVE:
		err = c.keys.moveKey(l.name, l.head, storev1.KeyChange_KEY_CHANGE_GRANTED)
	}
	return err
}

// keepKey has a key stay that a lock made. Such a key has no value.
func (c queueVerbs) keepKey(n layout.Name, k keyFacts) (keyFacts, error) {
	k.record.MadeByLock = false
	if err := c.keys.saveKey(n, k, k.record); err != nil {
		return k, err
	}
	return c.keyFacts(n)
}

// markUngranted notes whether a lock's waiters are left to GrantWaiters.
func (c queueVerbs) markUngranted(n layout.Name, left bool) error {
	row := layout.NameRow(layout.RowUngranted, n)
	_, marked, err := c.rows.Get(row)
	if err != nil || marked == left {
		return err
	}
	if left {
		c.rows.Set(row, nil)
		c.state.GrantsLeft++
		return nil
	}
	c.rows.Remove(row)
	c.state.GrantsLeft--
	return nil
}

// grantWaiters grants what earlier commands left because of their size.
func (c queueVerbs) grantWaiters(g *storev1.GrantWaiters) (*storev1.Result, error) {
	if err := c.checkTerm(g.GetTerm()); err != nil {
		return nil, err
	}
	frozen, err := records.IsFrozen(c.rows)
	if err != nil {
		return nil, err
	}
	if frozen {
		return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_FROZEN, storev1.FailureDetail_FAILURE_DETAIL_GRANTS_FROZEN)
	}
	return &storev1.Result{}, c.grantLeft()
}

// grantLeft moves keys, and grants to the waiters of locks, that were left, by key, as many as one command may.
func (c queueVerbs) grantLeft() error {
	if err := c.keys.moveLeft(); err != nil {
		return err
	}
	if err := c.sweepBlocked(); err != nil {
		return err
	}
	var names []layout.Name
	err := c.rows.Scan([]byte{layout.RowUngranted}, []byte{layout.RowUngranted + 1}, func(row, _ []byte) (bool, error) {
		n, ok := layout.CutNameRow(row)
		if !ok {
			return false, fmt.Errorf("%w: lock left ungranted", layout.ErrCorrupt)
		}
		names = append(names, n)
		return len(names) < c.grantsMax(), nil
	})
	if err != nil {
		return err
	}
	for _, n := range names {
		if c.grantsOver(0) {
			return nil
		}
		if err := c.grantQueue(n); err != nil {
			return err
		}
	}
	return nil
}
