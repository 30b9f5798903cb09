package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/reason"
)

// txnOpsMax is how many compares and operations a transaction may have together.
const txnOpsMax = 128

// Txn serves KVService.
func (a *KV) Txn(ctx context.Context, r *tenurev1.TxnRequest) (*tenurev1.TxnResponse, error) {
	if n := len(r.GetCompares()) + len(r.GetThen()) + len(r.GetOtherwise()); n > txnOpsMax {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE,
			"transaction has %d compares and operations; at most %d are allowed", n, txnOpsMax)
	}
	use := call.OptionUse{Session: txnNamesSession(r), Guards: true, Request: true, Key: true}
	if err := call.CheckOptions(r.GetOptions(), use); err != nil {
		return nil, err
	}
	txn, err := a.txnFromProto(ctx, r)
	if err != nil {
		return nil, err
	}
	result, header, err := orderTxn(ctx, a, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_Txn{Txn: txn}},
	})
	if err != nil {
		return nil, err
	}
	ops := txn.GetThenOps()
	if !result.GetTxn().GetSucceeded() {
		ops = txn.GetElseOps()
	}
	response := &tenurev1.TxnResponse{Header: header, Succeeded: result.GetTxn().GetSucceeded()}
	for i, op := range result.GetTxn().GetResults() {
		a.logForced(ctx, ops[i], op)
		response.Responses = append(response.Responses, a.opToProto(ops[i], op))
	}
	return response, nil
}

// logForced logs an operation of a transaction, if it released a hold by force.
func (a *KV) logForced(ctx context.Context, op *storev1.Op, done *storev1.OpResult) {
	switch put, release := op.GetPut(), op.GetReleaseLock(); {
	case put.GetForce() && done.GetPut().GetVerbSucceeded():
		logForce(ctx, a.Log, put.GetRelease(), put.GetReason())
	case release.GetForce() && done.GetReleaseLock().GetReleased():
		logForce(ctx, a.Log, release.GetSession(), release.GetReason())
	}
}

// txnNamesSession tells whether an operation of a transaction acts as a session.
func txnNamesSession(r *tenurev1.TxnRequest) bool {
	return slices.ContainsFunc(slices.Concat(r.GetThen(), r.GetOtherwise()), func(o *tenurev1.Op) bool {
		return o.GetAcquireLock() != nil || o.GetReleaseLock() != nil || putNamesSession(o.GetPut())
	})
}

// txnFromProto validates a transaction and checks that the caller may act as the sessions it names.
func (a *KV) txnFromProto(ctx context.Context, r *tenurev1.TxnRequest) (*storev1.Txn, error) {
	txn := &storev1.Txn{}
	for i, c := range r.GetCompares() {
		compare, err := a.compareFromProto(fmt.Sprintf("compares[%d]", i), c)
		if err != nil {
			return nil, err
		}
		txn.Compares = append(txn.Compares, compare)
	}
	for _, side := range []struct {
		name string
		from []*tenurev1.Op
		to   *[]*storev1.Op
	}{
		{"then", r.GetThen(), &txn.ThenOps}, {"otherwise", r.GetOtherwise(), &txn.ElseOps},
	} {
		for i, o := range side.from {
			op, err := a.opFromProto(ctx, r.GetOptions(), o)
			if err != nil {
				return nil, inField(fmt.Sprintf("%s[%d]", side.name, i), err)
			}
			*side.to = append(*side.to, op)
		}
	}
	return txn, nil
}

// inField puts the name of an operation before the fields that an error names.
func inField(operation string, err error) error {
	e := reason.Of(err)
	if e == nil {
		return err
	}
	e.Message = operation + ": " + e.Message
	for _, v := range e.Violations {
		v.Field = operation + "." + v.GetField()
	}
	return e
}

// compareFromProto converts one condition of a transaction.
func (a *KV) compareFromProto(field string, c *tenurev1.Compare) (*storev1.Compare, error) {
	if g, ok := c.GetOperand().(*tenurev1.Compare_Guard); ok {
		if c.GetKey() != "" || c.GetOperator() != tenurev1.CompareOperator_COMPARE_OPERATOR_UNSPECIFIED {
			return nil, reason.Invalid(field, "a compare with a guard must have no key and no operator")
		}
		guard, err := a.GuardFromProto(field+".guard", g.Guard)
		return &storev1.Compare{Operand: &storev1.Compare_Guard{Guard: guard}}, err
	}
	if err := call.CheckKey(field+".key", c.GetKey()); err != nil {
		return nil, err
	}
	out := &storev1.Compare{Key: c.GetKey(), Operator: storev1.CompareOperator_COMPARE_OPERATOR_EQUAL}
	if o := c.GetOperator(); o != tenurev1.CompareOperator_COMPARE_OPERATOR_UNSPECIFIED {
		if _, known := tenurev1.CompareOperator_name[int32(o)]; !known {
			return nil, reason.Invalid(field+".operator", "%d is not an operator", o)
		}
		// The enums are equal, number by number.
		out.Operator = storev1.CompareOperator(o)
	}
	switch operand := c.GetOperand().(type) {
	case *tenurev1.Compare_Value:
		out.Operand = &storev1.Compare_Value{Value: operand.Value}
	case *tenurev1.Compare_Text:
		out.Operand = &storev1.Compare_Value{Value: []byte(operand.Text)}
	case *tenurev1.Compare_ModRevision:
		out.Operand = &storev1.Compare_ModRevision{ModRevision: operand.ModRevision}
	case *tenurev1.Compare_CreateRevision:
		out.Operand = &storev1.Compare_CreateRevision{CreateRevision: operand.CreateRevision}
	case *tenurev1.Compare_Version:
		out.Operand = &storev1.Compare_Version{Version: operand.Version}
	case *tenurev1.Compare_Flags:
		out.Operand = &storev1.Compare_Flags{Flags: operand.Flags}
	case *tenurev1.Compare_HeldBy:
		held := &storev1.Compare_HeldBySessionId{}
		if operand.HeldBy != "" {
			id, err := call.ParseSession(field+".held_by", operand.HeldBy)
			if err != nil {
				return nil, err
			}
			held.HeldBySessionId = id[:]
		}
		out.Operand = held
	default:
		return nil, reason.Invalid(field, "has no operand")
	}
	return out, nil
}

