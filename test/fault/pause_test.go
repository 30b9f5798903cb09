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

const (
	// queuedClients are those that know nobody but the leader that is paused.
	queuedClients = 12
	pauseFor      = 10 * time.Second
)

// A leader that is stopped for a while with requests and renewals queued at it, and then goes on, answers nothing that
// is not true any more: the checkers see every read, renewal and expiry.
func TestPausedLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("killed leaders and a rolling restart are enough with -short")
	}
	ctx := t.Context()
	rounds := 1
	if long {
		rounds = 6
	}
	c := rig.StartCluster(ctx, t, binary, 3)
	w := startCrowd(t, c.Members, 16)
	queued := 0
	for range rounds {
		w.settle(t, 300)
		leader := c.Leader(ctx)
		stuck, ended := queueAt(t, w.rec, leader)
		w.settle(t, 100)
		leader.Pause()
		paused := w.rec.now()
		// The others go on without it.
		w.settle(t, 300)
		wait(ctx, pauseFor-(w.rec.now()-paused))
		leader.Resume()
		resumed := w.rec.now()
		w.settle(t, 300)
		stuck()
		ended.Wait()
		queued += w.queuedDuring(paused, resumed)
	}
	w.stop()
	report := judge(t, c, w.rec, w.seen)
	t.Logf("%d pauses of %v, %d requests and renewals queued at the leader\n%s", rounds, pauseFor, queued, report)
	if queued < queuedClients {
		t.Errorf("floor: requests queued at a paused leader: got %d, want at least %d", queued, queuedClients)
	}
	floors(t, report, map[string]int{"linearizable operations": 500, "replay revisions": 500, "ttl renewals": 20})
}

// queueAt has clients work that know only one member and wait long for it.
func queueAt(t *testing.T, rec *recorder, m *rig.Member) (stop func(), ended *sync.WaitGroup) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	ended = &sync.WaitGroup{}
	for i := range queuedClients {
		c := newCaller(t, rec, fmt.Sprintf("queued%d-%d", i, rec.now()), uint64(5_000+i), []*rig.Member{m})
		c.patience = 2 * pauseFor
		ended.Go(func() {
			if i%3 == 0 {
				useLocks(ctx, c, crowdLocks, 2*crowdTTL)
			} else {
				useKeys(ctx, c, crowdKeys)
			}
		})
	}
	return cancel, ended
}

// queuedDuring counts the calls that were under way for the whole of a pause or begun in it, and answered after it.
func (w *crowd) queuedDuring(from, until time.Duration) int {
	w.rec.mu.Lock()
	defer w.rec.mu.Unlock()
	n := 0
	for _, op := range w.rec.history.Ops {
		began, ended := time.Duration(op.Call), time.Duration(op.Return)
		late := op.Outcome == check.Unknown || ended > until
		if began < until && began > from-time.Second && late {
			n++
		}
	}
	return n
}
