package machine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/effects"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/requests"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// txnListMax is how many keys one list in a transaction returns.
	txnListMax = 1000
	// txnResultBytesMax is how large the result of a transaction that may write may be, and of any remembered failure.
	txnResultBytesMax = 64 << 10
	// txnReadBytesMax is how large the result of a transaction that only reads may be.
	txnReadBytesMax = 1 << 20
)

// txn compares, then runs one of two lists of operations, whole or not at all. Compares see the state before,
// operations see earlier ones, and grants to waiters come after all operations.
func (c txnVerbs) txn(t *storev1.Txn) (*storev1.TxnResult, error) {
	if err := effects.Check(t, c.state.ClusterVersion, c.revision); err != nil {
		return nil, err
	}
	var out *storev1.TxnResult
	err := c.withinBudget(func() (err error) {
		out, err = c.compareAndRun(t)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Who waits for what a transaction releases is not its doing, so grants have a bound of their own.
	return out, c.queue.grantTouched()
}

// compareAndRun does what a transaction does itself.
func (c txnVerbs) compareAndRun(t *storev1.Txn) (*storev1.TxnResult, error) {
	out := &storev1.TxnResult{Succeeded: true}
	for _, compare := range t.GetCompares() {
		holds, err := c.compare(compare)
		if err != nil {
			return nil, err
		}
		out.Succeeded = out.GetSucceeded() && holds
	}
	ops := t.GetThenOps()
	if !out.GetSucceeded() {
		ops = t.GetElseOps()
	}
	most := c.resultBytesMax(t, ops)
	fits, err := c.runOps(ops, out, most)
	if err != nil {
		return nil, err
	}
	if !fits || proto.Size(out) > most {
		return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_RESULT_TOO_LARGE,
			storev1.FailureDetail_FAILURE_DETAIL_RESULT_TOO_LARGE, most)
	}
	return out, nil
}

// resultBytesMax returns how large the result of a transaction may be of which these operations run. One that may write enters the log, and each
// member makes its result and may have to remember it, whichever list runs; before version 3, that of a list that only reads could be as large as
// that of a transaction that never writes.
func (c txnVerbs) resultBytesMax(t *storev1.Txn, ops []*storev1.Op) int {
	readsOnly := effects.ReadsOnly(t)
	if c.state.ClusterVersion < layout.Version3 {
		readsOnly = !slices.ContainsFunc(ops, effects.Writes)
	}
	if readsOnly {
		return txnReadBytesMax
	}
	return txnResultBytesMax
}

// runOps runs operations in order. After one has failed the others are still tried, each against the state that the
// successful ones left, so that the failure names all that would fail. If the results are larger than most, fits is false,
// and they are not kept: together they may be larger than any memory. From cluster version 2 on, nothing more is tried then,
// nor once the budget is spent.
func (c txnVerbs) runOps(ops []*storev1.Op, out *storev1.TxnResult, most int) (fits bool, err error) {
	c.grantsLater = true
	var failed []*storev1.OpFailure
	size := 0
	for i, op := range ops {
		if c.stopsAtLimit() && size > most {
			break
		}
		c.room = most - size
		mark, state, events := c.rows.Mark(), c.state, len(c.events)
		result, err := c.runOp(op, i)
		if over := c.rows.Meter.Over(); over != nil {
			return false, over
		}
		if failure := rule.At(c.state.ClusterVersion, err); failure != nil {
			c.rows.RollbackTo(mark)
			c.state, c.events = state, c.events[:events]
			c.catalog.Forget()
			failed = append(failed, &storev1.OpFailure{Position: uint32(i), Failure: failure})
			continue
		}
		if err != nil {
			return false, err
		}
		if size += proto.Size(result); size > most {
			out.Results = nil
			continue
		}
		out.Results = append(out.Results, result)
	}
	c.grantsLater = false
	if len(failed) == 0 {
		return size <= most, nil
	}
	first := proto.CloneOf(failed[0].GetFailure())
	first.Position = failed[0].GetPosition()
	first.ElseOps = !out.GetSucceeded()
	first.Operations = failed
	if c.state.ClusterVersion < layout.Version2 {
		first.Message = rule.Positioned(first, first.GetMessage())
	}
	if proto.Size(first) > txnResultBytesMax {
		for _, f := range failed {
			f.Failure.Lock = nil
		}
		if c.state.ClusterVersion >= layout.Version3 {
			leaveOut(first)
		}
	}
	return false, &rule.Error{Failure: first}
}

// leaveOut takes the last failing operations out of a failure until it may be remembered, and counts them. With long keys, those of as many
// operations as a transaction may have are several times as large.
func leaveOut(f *storev1.Failure) {
	all := f.GetOperations()
	f.Operations, f.OperationsLeftOut = nil, uint32(len(all)) // No number of operations has a longer encoding.
	size := proto.Size(f)
	for i := range all {
		if size += proto.Size(&storev1.Failure{Operations: all[i : i+1]}); size > txnResultBytesMax {
			break
		}
		f.Operations, f.OperationsLeftOut = all[:i+1], uint32(len(all)-i-1)
	}
}

// stopsAtLimit reports whether a transaction reads no further than its result may be large.
func (c txnVerbs) stopsAtLimit() bool { return c.state.ClusterVersion >= layout.Version2 }

// runOp runs one operation. A verb that is answered "false" outside of transactions is a failure here.
func (c txnVerbs) runOp(op *storev1.Op, i int) (*storev1.OpResult, error) {
	switch kind := op.GetKind().(type) {
	case *storev1.Op_Get:
		state, err := c.getOp(kind.Get)
		return &storev1.OpResult{Kind: &storev1.OpResult_Get{Get: &storev1.GetOpResult{State: state}}}, err
	case *storev1.Op_Put:
		put, err := c.keys.put(kind.Put, i)
		if err == nil && (kind.Put.GetAcquire() != nil || kind.Put.GetRelease() != nil) && !put.GetVerbSucceeded() {
			err = verbFailed(put.GetLock(), kind.Put.GetRelease() != nil)
		}
		return &storev1.OpResult{Kind: &storev1.OpResult_Put{Put: put}}, err
	case *storev1.Op_Delete:
		deleted, err := c.keys.deleteOne(kind.Delete)
		return &storev1.OpResult{Kind: &storev1.OpResult_Delete{Delete: deleted}}, err
	case *storev1.Op_DeletePrefix:
		deleted, err := c.keys.deletePrefix(kind.DeletePrefix)
		return &storev1.OpResult{Kind: &storev1.OpResult_Delete{Delete: deleted}}, err
	case *storev1.Op_AcquireLock:
		acquired, err := c.locks.acquireLock(kind.AcquireLock)
		if err == nil && acquired.GetHold() == nil {
			state := acquired.GetRefused()
			if state == nil {
				state = acquired.GetLock()
			}
			err = verbFailed(state, false)
		}
		return &storev1.OpResult{Kind: &storev1.OpResult_AcquireLock{AcquireLock: acquired}}, err
	case *storev1.Op_ReleaseLock:
		released, err := c.locks.releaseLock(kind.ReleaseLock)
		if err == nil && !released.GetReleased() {
			err = verbFailed(released.GetLock(), true)
		}
		return &storev1.OpResult{Kind: &storev1.OpResult_ReleaseLock{ReleaseLock: released}}, err
	case *storev1.Op_Check:
		return &storev1.OpResult{}, c.checkGuard(kind.Check)
	case *storev1.Op_List:
		list, err := c.listOp(kind.List)
		return &storev1.OpResult{Kind: &storev1.OpResult_List{List: list}}, err
	case *storev1.Op_Catalog:
		out, err := c.catalog.Op(kind.Catalog)
		return &storev1.OpResult{Kind: &storev1.OpResult_Catalog{Catalog: out}}, err
	default:
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_OPERATION_WITHOUT_KIND)
	}
}

