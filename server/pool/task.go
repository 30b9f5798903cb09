package pool

import (
	"context"
	"errors"
	"maps"
	"net"
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
	// tickEvery is how often the leader looks at what waits for time.
	tickEvery = 250 * time.Millisecond
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
		var name string
		switch kind := e.GetKind().(type) {
		case *storev1.Event_NodePut:
			name = kind.NodePut.GetNode().GetName()
		case *storev1.Event_NodeDeleted:
			name = kind.NodeDeleted.GetNode()
		case *storev1.Event_CheckPut:
			if kind.CheckPut.GetCheck().GetCheckId() == catalog.LivenessID {
				name = kind.CheckPut.GetNode()
			}
		case *storev1.Event_CheckStatus:
			if kind.CheckStatus.GetCheck().GetCheckId() == catalog.LivenessID {
				name = kind.CheckStatus.GetNode()
			}
		case *storev1.Event_CheckDeleted:
			if kind.CheckDeleted.GetCheckId() == catalog.LivenessID {
				name = kind.CheckDeleted.GetNode()
			}
		}
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

// outcome is how something ended that runs beside the loop.
type outcome struct {
	key    gossip.Key
	failed bool // of a proposal
	asked  []gossip.Asked
	tally  tally
}

// term is the task in one term. All of it belongs to the goroutine of run.
type term struct {
	*Task
	number   uint64
	gossip   Gossip
	began    time.Time
	state    *reconcile.State
	seen     map[gossip.Key]reconcile.Seen
	byName   map[string]map[gossip.Key]bool
	waiting  []reconcile.Effect // to be proposed
	asking   []gossip.Asked
	under    int // proposals under way
	asks     int // rounds of questions under way
	outcomes chan outcome
	swept    time.Time // when all nodes were compared last
	ready    bool      // the cluster knows the catalog
}

// Lead is a leader task: it runs until ctx ends. Without gossip it does nothing.
func (t *Task) Lead(ctx context.Context, number uint64) error {
	select {
	case <-t.o.Peers.decided:
	case <-ctx.Done():
		return nil
	}
	_, g := t.o.Peers.parts()
	if g == nil {
		return nil
	}
	t.leads.Store(true)
	defer t.leads.Store(false)
	tm := &term{
		Task: t, number: number, gossip: g, began: time.Now(), state: reconcile.New(), seen: map[gossip.Key]reconcile.Seen{},
		byName: map[string]map[gossip.Key]bool{}, outcomes: make(chan outcome, proposalsMax+asksMax),
	}
	return tm.run(ctx)
}

// run is the loop of one term. It waits for what it began.
func (t *term) run(ctx context.Context) error {
	defer func() {
		for range t.under + t.asks {
			<-t.outcomes
		}
	}()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	changed := t.gossip.Changed()
	for {
		if err := t.compare(); err != nil {
			return err
		}
		t.begin(ctx)
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			changed = t.gossip.Changed()
			err = t.look()
		case name := <-t.dirty:
			err = t.reread(name)
		case <-tick.C:
			t.step(reconcile.Tick{})
		case o := <-t.outcomes:
			err = t.finish(o)
		}
		if err != nil {
			return err
		}
	}
}

// compare sweeps when it is time. Before the cluster knows the catalog, there is nothing to keep.
func (t *term) compare() error {
	t.ready = storage.KnowsCatalog(t.o.Store().Applied().ClusterVersion)
	if !t.ready || !t.lost.Swap(false) && !t.swept.IsZero() && time.Since(t.swept) < sweepEvery {
		return nil
	}
	t.swept = time.Now()
	return t.sweep()
}

// step has the state take an event, and keeps what is to be done.
func (t *term) step(e reconcile.Event) {
	for _, effect := range t.state.Step(e, time.Since(t.began)) {
		if effect.Kind == reconcile.Ask {
			t.asking = append(t.asking, gossip.Asked{Key: effect.Key, Address: effect.Address})
		} else {
			t.waiting = append(t.waiting, effect)
		}
	}
}

// look takes what the pool sees otherwise than before.
func (t *term) look() error {
	if !t.ready {
		return nil
	}
	now := map[gossip.Key]reconcile.Seen{}
	var news []gossip.Key
	for _, n := range t.gossip.Nodes() {
		seen := reconcile.Seen{Key: n.Key, State: n.State, Address: n.Address}
		now[n.Key] = seen
		if t.seen[n.Key] != seen {
			news = append(news, n.Key)
		}
	}
	for k, before := range t.seen {
		if _, known := now[k]; !known && before.State != gossip.Unknown {
			now[k] = reconcile.Seen{Key: k}
			news = append(news, k)
		}
	}
	if len(news) == 0 {
		return nil
	}
	maps.Copy(t.seen, now)
	return t.read(news)
}

// read takes what the catalog has of nodes, and how the pool sees them.
func (t *term) read(keys []gossip.Key) (err error) {
	s := t.o.Store().NewReader()
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, k := range keys {
		e, err := entryOf(s, k)
		if err != nil {
			return err
		}
		t.take(k, e)
	}
	return nil
}

// take has the state take both sides of a node.
func (t *term) take(k gossip.Key, e reconcile.Entry) {
	if t.byName[k.Name] == nil {
		t.byName[k.Name] = map[gossip.Key]bool{}
	}
	t.byName[k.Name][k] = true
	seen := t.seen[k]
	seen.Key = k
	t.step(seen)
	t.step(reconcile.Stored{Key: k, Entry: e})
}

