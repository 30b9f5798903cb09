package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// depose makes a member believe that somebody else leads in a later term, until its election time-out.
func depose(n *raftnode.Node, terms uint64) {
	st := n.Status()
	n.Receive(&raftpb.Message{
		Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(99)), To: new(st.MemberID), Term: new(st.Term + terms),
	})
}

func TestLeaderTasksFollowTheLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type run struct {
			term    uint64
			applied uint64
		}
		began, ended := make(chan run, 10), make(chan uint64, 10)
		var n *raftnode.Node
		ready := make(chan struct{})
		task := func(ctx context.Context, term uint64) error {
			<-ready
			began <- run{term: term, applied: n.Store().Applied().Term}
			<-ctx.Done()
			ended <- term
			return ctx.Err()
		}
		m := start(t, raftnode.Options{
			FS: vfs.NewMem(), Dir: "/data",
			LeaderTasks: []func(context.Context, uint64) error{task},
		})
		n = m.Node
		close(ready)
		first := <-began
		if first.term != 2 || first.applied != 2 {
			t.Errorf("first tasks: got %+v, want term 2, its first entry applied", first)
		}
		depose(n, 5)
		if got := <-ended; got != first.term {
			t.Errorf("ended: got term %d, want %d", got, first.term)
		}
		if _, err := n.ReadIndexLeader(t.Context()); !errors.Is(err, raftnode.ErrNotLeader) {
			t.Errorf("proof of leadership after it was lost: got %v, want %v", err, raftnode.ErrNotLeader)
		}
		var hint *raftnode.NotLeaderError
		if _, err := n.Propose(t.Context(), put("k", "v")); !errors.As(err, &hint) || hint.Leader != 99 {
			t.Errorf("proposal after leadership was lost: got %v, want a hint to 99", err)
		}
		second := <-began
		if second.term <= 7 || second.applied != second.term {
			t.Errorf("second tasks: got %+v, want a term after 7, its first entry applied", second)
		}
		if err := m.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
		if got := <-ended; got != second.term {
			t.Errorf("ended: got term %d, want %d", got, second.term)
		}
	})
}

func TestALeaderTaskThatFailsStopsTheMember(t *testing.T) {
	cause := errors.New("a promise cannot be kept")
	n, err := raftnode.Open(raftnode.Options{
		FS: vfs.NewMem(), Dir: "/data",
		LeaderTasks: []func(context.Context, uint64) error{
			func(context.Context, uint64) error { return cause },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(context.Background()); !errors.Is(err, cause) {
		t.Errorf("run: got %v, want %v", err, cause)
	}
	if _, err := n.Propose(context.Background(), put("k", "v")); err == nil {
		t.Error("proposal to a member that ended: got nil, want an error")
	}
	if err := n.Run(context.Background()); !errors.Is(err, raftnode.ErrUsed) {
		t.Errorf("run again: got %v, want %v", err, raftnode.ErrUsed)
	}
}

// While the leadership comes and goes, what was acknowledged exists and what was refused does not.
func TestOutcomesUnderChangesOfLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, raftnode.Options{FS: vfs.NewMem(), Dir: "/data"})
		ctx, cancel := context.WithCancel(t.Context())
		var acked, refused sync.Map
		var proposers sync.WaitGroup
		for p := range 8 {
			proposers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					key := fmt.Sprintf("p%d-%d", p, i)
					_, err := m.Propose(ctx, put(key, "v"))
					switch {
					case err == nil:
						acked.Store(key, true)
					case !errors.Is(err, raftnode.ErrOutcomeUnknown):
						refused.Store(key, true)
					}
					// Time in the bubble goes on only when all wait. The leadership goes at such a moment too.
					select {
					case <-time.After(50 * time.Millisecond):
					case <-ctx.Done():
					}
				}
			})
		}
		for range 20 {
			<-time.After(1500 * time.Millisecond)
			depose(m.Node, 1)
		}
		cancel()
		proposers.Wait()
		if err := m.ReadIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := m.Store().NewReader()
		check := func(keys *sync.Map, want bool) (n int) {
			keys.Range(func(key, _ any) bool {
				n++
				if _, ok, err := r.Get(fmt.Sprint(key)); ok != want || err != nil {
					t.Errorf("%s: got %v %v, want %v", key, ok, err, want)
				}
				return true
			})
			return n
		}
		a, b := check(&acked, true), check(&refused, false)
		t.Logf("%d acknowledged, %d refused, term %d", a, b, m.Status().Term)
		if a < 100 || b < 20 {
			t.Error("too little happened")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An idle member writes nothing: an hour of ticks, reads and proofs of leadership leaves the log as it is.
func TestReadsAndTimeWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		m := start(t, raftnode.Options{FS: vfs.NewMem(), Dir: "/data", Registerer: reg})
		propose(t, m.Node, put("k", "v"))
		before := m.Status()
		for range 60 {
			<-time.After(time.Minute)
			if term, err := m.ReadIndexLeader(t.Context()); err != nil || term != before.Term {
				t.Fatalf("proof of leadership: got %d %v, want %d", term, err, before.Term)
			}
		}
		after := m.Status()
		if after.LastIndex != before.LastIndex || after.EntriesAppended != before.EntriesAppended {
			t.Errorf("entries: got %d to %d, want none", before.LastIndex, after.LastIndex)
		}
		if got := metric(t, reg, "tenure_log_entries_appended_total"); got != float64(after.EntriesAppended) {
			t.Errorf("counter of entries: got %v, want %d", got, after.EntriesAppended)
		}
		if got := metric(t, reg, "tenure_raft_reads_total"); got < 60 {
			t.Errorf("counter of reads: got %v, want at least 60", got)
		}
	})
}

