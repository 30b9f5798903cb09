package server_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func putOp(key, value string) *tenurev1.Op {
	return &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: key, Content: text(value)}}}
}

func getOp(key string) *tenurev1.Op {
	return &tenurev1.Op{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: key}}}
}

func acquireOp(key, session string) *tenurev1.Op {
	return &tenurev1.Op{Kind: &tenurev1.Op_AcquireLock{
		AcquireLock: &tenurev1.TryAcquireLockRequest{Key: key, SessionId: session},
	}}
}

func missing(key string) *tenurev1.Compare {
	return &tenurev1.Compare{Key: key, Operand: &tenurev1.Compare_Version{Version: 0}}
}

func TestTransactionRunsOneOfItsListsWhole(t *testing.T) {
	m := start(t)
	s := m.openSession(t, "alice")
	request := &tenurev1.TxnRequest{
		Compares:  []*tenurev1.Compare{missing("a")},
		Then:      []*tenurev1.Op{putOp("a", "1"), getOp("a"), acquireOp("lock", s), {Kind: &tenurev1.Op_List{List: &tenurev1.ListRequest{}}}},
		Otherwise: []*tenurev1.Op{getOp("a"), {Kind: &tenurev1.Op_Delete{Delete: &tenurev1.DeleteRequest{Key: "a"}}}},
	}
	got, err := m.Txn(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	r := got.GetResponses()
	if !got.GetSucceeded() || len(r) != 4 {
		t.Fatalf("got %v, want the four answers of then", got)
	}
	revision := got.GetHeader().GetRevision()
	if v := r[1].GetGet().GetKv(); string(v.GetValue()) != "1" || v.GetModRevision() != revision {
		t.Errorf("get inside the transaction returned %v, want what it had put", v)
	}
	if token := r[2].GetAcquireLock().GetHold().GetSequencer().GetFencingToken(); token != revision {
		t.Errorf("got token %d, want the revision of the transaction, %d", token, revision)
	}
	if n := len(r[3].GetList().GetKvs()); n != 2 {
		t.Errorf("list inside the transaction returned %d keys, want 2", n)
	}
	got, err = m.Txn(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if got.GetSucceeded() || len(got.GetResponses()) != 2 || !got.GetResponses()[1].GetDelete().GetDeleted() {
		t.Errorf("got %v, want the two answers of otherwise", got)
	}
}

func TestTransactionNamesEveryFailingOperationAndWritesNothing(t *testing.T) {
	m := start(t)
	holder, other := m.openSession(t, "alice"), m.openSession(t, "bob")
	if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "held", Acquire: holder}); err != nil {
		t.Fatal(err)
	}
	_, err := m.Txn(t.Context(), &tenurev1.TxnRequest{Then: []*tenurev1.Op{
		putOp("a", "1"),
		acquireOp("held", other),
		{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: "b", IfRevision: proto.Uint64(7)}}},
	}})
	wantError(t, err, codes.FailedPrecondition, "LOCK_HELD")
	meta := infoOf(err).GetMetadata()
	if got, want := meta["operations"], "1:LOCK_HELD,2:COMPARE_FAILED"; got != want {
		t.Errorf("got operations %q, want %q", got, want)
	}
	if meta["applied"] != "no" || meta["holder_name"] != "alice" {
		t.Errorf("got metadata %v, want that nothing was applied and that alice holds", meta)
	}
	_, err = m.Get(t.Context(), &tenurev1.GetRequest{Key: "a"})
	wantError(t, err, codes.NotFound, "KEY_NOT_FOUND")
}

// TestTransactionSaysHowManyFailingOperationsItLeavesOut fails with operations on long keys, of which not all are remembered.
func TestTransactionSaysHowManyFailingOperationsItLeavesOut(t *testing.T) {
	m := start(t)
	var ops []*tenurev1.Op
	for i := range 128 {
		ops = append(ops, &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: fmt.Sprintf("%01000d", i), IfRevision: proto.Uint64(7)}}})
	}
	_, err := m.Txn(t.Context(), &tenurev1.TxnRequest{Then: ops})
	wantError(t, err, codes.FailedPrecondition, "COMPARE_FAILED")
	meta := infoOf(err).GetMetadata()
	if n, err := strconv.Atoi(meta["operations_left_out"]); err != nil || n < 64 || n > 127 {
		t.Errorf("got metadata %v, want how many operations are left out", meta)
	}
}

