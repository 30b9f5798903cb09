package storage_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// fewestAllocs returns how many allocations entries take that are applied to nothing. The store may allocate besides, in
// the background; so the fewest of several runs count.
func fewestAllocs(t *testing.T, store *storage.Store, entries []storage.Entry) float64 {
	t.Helper()
	fewest := math.Inf(1)
	for range 10 {
		fewest = min(fewest, testing.AllocsPerRun(1, func() {
			if _, err := store.BytesWritten(entries); err != nil {
				t.Fatal(err)
			}
		}))
	}
	return fewest
}

// TestARefusedTryCostsTheSameBesideManyHolders counts the allocations of a try that is refused by holders of which the
// last one is delayed.
func TestARefusedTryCostsTheSameBesideManyHolders(t *testing.T) {
	const shared = storev1.LockMode_LOCK_MODE_SHARED
	cost := func(holders int) float64 {
		r := &rig{t: t, store: newStore(t, vfs.NewMem(), fmt.Sprint(holders))}
		r.sessions(0, 3)
		r.apply(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: numberedID(3), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE, LockDelayMs: 1000,
		}}})
		var acquires []*storev1.Command
		for i := range holders {
			acquires = append(acquires, acquireCommand("k", uint64(i%2), fmt.Sprint(i), shared))
		}
		r.applyMany(append(acquires, acquireCommand("k", 3, "", shared)))
		r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: &storev1.SessionRef{SessionId: numberedID(3)},
		}}})
		try := acquireCommand("k", 2, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
		try.GetAcquireLock().Queue = false
		entry := (&costQueue{t: t, store: r.store}).entry(try)
		_, results := r.apply(try)
		state := results[0].GetAcquireLock().GetRefused()
		if state.GetHolders() != uint32(holders) || len(state.GetHolds()) != 8 || len(state.GetDelayed()) != 1 {
			t.Fatalf("got %v, want %d holders of which 8 are named, and one delayed", state, holders)
		}
		entry[0].Index++
		return fewestAllocs(t, r.store, entry)
	}
	few, many := cost(10), cost(4_000)
	t.Logf("%.0f allocations beside 10 holders, %.0f beside 4 000", few, many)
	if many > few+2_000 {
		t.Errorf("got %.0f allocations beside 4 000 holders, want about the %.0f beside 10", many, few)
	}
}
