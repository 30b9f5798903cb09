package storage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/storage"
)

func putCommand(key, value string) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: key, Value: []byte(value)}}}
}

// unknownField returns a field that no message of this program has.
func unknownField() []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 9999, protowire.VarintType), 1)
}

// TestUnknownStopsTheMember gives a store what a newer program may have written. Nothing is skipped: Apply fails, now
// and ever after, and not even the known commands before it in the batch are written.
func TestUnknownStopsTheMember(t *testing.T) {
	good := putCommand("k", "v")
	envelope := func(change func(*storev1.Envelope)) []byte {
		env := &storev1.Envelope{FormatVersion: 1, Commands: []*storev1.Command{good, proto.CloneOf(good)}}
		change(env)
		data, err := proto.Marshal(env)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	cases := map[string][]byte{
		"not an envelope at all":    {0xff, 0xff},
		"format of the future":      envelope(func(e *storev1.Envelope) { e.FormatVersion = 2 }),
		"no format":                 envelope(func(e *storev1.Envelope) { e.FormatVersion = 0 }),
		"no commands":               envelope(func(e *storev1.Envelope) { e.Commands = nil }),
		"command without kind":      envelope(func(e *storev1.Envelope) { e.Commands[1].Kind = nil }),
		"unknown field of envelope": envelope(func(e *storev1.Envelope) { e.ProtoReflect().SetUnknown(unknownField()) }),
		"unknown command kind": envelope(func(e *storev1.Envelope) {
			e.Commands[1].Kind = nil
			e.GetCommands()[1].ProtoReflect().SetUnknown(unknownField())
		}),
		"unknown field of a command": envelope(func(e *storev1.Envelope) { e.GetCommands()[1].ProtoReflect().SetUnknown(unknownField()) }),
		"unknown field deep inside": envelope(func(e *storev1.Envelope) {
			ref := &storev1.SessionRef{}
			ref.ProtoReflect().SetUnknown(unknownField())
			e.Commands[1].GetPut().Acquire = ref
		}),
		"unknown enum value": envelope(func(e *storev1.Envelope) {
			e.Commands[1].Kind = &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{Behavior: 99}}
		}),
		"unknown enum value in a list": envelope(func(e *storev1.Envelope) {
			e.Commands[1].Kind = &storev1.Command_Txn{Txn: &storev1.Txn{Compares: []*storev1.Compare{{Operator: 77}}}}
		}),
	}
	for what, data := range cases {
		t.Run(what, func(t *testing.T) {
			store := newStore(t, vfs.NewMem(), "sm")
			before := dumpOf(t, store)
			batch := []storage.Entry{
				{Index: 2, Term: 1, Data: envelope(func(*storev1.Envelope) {})},
				{Index: 3, Term: 1, Data: data},
			}
			for range 2 {
				if _, err := store.Apply(batch); !errors.Is(err, storage.ErrUnknownFormat) {
					t.Fatalf("got %v, want ErrUnknownFormat", err)
				}
			}
			if _, err := store.Apply(batch[:1]); !errors.Is(err, storage.ErrUnknownFormat) {
				t.Errorf("apply after it: got %v, want ErrUnknownFormat", err)
			}
			if got := dumpOf(t, store); got != before {
				t.Errorf("got\n%s\nwant nothing written", got)
			}
		})
	}
}

func TestEncodeEnvelopeRefusesWhatNobodyCouldDecode(t *testing.T) {
	cases := map[string]*storev1.Envelope{
		"no commands":          {},
		"command without kind": {Commands: []*storev1.Command{{}}},
		"text that is no UTF-8": {Commands: []*storev1.Command{
			putCommand("\xff", ""),
		}},
	}
	for what, env := range cases {
		if data, err := storage.EncodeEnvelope(env); err == nil {
			t.Errorf("%s: got %x, want an error", what, data)
		}
	}
}

func TestEntriesMustFollowEachOther(t *testing.T) {
	cases := map[string]storage.Entry{
		"gap":                {Index: 3, Term: 1},
		"applied already":    {Index: 1, Term: 1},
		"term goes backward": {Index: 2, Term: 0},
	}
	for what, e := range cases {
		store := newStore(t, vfs.NewMem(), "sm")
		if _, err := store.Apply([]storage.Entry{e}); !errors.Is(err, storage.ErrEntryOrder) {
			t.Errorf("%s: got %v, want ErrEntryOrder", what, err)
		}
	}
}

