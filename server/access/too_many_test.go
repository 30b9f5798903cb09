package access

import (
	"strconv"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// TestAMessageThatNamesTooMuchIsRefused has one of a caller that has every right, and one of another that has none, in each mode.
func TestAMessageThatNamesTooMuchIsRefused(t *testing.T) {
	txn := &tenurev1.TxnRequest{}
	for range authz.NeedsMax + 1 {
		txn.Compares = append(txn.Compares, &tenurev1.Compare{Key: "k"})
	}
	for _, mode := range []storev1.AuthMode{storev1.AuthMode_AUTH_MODE_WARN, storev1.AuthMode_AUTH_MODE_ENFORCE} {
		node, a, _ := enforcing(t, mode)
		for name, caller := range map[string]*identity.Client{"an administrator": admin(), "nobody": {}} {
			ctx, note := WithNote(t.Context())
			_, err := a.Call(ctx, caller, tenurev1.KVService_Txn_FullMethodName, txn)
			e := reason.Of(err)
			if e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE || e.Metadata["limit"] != "request_names_max" ||
				e.Metadata["limit_value"] != strconv.Itoa(authz.NeedsMax) {
				t.Errorf("%v, %s: got %v, want TOO_LARGE", mode, name, err)
			}
			if note.Grant().WouldDeny() {
				t.Errorf("%v, %s: it counts as a denial", mode, name)
			}
		}
		if node.proofs != 0 {
			t.Errorf("%v: the cluster was asked %d times", mode, node.proofs)
		}
	}
}
