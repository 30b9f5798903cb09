package machine

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/effects"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

const (
	// deletePrefixKeysMax is how many keys a command deletes by prefix, also with many prefixes in a transaction; with more it
	// deletes none.
	deletePrefixKeysMax = 10_000
	// opIndexMax is the highest number of an operation that a sequential key has room for.
	opIndexMax = 999
)

// keyRecord returns a key's record, or nil if the key is missing.
func (w *Work) keyRecord(n layout.Name) (*storev1.KeyRecord, error) {
	value, ok, err := w.rows.Get(layout.NameRow(layout.RowKey, n))
	if err != nil || !ok {
		return nil, err
	}
	k := &storev1.KeyRecord{}
	if err := layout.Decode(value, k); err != nil {
		return nil, fmt.Errorf("key %q: %w", n.Key, err)
	}
	return k, nil
}

// keyFacts is what all who do not show the value have to know of a key. The value, which may be large, is not among it.
type keyFacts struct {
	record     *storev1.KeyRecord // without the value; nil if the key is missing
	valueBytes int
	rowBytes   int // of the key's whole row
}

// decodeKeyFacts reads a key's row without copying the value.
func decodeKeyFacts(n layout.Name, row, value []byte) (keyFacts, error) {
	k := keyFacts{record: &storev1.KeyRecord{}, rowBytes: len(row) + len(value)}
	var err error
	if k.valueBytes, err = layout.DecodeKeyFacts(value, k.record); err != nil {
		return keyFacts{}, fmt.Errorf("key %q: %w", n.Key, err)
	}
	return k, nil
}

// factsOf returns what is known of a key by its brief.
func factsOf(n layout.Name, b layout.Brief) (keyFacts, error) {
	k := keyFacts{record: &storev1.KeyRecord{}, valueBytes: b.ValueBytes, rowBytes: int(b.RowBytes)}
	if err := layout.Decode(b.Record, k.record); err != nil {
		return keyFacts{}, fmt.Errorf("key %q: %w", n.Key, err)
	}
	return k, nil
}

// keyFacts returns what is known of a key without its value.
func (w *Work) keyFacts(n layout.Name) (k keyFacts, err error) {
	row := layout.NameRow(layout.RowKey, n)
	_, err = w.rows.View(row, func(value []byte) (err error) {
		k, err = decodeKeyFacts(n, row, value)
		return err
	})
	return k, err
}

// briefFacts is keyFacts for commands that do something to thousands of keys: it reads no large value, but one row more.
func (w *Work) briefFacts(n layout.Name) (keyFacts, error) {
	b, ok, err := w.readBrief(layout.NameRow(layout.RowKeyBrief, n))
	if err != nil {
		return keyFacts{}, fmt.Errorf("key %q: %w", n.Key, err)
	}
	if ok {
		return factsOf(n, b)
	}
	return w.keyFacts(n)
}

// previousValue refers to the value of a record; nil if there is none.
func previousValue(k *storev1.KeyRecord) *storev1.PreviousValue {
	if k == nil {
		return nil
	}
	return &storev1.PreviousValue{Revision: k.GetValueRevision(), Index: k.GetValueEventIndex()}
}

// liveBytes is what a key counts in LiveBytes.
func (k keyFacts) liveBytes(n layout.Name) uint64 {
	if k.record == nil {
		return 0
	}
	return uint64(len(n.Key) + k.valueBytes)
}

// saveKey replaces old, which may be missing, by k.
func (c keyVerbs) saveKey(n layout.Name, old keyFacts, k *storev1.KeyRecord) error {
	value, err := layout.Encode(k)
	if err != nil {
		return err
	}
	row := layout.NameRow(layout.RowKey, n)
	if c.briefs(len(k.GetValue()), old.valueBytes) {
		at := layout.NameRow(layout.RowKeyBrief, n)
		if err = c.saveBrief(at, row, value, layout.KeyValueField, len(k.GetValue()), old.valueBytes); err != nil {
			return err
		}
	}
	c.state.LiveBytes += uint64(len(n.Key)+len(k.GetValue())) - old.liveBytes(n)
	if old.record == nil {
		c.state.Keys++
		c.rows.Insert(row, value)
		return nil
	}
	c.rows.Replace(row, value, uint64(old.rowBytes))
	return nil
}

// write is a new value of a key.
type write struct {
	value []byte
	flags uint64
	bind  []byte // session that owns the key from now on; empty leaves the owner
	// byLock says that a grant makes the key, and that it goes with the last use of the lock.
	byLock bool
}

