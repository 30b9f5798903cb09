package records

import (
	"encoding/binary"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// VerifiedMax is the largest number of rows of one lock, session or window that an invariant counts.
const VerifiedMax = 64

// VerifyLock checks a lock's head against the rows that it counts.
func VerifyLock(rows table.Reader, n layout.Name) error {
	head, err := LockHead(rows, n)
	if err != nil || head == nil {
		return err
	}
	if head.GetHolders()+head.GetDelayed()+head.GetWaiters() > VerifiedMax {
		return nil
	}
	if err = verifyHolds(rows, n, head); err != nil {
		return err
	}
	if err = verifyPlaces(rows, n, head); err != nil {
		return err
	}
	invariants.That(IsIdle(head) == (head.GetMode() == storev1.LockMode_LOCK_MODE_UNSPECIFIED),
		"the lock %q has mode %v, %d holders, %d delayed, %d waiters",
		n.Key, head.GetMode(), head.GetHolders(), head.GetDelayed(), head.GetWaiters())
	if head.GetWaiters() == 0 {
		if err = verifyUnmarked(rows, n); err != nil {
			return err
		}
	}
	if head.GetMode() == storev1.LockMode_LOCK_MODE_EXCLUSIVE {
		invariants.That(head.GetHolders() <= 1, "%d sessions hold %q, which is EXCLUSIVE", head.GetHolders(), n.Key)
	}
	if head.GetMode() == storev1.LockMode_LOCK_MODE_SEMAPHORE {
		invariants.That(head.GetPermitsHeld()+head.GetPermitsDelayed() <= head.GetLimit(),
			"%d and %d permits of %q are taken, the limit is %d", head.GetPermitsHeld(), head.GetPermitsDelayed(), n.Key, head.GetLimit())
	}
	return nil
}

// verifyUnmarked checks that nothing says that a lock's waiters are to be looked at. Nobody waits for it.
func verifyUnmarked(rows table.Reader, n layout.Name) error {
	for _, kind := range []byte{layout.RowUngranted, layout.RowBlocked} {
		_, marked, err := rows.Get(layout.NameRow(kind, n))
		if err != nil {
			return err
		}
		invariants.That(!marked, "there is no waiter for %q, which is marked %q", n.Key, kind)
	}
	return nil
}

// verifyHolds counts the holds of a lock, valid and delayed.
func verifyHolds(rows table.Reader, n layout.Name, head *storev1.LockHead) error {
	holders, permits, err := verifyValid(rows, n, head)
	if err != nil {
		return err
	}
	delayed, permitsDelayed, err := verifyDelayed(rows, n, head)
	if err != nil {
		return err
	}
	invariants.That(holders == head.GetHolders() && delayed == head.GetDelayed(),
		"%q has %d holds and %d delayed ones, its head counts %d and %d", n.Key, holders, delayed, head.GetHolders(), head.GetDelayed())
	invariants.That(permits == head.GetPermitsHeld() && permitsDelayed == head.GetPermitsDelayed(),
		"%q has %d permits held and %d delayed, its head counts %d and %d",
		n.Key, permits, permitsDelayed, head.GetPermitsHeld(), head.GetPermitsDelayed())
	return nil
}

// holdOrder checks that the holds of a lock come by lock_index, and that their tokens grow.
type holdOrder struct {
	name         layout.Name
	head         *storev1.LockHead
	index, token uint64
}

func (o *holdOrder) next(h *storev1.HoldRecord) {
	invariants.That(h.GetLockIndex() > o.index && h.GetLockIndex() <= o.head.GetLockIndex(),
		"hold %d of %q follows %d, the newest is %d", h.GetLockIndex(), o.name.Key, o.index, o.head.GetLockIndex())
	invariants.That(h.GetFencingToken() >= o.token, "fencing token %d of %q follows %d", h.GetFencingToken(), o.name.Key, o.token)
	o.index, o.token = h.GetLockIndex(), h.GetFencingToken()
}

// verifyValid counts the valid holds of a lock. What else stands among them is delayed, and its own row says so.
func verifyValid(rows table.Reader, n layout.Name, head *storev1.LockHead) (holders, permits uint32, err error) {
	exclusive := uint32(0)
	order := holdOrder{name: n, head: head}
	scanErr := ScanHolds(rows, n, 0, func(h *storev1.HoldRecord) bool {
		order.next(h)
		_, hasDelay, getErr := rows.Get(layout.NumberedRow(layout.RowDelay, n, h.GetLockIndex()))
		owner, owned, ownerErr := rows.Get(layout.OwnerRow(layout.SessionID(h.GetSessionId()), layout.ObjectHold, n, h.GetOwner()))
		_, lives, sessionErr := rows.Get(layout.SessionRow(layout.RowSession, layout.SessionID(h.GetSessionId())))
		for _, e := range []error{getErr, ownerErr, sessionErr} {
			if e != nil {
				err = e
				return false
			}
		}
		invariants.That(hasDelay == h.GetDelayed(), "hold %d of %q is delayed %v, its delay is there %v",
			h.GetLockIndex(), n.Key, h.GetDelayed(), hasDelay)
		if h.GetDelayed() {
			return true
		}
		holders++
		permits += h.GetPermits()
		invariants.That(owned && len(owner) == 8 && binary.BigEndian.Uint64(owner) == h.GetLockIndex(),
			"hold %d of %q is not among the objects of its session", h.GetLockIndex(), n.Key)
		invariants.That(lives, "hold %d of %q is of a session that does not live", h.GetLockIndex(), n.Key)
		if h.GetMode() == storev1.LockMode_LOCK_MODE_EXCLUSIVE {
			exclusive++
			invariants.That(string(head.GetExclusiveSessionId()) == string(h.GetSessionId()),
				"the head of %q does not name its EXCLUSIVE holder", n.Key)
		}
		return true
	})
	invariants.That(exclusive == 0 || holders == 1, "%q has %d holders, one of them EXCLUSIVE", n.Key, holders)
	if err == nil {
		err = scanErr
	}
	return holders, permits, err
}

// verifyDelayed counts the delayed holds of a lock. The record of each is in its own row, or among the valid holds, and not in
// both; it says what the row begins with.
func verifyDelayed(rows table.Reader, n layout.Name, head *storev1.LockHead) (delayed, permits uint32, scanErr error) {
	order := holdOrder{name: n, head: head}
	from := layout.NameRows(layout.RowDelay, n)
	scanErr = rows.Scan(from, layout.RowsEnd(from), func(row, value []byte) (bool, error) {
		_, number, ok := layout.CutNumberedRow(row)
		if !ok {
			return false, fmt.Errorf("%w: delay row of %q", layout.ErrCorrupt, n.Key)
		}
		d, err := layout.CutDelayedRow(value)
		if err != nil {
			return false, err
		}
		h, err := delayedHold(rows, n, number, value)
		if err != nil {
			return false, err
		}
		_, among, err := rows.Get(layout.NumberedRow(layout.RowHold, n, number))
		if err != nil {
			return false, err
		}
		order.next(h)
		invariants.That(among == (len(d.Record) == 0), "delayed hold %d of %q is among the valid ones %v, its row has a record of %d bytes",
			number, n.Key, among, len(d.Record))
		invariants.That(h.GetDelayed() && h.GetLockIndex() == number && h.GetFencingToken() == d.Token && h.GetDelayMs() == d.DelayMs,
			"delayed hold %d of %q with token %d and delay %d has the record %v", number, n.Key, d.Token, d.DelayMs, h)
		delayed++
		permits += h.GetPermits()
		return true, nil
	})
	return delayed, permits, scanErr
}

// verifyPlaces counts the waiters of a lock.
func verifyPlaces(rows table.Reader, n layout.Name, head *storev1.LockHead) error {
	from := layout.NameRows(layout.RowPlace, n)
	waiters, last := uint32(0), uint64(0)
	err := rows.Scan(from, layout.RowsEnd(from), func(row, value []byte) (bool, error) {
		_, number, ok := layout.CutNumberedRow(row)
		if !ok {
			return false, fmt.Errorf("%w: place in %q", layout.ErrCorrupt, n.Key)
		}
		p, err := decodeWaiter(value)
		if err != nil {
			return false, err
		}
		invariants.That(number > last, "place %d of %q follows %d", number, n.Key, last)
		waiters, last = waiters+1, number
		id := layout.SessionID(p.GetSessionId())
		owner, owned, err := rows.Get(layout.OwnerRow(id, layout.ObjectPlace, n, p.GetOwner()))
		if err != nil {
			return false, err
		}
		invariants.That(owned && len(owner) == 8 && binary.BigEndian.Uint64(owner) == number,
			"place %d of %q is not among the objects of its session", number, n.Key)
		part, err := ReadQueuePart(rows, n, p.GetOrdinal())
		if err != nil {
			return false, err
		}
		invariants.That(part.Waiters > 0 && (part.waiting == nil || part.waits(p.GetOrdinal()) && part.before(queuePartSize-1) <= int(part.Waiters)),
			"place %d of %q is not counted in its part of the queue", number, n.Key)
		_, waits, err := rows.Get(layout.NumberedRow(layout.RowWait, n, number))
		if err != nil {
			return false, err
		}
		invariants.That(waits == (p.GetWaitMs() > 0), "place %d of %q waits for %d ms, its timer is there %v", number, n.Key, p.GetWaitMs(), waits)
		return true, nil
	})
	if err != nil {
		return err
	}
	invariants.That(waiters == head.GetWaiters(), "%q has %d waiters, its head counts %d", n.Key, waiters, head.GetWaiters())
	return nil
}

// VerifyWindow checks the head of a request window against the requests that it counts.
func VerifyWindow(rows table.Reader, id layout.SessionID, head *storev1.RequestWindowRecord) error {
	if head == nil || head.GetRequests() > VerifiedMax {
		return nil
	}
	requests, size := uint32(0), uint64(0)
	err := rows.Scan(layout.RequestRow(id, head.GetEpoch(), 0), layout.RequestRow(id, head.GetEpoch()+1, 0), func(_, value []byte) (bool, error) {
		requests++
		size += uint64(len(value))
		return true, nil
	})
	if err != nil {
		return err
	}
	invariants.That(requests == head.GetRequests() && size == head.GetBytes(),
		"a request window has %d requests of %d bytes, its head counts %d of %d", requests, size, head.GetRequests(), head.GetBytes())
	return nil
}
