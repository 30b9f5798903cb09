package effects

import (
	"fmt"
	"slices"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/nodes"
	"github.com/tenure-io/tenure/storage/rule"
)

// txnOpsMax is how many compares, and how many operations on either side, a transaction may have.
const txnOpsMax = 128

// Check refuses a transaction that is too large, waits, or names the value or the lock of a key twice on one side, under a cluster version. Its
// changes are made at a revision.
func Check(t *storev1.Txn, version uint32, revision uint64) error {
	if len(t.GetCompares()) > txnOpsMax || len(t.GetThenOps()) > txnOpsMax || len(t.GetElseOps()) > txnOpsMax {
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_TXN_TOO_LARGE, txnOpsMax)
	}
	for _, ops := range [][]*storev1.Op{t.GetThenOps(), t.GetElseOps()} {
		claims := claims{
			values: map[string]bool{}, locks: map[string]bool{}, entries: map[string]bool{}, made: version >= layout.Version3, revision: revision,
		}
		for i, op := range ops {
			if err := claims.add(op, i); err != nil {
				return err
			}
		}
		if err := claims.checkMade(); err != nil {
			return err
		}
		if err := claims.checkPrefixes(); err != nil {
			return err
		}
	}
	return nil
}

// SequentialKey returns the name of the key that a sequential put makes, as the operation of this number in its transaction.
func SequentialKey(prefix string, revision uint64, op int) string {
	return fmt.Sprintf("%s%020d%03d", prefix, revision, op)
}

// claims are the keys whose value or lock the operations of a transaction change, and the entries of the catalog.
type claims struct {
	values   map[string]bool
	locks    map[string]bool
	entries  map[string]bool // of the catalog
	prefixes []string
	// lockPrefixes are those of the prefixes that also change the locks of their keys.
	lockPrefixes []string
	// acquired are the keys whose lock is acquired without a value: a grant makes the key if it is missing. deleted are those that are deleted by name.
	acquired, deleted []string
	// made says that keys count that operations make under names of their own, at this revision: from version 3 on.
	made     bool
	revision uint64
}

func (c *claims) add(op *storev1.Op, i int) error {
	switch kind := op.GetKind().(type) {
	case *storev1.Op_Put:
		return c.addPut(kind.Put, i)
	case *storev1.Op_Delete:
		return c.addDelete(kind.Delete)
	case *storev1.Op_DeletePrefix:
		c.addPrefix(kind.DeletePrefix)
	case *storev1.Op_AcquireLock:
		return c.addAcquire(kind.AcquireLock)
	case *storev1.Op_ReleaseLock:
		if kind.ReleaseLock.GetValueOp() != nil {
			if err := claim(c.values, kind.ReleaseLock.GetKey(), storev1.FailureDetail_FAILURE_DETAIL_VALUE_TWICE); err != nil {
				return err
			}
		}
		return claim(c.locks, kind.ReleaseLock.GetKey(), storev1.FailureDetail_FAILURE_DETAIL_LOCK_TWICE)
	case *storev1.Op_Catalog:
		if name := nodes.EntryChanged(kind.Catalog); name != "" {
			return claim(c.entries, name, storev1.FailureDetail_FAILURE_DETAIL_ENTRY_TWICE)
		}
	}
	return nil
}

func (c *claims) addPut(p *storev1.Put, i int) error {
	key := p.GetKey()
	if p.GetSequential() && c.made {
		key = SequentialKey(key, c.revision, i)
	}
	if p.GetAcquire() != nil || p.GetRelease() != nil {
		if err := claim(c.locks, key, storev1.FailureDetail_FAILURE_DETAIL_LOCK_TWICE); err != nil {
			return err
		}
	}
	if p.GetSequential() && !c.made {
		return nil
	}
	return claim(c.values, key, storev1.FailureDetail_FAILURE_DETAIL_VALUE_TWICE)
}

func (c *claims) addAcquire(a *storev1.AcquireLock) error {
	if a.GetQueue() {
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_ACQUIRE_QUEUES)
	}
	if a.Value != nil {
		if err := claim(c.values, a.GetKey(), storev1.FailureDetail_FAILURE_DETAIL_VALUE_TWICE); err != nil {
			return err
		}
	}
	if err := claim(c.locks, a.GetKey(), storev1.FailureDetail_FAILURE_DETAIL_LOCK_TWICE); err != nil {
		return err
	}
	c.acquired = append(c.acquired, a.GetKey())
	return nil
}

func (c *claims) addDelete(d *storev1.Delete) error {
	if d.GetDropHolds() {
		if err := claim(c.locks, d.GetKey(), storev1.FailureDetail_FAILURE_DETAIL_LOCK_TWICE); err != nil {
			return err
		}
	}
	if err := claim(c.values, d.GetKey(), storev1.FailureDetail_FAILURE_DETAIL_VALUE_TWICE); err != nil {
		return err
	}
	c.deleted = append(c.deleted, d.GetKey())
	return nil
}

func (c *claims) addPrefix(d *storev1.DeletePrefix) {
	c.prefixes = append(c.prefixes, d.GetPrefix())
	if d.GetDropHolds() {
		c.lockPrefixes = append(c.lockPrefixes, d.GetPrefix())
	}
}

func claim(claimed map[string]bool, key string, twice storev1.FailureDetail) error {
	if claimed[key] {
		return rule.Invalid(twice, key)
	}
	claimed[key] = true
	return nil
}

// checkMade refuses to delete a key whose lock is acquired, in either order: the grant may make it.
func (c *claims) checkMade() error {
	for _, key := range c.acquired {
		if c.made && slices.Contains(c.deleted, key) {
			return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_VALUE_TWICE, key)
		}
	}
	return nil
}

// checkPrefixes refuses prefixes that overlap each other, or a key that is changed besides.
func (c *claims) checkPrefixes() error {
	for i, prefix := range c.prefixes {
		overlaps := false
		for key := range c.values {
			overlaps = overlaps || strings.HasPrefix(key, prefix)
		}
		for _, key := range c.acquired {
			overlaps = overlaps || c.made && strings.HasPrefix(key, prefix)
		}
		for _, other := range c.prefixes[:i] {
			overlaps = overlaps || strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix)
		}
		if overlaps {
			return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_PREFIX_OVERLAPS, prefix)
		}
	}
	for _, prefix := range c.lockPrefixes {
		for key := range c.locks {
			if strings.HasPrefix(key, prefix) {
				return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_PREFIX_OVERLAPS, prefix)
			}
		}
	}
	return nil
}