// verbFailed returns the failure of a verb that was answered "false".
func verbFailed(state *storev1.LockState, release bool) error {
	reason, detail := storev1.FailureReason_FAILURE_REASON_LOCK_HELD, storev1.FailureDetail_FAILURE_DETAIL_LOCK_IS_HELD
	switch {
	case release:
		reason, detail = storev1.FailureReason_FAILURE_REASON_LOCK_NOT_HELD, storev1.FailureDetail_FAILURE_DETAIL_LOCK_IS_NOT_HELD
	case state.GetHolders() == 0 && state.GetWaiters() == 0 && state.GetDelayedHolds() > 0:
		reason, detail = storev1.FailureReason_FAILURE_REASON_LOCK_DELAYED, storev1.FailureDetail_FAILURE_DETAIL_LOCK_IS_DELAYED
	case state.GetHolders() == 0 && state.GetWaiters() == 0 && state.GetFrozen():
		reason, detail = storev1.FailureReason_FAILURE_REASON_FROZEN, storev1.FailureDetail_FAILURE_DETAIL_LOCK_IS_FROZEN
	}
	f := rule.Broken(reason, detail, state.GetKey())
	f.Failure.Key = state.GetKey()
	f.Failure.Lock = state
	return f
}

func (c txnVerbs) getOp(op *storev1.GetOp) (*storev1.KeyState, error) {
	n, err := c.name(op.GetKey())
	if err != nil {
		return nil, err
	}
	k, err := c.keyRecord(n)
	if err == nil && k == nil && op.GetMustExist() && c.state.ClusterVersion >= layout.Version2 {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_KEY_NOT_FOUND, storev1.FailureDetail_FAILURE_DETAIL_KEY_IS_MISSING, n.Key)
		f.Failure.Key = n.Key
		return nil, f
	}
	if err != nil || k == nil {
		return nil, err
	}
	head, err := records.LockHead(c.rows, n)
	if err != nil {
		return nil, err
	}
	return records.KeyState(op.GetKey(), k, head), nil
}

