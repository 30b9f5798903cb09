package consulhttp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

const (
	// txnOpsMax is how many operations a transaction may have.
	txnOpsMax = 128
	// txnTriesMax is how often a transaction is sent: once more for each operation that turns out to be about a session that
	// does not exist, or a key that is gone already, and a few times for keys and nodes that change meanwhile.
	txnTriesMax = txnOpsMax + 8
)

// txnOpJSON is one operation of a transaction, as it is sent. Exactly one of its fields is set.
type txnOpJSON struct {
	KV      *txnKeyJSON
	Node    *txnNodeJSON
	Service *txnServiceJSON
	Check   *txnCheckJSON
}

// txnKeyJSON is an operation on a key.
type txnKeyJSON struct {
	Verb    string
	Key     string
	Value   []byte
	Flags   uint64
	Index   uint64
	Session string
}

// txnResultJSON is one result.
type txnResultJSON struct {
	KV      *keyJSON      `json:",omitempty"`
	Node    *wire.Node    `json:",omitempty"`
	Service *wire.Service `json:",omitempty"`
	Check   *wire.Check   `json:",omitempty"`
}

// txnErrorJSON is one operation that fails.
type txnErrorJSON struct {
	OpIndex int
	What    string
}

// txnAnswerJSON is the answer to a transaction.
type txnAnswerJSON struct {
	Results []txnResultJSON
	Errors  []txnErrorJSON
}

// txnEndpoints serve transactions.
type txnEndpoints struct{ *core }

// routes returns the path of transactions.
func (e *txnEndpoints) routes() []route { return []route{{path: "txn", methods: put(e.txn)}} }

// transaction is a transaction under way.
type transaction struct {
	core *core
	// ops are the operations on keys, and entries those on the catalog: one of both is set, by the number of the operation.
	ops     []txnKeyJSON
	entries []*txnEntry
	// native are the operations as they are sent; nil: one that fails and is not sent.
	native []*tenurev1.Op
	// what says why an operation fails that was found to fail here; it is empty for others.
	what []string
}

// txn serves PUT /v1/txn.
func (e *txnEndpoints) txn(ctx context.Context, q *request) (*reply.Answer, error) {
	// A transaction is never stale here, but what it says about that must make sense.
	consistency, err := q.Consistency()
	if err != nil {
		return nil, err
	}
	t, err := e.newTransaction(q)
	if err != nil {
		return nil, err
	}
	if len(t.ops) == 0 {
		return &reply.Answer{JSON: txnAnswerJSON{}}, nil
	}
	if err = t.findMissing(ctx); err != nil {
		return nil, err
	}
	if err = t.checkTrees(ctx); err != nil {
		return nil, err
	}
	if err = t.keepOurs(ctx); err != nil {
		return nil, err
	}
	response, failed, err := t.run(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(failed) > 0:
		return &reply.Answer{Status: http.StatusConflict, JSON: txnAnswerJSON{Errors: failed}}, nil
	}
	results, err := t.results(ctx, response)
	if err != nil {
		return nil, err
	}
	a := &reply.Answer{JSON: txnAnswerJSON{Results: results}}
	if !t.writes() {
		a.Of(reply.State{Consistency: consistency, KnownLeader: true, Policy: e.policy(ctx)})
		a.Header.Del("X-Consul-Index")
	}
	return a, nil
}

