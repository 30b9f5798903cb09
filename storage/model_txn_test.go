package storage_test

import (
	"fmt"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

func (m *model) txn(t *storev1.Txn) string {
	if m.overlapping(t.GetThenOps()) || m.overlapping(t.GetElseOps()) {
		refuse("INVALID_COMMAND")
	}
	ops, succeeded := t.GetThenOps(), true
	for _, c := range t.GetCompares() {
		succeeded = m.compare(c) && succeeded
	}
	if !succeeded {
		ops = t.GetElseOps()
	}
	m.later = true
	for i, op := range ops {
		m.op(op, i)
	}
	m.later = false
	m.grantTouched()
	return fmt.Sprint(succeeded, len(ops))
}

// op runs one operation; the first that fails fails the whole.
func (m *model) op(op *storev1.Op, i int) {
	switch o := op.GetKind().(type) {
	case *storev1.Op_Put:
		if m.putVerb(o.Put, i) == "false" {
			m.verbFailed(o.Put.GetKey(), o.Put.GetRelease() != nil)
		}
	case *storev1.Op_Delete:
		m.deleteVerb(o.Delete)
	case *storev1.Op_DeletePrefix:
		m.deletePrefix(o.DeletePrefix)
	case *storev1.Op_AcquireLock:
		if answer := m.acquire(o.AcquireLock); !strings.HasPrefix(answer, "held") {
			m.verbFailed(o.AcquireLock.GetKey(), false)
		}
	case *storev1.Op_ReleaseLock:
		if m.release(o.ReleaseLock) == "false" {
			m.verbFailed(o.ReleaseLock.GetKey(), true)
		}
	case *storev1.Op_Get:
		if _, exists := m.keys[o.Get.GetKey()]; !exists && m.version >= 2 && o.Get.GetMustExist() {
			refuse("KEY_NOT_FOUND")
		}
	case *storev1.Op_Check:
		m.checkGuard(o.Check)
	}
}

func (m *model) verbFailed(key string, release bool) {
	l := m.lock(key)
	switch {
	case release:
		refuse("LOCK_NOT_HELD")
	case l.valid() == 0 && len(l.queue) == 0 && len(l.holds) > 0:
		refuse("LOCK_DELAYED")
	default:
		refuse("LOCK_HELD")
	}
}
