package storage_test

import (
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

// crowdObjects is how many holds or places of a crowd a session has; fewer than it may have.
const crowdObjects = 2_000

// crowd makes a lock "k" that is not free for an EXCLUSIVE hold, with n things beside. Session 1 stays; sessions from 10 and
// from 20 on have a lock-delay.
type crowd func(r *rig, n int)

// crowdAcquires returns n acquires of the lock by sessions from the first on; those of several firsts alternate.
func crowdAcquires(n int, mode storev1.LockMode, firsts ...int) []*storev1.Command {
	acquires := make([]*storev1.Command, n)
	for i := range acquires {
		session := firsts[i%len(firsts)] + i/len(firsts)/crowdObjects
		acquires[i] = acquireCommand("k", uint64(session), numbered(i), mode)
	}
	return acquires
}

// endCrowd ends the sessions from the first on that have n objects together.
func (r *rig) endCrowd(first, n int) {
	r.t.Helper()
	for i := range (n + crowdObjects - 1) / crowdObjects {
		r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: &storev1.SessionRef{SessionId: numberedID(uint64(first + i))},
		}}})
	}
}

func crowds() map[string]crowd {
	const exclusive, shared = storev1.LockMode_LOCK_MODE_EXCLUSIVE, storev1.LockMode_LOCK_MODE_SHARED
	stays := acquireCommand("k", 1, "", shared)
	return map[string]crowd{
		"waiters": func(r *rig, n int) {
			r.apply(stays)
			r.applyMany(crowdAcquires(n, exclusive, 10))
		},
		"holders": func(r *rig, n int) { r.applyMany(crowdAcquires(n, shared, 10)) },
		"holders older than a delayed hold": func(r *rig, n int) {
			r.applyMany(crowdAcquires(n, shared, 10))
			r.applyMany(crowdAcquires(1, shared, 20))
			r.endCrowd(20, 1)
		},
		"delayed holds older than a valid one": func(r *rig, n int) {
			r.applyMany(crowdAcquires(n, shared, 10))
			r.apply(stays)
			r.endCrowd(10, n)
		},
		"delayed holds younger than a valid one": func(r *rig, n int) {
			r.apply(stays)
			r.applyMany(crowdAcquires(n, shared, 10))
			r.endCrowd(10, n)
		},
		"valid and delayed holds by turns": func(r *rig, n int) {
			r.applyMany(crowdAcquires(n, shared, 10, 20))
			r.endCrowd(20, n/2)
		},
		"other locks, each with a waiter": func(r *rig, n int) {
			r.apply(stays)
			for _, first := range []int{10, 20} {
				acquires := crowdAcquires(n, exclusive, first)
				for i, a := range acquires {
					a.GetAcquireLock().Key = []string{"j", "k"}[i%2] + numbered(i)
				}
				r.applyMany(acquires)
			}
		},
	}
}

// crowdCost is what a command costs in rows and bytes that it reads and writes.
type crowdCost struct{ rows, bytes uint64 }

// TestATryAndAWaitCostTheSameBesideMany counts the rows that a refused try and a new waiter read and write beside twenty things, and
// beside ten thousand.
func TestATryAndAWaitCostTheSameBesideMany(t *testing.T) {
	needsNoRaceDetector(t)
	const few, many, rowsMore, bytesMore = 20, 10_000, 2, 256
	wait := acquireCommand("k", 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
	try := acquireCommand("k", 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
	try.GetAcquireLock().Queue = false
	for name, crowd := range crowds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cost := func(n int) map[string]crowdCost {
				r := newCrowd(t, crowd, n)
				costs := map[string]crowdCost{}
				for name, cmd := range map[string]*storev1.Command{"refused try": try, "wait": wait} {
					rows, bytes, err := r.store.RowsSeen((&costQueue{t: t, store: r.store}).entry(cmd))
					if err != nil || rows == 0 {
						t.Fatalf("%s: got %d rows, %v, want some", name, rows, err)
					}
					costs[name] = crowdCost{rows, bytes}
				}
				r.checkTry(try)
				return costs
			}
			atFew, atMany := cost(few), cost(many)
			for name, got := range atMany {
				t.Logf("%s: %d rows of %d bytes beside %d, %d of %d beside %d", name, atFew[name].rows, atFew[name].bytes, few, got.rows, got.bytes, many)
				if was := atFew[name]; got.rows > was.rows+rowsMore || got.bytes > was.bytes+bytesMore {
					t.Errorf("%s: got %d rows of %d bytes beside %d, want about the %d of %d beside %d",
						name, got.rows, got.bytes, many, was.rows, was.bytes, few)
				}
			}
		})
	}
}

// newCrowd returns a store with a crowd.
func newCrowd(t *testing.T, crowd crowd, n int) *rig {
	t.Helper()
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, 2)
	for i := range uint64(20) {
		r.apply(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: numberedID(10 + i), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE, LockDelayMs: 1000,
		}}})
	}
	crowd(r, n)
	return r
}

// checkTry applies a try, which is refused by as many holds as there are of either kind, and steps over no deleted rows twice.
func (r *rig) checkTry(try *storev1.Command) {
	r.t.Helper()
	_, results := r.apply(try)
	state := results[0].GetAcquireLock().GetRefused()
	for what, holds := range map[string]struct{ shown, all int }{
		"valid":   {len(state.GetHolds()), int(state.GetHolders())},
		"delayed": {len(state.GetDelayed()), int(state.GetDelayedHolds())},
	} {
		if state == nil || holds.shown != min(8, holds.all) {
			r.t.Errorf("got %d of %d %s holds of %v, want the first 8", holds.shown, holds.all, what, state)
		}
	}
	before := r.store.DeadRows()
	r.apply(try)
	if stepped := r.store.DeadRows() - before; stepped > deadRowsMax {
		r.t.Errorf("got %d deleted rows stepped over by the second try, want at most %d", stepped, deadRowsMax)
	}
}