// opFromProto converts one operation. Its own options may say which session's user asks; what they leave out is taken
// from the transaction's.
func (a *KV) opFromProto(ctx context.Context, outer *tenurev1.CallOptions, o *tenurev1.Op) (*storev1.Op, error) {
	switch kind := o.GetKind().(type) {
	case *tenurev1.Op_Get:
		return a.getOpFromProto(kind.Get)
	case *tenurev1.Op_List:
		if kind.List.GetVisibleOnly() { // Apply knows no rights by which it could leave something out.
			return nil, reason.Invalid("visible_only", "must not be set in a transaction")
		}
		return listOpFromProto(kind.List)
	case *tenurev1.Op_Put:
		put := proto.CloneOf(kind.Put)
		var err error
		use := call.OptionUse{Session: putNamesSession(put), Force: true, Reason: true}
		if put.Options, err = call.OpOptions(outer, put.GetOptions(), use); err != nil {
			return nil, err
		}
		p, err := a.putFromProto(ctx, put)
		return &storev1.Op{Kind: &storev1.Op_Put{Put: p}}, err
	case *tenurev1.Op_Delete:
		if err := a.checkDropsHolds("drop_holds", kind.Delete.GetDropHolds()); err != nil {
			return nil, err
		}
		if _, err := call.OpOptions(outer, kind.Delete.GetOptions(), call.OptionUse{}); err != nil {
			return nil, err
		}
		return &storev1.Op{Kind: &storev1.Op_Delete{
			Delete: &storev1.Delete{
				Key: kind.Delete.GetKey(), IfRevision: kind.Delete.IfRevision, DropHolds: kind.Delete.GetDropHolds(),
			},
		}}, call.CheckKey("key", kind.Delete.GetKey())
	case *tenurev1.Op_DeletePrefix:
		if kind.DeletePrefix.GetKeysMax() > 0 {
			return nil, reason.Invalid("keys_max", "must not be set in a transaction")
		}
		if _, err := call.OpOptions(outer, kind.DeletePrefix.GetOptions(), call.OptionUse{}); err != nil {
			return nil, err
		}
		return &storev1.Op{Kind: &storev1.Op_DeletePrefix{
			DeletePrefix: &storev1.DeletePrefix{Prefix: kind.DeletePrefix.GetPrefix(), DropHolds: kind.DeletePrefix.GetDropHolds()},
		}}, a.checkDeletePrefix(kind.DeletePrefix)
	case *tenurev1.Op_AcquireLock:
		return a.acquireOpFromProto(ctx, outer, kind.AcquireLock)
	case *tenurev1.Op_ReleaseLock:
		release := proto.CloneOf(kind.ReleaseLock)
		var err error
		use := call.OptionUse{Session: true, Owner: true, Force: true, Reason: true}
		if release.Options, err = call.OpOptions(outer, release.GetOptions(), use); err != nil {
			return nil, err
		}
		l, err := a.locks.releaseFromProto(ctx, release)
		return &storev1.Op{Kind: &storev1.Op_ReleaseLock{ReleaseLock: l}}, err
	case *tenurev1.Op_Check:
		guard, err := a.GuardFromProto("check", kind.Check)
		return &storev1.Op{Kind: &storev1.Op_Check{Check: guard}}, err
	case *tenurev1.Op_Catalog:
		return a.catalogOpFromProto(kind.Catalog)
	default:
		return nil, reason.Invalid("kind", "the operation has no kind")
	}
}

// catalogOpFromProto converts an operation on the catalog.
func (a *KV) catalogOpFromProto(r *tenurev1.CatalogOp) (*storev1.Op, error) {
	if err := catalog.Enabled(a.Caller); err != nil {
		return nil, err
	}
	drawn := uuid.New()
	op, err := catalog.OpFromProto(r, drawn[:])
	return &storev1.Op{Kind: &storev1.Op_Catalog{Catalog: op}}, err
}