// writeKey gives a key a value and tells of it. The head is the key's lock as it is now; before is the key, which may be missing.
func (c keyVerbs) writeKey(n layout.Name, head *storev1.LockHead, before keyFacts, w write) (*storev1.KeyRecord, error) {
	old := before.record
	k := &storev1.KeyRecord{
		FormatVersion:  layout.RecordFormat,
		Value:          w.value,
		Flags:          w.flags,
		CreateRevision: c.revision,
		ModRevision:    c.revision,
		Version:        1,
		CreateTimeMs:   c.wallMs,
		ModTimeMs:      c.wallMs,
		ValueRevision:  c.revision,
		BoundSessionId: w.bind,
		MadeByLock:     w.byLock,
	}
	if old != nil {
		k.CreateRevision, k.CreateTimeMs = old.GetCreateRevision(), old.GetCreateTimeMs()
		k.Version = old.GetVersion()
		// Of several values in one revision, such as those of waiters that are granted at once, only the last is ever seen.
		if old.GetValueRevision() != c.revision {
			k.Version++
		}
		if len(w.bind) == 0 {
			k.BoundSessionId = old.GetBoundSessionId()
		}
	}
	if err := c.rebind(n, old.GetBoundSessionId(), k.GetBoundSessionId()); err != nil {
		return nil, err
	}
	k.ValueEventIndex = c.emitPut(n, k, head, storev1.KeyChange_KEY_CHANGE_PUT, previousValue(old))
	if err := c.settleMove(n); err != nil {
		return nil, err
	}
	return k, c.saveKey(n, before, k)
}

// rebind moves an ephemeral key from one session's objects to another's; empty is no session.
func (c keyVerbs) rebind(n layout.Name, from, to []byte) error {
	if string(from) == string(to) {
		return nil
	}
	if len(from) > 0 {
		id := layout.SessionID(from)
		owned := layout.EphemeralRow(id, n)
		c.rows.RemoveSized(owned, uint64(len(owned)))
		if err := c.sessions.dropObject(id); err != nil {
			return err
		}
	}
	if len(to) > 0 {
		id := layout.SessionID(to)
		c.rows.Set(layout.EphemeralRow(id, n), nil)
		return c.sessions.addObject(id)
	}
	return nil
}

// deleteKey takes a key's value away, if there is one; its lock stays.
func (c keyVerbs) deleteKey(n layout.Name, endedSession []byte) error {
	k, err := c.briefFacts(n)
	if err != nil || k.record == nil {
		return err
	}
	return c.deleteRecord(n, k, &storev1.KeyDeleted{EndedSessionId: endedSession})
}

// deleteRecord takes the value of an existing key away. Why is what the event says of it besides the key.
func (c keyVerbs) deleteRecord(n layout.Name, k keyFacts, why *storev1.KeyDeleted) error {
	if err := c.rebind(n, k.record.GetBoundSessionId(), nil); err != nil {
		return err
	}
	c.rows.RemoveSized(layout.NameRow(layout.RowKey, n), uint64(k.rowBytes))
	c.dropBrief(layout.NameRow(layout.RowKeyBrief, n), k.valueBytes)
	c.state.Keys--
	c.state.LiveBytes -= k.liveBytes(n)
	if err := c.settleMove(n); err != nil {
		return err
	}
	why.Key, why.Previous = n.Key, previousValue(k.record)
	c.emitDeleted(n, why)
	return c.locks.noteKeyGone(n)
}

// checkRevision refuses if a key's mod_revision is not the wanted one; zero wants the key missing.
func (c keyVerbs) checkRevision(n layout.Name, k *storev1.KeyRecord, want *uint64) error {
	if want == nil || *want == k.GetModRevision() {
		return nil
	}
	switch {
	case k == nil:
		return compareFailed(n, k, storev1.FailureDetail_FAILURE_DETAIL_KEY_MISSING, *want)
	case *want == 0:
		return compareFailed(n, k, storev1.FailureDetail_FAILURE_DETAIL_KEY_AT_REVISION, k.GetModRevision())
	default:
		return compareFailed(n, k, storev1.FailureDetail_FAILURE_DETAIL_KEY_AT_OTHER_REVISION, k.GetModRevision(), *want)
	}
}

