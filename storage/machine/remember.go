package machine

import (
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/rule"
)

// fullResultBytesMax is how large a result may be that is remembered in a full store: more than what deletes and the ends of holds and waits
// return, also of long keys.
const fullResultBytesMax = 4 << 10

// remembers says whether the result of a command is worth keeping. What only reads may as well be done again, and so may
// what failed because the store is full: nothing was done, and remembering that would make it fuller.
func remembers(cmd *storev1.Command, result *storev1.Result) bool {
	if result.GetFailure().GetReason() == storev1.FailureReason_FAILURE_REASON_STORE_FULL {
		return false
	}
	txn := cmd.GetTxn()
	return txn == nil || !ReadsOnly(txn)
}

// needSpaceToRemember refuses what would make a full store grow by its result, although it writes nothing itself or frees space. From where on the
// state grows no more, only small results are remembered. What is left above that is for what goes on; if that is gone, too, it is kept for commands
// that free space. Bytes is what the state had before the command: one that fills the store, or makes room in it, is not refused for that.
func (c *command) needSpaceToRemember(cmd *storev1.Command, result *storev1.Result, bytes uint64) error {
	if c.state.ClusterVersion < layout.Version3 || !remembers(cmd, result) {
		return nil
	}
	limits, err := c.effectiveLimits()
	if err != nil {
		return err
	}
	bytes = min(bytes, c.rows.Bytes)
	switch {
	case bytes < quota.GrowthBytesMax(limits):
		return nil
	case proto.Size(result) > fullResultBytesMax, bytes >= limits.GetStoreBytesMax() && grows(cmd):
		return storeFull(limits, bytes)
	default:
		return nil
	}
}

// refused returns the result of a command that was taken back, which is another one if there is no room to remember it.
func (c *command) refused(cmd *storev1.Command, result *storev1.Result) (*storev1.Result, error) {
	err := c.needSpaceToRemember(cmd, result, c.rows.Bytes)
	if full := rule.Of(err); full != nil {
		result.Failure, err = full, nil
	}
	return result, err
}

// grows reports whether a command makes the state grow if it succeeds. Its failures may be refused in a full store, where it cannot succeed.
func grows(cmd *storev1.Command) bool {
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
		return writes(op)
	default:
		return false
	}
}
