package storage_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

func deletePrefixCommand(prefix string) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{Prefix: prefix}}}
}

func txnCommand(ops ...*storev1.Op) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: ops}}}
}

func limitsCommand(limits *storev1.Limits) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Limits: limits}}}
}

// overBudget fails the test unless a result is the refusal of a command for a named limit, with all that a client needs.
func overBudget(t *testing.T, r *storev1.Result, name string, limit uint64) {
	t.Helper()
	f := r.GetFailure()
	if f.GetReason() != storev1.FailureReason_FAILURE_REASON_OVER_BUDGET || f.GetLimitName() != name || f.GetLimit() != limit ||
		f.GetActual() <= limit {
		t.Fatalf("got %v, want it refused for %s of %d", r, name, limit)
	}
	if text := storage.FailureText(f); !strings.Contains(text, name) || !strings.Contains(text, fmt.Sprint(f.GetActual())) {
		t.Errorf("got %q, want that it names %s and %d", text, name, f.GetActual())
	}
}

// TestACommandBeyondItsBudgetIsRefusedWhole makes every command dear that anybody can make as dear as he likes.
func TestACommandBeyondItsBudgetIsRefusedWhole(t *testing.T) {
	needsNoRaceDetector(t)
	const rows, bytes = "command_rows_max", "command_bytes_max"
	prefixOp := &storev1.Op{Kind: &storev1.Op_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{Prefix: "k"}}}
	putOp := &storev1.Op{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: "other"}}}
	guarded := putCommand("other", "")
	for range 60_000 {
		guarded.Guards = append(guarded.Guards, &storev1.Guard{Condition: &storev1.Guard_Key{Key: &storev1.KeyGuard{Key: "a"}}})
		guarded.Guards = append(guarded.Guards, &storev1.Guard{Condition: &storev1.Guard_Key{Key: &storev1.KeyGuard{Key: "b"}}})
	}
	compares := txnCommand(putOp)
	for range 128 {
		compares.GetTxn().Compares = append(compares.GetTxn().GetCompares(), &storev1.Compare{
			Key: "k0000", Operator: storev1.CompareOperator_COMPARE_OPERATOR_EQUAL, Operand: &storev1.Compare_Version{Version: 1},
		})
	}
	tests := map[string]struct {
		keys, bytes int
		limits      *storev1.Limits
		command     *storev1.Command
		refused     string // for which limit; empty: it is not
	}{
		"few keys by prefix":                    {keys: 31, bytes: 512 << 10, command: deletePrefixCommand("k")},
		"too many bytes by prefix":              {keys: 33, bytes: 512 << 10, command: deletePrefixCommand("k"), refused: bytes},
		"many keys by prefix":                   {keys: 5000, command: deletePrefixCommand("k")},
		"too many rows by prefix":               {keys: 5000, limits: &storev1.Limits{CommandRowsMax: proto.Uint32(4096)}, command: deletePrefixCommand("k"), refused: rows},
		"bytes by prefix in a transaction":      {keys: 33, bytes: 512 << 10, command: txnCommand(putOp, prefixOp), refused: bytes},
		"rows by prefix in a transaction":       {keys: 5000, limits: &storev1.Limits{CommandRowsMax: proto.Uint32(4096)}, command: txnCommand(putOp, prefixOp), refused: rows},
		"a raised limit":                        {keys: 65, bytes: 512 << 10, limits: &storev1.Limits{CommandBytesMax: proto.Uint64(40 << 20)}, command: deletePrefixCommand("k")},
		"guards of many rows":                   {command: guarded, refused: rows},
		"compares of many bytes":                {keys: 1, bytes: 512 << 10, command: compares, refused: bytes},
		"operations that fail before the limit": {keys: 33, bytes: 512 << 10, command: txnCommand(failingOp(), prefixOp), refused: bytes},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, storage.NewMemFS(), "sm")
			r := &rig{t: t, store: store}
			if test.limits != nil {
				r.apply(limitsCommand(test.limits))
			}
			for _, put := range putsOfSize(test.keys, test.bytes) {
				r.apply(put)
			}
			before := store.Applied()
			result := applyEach(t, store, test.command)[0]
			if test.refused == "" {
				if f := result.GetFailure(); f != nil {
					t.Errorf("got %v, want that it is done", f)
				}
				return
			}
			limit := map[string]uint64{rows: 100_000, bytes: 16 << 20}[test.refused]
			if test.limits != nil {
				limit = uint64(test.limits.GetCommandRowsMax())
			}
			overBudget(t, result, test.refused, limit)
			after := store.Applied()
			after.Index, after.Checksum = before.Index, before.Checksum // They move with every entry.
			if got, want := fmt.Sprint(after), fmt.Sprint(before); got != want {
				t.Errorf("something was changed: got %s, want %s", got, want)
			}
			r.checkBytes()
		})
	}
}

// failingOp is an operation that fails.
func failingOp() *storev1.Op {
	return &storev1.Op{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: "failing", IfRevision: proto.Uint64(99)}}}
}

