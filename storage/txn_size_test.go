package storage_test

import (
	"fmt"
	"runtime"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// putsOfSize returns commands that put so many keys with values of a size.
func putsOfSize(keys, bytes int) []*storev1.Command {
	var puts []*storev1.Command
	for i := range keys {
		puts = append(puts, putCommand(fmt.Sprintf("k%04d", i), string(make([]byte, bytes))))
	}
	return puts
}

// listOps returns operations that list all keys.
func listOps(lists int) []*storev1.Op {
	var ops []*storev1.Op
	for range lists {
		ops = append(ops, &storev1.Op{Kind: &storev1.Op_List{List: &storev1.ListOp{Limit: 1000}}})
	}
	return ops
}

// TestResultsOfTransactionsAreBounded reads a little more than a transaction may return, and as much as it may.
func TestResultsOfTransactionsAreBounded(t *testing.T) {
	write := &storev1.Op{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: "written"}}}
	for name, tc := range map[string]struct {
		keys, bytes int
		ops         []*storev1.Op
		tooLarge    bool
	}{
		"one list of almost 1 MiB":           {keys: 7, bytes: 128 << 10, ops: listOps(1)},
		"one list of a little more":          {keys: 8, bytes: 128 << 10, ops: listOps(1), tooLarge: true},
		"many small ones":                    {keys: 100, bytes: 16, ops: listOps(32)},
		"many that are together too large":   {keys: 100, bytes: 1 << 10, ops: listOps(32), tooLarge: true},
		"one beside a write":                 {keys: 1, bytes: 60 << 10, ops: append(listOps(1), write)},
		"one beside a write, a little more":  {keys: 2, bytes: 32 << 10, ops: append(listOps(1), write), tooLarge: true},
		"one before a write, much more":      {keys: 64, bytes: 128 << 10, ops: append(listOps(1), write), tooLarge: true},
		"one of a thousand keys of no bytes": {keys: 1000, bytes: 0, ops: listOps(1)},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, storage.NewMemFS(), "sm")
			applyEach(t, store, putsOfSize(tc.keys, tc.bytes)...)
			before := store.Applied().Revision
			results := applyEach(t, store, &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: tc.ops}}})
			reason := results[0].GetFailure().GetReason()
			if tooLarge := reason == storev1.FailureReason_FAILURE_REASON_RESULT_TOO_LARGE; tooLarge != tc.tooLarge ||
				reason != 0 && !tooLarge {
				t.Errorf("got %v, want too large: %v", results[0].GetFailure(), tc.tooLarge)
			}
			if tc.tooLarge && store.Applied().Revision != before {
				t.Error("something was written")
			}
		})
	}
}

// TestTheListThatOnlyReadsIsBoundedAsTheTransaction runs lists of operations that only read, in transactions that would write if they had gone the
// other way. From cluster version 3 on, such a result is as small as that of any transaction that writes, and so is what is remembered of it.
func TestTheListThatOnlyReadsIsBoundedAsTheTransaction(t *testing.T) {
	remove := []*storev1.Op{{Kind: &storev1.Op_Delete{Delete: &storev1.Delete{Key: "missing"}}}}
	fails := []*storev1.Compare{{
		Key: "missing", Operator: storev1.CompareOperator_COMPARE_OPERATOR_GREATER, Operand: &storev1.Compare_Version{},
	}}
	for name, txn := range map[string]*storev1.Txn{
		"then reads, and otherwise would write": {ThenOps: listOps(1), ElseOps: remove},
		"otherwise reads, and then would write": {Compares: fails, ThenOps: remove, ElseOps: listOps(1)},
	} {
		t.Run(name, func(t *testing.T) {
			for version := uint32(1); version <= 3; version++ {
				for _, tc := range []struct {
					bytes    int // of the only value
					tooLarge bool
				}{{60 << 10, false}, {64 << 10, version >= 3}} {
					store := newStoreOf(t, storage.NewMemFS(), "sm", version)
					applyEach(t, store, putsOfSize(1, tc.bytes)...)
					before := store.Applied().KeyedBytes
					result := applyEach(t, store, &storev1.Command{
						IdempotencyKey: []byte("0123456789abcdef"), RequestDigest: make([]byte, 32), Kind: &storev1.Command_Txn{Txn: txn},
					})[0]
					tooLarge := result.GetFailure().GetReason() == storev1.FailureReason_FAILURE_REASON_RESULT_TOO_LARGE
					if tooLarge != tc.tooLarge || tooLarge == (result.GetFailure() == nil) {
						t.Errorf("version %d, %d bytes: got failure %v, want too large: %v", version, tc.bytes, result.GetFailure(), tc.tooLarge)
					}
					if kept := store.Applied().KeyedBytes - before; tooLarge && kept > 1<<10 {
						t.Errorf("version %d: %d bytes were remembered", version, kept)
					}
				}
			}
		})
	}
	// What never writes may be large, as ever.
	store := newStore(t, storage.NewMemFS(), "sm")
	applyEach(t, store, putsOfSize(1, 64<<10)...)
	reads := &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{Compares: fails, ThenOps: listOps(2), ElseOps: listOps(1)}}}
	if f := applyEach(t, store, reads)[0].GetFailure(); f != nil {
		t.Errorf("got %v of a transaction that never writes", f)
	}
}