func TestApplyNeedsBootstrap(t *testing.T) {
	store := openStore(t, vfs.NewMem(), "sm")
	if _, err := store.Apply(nil); !errors.Is(err, storage.ErrNotBootstrapped) {
		t.Errorf("got %v, want ErrNotBootstrapped", err)
	}
}

func TestConfStateStays(t *testing.T) {
	store := newStore(t, vfs.NewMem(), "sm")
	entries := []storage.Entry{{Index: 2, Term: 1, ConfState: []byte("two members")}, {Index: 3, Term: 2}}
	out, err := store.Apply(entries)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out.Applied.ConfState); got != "two members" || out.Applied.Term != 2 || len(out.Entries) != 0 {
		t.Errorf("got %q in term %d with %d outcomes, want it kept", got, out.Applied.Term, len(out.Entries))
	}
}

// TestDiskErrorStopsTheMember lets every write fail: a flush cannot be done, Pebble must not end the process, and the
// next Apply says so.
func TestDiskErrorStopsTheMember(t *testing.T) {
	var toggle errorfs.Toggle
	toggle.Injector = errorfs.ErrInjected.If(errorfs.Writes)
	store := newStore(t, errfs.Wrap(vfs.NewMem(), &toggle), "sm")
	toggle.On()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{putCommand("k", "v")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Apply([]storage.Entry{{Index: 2, Term: 1, Data: data}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Flush(); err == nil {
		t.Error("flush: got no error")
	}
	if _, err := store.Apply([]storage.Entry{{Index: 3, Term: 1, Data: data}}); !errors.Is(err, storage.ErrBackground) {
		t.Errorf("apply: got %v, want ErrBackground", err)
	}
	toggle.Off()
}

func TestClosedStore(t *testing.T) {
	store := newStore(t, vfs.NewMem(), "sm")
	open := store.NewReader()
	closed := make(chan error)
	go func() { closed <- store.Close() }()
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	r := store.NewReader()
	_, _, getErr := r.Get("k")
	_, appliedErr := r.Applied()
	_, historyErr := r.History(1, 0)
	_, durableErr := store.DurableApplied()
	_, checkpointErr := store.Checkpoint("x")
	_, applyErr := store.Apply(nil)
	errs := []error{getErr, appliedErr, historyErr, durableErr, checkpointErr, applyErr, store.Flush(), store.AsyncFlush(), store.Close()}
	for i, err := range errs {
		if !errors.Is(err, storage.ErrClosed) {
			t.Errorf("call %d after Close: got %v, want ErrClosed", i, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("close of a reader after Close: got %v", err)
	}
}

// TestReaderIsASnapshot reads the same through one reader whatever is applied meanwhile.
func TestReaderIsASnapshot(t *testing.T) {
	store := newStore(t, vfs.NewMem(), "sm")
	r := store.NewReader()
	for i := range uint64(3) {
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{putCommand("k", fmt.Sprint(i))}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Apply([]storage.Entry{{Index: i + 2, Term: 1, Data: data}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := r.Get("k"); ok || err != nil {
		t.Errorf("got %v, %v, want the key missing", ok, err)
	}
	if a, err := r.Applied(); err != nil || a.Index != 1 {
		t.Errorf("got index %d, %v, want 1", a.Index, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStateOfANewerClusterIsRefused opens a store that a newer program wrote after the cluster version was raised.
func TestStateOfANewerClusterIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	store := openStore(t, fs, "sm")
	_, newest := storage.ClusterVersions()
	if err := store.Bootstrap(storage.Genesis{ClusterVersion: newest + 1}); !errors.Is(err, storage.ErrUnknownFormat) {
		t.Errorf("bootstrap: got %v, want ErrUnknownFormat", err)
	}
	if err := store.Bootstrap(storage.Genesis{}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, store)
	db, err := pebble.Open("sm", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	value, err := proto.Marshal(&storev1.AppliedRecord{
		FormatVersion: 1, Index: 1, Term: 1, ClusterVersion: newest + 1, ClusterId: make([]byte, 16), HistoryId: make([]byte, 16),
	})
	if err = errors.Join(err, db.Set([]byte("a"), value, pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Open(storage.Options{FS: fs, Dir: "sm"}); !errors.Is(err, storage.ErrUnknownFormat) {
		t.Errorf("open: got %v, want ErrUnknownFormat", err)
	}
}