func (a *KV) getOpFromProto(r *tenurev1.GetRequest) (*storev1.Op, error) {
	if err := a.checkDropsHolds("must_exist", r.GetMustExist()); err != nil {
		return nil, err
	}
	if r.GetRead() != nil {
		return nil, reason.Invalid("read", "must not be set in a transaction, which reads the state that it changes")
	}
	return &storev1.Op{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: r.GetKey(), MustExist: r.GetMustExist()}}}, call.CheckKey("key", r.GetKey())
}

func listOpFromProto(r *tenurev1.ListRequest) (*storev1.Op, error) {
	if r.GetRead() != nil {
		return nil, reason.Invalid("read", "must not be set in a transaction, which reads the state that it changes")
	}
	if r.GetPageToken() != "" {
		return nil, reason.Invalid("page_token", "a transaction returns first pages only")
	}
	if r.GetKeysOnly() {
		return nil, reason.Invalid("keys_only", "is not supported in a transaction")
	}
	if err := call.CheckPrefix("prefix", r.GetPrefix(), call.KeyBytesMax); err != nil {
		return nil, err
	}
	size, err := call.PageSize(r.GetPageSize())
	return &storev1.Op{Kind: &storev1.Op_List{
		List: &storev1.ListOp{Prefix: r.GetPrefix(), Limit: uint32(size)},
	}}, err
}

func (a *KV) acquireOpFromProto(
	ctx context.Context, outer *tenurev1.CallOptions, r *tenurev1.TryAcquireLockRequest,
) (*storev1.Op, error) {
	if r.GetWait() != nil {
		return nil, reason.Invalid("wait", "a transaction does not wait")
	}
	request := proto.CloneOf(r)
	var err error
	if request.Options, err = call.OpOptions(outer, r.GetOptions(), call.OptionUse{Session: true, Owner: true}); err != nil {
		return nil, err
	}
	acquire, err := a.locks.acquireFromProto(ctx, request)
	if err != nil {
		return nil, err
	}
	acquire.Value = r.GetValue()
	return &storev1.Op{Kind: &storev1.Op_AcquireLock{AcquireLock: acquire}}, nil
}

// opToProto returns what one operation returned.
func (a *KV) opToProto(op *storev1.Op, r *storev1.OpResult) *tenurev1.OpResponse {
	history := a.History()
	switch kind := r.GetKind().(type) {
	case *storev1.OpResult_Get:
		return &tenurev1.OpResponse{Kind: &tenurev1.OpResponse_Get{
			Get: &tenurev1.GetResponse{Kv: call.KeyToProto(kind.Get.GetState())},
		}}
	case *storev1.OpResult_List:
		list := &tenurev1.ListResponse{}
		for _, state := range kind.List.GetStates() {
			list.Kvs = append(list.Kvs, call.KeyToProto(state))
		}
		if kind.List.GetMore() && len(list.GetKvs()) > 0 {
			query := call.PageQuery{List: "keys", Filters: []string{op.GetList().GetPrefix()}}
			list.NextPageToken = query.Token(a.Node.Store().Applied(), list.GetKvs()[len(list.GetKvs())-1].GetKey())
		}
		return &tenurev1.OpResponse{Kind: &tenurev1.OpResponse_List{List: list}}
	case *storev1.OpResult_Put:
		put := a.putToProto(op.GetPut(), &storev1.Result{Kind: &storev1.Result_Put{Put: kind.Put}})
		put.Header = nil
		return &tenurev1.OpResponse{Kind: &tenurev1.OpResponse_Put{Put: put}}
	case *storev1.OpResult_Delete:
		if op.GetDeletePrefix() != nil {
			return &tenurev1.OpResponse{Kind: &tenurev1.OpResponse_DeletePrefix{
				DeletePrefix: &tenurev1.DeletePrefixResponse{Deleted: kind.Delete.GetDeleted()},
			}}
		}
		return &tenurev1.OpResponse{Kind: &tenurev1.OpResponse_Delete{
			Delete: &tenurev1.DeleteResponse{Deleted: kind.Delete.GetDeleted() > 0},
		}}
	case *storev1.OpResult_AcquireLock:
		return &tenurev1.OpResponse{Kind: &tenurev1.OpResponse_AcquireLock{
			AcquireLock: &tenurev1.TryAcquireLockResponse{
				Acquired: true, Hold: call.HoldToProto(kind.AcquireLock.GetHold(), history, a.Timers),
			},
		}}
	case *storev1.OpResult_ReleaseLock:
		return &tenurev1.OpResponse{Kind: &tenurev1.OpResponse_ReleaseLock{
			ReleaseLock: &tenurev1.ReleaseLockResponse{Released: true, Granted: kind.ReleaseLock.GetGranted()},
		}}
	case *storev1.OpResult_Catalog:
		return &tenurev1.OpResponse{Kind: &tenurev1.OpResponse_Catalog{Catalog: catalog.OpToProto(kind.Catalog)}}
	default:
		return &tenurev1.OpResponse{}
	}
}
