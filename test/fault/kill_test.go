package fault_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/check"
	"github.com/tenure-io/tenure/test/rig"
)

// crowd is clients at work on a cluster.
type crowd struct {
	rec     *recorder
	seen    *arrivals
	callers []*caller
	stop    func()
}

const (
	crowdKeys  = 40
	crowdLocks = 8
	crowdTTL   = 3 * time.Second
)

// startCrowd sets so many clients to work; a third of them uses locks.
func startCrowd(t *testing.T, members []*rig.Member, clients int) *crowd {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &crowd{rec: newRecorder(), seen: &arrivals{at: map[uint64]time.Duration{}}}
	var working sync.WaitGroup
	for i := range clients {
		c := newCaller(t, w.rec, fmt.Sprintf("c%d", i), uint64(i), members)
		w.callers = append(w.callers, c)
		working.Go(func() {
			if i%3 == 0 {
				useLocks(ctx, c, crowdLocks, crowdTTL)
			} else {
				useKeys(ctx, c, crowdKeys)
			}
		})
	}
	watcher := newCaller(t, w.rec, "watcher", 1_000, members)
	working.Go(func() { w.seen.follow(ctx, watcher) })
	w.stop = sync.OnceFunc(func() {
		cancel()
		working.Wait()
	})
	t.Cleanup(w.stop)
	return w
}

// follow tells all clients which members there are now.
func (w *crowd) follow(members []*rig.Member) {
	for _, c := range w.callers {
		c.follow(members)
	}
}

// settle waits until the clients have made some more changes, so that a fault comes among them.
func (w *crowd) settle(t *testing.T, changes int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	want := w.rec.acknowledged.Load() + changes
	for w.rec.acknowledged.Load() < want {
		wait(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatalf("%d changes in 90 s, want %d more", w.rec.acknowledged.Load()-(want-changes), changes)
		}
	}
}

// A cluster whose leader is killed again and again loses nothing that it acknowledged, and nobody expires early.
func TestKilledLeaders(t *testing.T) {
	ctx := t.Context()
	kills := 4
	if long {
		kills = 24
	}
	// A kill that few requests were caught by says little about retries: more kills follow until enough were caught.
	const enoughRetries = 10
	mostKills := 6 * kills
	c := rig.StartCluster(ctx, t, binary, 3)
	w := startCrowd(t, c.Members, 32)
	w.settle(t, 500)
	var gaps []time.Duration
	for n := 0; n < kills || n < mostKills && w.rec.retried.Load() < enoughRetries; n++ {
		leader := c.Leader(ctx)
		leader.Kill()
		killed := w.rec.now()
		w.settle(t, 1)
		gaps = append(gaps, w.firstAfter(killed)-killed)
		w.settle(t, 500)
		leader.Restart(ctx)
		wait(ctx, time.Duration(kills)*100*time.Millisecond)
	}
	w.settle(t, 200)
	w.stop()
	report := judge(t, c, w.rec, w.seen)
	t.Logf("%d leaders killed; writes went on after %v (median), %v (worst)\n%s", len(gaps), middle(gaps), most(gaps), report)
	floors(t, report, map[string]int{
		"linearizable operations": 2000, "replay revisions": 2000, "locks grants": 100, "ttl renewals": 50,
		"replay retried changes": enoughRetries, "replay guards held": 100,
	})
}

// firstAfter returns when the first change that was asked for after a moment was acknowledged.
func (w *crowd) firstAfter(at time.Duration) time.Duration {
	w.rec.mu.Lock()
	defer w.rec.mu.Unlock()
	first := w.rec.now()
	for _, op := range w.rec.history.Ops {
		if op.Outcome == check.OK && op.Changed && time.Duration(op.Return) > at {
			first = min(first, time.Duration(op.Return))
		}
	}
	return first
}

// floors demands that a run looked at enough to mean something.
func floors(t *testing.T, r *check.Report, least map[string]int) {
	t.Helper()
	for name, n := range least {
		if r.Counts[name] < n {
			t.Errorf("floor: %s: got %d, want at least %d", name, r.Counts[name], n)
		}
	}
}