// put writes a key; op is the number of the operation in its transaction.
func (c keyVerbs) put(p *storev1.Put, op int) (*storev1.PutResult, error) {
	key := p.GetKey()
	if p.GetSequential() {
		if op > opIndexMax {
			return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_OPERATION_NUMBER)
		}
		key = effects.SequentialKey(key, c.revision, op)
	}
	n, err := c.name(key)
	if err != nil {
		return nil, err
	}
	if len(p.GetValue()) > valueBytesMax {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_VALUE_TOO_LONG, len(p.GetValue()), valueBytesMax)
	}
	if p.GetAcquire() != nil && p.GetRelease() != nil {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_ACQUIRE_AND_RELEASE)
	}
	k, err := c.keyFacts(n)
	if err != nil {
		return nil, err
	}
	if err = c.checkRevision(n, k.record, p.IfRevision); err != nil {
		return nil, err
	}
	w := write{value: p.GetValue(), flags: p.GetFlags()}
	if p.GetBindSession() != nil {
		var s session
		if s, err = c.sessions.session(p.GetBindSession()); err != nil {
			return nil, err
		}
		w.bind = s.id[:]
	}
	l, err := c.lock(n)
	if err != nil {
		return nil, err
	}
	switch {
	case p.GetAcquire() != nil:
		return c.putAcquire(l, p.GetAcquire(), k, w)
	case p.GetRelease() != nil:
		return c.putRelease(l, p, k, w)
	default:
		return c.putResult(l, k, w)
	}
}

// putResult writes the key and answers with its state.
func (c keyVerbs) putResult(l *lock, old keyFacts, w write) (*storev1.PutResult, error) {
	if err := c.needSpace(); err != nil {
		return nil, err
	}
	k, err := c.writeKey(l.name, l.head, old, w)
	if err != nil {
		return nil, err
	}
	state := records.KeyState(l.name.Key, k, l.head)
	state.Value = nil
	return &storev1.PutResult{Key: l.name.Key, State: state}, nil
}

// putAcquire is Consul's acquire: EXCLUSIVE, without owner, now or not at all.
func (c keyVerbs) putAcquire(l *lock, ref *storev1.SessionRef, old keyFacts, w write) (*storev1.PutResult, error) {
	s, err := c.sessions.session(ref)
	if err != nil {
		return nil, err
	}
	h, err := c.ownHold(l, s.id, "")
	if err != nil {
		return nil, err
	}
	ask := request{session: s, mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE}
	switch {
	case h.GetMode() == storev1.LockMode_LOCK_MODE_EXCLUSIVE:
	case h != nil:
		return c.putRefused(l)
	default:
		var free bool
		if free, err = c.locks.free(l, ask); err != nil {
			return nil, err
		}
		if !free {
			return c.putRefused(l)
		}
		if h, err = c.locks.grant(l, ask); err != nil {
			return nil, err
		}
	}
	out, err := c.putResult(l, old, w)
	if err != nil {
		return nil, err
	}
	out.VerbSucceeded = true
	out.Hold = records.HoldState(l.name.Key, h)
	return out, nil
}

// putRefused answers a verb with "false": nothing is written.
func (c keyVerbs) putRefused(l *lock) (*storev1.PutResult, error) {
	state, err := records.LockState(c.rows, l.name, l.head)
	return &storev1.PutResult{Key: l.name.Key, Lock: state}, err
}

// putRelease is Consul's release, which with force frees all holds of the session on the key.
func (c keyVerbs) putRelease(l *lock, p *storev1.Put, old keyFacts, w write) (*storev1.PutResult, error) {
	how := ending{cause: storev1.HoldEndCause_HOLD_END_CAUSE_RELEASED, released: true, keyFollows: true}
	ref := p.GetRelease()
	if p.GetForce() {
		ref = &storev1.SessionRef{SessionId: ref.GetSessionId()}
		how.cause = storev1.HoldEndCause_HOLD_END_CAUSE_FORCE_RELEASED
		how.reason = p.GetReason()
	}
	s, err := c.sessions.session(ref)
	if err != nil {
		return nil, err
	}
	var holds []*storev1.HoldRecord
	if p.GetForce() {
		holds, err = c.sessionHolds(l, s.id)
	} else if h, ownErr := c.ownHold(l, s.id, ""); h != nil || ownErr != nil {
		holds, err = append(holds, h), ownErr
	}
	if err != nil {
		return nil, err
	}
	if len(holds) == 0 {
		return c.putRefused(l)
	}
	if err = c.needSpaceFor(old, w.value); err != nil {
		return nil, err
	}
	for i, h := range holds {
		// From version 2 on the lock is saved once, with the last of them.
		how.headFollows = c.state.ClusterVersion >= layout.Version2 && i < len(holds)-1
		if err = c.locks.endHold(l, h, how); err != nil {
			return nil, err
		}
	}
	k, err := c.writeKey(l.name, l.head, old, w)
	if err != nil {
		return nil, err
	}
	if err := c.queue.grantTouched(); err != nil {
		return nil, err
	}
	return c.afterRelease(l.name, k)
}

