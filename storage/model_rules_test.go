package storage_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// checkGuard refuses unless a condition holds.
func (m *model) checkGuard(g *storev1.Guard) {
	switch c := g.GetCondition().(type) {
	case *storev1.Guard_SessionAlive:
		m.session(&storev1.SessionRef{SessionId: c.SessionAlive})
	case *storev1.Guard_Held:
		for _, h := range m.lock(c.Held.GetKey()).holds {
			if h.index == c.Held.GetLockIndex() && h.token == c.Held.GetFencingToken() && !h.delayed &&
				h.session == string(c.Held.GetSessionId()) {
				return
			}
		}
		refuse("FENCING_TOKEN_STALE")
	case *storev1.Guard_Key:
		k, exists := m.keys[c.Key.GetKey()]
		if c.Key.Exists != nil && c.Key.GetExists() != exists || c.Key.ModRevision != nil && c.Key.GetModRevision() != k.mod {
			refuse("COMPARE_FAILED")
		}
		if m.version >= 2 && c.Key.HeldBySessionId != nil && m.holder(c.Key.GetKey()) != string(c.Key.GetHeldBySessionId()) {
			refuse("COMPARE_FAILED")
		}
	}
}

// holder returns the session that holds a key's EXCLUSIVE lock, or nothing.
func (m *model) holder(key string) string {
	for _, h := range m.lock(key).holds {
		if h.mode == storev1.LockMode_LOCK_MODE_EXCLUSIVE && !h.delayed {
			return h.session
		}
	}
	return ""
}

func (m *model) compare(c *storev1.Compare) (holds bool) {
	if g := c.GetGuard(); g != nil {
		defer func() {
			if _, broken := recover().(refused); broken {
				holds = false
			}
		}()
		m.checkGuard(g)
		return true
	}
	k, exists := m.keys[c.GetKey()]
	order := cmp.Compare(k.version, c.GetVersion())
	if value, ok := c.GetOperand().(*storev1.Compare_Value); ok {
		if !exists {
			return c.GetOperator() == storev1.CompareOperator_COMPARE_OPERATOR_NOT_EQUAL
		}
		order = bytes.Compare([]byte(k.value), value.Value)
	}
	switch c.GetOperator() {
	case storev1.CompareOperator_COMPARE_OPERATOR_EQUAL:
		return order == 0
	case storev1.CompareOperator_COMPARE_OPERATOR_NOT_EQUAL:
		return order != 0
	case storev1.CompareOperator_COMPARE_OPERATOR_LESS:
		return order < 0
	default:
		return order > 0
	}
}

// overlapping says whether the operations of a transaction change a value or a lock twice. From version 3 on, what they make under names of their own
// counts, and so do the keys that acquires may make.
func (m *model) overlapping(ops []*storev1.Op) bool {
	var values, locks, prefixes, dropped, acquired, deleted []string
	for i, op := range ops {
		switch o := op.GetKind().(type) {
		case *storev1.Op_Put:
			key, named := o.Put.GetKey(), !o.Put.GetSequential()
			if !named && m.version >= 3 {
				key, named = fmt.Sprintf("%s%020d%03d", key, m.next(), i), true
			}
			if o.Put.GetAcquire() != nil || o.Put.GetRelease() != nil {
				locks = append(locks, key)
			}
			if named {
				values = append(values, key)
			}
		case *storev1.Op_Delete:
			values, deleted = append(values, o.Delete.GetKey()), append(deleted, o.Delete.GetKey())
			if o.Delete.GetDropHolds() {
				locks = append(locks, o.Delete.GetKey())
			}
		case *storev1.Op_DeletePrefix:
			prefixes = append(prefixes, o.DeletePrefix.GetPrefix())
			if o.DeletePrefix.GetDropHolds() {
				dropped = append(dropped, o.DeletePrefix.GetPrefix())
			}
		case *storev1.Op_AcquireLock:
			if o.AcquireLock.GetQueue() {
				return true
			}
			if o.AcquireLock.Value != nil {
				values = append(values, o.AcquireLock.GetKey())
			}
			locks = append(locks, o.AcquireLock.GetKey())
			if m.version >= 3 {
				acquired = append(acquired, o.AcquireLock.GetKey())
			}
		case *storev1.Op_ReleaseLock:
			if o.ReleaseLock.GetValueOp() != nil {
				values = append(values, o.ReleaseLock.GetKey())
			}
			locks = append(locks, o.ReleaseLock.GetKey())
		}
	}
	for i, p := range prefixes {
		for j, other := range slices.Concat(prefixes, values, acquired) {
			isPrefix := j < len(prefixes)
			if i != j && strings.HasPrefix(other, p) || i != j && isPrefix && strings.HasPrefix(p, other) {
				return true
			}
		}
	}
	for _, p := range dropped {
		if slices.ContainsFunc(locks, func(key string) bool { return strings.HasPrefix(key, p) }) {
			return true
		}
	}
	twice := func(names []string) bool {
		slices.Sort(names)
		return len(slices.Compact(slices.Clone(names))) != len(names)
	}
	made := func(key string) bool { return slices.Contains(acquired, key) }
	return twice(values) || twice(locks) || slices.ContainsFunc(deleted, made)
}

// readsOnly says whether a command is a transaction that changes nothing, whichever way it goes.
func readsOnly(cmd *storev1.Command) bool {
	txn := cmd.GetTxn()
	if txn == nil {
		return false
	}
	for _, op := range slices.Concat(txn.GetThenOps(), txn.GetElseOps()) {
		if op.GetGet() == nil && op.GetCheck() == nil && op.GetList() == nil {
			return false
		}
	}
	return true
}

// keep remembers a keyed call, and forgets the oldest above the limit.
func (m *model) keep(key string, r modelResult) {
	m.keyed[key] = r
	m.keyedAge = append(m.keyedAge, key)
	for len(m.keyedAge) > orDefault(m.limits.GetIdempotencyKeysMax(), 100_000) {
		delete(m.keyed, m.keyedAge[0])
		m.keyedAge = m.keyedAge[1:]
	}
}
