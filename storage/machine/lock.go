package machine

import (
	"encoding/binary"
	"fmt"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

// pastHoldsMax is how many ended holds a lock remembers for people.
const pastHoldsMax = 8

// pastReasonBytesMax is how much of the reason of its end a lock remembers with an ended hold: every change of the lock writes all of
// them again. The event has all of it. Version 1 remembered all.
const pastReasonBytesMax = 128

// lock is a key's lock: its head and its past holds. Holds and places have rows of their own.
type lock struct {
	name layout.Name
	head *storev1.LockHead // without past holds
	past layout.PastHolds
	// ended are the holds that ended since the lock was saved, at most pastHoldsMax.
	ended []*storev1.PastHold
}

// lock returns a key's lock; a key that was never locked has one that nobody ever held.
func (w *Work) lock(n layout.Name) (*lock, error) {
	head, past, err := records.ReadLock(w.rows, n)
	if err != nil {
		return nil, err
	}
	if head == nil {
		head = &storev1.LockHead{FormatVersion: layout.RecordFormat}
	}
	return &lock{name: n, head: head, past: past}, nil
}

// saveLock writes a lock's head after a change. A lock that nobody uses has no mode.
func (c lockVerbs) saveLock(l *lock) error {
	h := l.head
	if records.IsIdle(h) {
		c.keys.noteIdle(l.name)
		h.Mode = storev1.LockMode_LOCK_MODE_UNSPECIFIED
		h.Limit = 0
	}
	h.ModRevision = c.revision
	var err error
	if len(l.ended) > 0 {
		if l.past, err = l.past.Add(l.ended, pastHoldsMax); err != nil {
			return err
		}
		l.ended = nil
	}
	value, err := layout.EncodeLock(h, l.past)
	if err != nil {
		return err
	}
	c.rows.Set(layout.NameRow(layout.RowLock, l.name), value)
	c.refreshPut(l.name, h)
	return nil
}

// noteKeyGone makes the deletion of a key the last change of its lock, if it has one: the lock is forgotten no sooner.
func (c lockVerbs) noteKeyGone(n layout.Name) error {
	head, past, err := records.ReadLock(c.rows, n)
	if err != nil || head == nil {
		return err
	}
	return c.saveLock(&lock{name: n, head: head, past: past})
}

// request is what somebody wants of a lock.
type request struct {
	session session
	owner   string
	mode    storev1.LockMode
	permits uint32
	limit   uint32
	place   uint64 // in the queue; zero if it did not wait
	remade  bool   // takes the room of the hold that it replaces in the same command
}

// fits says whether holds and delayed holds leave room for a request, whoever waits.
func fits(head *storev1.LockHead, holdersMax uint32, mode storev1.LockMode, permits uint32) bool {
	used := head.GetHolders() + head.GetDelayed()
	switch {
	case used == 0:
		return true
	case used >= holdersMax:
		return false
	case mode == storev1.LockMode_LOCK_MODE_SHARED:
		return head.GetMode() == storev1.LockMode_LOCK_MODE_SHARED
	case mode == storev1.LockMode_LOCK_MODE_SEMAPHORE:
		taken := uint64(head.GetPermitsHeld()) + uint64(head.GetPermitsDelayed()) + uint64(permits)
		return head.GetMode() == mode && taken <= uint64(head.GetLimit())
	default:
		return false
	}
}

// free says whether a request can be granted now: nothing stands against it, nobody waits, and grants are not frozen.
func (c lockVerbs) free(l *lock, ask request) (bool, error) {
	if l.head.GetWaiters() > 0 {
		return false, nil
	}
	limits, err := c.effectiveLimits()
	if err != nil || !fits(l.head, limits.GetHoldersMax(), ask.mode, ask.permits) {
		return false, err
	}
	frozen, err := records.IsFrozen(c.rows)
	return !frozen, err
}

// grant makes a new hold of a request that fits, with the next lock_index and the command's revision as token. The
// caller sees to the key. A request that waited keeps the object that its place was; a new one needs room for it.
func (c lockVerbs) grant(l *lock, ask request) (*storev1.HoldRecord, error) {
	switch {
	case ask.remade:
		// The session keeps what it had, also when the limit was lowered since.
		n, err := c.sessions.objects(ask.session.id)
		if err != nil {
			return nil, err
		}
		c.sessions.setObjects(ask.session.id, n+1)
	case ask.place == 0:
		if err := c.sessions.addObject(ask.session.id); err != nil {
			return nil, err
		}
	}
	head := l.head
	head.LockIndex++
	head.Holders++
	head.PermitsHeld += ask.permits
	head.Mode = ask.mode
	head.Limit = ask.limit
	if ask.mode == storev1.LockMode_LOCK_MODE_EXCLUSIVE {
		head.ExclusiveSessionId = ask.session.id[:]
	}
	h := &storev1.HoldRecord{
		FormatVersion: layout.RecordFormat,
		SessionId:     ask.session.id[:],
		Owner:         ask.owner,
		Mode:          ask.mode,
		Permits:       ask.permits,
		LockIndex:     head.GetLockIndex(),
		FencingToken:  c.revision,
		GrantTimeMs:   c.wallMs,
		SessionName:   ask.session.record.GetName(),
	}
	value, err := layout.Encode(h)
	if err != nil {
		return nil, err
	}
	c.rows.InsertHot(layout.NumberedRow(layout.RowHold, l.name, h.GetLockIndex()), value)
	// The owner has no other hold of the lock, and this one is mostly given back soon.
	c.rows.InsertHot(layout.OwnerRow(ask.session.id, layout.ObjectHold, l.name, ask.owner), layout.AppendUint64s(nil, h.GetLockIndex()))
	c.emitLock(l.name, &storev1.Event{Kind: &storev1.Event_LockGranted{LockGranted: &storev1.LockGranted{
		Key:         l.name.Key,
		LockIndex:   h.GetLockIndex(),
		SessionId:   h.GetSessionId(),
		Owner:       h.GetOwner(),
		Mode:        h.GetMode(),
		Permits:     h.GetPermits(),
		Place:       ask.place,
		SessionName: h.GetSessionName(),
	}}})
	c.granted++
	return h, c.saveLock(l)
}

// hold returns the hold of a number, valid or delayed, or nil.
func (w *Work) hold(n layout.Name, lockIndex uint64) (*storev1.HoldRecord, error) {
	return records.ReadHold(w.rows, n, lockIndex)
}

// ownHold returns the valid hold of a session's owner, or nil.
func (w *Work) ownHold(l *lock, id layout.SessionID, owner string) (*storev1.HoldRecord, error) {
	value, ok, err := w.owned(layout.OwnerRow(id, layout.ObjectHold, l.name, owner), l.head.GetHolders())
	if err != nil || !ok {
		return nil, err
	}
	if len(value) != 8 {
		return nil, fmt.Errorf("%w: hold of session %s on %q", layout.ErrCorrupt, id, l.name.Key)
	}
	return w.hold(l.name, binary.BigEndian.Uint64(value))
}

// owned returns the row that names the hold or the place that an owner of a session has in a lock. If the lock's head counts no owners, the
// row is known to be missing and is not read, unless the command has a budget, which counts reads the same on every member.
func (w *Work) owned(row []byte, owners uint32) ([]byte, bool, error) {
	if owners > 0 || w.rows.Meter != nil {
		return w.rows.Get(row)
	}
	if invariants.Enabled {
		_, there, err := w.rows.Get(row)
		invariants.That(err != nil || !there, "the head of a lock counts no owner, and there is one: %q", row)
	}
	return nil, false, nil
}

// listedHold returns the lock and the hold that a row among the objects of a session is of.
func (c lockVerbs) listedHold(id layout.SessionID, o layout.Listed) (*lock, *storev1.HoldRecord, error) {
	l, err := c.lock(o.Name)
	if err != nil {
		return nil, nil, err
	}
	h, err := c.hold(o.Name, o.Number)
	if err == nil && h == nil {
		err = fmt.Errorf("%w: hold of session %s on %q", layout.ErrCorrupt, id, o.Name.Key)
	}
	return l, h, err
}

// sessionHolds returns all valid holds of a session on a key, by owner.
func (w *Work) sessionHolds(l *lock, id layout.SessionID) ([]*storev1.HoldRecord, error) {
	from := layout.OwnerRow(id, layout.ObjectHold, l.name, "")
	var numbers []uint64
	err := w.rows.Scan(from, layout.RowsEnd(from), func(_, value []byte) (bool, error) {
		n, err := layout.CutUint64s(value, 1)
		if err == nil {
			numbers = append(numbers, n[0])
		}
		return true, err
	})
	if err != nil {
		return nil, err
	}
	holds := make([]*storev1.HoldRecord, 0, len(numbers))
	for _, number := range numbers {
		h, err := w.hold(l.name, number)
		if err != nil {
			return nil, err
		}
		if h == nil {
			return nil, fmt.Errorf("%w: hold %d of %q", layout.ErrCorrupt, number, l.name.Key)
		}
		holds = append(holds, h)
	}
	return holds, nil
}

// ending says how a hold ends.
type ending struct {
	cause       storev1.HoldEndCause
	reason      string
	delayMs     int64 // of the lock-delay that begins; zero: none
	released    bool  // given back, not lost
	keyFollows  bool  // the caller writes or deletes the key in the same command
	headFollows bool  // the caller saves the lock
}

// endHold ends a valid hold. With a lock-delay it goes on counting as a delayed one, against everyone. The caller
// grants to waiters when all of the command is done.
func (c lockVerbs) endHold(l *lock, h *storev1.HoldRecord, how ending) error {
	id := layout.SessionID(h.GetSessionId())
	owned := layout.OwnerRow(id, layout.ObjectHold, l.name, h.GetOwner())
	c.rows.RemoveSized(owned, uint64(len(owned)+8))
	if err := c.sessions.dropObject(id); err != nil {
		return err
	}
	head := l.head
	head.Holders--
	head.PermitsHeld -= h.GetPermits()
	exclusive := h.GetMode() == storev1.LockMode_LOCK_MODE_EXCLUSIVE
	if exclusive {
		head.ExclusiveSessionId = nil
	}
	c.remember(l, h, how)
	c.emitHoldEnd(l, h, how)
	if how.delayMs > 0 {
		if err := c.beginDelay(l, h, how); err != nil {
			return err
		}
	} else {
		c.rows.Remove(layout.NumberedRow(layout.RowHold, l.name, h.GetLockIndex()))
	}
	if !how.headFollows {
		if err := c.saveLock(l); err != nil {
			return err
		}
	}
	if head.GetWaiters() > 0 { // Else it has no mark to take away either.
		c.queue.touch(l.name)
	}
	if !exclusive || how.keyFollows {
		return nil
	}
	change := storev1.KeyChange_KEY_CHANGE_LOST
	if how.released {
		change = storev1.KeyChange_KEY_CHANGE_RELEASED
	}
	return c.keys.moveKey(l.name, l.head, change)
}

// emitHoldEnd tells that a hold was given back or lost.
func (c lockVerbs) emitHoldEnd(l *lock, h *storev1.HoldRecord, how ending) {
	if how.released {
		c.emitLock(l.name, &storev1.Event{Kind: &storev1.Event_LockReleased{LockReleased: &storev1.LockReleased{
			Key:          l.name.Key,
			LockIndex:    h.GetLockIndex(),
			FencingToken: h.GetFencingToken(),
			SessionId:    h.GetSessionId(),
			Owner:        h.GetOwner(),
			Mode:         h.GetMode(),
			Permits:      h.GetPermits(),
			Cause:        how.cause,
			Reason:       how.reason,
			SessionName:  h.GetSessionName(),
		}}})
		return
	}
	c.emitLock(l.name, &storev1.Event{Kind: &storev1.Event_LockLost{LockLost: &storev1.LockLost{
		Key:          l.name.Key,
		LockIndex:    h.GetLockIndex(),
		FencingToken: h.GetFencingToken(),
		SessionId:    h.GetSessionId(),
		Owner:        h.GetOwner(),
		Mode:         h.GetMode(),
		Permits:      h.GetPermits(),
		Cause:        how.cause,
		Reason:       how.reason,
		SessionName:  h.GetSessionName(),
	}}})
}

// remember adds an ended hold to what the lock keeps for people.
func (c lockVerbs) remember(l *lock, h *storev1.HoldRecord, how ending) {
	reason := how.reason
	if c.state.ClusterVersion >= layout.Version2 && len(reason) > pastReasonBytesMax {
		reason = strings.ToValidUTF8(reason[:pastReasonBytesMax], "")
	}
	l.ended = append(l.ended, &storev1.PastHold{
		SessionId:    h.GetSessionId(),
		SessionName:  h.GetSessionName(),
		Owner:        h.GetOwner(),
		LockIndex:    h.GetLockIndex(),
		FencingToken: h.GetFencingToken(),
		Cause:        how.cause,
		Reason:       reason,
		EndTimeMs:    c.wallMs,
		GrantTimeMs:  h.GetGrantTimeMs(),
	})
	l.ended = l.ended[max(0, len(l.ended)-pastHoldsMax):]
}