// afterRelease answers a release with the key as it is once the next waiters were granted.
func (c keyVerbs) afterRelease(n layout.Name, k *storev1.KeyRecord) (*storev1.PutResult, error) {
	l, err := c.lock(n)
	if err != nil {
		return nil, err
	}
	if now, err := c.keyFacts(n); err != nil {
		return nil, err
	} else if now.record != nil {
		k = now.record
	}
	state := records.KeyState(n.Key, k, l.head)
	state.Value = nil
	return &storev1.PutResult{Key: n.Key, State: state, VerbSucceeded: true}, nil
}

// deleteOne deletes one key, or finds it missing already.
func (c keyVerbs) deleteOne(d *storev1.Delete) (*storev1.DeleteResult, error) {
	n, err := c.name(d.GetKey())
	if err != nil {
		return nil, err
	}
	k, err := c.keyFacts(n)
	if err != nil {
		return nil, err
	}
	if err = c.checkRevision(n, k.record, d.IfRevision); err != nil {
		return nil, err
	}
	if d.GetDropHolds() {
		if err = c.dropHold(n); err != nil {
			return nil, err
		}
	}
	if k.record == nil {
		return &storev1.DeleteResult{}, nil
	}
	return &storev1.DeleteResult{Deleted: 1}, c.deleteRecord(n, k, &storev1.KeyDeleted{})
}

// dropHold releases the hold that Consul's verbs make of a key, which is to be deleted: EXCLUSIVE, without owner, of a session
// without secret. There, a delete frees the lock. The caller grants to waiters.
func (c keyVerbs) dropHold(n layout.Name) error {
	if c.state.ClusterVersion < layout.Version2 {
		return nil
	}
	l, err := c.lock(n)
	if err != nil || len(l.head.GetExclusiveSessionId()) == 0 {
		return err
	}
	id := layout.SessionID(l.head.GetExclusiveSessionId())
	s, err := c.sessionRecord(id)
	if err != nil || s == nil || len(s.GetSecretSha256()) > 0 {
		return err
	}
	h, err := c.ownHold(l, id, "")
	if err != nil || h == nil {
		return err
	}
	return c.locks.endHold(l, h, ending{cause: storev1.HoldEndCause_HOLD_END_CAUSE_RELEASED, released: true, keyFollows: true})
}

// deletePrefix deletes all keys with a prefix, or none if they are too many, or the first of them.
func (c keyVerbs) deletePrefix(d *storev1.DeletePrefix) (*storev1.DeleteResult, error) {
	if len(d.GetPrefix()) > keyBytesMax {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_PREFIX_TOO_LONG)
	}
	from := layout.NameRow(layout.RowKey, layout.Name{NS: c.ns, Key: d.GetPrefix()})
	var names []layout.Name
	var facts []keyFacts
	first := int(min(d.GetKeysMax(), deletePrefixKeysMax))
	if c.state.ClusterVersion < layout.Version2 {
		first = 0
	}
	err := c.rows.Scan(from, layout.RowsEnd(from), func(row, value []byte) (bool, error) {
		n, ok := layout.CutNameRow(row)
		if !ok {
			return false, fmt.Errorf("%w: key row", layout.ErrCorrupt)
		}
		k, err := decodeKeyFacts(n, row, value)
		names, facts = append(names, n), append(facts, k)
		return len(names) != first && c.prefixDeleted+len(names) <= deletePrefixKeysMax, err
	})
	if err != nil {
		return nil, err
	}
	if c.prefixDeleted+len(names) > deletePrefixKeysMax {
		const reason = storev1.FailureReason_FAILURE_REASON_TOO_MANY_KEYS
		f := rule.Broken(reason, storev1.FailureDetail_FAILURE_DETAIL_PREFIX_TOO_MANY, deletePrefixKeysMax, d.GetPrefix())
		if c.prefixDeleted > 0 {
			f = rule.Broken(reason, storev1.FailureDetail_FAILURE_DETAIL_PREFIXES_TOO_MANY, d.GetPrefix(), deletePrefixKeysMax)
		}
		f.Failure.Limit = deletePrefixKeysMax
		f.Failure.LimitName = "delete_prefix_keys_max"
		return nil, f
	}
	for i, n := range names {
		if d.GetDropHolds() {
			if err := c.dropHold(n); err != nil {
				return nil, err
			}
		}
		if err := c.deleteRecord(n, facts[i], &storev1.KeyDeleted{}); err != nil {
			return nil, err
		}
	}
	c.prefixDeleted += len(names)
	return &storev1.DeleteResult{Deleted: uint32(len(names))}, nil
}
