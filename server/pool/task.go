package pool

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/server/pool/reconcile"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

const (
	// TickEvery is how often the leader looks at what waits for time.
	TickEvery = 250 * time.Millisecond
	// sweepEvery is how often the leader compares all nodes.
	sweepEvery = time.Minute
	// proposalsMax is how many proposals of the task are under way at most, and asksMax how many rounds of questions.
	proposalsMax, asksMax = 32, 4
	// dirtyMax is how many nodes may have changed in the catalog before the leader compares all instead.
	dirtyMax = 4096
)

// TaskOptions say what the leader task works with. All are required.
type TaskOptions struct {
	Peers *Peers
	// Propose puts a command into the log, and returns its result once it is applied here.
	Propose func(ctx context.Context, c *storev1.Command) (*storev1.Result, error)
	// Store is the state machine.
	Store   func() *storage.Store
	Metrics *Metrics
	Logger  *zap.Logger
}

// Task keeps the catalog like the pool, while its member leads.
type Task struct {
	o     TaskOptions
	leads atomic.Bool
	dirty chan string // names of nodes that changed in the catalog
	lost  atomic.Bool // some did not fit
}

// NewTask returns a task that does nothing until it leads.
func NewTask(o TaskOptions) *Task { return &Task{o: o, dirty: make(chan string, dirtyMax)} }

// Publish sees the outcome of every Apply. It does not block.
func (t *Task) Publish(o storage.Outcome) {
	if !t.leads.Load() {
		return
	}
	for _, e := range o.Events {
		name := NodeOf(e)
		if name == "" {
			continue
		}
		select {
		case t.dirty <- name:
		default:
			t.lost.Store(true)
		}
	}
}

// NodeOf returns the name of the node that an event is about, as far as it matters to the pool; empty: it does not.
func NodeOf(e *storev1.Event) string {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_NodePut:
		return kind.NodePut.GetNode().GetName()
	case *storev1.Event_NodeDeleted:
		return kind.NodeDeleted.GetNode()
	case *storev1.Event_CheckPut:
		if kind.CheckPut.GetCheck().GetCheckId() == catalog.LivenessID {
			return kind.CheckPut.GetNode()
		}
	case *storev1.Event_CheckStatus:
		if kind.CheckStatus.GetCheck().GetCheckId() == catalog.LivenessID {
			return kind.CheckStatus.GetNode()
		}
	case *storev1.Event_CheckDeleted:
		if kind.CheckDeleted.GetCheckId() == catalog.LivenessID {
			return kind.CheckDeleted.GetNode()
		}
	}
	return ""
}

// outcome is how something ended that runs beside the loop.
type outcome struct {
	key    gossip.Key
	failed bool // of a proposal
	asked  []gossip.Asked
	tally  Tally
}

// term is the task in one term. All of it belongs to the goroutine of run.
type term struct {
	*Task
	gossip   Gossip
	steps    *Steps
	under    int // what runs beside the loop
	outcomes chan outcome
}

// Lead is a leader task: it runs until ctx ends. Without gossip it does nothing; it begins when the member takes part.
func (t *Task) Lead(ctx context.Context, number uint64) error {
	select {
	case <-t.o.Peers.joined:
	case <-ctx.Done():
		return nil
	}
	_, g := t.o.Peers.parts()
	t.leads.Store(true)
	defer t.leads.Store(false)
	began := time.Now()
	tm := &term{Task: t, gossip: g, outcomes: make(chan outcome, proposalsMax+asksMax), steps: NewSteps(StepsOptions{
		Term: number, Pool: g, Store: t.o.Store, Now: func() time.Duration { return time.Since(began) }, WallNow: time.Now,
	})}
	return tm.run(ctx)
}

// run is the loop of one term. It waits for what it began.
func (t *term) run(ctx context.Context) error {
	defer func() {
		for range t.under {
			<-t.outcomes
		}
	}()
	tick := time.NewTicker(TickEvery)
	defer tick.Stop()
	changed := t.gossip.Changed()
	for {
		if err := t.steps.Sweep(t.lost.Swap(false)); err != nil {
			return err
		}
		t.begin(ctx)
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			changed = t.gossip.Changed()
			err = t.steps.PoolChanged()
		case name := <-t.dirty:
			err = t.steps.CatalogChanged(name)
		case <-tick.C:
			t.steps.Tick()
		case o := <-t.outcomes:
			err = t.finish(o)
		}
		if err != nil {
			return err
		}
	}
}

// begin asks and proposes what is to be done, as far as there is room.
func (t *term) begin(ctx context.Context) {
	for asked := t.steps.Ask(); asked != nil; asked = t.steps.Ask() {
		t.under++
		go func() { t.outcomes <- outcome{asked: asked, tally: t.o.Peers.ask(ctx, asked)} }()
	}
	for p, found := t.steps.Propose(); found; p, found = t.steps.Propose() {
		t.under++
		go func() {
			result, err := t.o.Propose(ctx, p.Command)
			if err == nil && result.GetFailure() != nil {
				err = errors.New(storage.FailureText(result.GetFailure()))
			}
			t.told(p.Effect, err)
			t.outcomes <- outcome{key: p.Effect.Key, failed: err != nil}
		}()
	}
}

// told logs and counts what was done.
func (t *term) told(e reconcile.Effect, err error) {
	node := []zap.Field{zap.String("node", e.Name), zap.String("node_id", uuid.UUID(e.ID).String())}
	switch {
	case err != nil:
		t.o.Logger.Debug("the catalog was not changed as the pool is", append(node, zap.Error(err))...)
	case e.Kind == reconcile.Register:
		t.o.Logger.Info("node registered", node...)
	case e.Kind == reconcile.Set && e.Status == reconcile.Critical:
		t.o.Metrics.failures.Inc()
		if e.Flap {
			t.o.Metrics.flaps.Inc()
		}
		t.o.Logger.Warn("node failed", append(node, zap.String("output", e.Output))...)
	case e.Kind == reconcile.Set:
		t.o.Logger.Info("node is alive", node...)
	default:
		t.o.Logger.Info("node left", node...)
	}
}

// finish takes how something ended.
func (t *term) finish(o outcome) error {
	t.under--
	if o.asked == nil {
		return t.steps.Finish(o.key, o.failed)
	}
	t.o.Metrics.unconfirmed.Add(float64(t.steps.Judged(o.asked, o.tally)))
	return nil
}