// counter returns a metric's value.
func metric(t *testing.T, g prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			one := f.GetMetric()[0]
			return one.GetCounter().GetValue() + one.GetGauge().GetValue() // Only one of them is there.
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestMetricsFollowTheNamingRules(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := start(t, raftnode.Options{FS: vfs.NewMem(), Dir: "/data", Registerer: reg})
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n, err := testutil.GatherAndCount(reg); err != nil || n < 15 {
		t.Errorf("metrics: got %d %v, want 15 or more", n, err)
	}
	// A member that ended leaves nothing behind: another one may use the same registry.
	if err := m.stop(); err != nil {
		t.Fatal(err)
	}
	start(t, raftnode.Options{FS: vfs.NewMem(), Dir: "/data", Registerer: reg})
}

// Batches are published in order, before those who proposed hear of them, and none is left out.
func TestAppliedBatchesArePublished(t *testing.T) {
	var last atomic.Uint64
	m := start(t, raftnode.Options{FS: vfs.NewMem(), Dir: "/data", OnApplied: func(o storage.Outcome) {
		for _, e := range o.Events {
			if e.GetRevision() != last.Load()+1 {
				t.Errorf("event of revision %d follows %d", e.GetRevision(), last.Load())
			}
			last.Store(e.GetRevision())
		}
	}})
	var proposers sync.WaitGroup
	for p := range 4 {
		proposers.Go(func() {
			for i := range 100 {
				res, err := m.Propose(context.Background(), put(fmt.Sprintf("p%d-%d", p, i), "v"))
				if err != nil {
					t.Errorf("propose: %v", err)
					return
				}
				if res.GetRevision() > last.Load() {
					t.Errorf("revision %d answered before it was published", res.GetRevision())
				}
			}
		})
	}
	proposers.Wait()
	if got := last.Load(); got != 400 {
		t.Errorf("last published revision: got %d, want 400", got)
	}
}

// Checkpoints come by themselves, and the log is cut behind them.
func TestTheLogStaysSmall(t *testing.T) {
	logs, seen := observer.New(zap.DebugLevel)
	fs := vfs.NewMem()
	m := start(t, raftnode.Options{
		FS: fs, Dir: "/data", CheckpointLogBytes: 64 << 10, Logger: zap.New(logs),
	})
	value := string(make([]byte, 1000))
	checkpoints := func() int { return seen.FilterMessage("made checkpoint").Len() }
	// They are made beside the writes, which may be faster on a loaded machine.
	for i, until := 0, time.Now().Add(time.Minute); i < 1000 || checkpoints() < 3 && time.Now().Before(until); i++ {
		propose(t, m.Node, put(fmt.Sprintf("k%d", i%10), value))
	}
	if err := m.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	raftnode.CutLog(t, m.Node)
	st := m.Status()
	if st.LogBytes > 300<<10 || st.CheckpointIndex == 0 || st.FirstIndex <= st.LastIndex-500 {
		t.Errorf("status: got %+v, want a log of 64 KiB or little more", st)
	}
	durable, err := m.Store().DurableApplied()
	if err != nil {
		t.Fatal(err)
	}
	if st.FirstIndex > min(st.CheckpointIndex, durable)+1 {
		t.Errorf("the log begins at %d, checkpoint %d, durable %d", st.FirstIndex, st.CheckpointIndex, durable)
	}
	if n := checkpoints(); n < 3 {
		t.Errorf("checkpoints: got %d, want several", n)
	}
	// The next checkpoint may be in the making; a stop waits for it.
	if err := m.stop(); err != nil {
		t.Fatal(err)
	}
	if names, err := fs.List("/data/snap"); err != nil || len(names) != 1 {
		t.Errorf("checkpoints kept: got %v %v, want one", names, err)
	}
}