// TestTenThousandKeysOfAnyKindAreDeletedByPrefix deletes as many keys as one may, each of the kind that takes the most rows:
// it belongs to a session, and has a lock that is held.
func TestTenThousandKeysOfAnyKindAreDeletedByPrefix(t *testing.T) {
	needsNoRaceDetector(t)
	const keys, sessions = 10_000, 5
	r := &rig{t: t, store: newStore(t, storage.NewMemFS(), "sm")}
	r.sessions(0, sessions)
	var puts []*storev1.Command
	for i := range keys {
		ref := &storev1.SessionRef{SessionId: numberedID(uint64(i % sessions))}
		puts = append(puts, &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
			Key: fmt.Sprint("k", i), Acquire: ref, BindSession: ref,
		}}})
	}
	r.applyMany(puts)
	_, results := r.apply(deletePrefixCommand("k"))
	if got := results[0].GetDelete().GetDeleted(); got != keys {
		t.Errorf("deleted %d keys, want %d", got, keys)
	}
}

// TestTheBudgetIsTheSameHoweverEntriesAreBatched applies commands around their budget one by one, all in one batch, and with the
// store opened anew between them.
func TestTheBudgetIsTheSameHoweverEntriesAreBatched(t *testing.T) {
	needsNoRaceDetector(t)
	var entries []storage.Entry
	add := func(commands ...*storev1.Command) {
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: commands})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, storage.Entry{Index: uint64(len(entries) + 2), Term: 1, Data: data})
	}
	add(limitsCommand(&storev1.Limits{CommandRowsMax: proto.Uint32(4096), CommandBytesMax: proto.Uint64(4 << 20)}))
	for i := range 4 {
		add(putsOfSize(1364+i, 16)...)
		add(deletePrefixCommand("k"), txnCommand(failingOp(), listOps(1)[0]), deletePrefixCommand("k000"), deletePrefixCommand("k"))
		add(putsOfSize(8, 1<<19-140+20*i)...)
		add(txnCommand(&storev1.Op{Kind: &storev1.Op_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{Prefix: "k"}}}))
		add(deletePrefixCommand("k0000"), deletePrefixCommand("k"))
	}
	one := newStore(t, storage.NewMemFS(), "sm")
	refused := 0
	var amounts []uint64
	apply := func(store *storage.Store, batch []storage.Entry) (out []uint64) {
		t.Helper()
		done, err := store.Apply(batch)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range done.Entries {
			for _, r := range e.Results {
				if r.GetFailure().GetReason() == storev1.FailureReason_FAILURE_REASON_OVER_BUDGET {
					refused++
				}
				out = append(out, r.GetFailure().GetActual())
			}
		}
		return out
	}
	for _, e := range entries {
		amounts = append(amounts, apply(one, []storage.Entry{e})...)
	}
	if refused < 2 || refused > 6 {
		t.Fatalf("%d commands were refused: too few or too many to show anything", refused)
	}
	all := newStore(t, storage.NewMemFS(), "sm")
	if got := apply(all, entries); fmt.Sprint(got) != fmt.Sprint(amounts) {
		t.Errorf("in one batch the amounts are %v, one by one %v", got, amounts)
	}
	fs := storage.NewMemFS()
	again := newStore(t, fs, "sm")
	var got []uint64
	for _, e := range entries {
		got = append(got, apply(again, []storage.Entry{e})...)
		if err := again.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		again = openStore(t, fs, "sm")
	}
	if fmt.Sprint(got) != fmt.Sprint(amounts) {
		t.Errorf("with a store opened anew the amounts are %v, else %v", got, amounts)
	}
	for _, other := range []*storage.Store{all, again} {
		if got, want := other.Applied().Checksum, one.Applied().Checksum; got != want {
			t.Errorf("got checksum %#x, want %#x", got, want)
		}
	}
}

// TestLimitsOfCommandsHaveBounds sets the budget too low, and under a cluster version that has none.
func TestLimitsOfCommandsHaveBounds(t *testing.T) {
	low := []*storev1.Limits{{CommandRowsMax: proto.Uint32(4095)}, {CommandBytesMax: proto.Uint64(4<<20 - 1)}}
	store := newStore(t, storage.NewMemFS(), "sm")
	for _, limits := range low {
		if f := applyEach(t, store, limitsCommand(limits))[0].GetFailure(); f.GetReason() !=
			storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND || f.GetDetail() != storev1.FailureDetail_FAILURE_DETAIL_LIMIT_OUT_OF_BOUNDS {
			t.Errorf("%v: got %v, want that it is too low", limits, f)
		}
	}
	r := &rig{t: t, store: store}
	r.apply(limitsCommand(&storev1.Limits{CommandRowsMax: proto.Uint32(4096), CommandBytesMax: proto.Uint64(4 << 20)}),
		limitsCommand(&storev1.Limits{CommandRowsMax: proto.Uint32(0)}))
	r.read(func(reader *storage.Reader) error {
		limits, err := reader.Limits()
		if limits.GetCommandRowsMax() != 100_000 || limits.GetCommandBytesMax() != 4<<20 {
			t.Errorf("got %v, want the default of rows and 4 MiB", limits)
		}
		return err
	})
	old := oldStore(t, storage.NewMemFS(), "sm")
	if f := applyEach(t, old, limitsCommand(&storev1.Limits{CommandRowsMax: proto.Uint32(5000)}))[0].GetFailure(); f.GetReason() !=
		storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED {
		t.Errorf("under version 1: got %v, want that it is not enabled", f)
	}
	applyEach(t, old, putsOfSize(33, 512<<10)...)
	if f := applyEach(t, old, deletePrefixCommand("k"))[0].GetFailure(); f != nil {
		t.Errorf("under version 1: got %v, want that all are deleted", f)
	}
}