// reread takes what the catalog has under a name.
func (t *term) reread(name string) error {
	var keys []gossip.Key
	for k := range t.byName[catalog.NodeKey(name)] {
		keys = append(keys, k)
	}
	return t.read(keys)
}

// sweep compares all nodes: those of the pool, and those of the catalog whose check liveness is the cluster's.
func (t *term) sweep() (err error) {
	if err = t.look(); err != nil {
		return err
	}
	s := t.o.Store().NewReader()
	defer func() { err = errors.Join(err, s.Close()) }()
	all := map[gossip.Key]bool{}
	for k, seen := range t.seen {
		if all[k] = seen.State != gossip.Unknown; !all[k] {
			delete(t.seen, k)
		}
	}
	err = s.Nodes("", "", func(n storage.NodeEntry) (bool, error) {
		check, found, failed := s.Check(n.Key, catalog.LivenessID)
		if found && check.GetOrigin() == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL {
			all[gossip.KeyOf([16]byte(n.Record.GetNode().GetNodeId()), n.Key)] = true
		}
		return true, failed
	})
	if err != nil {
		return err
	}
	clear(t.byName)
	for k := range all {
		e, err := entryOf(s, k)
		if err != nil {
			return err
		}
		t.take(k, e)
	}
	return nil
}

// entryOf reads what the catalog has of a node.
func entryOf(s *storage.Reader, k gossip.Key) (reconcile.Entry, error) {
	n, found, err := s.Node(k.Name)
	if err != nil || !found {
		return reconcile.Entry{}, err
	}
	check, checked, err := s.Check(n.Key, catalog.LivenessID)
	if err != nil {
		return reconcile.Entry{}, err
	}
	status := reconcile.None
	if checked {
		status = reconcile.Status(check.GetCheck().GetStatus())
	}
	record := n.Record.GetNode()
	if string(record.GetNodeId()) != string(k.ID[:]) {
		return reconcile.Entry{Taken: true, TakenStatus: status}, nil
	}
	return reconcile.Entry{
		Known: true, Status: status, Address: record.GetGossipAddress(),
		Outside: checked && check.GetOrigin() != storev1.CatalogOrigin_CATALOG_ORIGIN_POOL,
		Ours:    n.Record.GetOrigin() == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL,
	}, nil
}

// begin asks and proposes what is to be done, as far as there is room.
func (t *term) begin(ctx context.Context) {
	for len(t.asking) > 0 && t.asks < asksMax {
		asked := t.asking[:min(len(t.asking), askedMax)]
		t.asking = t.asking[len(asked):]
		t.asks++
		go func() { t.outcomes <- outcome{asked: asked, tally: t.o.Peers.ask(ctx, asked)} }()
	}
	for len(t.waiting) > 0 && t.under < proposalsMax {
		e := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.under++
		c := t.command(e)
		go func() {
			result, err := t.o.Propose(ctx, c)
			if err == nil && result.GetFailure() != nil {
				err = errors.New(storage.FailureText(result.GetFailure()))
			}
			t.told(e, err)
			t.outcomes <- outcome{key: e.Key, failed: err != nil}
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
	if o.asked == nil {
		t.under--
		if err := t.read([]gossip.Key{o.key}); err != nil {
			return err
		}
		t.step(reconcile.Done{Key: o.key, Failed: o.failed})
		return nil
	}
	t.asks--
	for i, a := range o.asked {
		if 2*o.tally.failed[i] <= o.tally.voters {
			t.o.Metrics.unconfirmed.Inc()
		}
		t.step(reconcile.Judged{Key: a.Key, Failed: o.tally.failed[i], Voters: o.tally.voters})
	}
	return nil
}

// command returns the command that does what is to be done.
func (t *term) command(e reconcile.Effect) *storev1.Command {
	c := &storev1.Command{WallTimeMs: time.Now().UnixMilli()}
	set := &storev1.SetLiveness{Term: t.number, NodeId: e.ID[:], Status: storev1.CheckStatus(e.Status), Output: e.Output}
	switch e.Kind {
	case reconcile.Register:
		n := t.gossip.Node(e.Key)
		host, _, _ := net.SplitHostPort(n.Address) // An address that cannot be split has no host.
		const pool = storev1.CatalogOrigin_CATALOG_ORIGIN_POOL
		c.Kind = &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
			Node:   &storev1.Node{Name: n.Name, NodeId: e.ID[:], Address: host, GossipAddress: n.Address},
			Checks: []*storev1.Check{{CheckId: catalog.LivenessID, Name: catalog.LivenessID, Kind: "gossip", Status: storev1.CheckStatus_CHECK_STATUS_PASSING, Output: "it answers"}},
			Origin: pool, Term: t.number, SkipNodeUpdate: !e.Replace,
		}}
	case reconcile.Deregister:
		c.Kind = &storev1.Command_Deregister{Deregister: &storev1.Deregister{
			Name: &storev1.CatalogName{Node: e.Name}, IfNodeId: e.ID[:], Term: t.number, UnlessBound: true,
		}}
	default:
		c.Kind = &storev1.Command_SetLiveness{SetLiveness: set}
	}
	return c
}
