package effects

import (
	"slices"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// Writes reports whether an operation may change something.
func Writes(op *storev1.Op) bool {
	switch kind := op.GetKind().(type) {
	case *storev1.Op_Catalog:
		_, reads := kind.Catalog.GetKind().(*storev1.CatalogOp_Get)
		return !reads
	case *storev1.Op_Get, *storev1.Op_List, *storev1.Op_Check:
		return false
	default:
		return true
	}
}

// ReadsOnly reports whether no operation of a transaction can change anything, whichever of its lists runs.
func ReadsOnly(t *storev1.Txn) bool {
	return !slices.ContainsFunc(t.GetThenOps(), Writes) && !slices.ContainsFunc(t.GetElseOps(), Writes)
}

// Grows reports whether a command makes the state grow if it succeeds. Its failures may be refused in a full store, where it cannot succeed.
func Grows(cmd *storev1.Command) bool {
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_Put, *storev1.Command_AcquireLock, *storev1.Command_CreateSession, *storev1.Command_PutQuery:
		return true
	case *storev1.Command_Txn:
		return slices.ContainsFunc(kind.Txn.GetThenOps(), opGrows) || slices.ContainsFunc(kind.Txn.GetElseOps(), opGrows)
	default:
		return false
	}
}

func opGrows(op *storev1.Op) bool {
	switch op.GetKind().(type) {
	case *storev1.Op_Put, *storev1.Op_AcquireLock, *storev1.Op_Catalog:
		return Writes(op)
	default:
		return false
	}
}
