package consulhttp

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// never is a revision that no key and no entry ever has.
const never = uint64(math.MaxUint64)

// writes reports whether an operation may change something.
func writes(op *tenurev1.Op) bool {
	return op != nil && op.GetGet() == nil && op.GetList() == nil && op.GetCheck() == nil && op.GetCatalog().GetGet() == nil
}

// writes reports whether the transaction may change something.
func (t *transaction) writes() bool { return slices.ContainsFunc(t.native, writes) }

// fail notes that an operation fails for a reason that was found here. In its place goes one that always fails and takes the same right, so that
// nothing is committed and the other operations are still tried. Where there is none, it is not sent.
func (t *transaction) fail(i int, what string) {
	t.what[i] = what
	op := &t.ops[i]
	switch {
	case op.Key == "": // Also that of an entry, which may be read: to read it again would not fail.
		t.native[i] = nil
	case op.Verb == verbCheckSession:
		t.native[i] = failingCheck(op.Key)
	default: // It locks or unlocks.
		revision := never
		t.native[i] = putOp(&txnKeyJSON{Key: op.Key}, &tenurev1.PutRequest{IfRevision: &revision})
	}
}

// failingCheck returns a check of a key that always fails.
func failingCheck(key string) *tenurev1.Op {
	exists, created := true, uint64(0)
	return checkOp(&tenurev1.KeyCondition{Key: key, Exists: &exists, CreateRevision: &created})
}

// failingDelete returns a delete on a node that always fails. An entry is written once in a transaction, so it is about one that nobody writes.
func failingDelete(node string) *tenurev1.Op {
	revision := never
	return &tenurev1.Op{Kind: &tenurev1.Op_Catalog{Catalog: &tenurev1.CatalogOp{
		Kind: &tenurev1.CatalogOp_Delete{Delete: &tenurev1.CatalogName{Node: node, CheckId: "-"}}, IfRevision: &revision,
	}}}
}

// sentOps are the operations that are sent.
type sentOps struct {
	ops []*tenurev1.Op
	// at are their numbers in the transaction.
	at []int
}

// send returns what is sent. Where others write, and none that fails is among them, one is added that does.
func (t *transaction) send() sentOps {
	var sent sentOps
	fails := false
	for i, op := range t.native {
		if op != nil {
			sent.ops, sent.at = append(sent.ops, op), append(sent.at, i)
			fails = fails || t.what[i] != ""
		}
	}
	if len(sent.ops) < len(t.native) && !fails && t.writes() {
		sent.ops = append(sent.ops, t.failing())
	}
	return sent
}

// failing returns an operation that always fails, and takes no right that the first operation that writes does not take. For a key that is the one
// to read it, which those who write in Consul's way have.
func (t *transaction) failing() *tenurev1.Op {
	for i, op := range t.native {
		switch {
		case !writes(op):
		case t.entries[i] != nil:
			return failingDelete(t.entries[i].name.GetNode())
		case t.ops[i].Key != "":
			return failingCheck(t.ops[i].Key)
		}
	}
	return failingCheck("-") // All keys are deleted.
}

// failed returns the operations that failed, by their number in the transaction, with their reasons; nil: the transaction was refused as a whole.
func (s sentOps) failed(err error) map[int]tenurev1.ErrorReason {
	text := errorinfo.Fact(err, "operations")
	if text == "" {
		return nil
	}
	out := map[int]tenurev1.ErrorReason{}
	for op := range strings.SplitSeq(text, ",") {
		number, why, _ := strings.Cut(op, ":")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(s.at) {
			out[s.at[i]] = tenurev1.ErrorReason(tenurev1.ErrorReason_value["ERROR_REASON_"+why])
		}
	}
	return out
}

// refused returns the number of the operation that a transaction was refused for before it ran.
func (s sentOps) refused(err error) (int, bool) {
	text, ok := strings.CutPrefix(reply.MessageOf(err), "then[")
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(text, "]")
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= len(s.at) {
		return 0, false
	}
	return s.at[i], true
}