// TestATransactionThatReadsTooMuchTakesLittleMemory lists much more than a transaction may return, many times: every member
// applies it, and would apply it again after a crash.
func TestATransactionThatReadsTooMuchTakesLittleMemory(t *testing.T) {
	const keys, bytes, lists = 64, 512 << 10, 16 // 512 MiB
	store := newStore(t, storage.NewMemFS(), "sm")
	applyEach(t, store, putsOfSize(keys, bytes)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	results := applyEach(t, store, &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: listOps(lists)}}})
	runtime.ReadMemStats(&after)
	if reason := results[0].GetFailure().GetReason(); reason != storev1.FailureReason_FAILURE_REASON_RESULT_TOO_LARGE {
		t.Errorf("got %v, want that the result is too large", results[0])
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > lists*bytes*keys/2 {
		t.Errorf("took %d MiB of memory", took>>20)
	}
}

// applyEach applies commands, each in an entry of its own, and returns their results.
func applyEach(t *testing.T, store *storage.Store, commands ...*storev1.Command) []*storev1.Result {
	t.Helper()
	var results []*storev1.Result
	for _, command := range commands {
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{command}})
		if err != nil {
			t.Fatal(err)
		}
		done, err := store.Apply([]storage.Entry{{Index: store.Applied().Index + 1, Term: 1, Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, done.Entries[0].Results...)
	}
	return results
}

// TestATransactionDeletesSoManyKeysByPrefix deletes by two prefixes in one transaction: together as many as one may, or one more.
func TestATransactionDeletesSoManyKeysByPrefix(t *testing.T) {
	const most = 10_000
	store := newStore(t, storage.NewMemFS(), "sm")
	env := &storev1.Envelope{}
	for i := range most {
		env.Commands = append(env.Commands, putCommand(fmt.Sprintf("a/%d", i), ""))
	}
	env.Commands = append(env.Commands, putCommand("b/", ""))
	data, err := storage.EncodeEnvelope(env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = store.Apply([]storage.Entry{{Index: store.Applied().Index + 1, Term: 1, Data: data}}); err != nil {
		t.Fatal(err)
	}
	both := &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{}}}
	for _, prefix := range []string{"a/", "b/"} {
		both.GetTxn().ThenOps = append(both.GetTxn().ThenOps, &storev1.Op{
			Kind: &storev1.Op_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{Prefix: prefix}},
		})
	}
	if f := applyEach(t, store, both)[0].GetFailure(); f.GetReason() != storev1.FailureReason_FAILURE_REASON_TOO_MANY_KEYS {
		t.Errorf("got %v, want too many keys", f)
	}
	if got := store.Applied().Keys; got != most+1 {
		t.Errorf("%d keys are left, want all %d", got, most+1)
	}
	first := &storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: "a/0"}}}
	if f := applyEach(t, store, first, both)[1].GetFailure(); f != nil {
		t.Errorf("got %v, want that all are deleted", f)
	}
}

// TestATransactionStopsReadingWhereItsResultIsTooLarge counts the allocations of transactions that list more than one may
// return, a little and much.
func TestATransactionStopsReadingWhereItsResultIsTooLarge(t *testing.T) {
	needsNoRaceDetector(t)
	r := &rig{t: t, store: newStore(t, storage.NewMemFS(), "sm")}
	r.applyMany(putsOfSize(1000, 128))
	cost := func(lists int) float64 {
		entry := (&costQueue{t: t, store: r.store}).entry(&storev1.Command{
			Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: listOps(lists)}},
		})
		return fewestAllocs(t, r.store, entry)
	}
	few, many := cost(12), cost(128)
	t.Logf("%.0f allocations for 12 lists, %.0f for 128", few, many)
	if many > 3*few {
		t.Errorf("got %.0f allocations for 128 lists, want about the %.0f for 12: neither may return so much", many, few)
	}
}

// TestATransactionReadsOnUnderClusterVersion1 shows in one log that operations behind too large a result are tried under
// version 1, as they ever were, and not from version 2 on.
func TestATransactionReadsOnUnderClusterVersion1(t *testing.T) {
	store := openStore(t, storage.NewMemFS(), "sm")
	if err := store.Bootstrap(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}, ClusterVersion: 1}); err != nil {
		t.Fatal(err)
	}
	applyEach(t, store, putsOfSize(100, 1<<10)...)
	fails := &storev1.Op{Kind: &storev1.Op_Check{Check: &storev1.Guard{
		Condition: &storev1.Guard_SessionAlive{SessionAlive: numberedID(1)},
	}}}
	txn := &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: append(listOps(32), fails)}}}
	raise := &storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: 2}}}
	results := applyEach(t, store, txn, raise, txn)
	if got := results[0].GetFailure().GetReason(); got != storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND {
		t.Errorf("under version 1: got %v, want that the last operation fails", got)
	}
	if got := results[2].GetFailure().GetReason(); got != storev1.FailureReason_FAILURE_REASON_RESULT_TOO_LARGE {
		t.Errorf("under version 2: got %v, want that the result is too large", got)
	}
}