func TestTransactionIsRefused(t *testing.T) {
	m := start(t)
	session := m.openSession(t, "alice")
	many := make([]*tenurev1.Op, 129)
	for i := range many {
		many[i] = getOp("a")
	}
	then := func(ops ...*tenurev1.Op) *tenurev1.TxnRequest { return &tenurev1.TxnRequest{Then: ops} }
	tests := map[string]struct {
		request *tenurev1.TxnRequest
		code    codes.Code
		reason  string
		names   string
	}{
		"too many operations": {then(many...), codes.ResourceExhausted, "TOO_LARGE", "129"},
		"a key put twice":     {then(putOp("a", "1"), putOp("a", "2")), codes.InvalidArgument, "INVALID_ARGUMENT", "twice"},
		"an empty key":        {then(putOp("", "1")), codes.InvalidArgument, "KEY_EMPTY", "then[0]"},
		"an empty operation":  {then(&tenurev1.Op{}), codes.InvalidArgument, "INVALID_ARGUMENT", "then[0]"},
		"an unknown session": {
			then(getOp("a"), acquireOp("l", "00000000-0000-0000-0000-000000000001")),
			codes.NotFound, "SESSION_NOT_FOUND", "then[1]",
		},
		"a stale read": {
			then(&tenurev1.Op{Kind: &tenurev1.Op_Get{
				Get: &tenurev1.GetRequest{Key: "a", Read: &tenurev1.ReadOptions{Stale: true}},
			}}), codes.InvalidArgument, "INVALID_ARGUMENT", "then[0]",
		},
		"guards inside an operation": {
			then(&tenurev1.Op{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: "a", Options: &tenurev1.CallOptions{
				Guards: []*tenurev1.Guard{{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: session}}},
			}}}}), codes.InvalidArgument, "INVALID_ARGUMENT", "guards",
		},
		"a compare without operand": {
			&tenurev1.TxnRequest{Compares: []*tenurev1.Compare{{Key: "a"}}},
			codes.InvalidArgument, "INVALID_ARGUMENT", "compares[0]",
		},
		"an unknown operator": {
			&tenurev1.TxnRequest{Compares: []*tenurev1.Compare{{
				Key: "a", Operator: 99, Operand: &tenurev1.Compare_Version{},
			}}}, codes.InvalidArgument, "INVALID_ARGUMENT", "operator",
		},
		"a delete of everything by mistake": {
			then(&tenurev1.Op{Kind: &tenurev1.Op_DeletePrefix{DeletePrefix: &tenurev1.DeletePrefixRequest{}}}),
			codes.InvalidArgument, "INVALID_ARGUMENT", "prefix",
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			_, err := m.Txn(t.Context(), test.request)
			wantError(t, err, test.code, test.reason)
			if err != nil && !strings.Contains(err.Error(), test.names) {
				t.Errorf("got %v, want it to name %q", err, test.names)
			}
		})
	}
}

func TestTransactionUsesTheSecretOfItsOptions(t *testing.T) {
	m := start(t)
	created, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{WantSecret: true})
	if err != nil {
		t.Fatal(err)
	}
	request := &tenurev1.TxnRequest{Then: []*tenurev1.Op{acquireOp("l", created.GetSessionId())}}
	_, err = m.Txn(t.Context(), request)
	wantError(t, err, codes.PermissionDenied, "SESSION_SECRET_WRONG")
	request.Options = &tenurev1.CallOptions{SessionSecret: created.GetSecret(), Epoch: 1}
	if got, err := m.Txn(t.Context(), request); err != nil || !got.GetResponses()[0].GetAcquireLock().GetAcquired() {
		t.Errorf("got %v, %v; want the lock", got, err)
	}
}
