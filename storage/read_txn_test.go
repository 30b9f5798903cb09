package storage_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestATransactionReadsTheSameWithTheLogAndWithout answers transactions that only read from a snapshot, and applies them.
func TestATransactionReadsTheSameWithTheLogAndWithout(t *testing.T) {
	needsNoRaceDetector(t)
	store := newStore(t, storage.NewMemFS(), "sm")
	for _, line := range []string{
		"session s1", "session s2", "put a 1", "put b 2", "put b 3", "acquire lock session=s1", "acquire shared session=s1 mode=shared",
		"acquire shared session=s2 mode=shared", "put e 4 bind=s1", "destroy s2",
	} {
		applyEach(t, store, parseCommand(t, line))
	}
	applyEach(t, store, putsOfSize(64, 512<<10)...)
	if err := store.Flush(); err != nil {
		t.Fatal(err)
	}
	get := func(key string) *storev1.Op { return &storev1.Op{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: key}}} }
	list := func(prefix string, limit uint32) *storev1.Op {
		return &storev1.Op{Kind: &storev1.Op_List{List: &storev1.ListOp{Prefix: prefix, Limit: limit}}}
	}
	check := func(g *storev1.Guard) *storev1.Op { return &storev1.Op{Kind: &storev1.Op_Check{Check: g}} }
	exists := &storev1.Guard{Condition: &storev1.Guard_Key{Key: &storev1.KeyGuard{Key: "a", Exists: new(true)}}}
	ended := &storev1.Guard{Condition: &storev1.Guard_SessionAlive{SessionAlive: parseCommand(t, "destroy s2").GetDestroySession().GetSession().GetSessionId()}}
	compare := func(key string, version uint64) *storev1.Compare {
		return &storev1.Compare{
			Key: key, Operator: storev1.CompareOperator_COMPARE_OPERATOR_EQUAL, Operand: &storev1.Compare_Version{Version: version},
		}
	}
	var large []*storev1.Compare
	for range 128 {
		large = append(large, compare("k0000", 1))
	}
	tests := map[string]*storev1.Command{
		"nothing":               {Kind: &storev1.Command_Txn{Txn: &storev1.Txn{}}},
		"gets and lists":        txnCommand(get("a"), get("none"), get("lock"), list("", 3), list("none", 3), list("a", 1)),
		"a check that holds":    txnCommand(check(exists), get("e")),
		"a check that does not": txnCommand(get("a"), check(ended), check(ended)),
		"a bad list":            txnCommand(list("", 0)),
		"a list too large":      txnCommand(list("", 1000)),
		"an empty key":          txnCommand(get("")),
		"a failing guard":       {Guards: []*storev1.Guard{exists, ended}, Kind: txnCommand(get("a")).GetKind()},
		"a guard that holds":    {Guards: []*storev1.Guard{exists}, Kind: txnCommand(get("a")).GetKind()},
		"compares that hold": {Kind: &storev1.Command_Txn{Txn: &storev1.Txn{
			Compares: []*storev1.Compare{compare("a", 1), compare("b", 2), compare("none", 0)}, ThenOps: []*storev1.Op{get("a")},
		}}},
		"compares that do not": {Kind: &storev1.Command_Txn{Txn: &storev1.Txn{
			Compares: []*storev1.Compare{compare("a", 2)}, ThenOps: []*storev1.Op{get("a")}, ElseOps: []*storev1.Op{get("b"), list("b", 10)},
		}}},
		"compares beyond the budget": {Kind: &storev1.Command_Txn{Txn: &storev1.Txn{Compares: large, ThenOps: []*storev1.Op{get("a")}}}},
		"another namespace":          {NamespaceId: 7, Kind: txnCommand(get("a")).GetKind()},
	}
	for name, command := range tests {
		t.Run(name, func(t *testing.T) {
			r := store.NewReader()
			got, err := r.Txn(command)
			if closeErr := r.Close(); err != nil || closeErr != nil {
				t.Fatal(err, closeErr)
			}
			if want := applyEach(t, store, command)[0]; !proto.Equal(got, want) {
				t.Errorf("without the log: got %v, with it %v", got, want)
			}
		})
	}
	for name, command := range map[string]*storev1.Command{
		"a put":           txnCommand(get("a"), &storev1.Op{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: "a"}}}),
		"an unlikely put": {Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ElseOps: []*storev1.Op{{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: "a"}}}}}}},
	} {
		r := store.NewReader()
		if result, err := r.Txn(command); err == nil || storage.ReadsOnly(command.GetTxn()) {
			t.Errorf("%s: got %v, want that it is no transaction that only reads", name, result)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r := &rig{t: t, store: store}
	r.checkBytes()
}
