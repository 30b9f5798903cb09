package server_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// look reads a key and lists, whether or not the key is of a version.
func look(key string, version uint64) *tenurev1.TxnRequest {
	list := &tenurev1.Op{Kind: &tenurev1.Op_List{List: &tenurev1.ListRequest{Prefix: key}}}
	return &tenurev1.TxnRequest{
		Compares:  []*tenurev1.Compare{{Key: key, Operand: &tenurev1.Compare_Version{Version: version}}},
		Then:      []*tenurev1.Op{getOp(key), list},
		Otherwise: []*tenurev1.Op{list, getOp(key)},
	}
}

// TestATransactionThatOnlyReadsEntersNoLog makes many on one member, and counts the entries that it applied meanwhile: whatever
// else it does, there are fewer.
func TestATransactionThatOnlyReadsEntersNoLog(t *testing.T) {
	const times = 200
	m := start(t)
	put, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")})
	if err != nil {
		t.Fatal(err)
	}
	applied := func() uint64 {
		st, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return st.GetAppliedIndex()
	}
	before := applied()
	for i := range times {
		got, err := m.Txn(t.Context(), look("k", uint64(1+i%2)))
		if err != nil {
			t.Fatal(err)
		}
		if got.GetSucceeded() != (i%2 == 0) || len(got.GetResponses()) != 2 || got.GetHeader().GetRevision() < put.GetHeader().GetRevision() {
			t.Fatalf("got %v, want the list that goes with version 1, of revision %d or later", got, put.GetHeader().GetRevision())
		}
		read := got.GetResponses()[i%2].GetGet().GetKv()
		listed := got.GetResponses()[1-i%2].GetList().GetKvs()
		if string(read.GetValue()) != "v" || len(listed) != 1 {
			t.Fatalf("got %v, want the key, read and listed", got)
		}
	}
	if made := applied() - before; made >= times {
		t.Errorf("%d transactions made %d entries, want none of them to", times, made)
	}
}

// TestATransactionThatOnlyReadsIsLinearizableOnAFollower writes and reads by turns over a member that does not lead. Another may
// lead meanwhile; then the turn is made again.
func TestATransactionThatOnlyReadsIsLinearizableOnAFollower(t *testing.T) {
	t.Parallel()
	m := startFollower(t)
	deadline := time.Now().Add(patience)
	for turn := 0; turn < 20; {
		value := fmt.Sprint("turn ", turn)
		put, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text(value)})
		if err == nil {
			revision := put.GetHeader().GetRevision()
			var got *tenurev1.TxnResponse
			if got, err = m.Txn(t.Context(), &tenurev1.TxnRequest{
				Compares: []*tenurev1.Compare{{Key: "k", Operand: &tenurev1.Compare_ModRevision{ModRevision: revision}}},
				Then:     []*tenurev1.Op{getOp("k")},
			}); err == nil {
				if !got.GetSucceeded() || got.GetHeader().GetRevision() < revision || len(got.GetResponses()) != 1 ||
					string(got.GetResponses()[0].GetGet().GetKv().GetValue()) != value {
					t.Fatalf("got %v, want %q, put at revision %d", got, value, revision)
				}
				turn++
			}
		}
		if err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestATransactionThatOnlyReadsNeedsNoWindow gives one a request id and a key: they are checked, and remember nothing.
func TestATransactionThatOnlyReadsNeedsNoWindow(t *testing.T) {
	m := start(t)
	session := m.openSession(t, "alice")
	id := func(sequence, epoch uint64) *tenurev1.CallOptions {
		return &tenurev1.CallOptions{
			RequestId: &tenurev1.RequestID{SessionId: session, Sequence: sequence, DoneBelow: 1}, Epoch: epoch,
		}
	}
	key := &tenurev1.CallOptions{IdempotencyKey: []byte("an idempotency key")}
	for _, o := range []*tenurev1.CallOptions{id(1, 1), key, id(1, 1), key} {
		read := look("k", 0)
		read.Options = o
		if got, err := m.Txn(t.Context(), read); err != nil || !got.GetSucceeded() {
			t.Fatalf("%v: got %v, %v, want an answer", o, got, err)
		}
	}
	for _, o := range []*tenurev1.CallOptions{id(1, 1), key} {
		if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Options: o}); err != nil {
			t.Errorf("%v: a write under the id of a read: %v", o, err)
		}
	}
	read := look("k", 0)
	read.Options = id(1, 1)
	if got, err := m.Txn(t.Context(), read); err != nil || got.GetSucceeded() {
		t.Errorf("got %v, %v, want the state as it is now", got, err)
	}
	read.Options = id(2, 7)
	_, err := m.Txn(t.Context(), read)
	wantError(t, err, codes.FailedPrecondition, "EPOCH_MISMATCH")
	read.Options = &tenurev1.CallOptions{IdempotencyKey: []byte("short")}
	_, err = m.Txn(t.Context(), read)
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	if _, err = m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: session}); err != nil {
		t.Fatal(err)
	}
	read.Options = id(2, 1)
	_, err = m.Txn(t.Context(), read)
	wantError(t, err, codes.FailedPrecondition, "SESSION_EXPIRED")
	read = look("k", 0)
	missing := false
	read.Options = &tenurev1.CallOptions{Guards: []*tenurev1.Guard{
		{Condition: &tenurev1.Guard_Key{Key: &tenurev1.KeyCondition{Key: "k", Exists: &missing}}},
	}}
	_, err = m.Txn(t.Context(), read)
	wantError(t, err, codes.FailedPrecondition, "COMPARE_FAILED")
}
