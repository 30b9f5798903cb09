package storage_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// history collects the events of a replica; those of entries that are applied again must be the same again.
type history struct {
	t      *testing.T
	events []*storev1.Event
	at     map[uint64]int // revision → where its events begin
}

func (h *history) add(events []*storev1.Event) {
	h.t.Helper()
	if h.at == nil {
		h.at = map[uint64]int{}
	}
	for _, e := range events {
		begin, again := h.at[e.GetRevision()]
		if !again {
			begin = len(h.events)
			h.at[e.GetRevision()] = begin
		}
		where := begin + int(e.GetIndex())
		if where == len(h.events) {
			h.events = append(h.events, e)
			continue
		}
		if !proto.Equal(h.events[where], e) {
			h.t.Fatalf("event of revision %d, got again: %v, want: %v", e.GetRevision(), e, h.events[where])
		}
	}
}

// TestReplicasAgree applies one random log to a store entry by entry, and to another in random batches, with crashes
// that lose what is not flushed, entries applied again, and a checkpoint opened in the store's place in between. State,
// checksum and events must be the same.
func TestReplicasAgree(t *testing.T) {
	needsNoRaceDetector(t)
	seeds, entries := uint64(6), 400
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		log, live := randomLog(t, seed, entries)
		got, events := replay(t, seed, log)
		if got, want := got.Applied(), live.Applied(); got.Checksum != want.Checksum || got.Revision != want.Revision {
			t.Fatalf("seed %d: got checksum %x at revision %d, want %x at %d", seed, got.Checksum, got.Revision, want.Checksum, want.Revision)
		}
		if got, want := dumpOf(t, got), dumpOf(t, live); got != want {
			t.Fatalf("seed %d: got dump\n%s\nwant\n%s", seed, got, want)
		}
		if live.Applied().Revision < uint64(entries/2) {
			t.Fatalf("seed %d: only %d revisions: the commands do too little", seed, live.Applied().Revision)
		}
		if got := events[len(events)-1].GetRevision(); got != live.Applied().Revision {
			t.Fatalf("seed %d: events end at revision %d, want %d", seed, got, live.Applied().Revision)
		}
	}
}

// replay applies a log the hard way.
func replay(t *testing.T, seed uint64, log []storage.Entry) (*storage.Store, []*storev1.Event) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 99))
	fs := vfs.NewCrashableMem()
	dir := "sm"
	store := oldStore(t, fs, dir)
	h := &history{t: t}
	crashes, checkpoints, again := 0, 0, 0
	next := 0
	for next < len(log) {
		n := min(1+rng.IntN(20), len(log)-next)
		out, err := store.Apply(log[next : next+n])
		if err != nil {
			t.Fatal(err)
		}
		next += n
		h.add(out.Events)
		switch rng.IntN(12) {
		case 0:
			if err := store.Flush(); err != nil {
				t.Fatal(err)
			}
		case 1:
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(3) * 50, RNG: rng})
			closeStore(t, store)
			fs, store = clone, openStore(t, clone, dir)
			again += next - int(store.Applied().Index-1)
			next = int(store.Applied().Index - 1)
			crashes++
		case 2:
			checkpoints++
			dir = fmt.Sprintf("sm-%d", checkpoints)
			a, err := store.Checkpoint(dir)
			if err != nil {
				t.Fatal(err)
			}
			closeStore(t, store)
			store = openStore(t, fs, dir)
			if store.Applied().Checksum != a.Checksum {
				t.Fatalf("checkpoint has checksum %x, said %x", store.Applied().Checksum, a.Checksum)
			}
			next = int(a.Index - 1)
		}
	}
	if crashes == 0 || checkpoints == 0 || again == 0 {
		t.Fatalf("seed %d: %d crashes, %d checkpoints, %d entries applied again: too few to show anything",
			seed, crashes, checkpoints, again)
	}
	return store, h.events
}

func closeStore(t *testing.T, s *storage.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
