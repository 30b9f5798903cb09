package tenure

import (
	"context"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Compare is one condition of a transaction.
type Compare struct {
	key     string
	message *tenurev1.Compare
}

// ModRevisionIs compares a key's ModRevision; 0 is that of a missing key.
func ModRevisionIs(key string, revision uint64) Compare {
	return Compare{key: key, message: &tenurev1.Compare{Operand: &tenurev1.Compare_ModRevision{ModRevision: revision}}}
}

// VersionIs compares a key's Version; 0 is that of a missing key.
func VersionIs(key string, version uint64) Compare {
	return Compare{key: key, message: &tenurev1.Compare{Operand: &tenurev1.Compare_Version{Version: version}}}
}

// ValueIs compares a key's value; a missing key equals no value.
func ValueIs(key string, value []byte) Compare {
	return Compare{key: key, message: &tenurev1.Compare{Operand: &tenurev1.Compare_Value{Value: value}}}
}

// Op is one operation of a transaction.
type Op struct {
	key   string
	bind  bool // Whether it needs a session.
	build func(full string, k *KV) *tenurev1.Op
}

// OpGet reads a key.
func OpGet(key string) Op {
	return Op{key: key, build: func(full string, _ *KV) *tenurev1.Op {
		return &tenurev1.Op{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: full}}}
	}}
}

// OpPut writes a key. Of the options, guards belong to the transaction.
func OpPut(key string, value []byte, options ...WriteOption) Op {
	o := gather(options)
	return Op{key: key, bind: o.bind, build: func(full string, k *KV) *tenurev1.Op {
		put := &tenurev1.PutRequest{
			Key: full, Content: &tenurev1.PutRequest_Value{Value: value}, Flags: o.flags, IfRevision: o.ifRevision,
			Sequential: o.sequential,
		}
		if o.bind {
			put.BindSession = k.session.id
		}
		return &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: put}}
	}}
}

// OpDelete deletes a key.
func OpDelete(key string, options ...WriteOption) Op {
	o := gather(options)
	return Op{key: key, build: func(full string, _ *KV) *tenurev1.Op {
		return &tenurev1.Op{Kind: &tenurev1.Op_Delete{Delete: &tenurev1.DeleteRequest{Key: full, IfRevision: o.ifRevision}}}
	}}
}

// Txn is a transaction. If all compares hold, Then runs, otherwise Else: completely or not at all.
type Txn struct {
	If   []Compare
	Then []Op
	Else []Op
}

// TxnResult is what a transaction did.
type TxnResult struct {
	// Succeeded says whether the compares held.
	Succeeded bool
	// Revision of the change, or of the state that was read.
	Revision uint64
	// Results has one result for each operation that ran.
	Results []OpResult
}

// OpResult is what one operation returned.
type OpResult struct {
	// KV is the key that was read or put; nil if it was read and missing.
	KV *KeyValue
	// Deleted says whether a delete found the key.
	Deleted bool
}

// Txn runs a transaction. Of the options, only guards apply.
func (k *KV) Txn(ctx context.Context, txn Txn, options ...WriteOption) (*TxnResult, error) {
	o, err := write(options)
	if err != nil {
		return nil, err
	}
	request := &tenurev1.TxnRequest{}
	for _, c := range txn.If {
		compare := &tenurev1.Compare{Operand: c.message.GetOperand()}
		if compare.Key, err = k.space.fullKey(c.key); err != nil {
			return nil, err
		}
		request.Compares = append(request.Compares, compare)
	}
	if request.Then, err = k.ops(txn.Then); err != nil {
		return nil, err
	}
	if request.Otherwise, err = k.ops(txn.Else); err != nil {
		return nil, err
	}
	var answer *tenurev1.TxnResponse
	err = k.caller.change(ctx, func(ctx context.Context, l *conn.Link, call *tenurev1.CallOptions) (err error) {
		call.Guards = o.guards
		request.Options = call
		answer, err = tenurev1.NewKVServiceClient(l).Txn(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	result := &TxnResult{Succeeded: answer.GetSucceeded(), Revision: answer.GetHeader().GetRevision()}
	for _, r := range answer.GetResponses() {
		one := OpResult{Deleted: r.GetDelete().GetDeleted(), KV: keyValue(k.space, r.GetGet().GetKv())}
		if put := r.GetPut(); put != nil {
			one.KV = keyValue(k.space, put.GetKv())
		}
		result.Results = append(result.Results, one)
	}
	return result, nil
}

func (k *KV) ops(list []Op) ([]*tenurev1.Op, error) {
	var ops []*tenurev1.Op
	for _, op := range list {
		full, err := k.space.fullKey(op.key)
		if err != nil {
			return nil, err
		}
		if op.bind && k.session == nil {
			return nil, errNoSession()
		}
		ops = append(ops, op.build(full, k))
	}
	return ops, nil
}