// newTransaction reads a transaction.
func (e *txnEndpoints) newTransaction(q *request) (*transaction, error) {
	data, err := q.Content()
	if err != nil {
		return nil, err
	}
	var ops []txnOpJSON
	if err := json.Unmarshal(data, &ops); err != nil {
		return nil, reply.Refusal(http.StatusBadRequest, "Failed to parse body: it must be a JSON array of operations.")
	}
	if len(ops) > txnOpsMax {
		return nil, reply.Refusal(http.StatusRequestEntityTooLarge,
			"Transaction contains too many operations (%d > %d)", len(ops), txnOpsMax)
	}
	t := &transaction{core: e.core, what: make([]string, len(ops))}
	for i, op := range ops {
		if err := t.add(i, op); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// add adds an operation.
func (t *transaction) add(i int, op txnOpJSON) error {
	entry, err := op.entry()
	if err != nil {
		return err
	}
	t.entries = append(t.entries, entry)
	if entry != nil {
		t.ops, t.native = append(t.ops, txnKeyJSON{}), append(t.native, entry.native())
		return nil
	}
	if op.KV == nil {
		return reply.Refusal(http.StatusBadRequest, "Operation %d has no kind; it must have KV, Node, Service or Check.", i)
	}
	if err = checkKey(op.KV.Key); err != nil {
		return err
	}
	t.ops = append(t.ops, *op.KV)
	native, what, err := nativeOp(&t.ops[i])
	if err != nil {
		return err
	}
	if t.native = append(t.native, native); what != "" {
		t.fail(i, what)
	}
	return nil
}

// checkOp returns a check of a key.
func checkOp(condition *tenurev1.KeyCondition) *tenurev1.Op {
	return &tenurev1.Op{Kind: &tenurev1.Op_Check{Check: &tenurev1.Guard{Condition: &tenurev1.Guard_Key{Key: condition}}}}
}

// run runs the transaction, and returns which operations fail.
func (t *transaction) run(ctx context.Context) (*tenurev1.TxnResponse, []txnErrorJSON, error) {
	for range txnTriesMax {
		sent := t.send()
		response := &tenurev1.TxnResponse{}
		var err error
		if len(sent.ops) > 0 {
			response, err = t.core.kv.Txn(ctx, &tenurev1.TxnRequest{Then: sent.ops})
		}
		if err == nil {
			return response, t.errors(nil), nil
		}
		failed := sent.failed(err)
		again, whole := t.amend(ctx, err, failed, sent)
		switch {
		case whole != nil:
			return nil, nil, whole
		case !again:
			return nil, t.errors(failed), nil
		}
	}
	return nil, nil, reply.Refusal(http.StatusTooManyRequests, "The keys and nodes of this transaction change too fast; try again.")
}

// amend looks at why the transaction failed, and reports whether to try again with what it changed in the operations. An error is
// one of the whole transaction.
func (t *transaction) amend(ctx context.Context, err error, failed map[int]tenurev1.ErrorReason, sent sentOps) (again bool, _ error) {
	if failed == nil {
		i, named := sent.refused(err)
		if !named || t.what[i] != "" || ignoring(err, noSuchSession...) != nil {
			return false, err
		}
		if t.ops[i].Verb == verbUnlock {
			t.fail(i, textNotHeld(&t.ops[i])) // A release only compares.
			return true, nil
		}
		t.fail(i, fmt.Sprintf("%s %q", textBadSession, reply.Shown(t.ops[i].Session)))
		return true, nil
	}
	if again = t.changed(failed); again {
		if err = t.keepOurs(ctx); err != nil {
			return false, err
		}
	}
	for i := range failed {
		if t.ops[i].Verb != verbDeleteCAS || t.what[i] != "" {
			continue
		}
		// To delete what is gone succeeds, whatever index it should have had. It may come back before the next try.
		exists := t.native[i].GetCheck() != nil
		_, err := t.core.kv.Get(ctx, &tenurev1.GetRequest{Key: t.ops[i].Key})
		switch {
		case err == nil && exists:
			t.native[i], again = deleteCASOp(&t.ops[i]), true
		case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND && !exists:
			t.native[i], again = checkOp(&tenurev1.KeyCondition{Key: t.ops[i].Key, Exists: new(bool)}), true
		case ignoring(err, tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND) != nil:
			return false, err
		}
	}
	return again, nil
}

// errors returns which operations fail, and why: those that were found to fail here, and those that failed when they were sent.
func (t *transaction) errors(failed map[int]tenurev1.ErrorReason) []txnErrorJSON {
	var out []txnErrorJSON
	for i := range t.ops {
		why, ok := failed[i]
		what := t.what[i]
		switch {
		case what != "":
		case !ok:
			continue
		case t.entries[i] != nil:
			what = t.entries[i].whatOf(why)
		default:
			what = whatOf(&t.ops[i], why)
		}
		out = append(out, txnErrorJSON{OpIndex: i, What: what})
	}
	return out
}

const (
	// never is a revision that no key and no entry ever has.
	never = uint64(math.MaxUint64)
	// noCheckID is the id of no check: one has no control characters. What is not there may be named with them, too.
	noCheckID = "\x00"
)

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

// failingDelete returns a delete on a node that always fails. It is about a check that cannot exist: one that does would take the right to its service,
// and an entry is written once in a transaction.
func failingDelete(node string) *tenurev1.Op {
	revision := never
	return &tenurev1.Op{Kind: &tenurev1.Op_Catalog{Catalog: &tenurev1.CatalogOp{
		Kind: &tenurev1.CatalogOp_Delete{Delete: &tenurev1.CatalogName{Node: node, CheckId: noCheckID}}, IfRevision: &revision,
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

// failing returns an operation that always fails. On the node of an entry that is written it takes no right but that to write the node. On a key that
// is written it takes the right to read it, which the write does not, but which those who write in Consul's way have: a key is written once in a
// transaction.
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
