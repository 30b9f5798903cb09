package storage_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/storage"
)

// TestCrashLosesOnlyTheTail takes the disk as a crash may leave it, with none, some or all of what was not synced, at
// many moments of a random run. The store opens with the exact state of some applied entry, no older than what
// DurableApplied had promised, and comes to the same end when the rest is applied again.
func TestCrashLosesOnlyTheTail(t *testing.T) {
	needsNoRaceDetector(t)
	const entries = 300
	log, live := randomLog(t, 1, entries)
	want := dumpOf(t, live)
	states := statesOf(t, log)

	rng := rand.New(rand.NewPCG(3, 3))
	fs := vfs.NewCrashableMem()
	store := oldStore(t, fs, "sm")
	crashes, behind := 0, 0
	for i, e := range log {
		if _, err := store.Apply([]storage.Entry{e}); err != nil {
			t.Fatal(err)
		}
		switch {
		case i%17 == 16:
			if err := store.Flush(); err != nil {
				t.Fatal(err)
			}
		case i%23 == 22:
			if err := store.AsyncFlush(); err != nil {
				t.Fatal(err)
			}
		}
		durable, err := store.DurableApplied()
		if err != nil {
			t.Fatal(err)
		}
		clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: i % 3 * 50, RNG: rng})
		crashes++
		again := openStore(t, clone, "sm")
		a := again.Applied()
		if a.Index < durable {
			t.Fatalf("crash after entry %d: got index %d, DurableApplied said %d", e.Index, a.Index, durable)
		}
		if got := states[a.Index]; got.checksum != a.Checksum || got.dump != dumpOf(t, again) {
			t.Fatalf("crash after entry %d: state at index %d is none that ever was", e.Index, a.Index)
		}
		if a.Index < e.Index {
			behind++
		}
		if i%10 == 0 {
			if _, err := again.Apply(log[a.Index-1:]); err != nil {
				t.Fatal(err)
			}
			if got := dumpOf(t, again); got != want {
				t.Fatalf("crash after entry %d: got\n%s\nwant\n%s", e.Index, got, want)
			}
		}
		closeStore(t, again)
	}
	if crashes < entries || behind < entries/2 {
		t.Fatalf("%d crashes, %d of them lost something: too few to show anything", crashes, behind)
	}
}

type stateAt struct {
	checksum uint64
	dump     string
}

// statesOf returns the state after each entry of a log, by index.
func statesOf(t *testing.T, log []storage.Entry) map[uint64]stateAt {
	t.Helper()
	store := oldStore(t, vfs.NewMem(), "states")
	states := map[uint64]stateAt{1: {dump: dumpOf(t, store)}}
	for _, e := range log {
		if _, err := store.Apply([]storage.Entry{e}); err != nil {
			t.Fatal(err)
		}
		states[e.Index] = stateAt{checksum: store.Applied().Checksum, dump: dumpOf(t, store)}
	}
	return states
}

func TestBootstrapSurvivesACrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	_, newest := storage.ClusterVersions()
	newStore(t, fs, "sm")
	again := openStore(t, fs.CrashClone(vfs.CrashCloneCfg{}), "sm")
	if got := again.Applied(); got.Index != 1 || got.Term != 1 || got.ClusterVersion != newest || got.ClusterID != [16]byte{1} {
		t.Fatalf("got %+v, want the genesis", got)
	}
	if err := again.Bootstrap(storage.Genesis{}); !errors.Is(err, storage.ErrBootstrapped) {
		t.Fatalf("second bootstrap: got %v, want ErrBootstrapped", err)
	}
}

func TestFlushEndedSignals(t *testing.T) {
	store := oldStore(t, vfs.NewMem(), "sm")
	<-store.FlushEnded()
	if err := store.AsyncFlush(); err != nil {
		t.Fatal(err)
	}
	log, _ := randomLog(t, 2, 3)
	if _, err := store.Apply(log); err != nil {
		t.Fatal(err)
	}
	if err := store.AsyncFlush(); err != nil {
		t.Fatal(err)
	}
	<-store.FlushEnded()
}

// A checkpoint is the same files after a crash: none of them is there only until the disk forgets its name.
func TestACheckpointSurvivesACrashWhole(t *testing.T) {
	log, _ := randomLog(t, 1, 50)
	fs := vfs.NewCrashableMem()
	store := oldStore(t, fs, "sm")
	if _, err := store.Apply(log); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Checkpoint("copy"); err != nil {
		t.Fatal(err)
	}
	want, err := fs.List("copy")
	if err != nil {
		t.Fatal(err)
	}
	got, err := fs.CrashClone(vfs.CrashCloneCfg{}).List("copy")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("after a crash: got %v, want %v", got, want)
	}
}