// listOp lists keys. It stops where the result is larger than any transaction may return, which then fails for that.
func (c txnVerbs) listOp(op *storev1.ListOp) (*storev1.ListOpResult, error) {
	if op.GetLimit() == 0 || op.GetLimit() > txnListMax {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_LIST_LIMIT, txnListMax)
	}
	out := &storev1.ListOpResult{}
	from := layout.NameRow(layout.RowKey, layout.Name{NS: c.ns, Key: op.GetPrefix()})
	read, most := 0, txnReadBytesMax
	if c.stopsAtLimit() {
		most = c.room
	}
	err := c.rows.Scan(from, layout.RowsEnd(from), func(row, value []byte) (bool, error) {
		n, ok := layout.CutNameRow(row)
		if !ok {
			return false, fmt.Errorf("%w: key row", layout.ErrCorrupt)
		}
		// Twice, because a record is a little larger than what is shown of it.
		if read > 2*most {
			return false, nil
		}
		read += len(value)
		if out.More = len(out.GetStates()) == int(op.GetLimit()); out.GetMore() {
			return false, nil
		}
		k := &storev1.KeyRecord{}
		if err := layout.Decode(value, k); err != nil {
			return false, fmt.Errorf("key %q: %w", n.Key, err)
		}
		head, err := records.LockHead(c.rows, n)
		out.States = append(out.States, records.KeyState(n.Key, k, head))
		return true, err
	})
	return out, err
}

// compare says whether a condition holds.
func (c txnVerbs) compare(m *storev1.Compare) (bool, error) {
	if g, ok := m.GetOperand().(*storev1.Compare_Guard); ok {
		err := c.checkGuard(g.Guard)
		broken, isRule := errors.AsType[*rule.Error](err)
		if isRule && broken.Failure.GetReason() != storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND {
			return false, nil
		}
		return err == nil, err
	}
	n, err := c.name(m.GetKey())
	if err != nil {
		return false, err
	}
	if operand, ok := m.GetOperand().(*storev1.Compare_Value); ok {
		return c.compareValue(n, m.GetOperator(), operand.Value)
	}
	facts, err := c.keyFacts(n)
	if err != nil {
		return false, err
	}
	k := facts.record
	switch operand := m.GetOperand().(type) {
	case *storev1.Compare_ModRevision:
		return relates(m.GetOperator(), cmp.Compare(k.GetModRevision(), operand.ModRevision))
	case *storev1.Compare_CreateRevision:
		return relates(m.GetOperator(), cmp.Compare(k.GetCreateRevision(), operand.CreateRevision))
	case *storev1.Compare_Version:
		return relates(m.GetOperator(), cmp.Compare(k.GetVersion(), operand.Version))
	case *storev1.Compare_Flags:
		return relates(m.GetOperator(), cmp.Compare(k.GetFlags(), operand.Flags))
	case *storev1.Compare_HeldBySessionId:
		head, err := records.LockHead(c.rows, n)
		if err != nil {
			return false, err
		}
		return relates(m.GetOperator(), bytes.Compare(head.GetExclusiveSessionId(), operand.HeldBySessionId))
	default:
		return false, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_COMPARE_WITHOUT_OPERAND)
	}
}

// compareValue says whether the value of a key relates to another as it must. The value of a missing key differs from all.
func (c txnVerbs) compareValue(n layout.Name, operator storev1.CompareOperator, other []byte) (bool, error) {
	order := 0
	found, err := c.rows.View(layout.NameRow(layout.RowKey, n), func(value []byte) error {
		content, err := layout.BytesField(value, layout.KeyValueField)
		order = bytes.Compare(content, other)
		return err
	})
	switch {
	case err != nil:
		return false, fmt.Errorf("key %q: %w", n.Key, err)
	case !found:
		return operator == storev1.CompareOperator_COMPARE_OPERATOR_NOT_EQUAL, nil
	default:
		return relates(operator, order)
	}
}

// relates says whether an operator admits the order of a property and its operand.
func relates(operator storev1.CompareOperator, order int) (bool, error) {
	switch operator {
	case storev1.CompareOperator_COMPARE_OPERATOR_EQUAL:
		return order == 0, nil
	case storev1.CompareOperator_COMPARE_OPERATOR_NOT_EQUAL:
		return order != 0, nil
	case storev1.CompareOperator_COMPARE_OPERATOR_LESS:
		return order < 0, nil
	case storev1.CompareOperator_COMPARE_OPERATOR_GREATER:
		return order > 0, nil
	default:
		return false, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_COMPARE_WITHOUT_OPERATOR)
	}
}

// ReadTxn answers a transaction that reads only, from a snapshot of which at is the account.
func ReadTxn(rows table.Snapshot, at layout.Applied, cmd *storev1.Command) (*storev1.Result, error) {
	at.ClusterVersion = max(at.ClusterVersion, layout.Version2)
	overlay := table.NewOverlay(rows.Disk, at.StoreBytes)
	overlay.Voids, overlay.Index = rows.Voids, rows.Index
	w := NewWork(overlay, at)
	result, err := w.readTxn(cmd)
	if failure := rule.At(at.ClusterVersion, err); failure != nil {
		return &storev1.Result{Revision: at.Revision, Failure: failure}, nil
	}
	if err != nil {
		return nil, err
	}
	result.Revision = at.Revision
	return result, nil
}

func (w *Work) readTxn(cmd *storev1.Command) (*storev1.Result, error) {
	c := newCommand(w, w.state.Term, cmd)
	if _, err := requests.SlotOf(cmd); err != nil {
		return nil, err
	}
	if id := cmd.GetRequestId(); id != nil {
		if _, err := c.sessions.session(&storev1.SessionRef{SessionId: id.GetSessionId(), Epoch: id.GetEpoch()}); err != nil {
			return nil, err
		}
	}
	return c.run(cmd)
}
