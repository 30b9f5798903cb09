package pool

import (
	"errors"
	"maps"
	"net"
	"slices"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/server/pool/reconcile"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

// Pool is how a member sees the pool.
type Pool interface {
	// Nodes returns all nodes that the member has seen.
	Nodes() []gossip.Node
	// Node returns one of them.
	Node(k gossip.Key) gossip.Node
}

// StepsOptions say what the steps of a term work with. All are required.
type StepsOptions struct {
	Term uint64
	Pool Pool
	// Store is the state machine.
	Store func() *storage.Store
	// Now is a monotonic clock, WallNow what a calendar shows.
	Now     func() time.Duration
	WallNow func() time.Time
}

// Steps is the task of one term, without goroutines and without a clock of its own: it is told what happened, and says what is to be
// asked and proposed. Task drives it, and the simulator does. It belongs to one goroutine.
type Steps struct {
	o       StepsOptions
	began   time.Duration
	state   *reconcile.State
	seen    map[gossip.Key]reconcile.Seen
	byName  map[string]map[gossip.Key]bool
	waiting []reconcile.Effect // to be proposed
	asking  []gossip.Asked
	under   int           // proposals under way
	asks    int           // rounds of questions under way
	swept   time.Duration // when all nodes were compared last; negative: never
	ready   bool          // the cluster knows the catalog
}

// Proposal is one command that Steps wants proposed.
type Proposal struct {
	Effect  reconcile.Effect
	Command *storev1.Command
}

// Tally is what the voters say of nodes.
type Tally struct {
	// Failed says for each node how many voters say that it has failed.
	Failed []int
	// Voters is how many there are.
	Voters int
}

// NewSteps returns the steps of a term that begins.
func NewSteps(o StepsOptions) *Steps {
	return &Steps{
		o: o, began: o.Now(), state: reconcile.New(), seen: map[gossip.Key]reconcile.Seen{},
		byName: map[string]map[gossip.Key]bool{}, swept: -1,
	}
}

// Sweep compares all nodes when it is time, or when all is said to be needed. Before the cluster knows the catalog, there is
// nothing to keep.
func (s *Steps) Sweep(all bool) error {
	s.ready = storage.KnowsCatalog(s.o.Store().Applied().ClusterVersion)
	now := s.o.Now() - s.began
	if !s.ready || !all && s.swept >= 0 && now-s.swept < sweepEvery {
		return nil
	}
	s.swept = now
	return s.sweep()
}

// Tick says that time has passed.
func (s *Steps) Tick() { s.step(reconcile.Tick{}) }

// PoolChanged takes what the pool sees otherwise than before.
func (s *Steps) PoolChanged() error {
	if !s.ready {
		return nil
	}
	now := map[gossip.Key]reconcile.Seen{}
	news := map[gossip.Key]bool{}
	for _, n := range s.o.Pool.Nodes() {
		seen := reconcile.Seen{Key: n.Key, State: n.State, Address: n.Address, SyncBoot: n.SyncBoot}
		now[n.Key] = seen
		if s.seen[n.Key] != seen {
			news[n.Key] = true
		}
	}
	for k, before := range s.seen {
		if _, known := now[k]; !known && before.State != gossip.Unknown {
			now[k] = reconcile.Seen{Key: k}
			news[k] = true
		}
	}
	if len(news) == 0 {
		return nil
	}
	maps.Copy(s.seen, now)
	return s.read(inOrder(news))
}

// CatalogChanged takes what the catalog has under a name.
func (s *Steps) CatalogChanged(name string) error {
	return s.read(inOrder(s.byName[catalog.NodeKey(name)]))
}

// Ask returns the nodes of the next round of questions to all voters, none if there is nothing to ask or no room. What they say
// comes back with Judged.
func (s *Steps) Ask() []gossip.Asked {
	if len(s.asking) == 0 || s.asks >= asksMax {
		return nil
	}
	asked := s.asking[:min(len(s.asking), askedMax)]
	s.asking = s.asking[len(asked):]
	s.asks++
	return asked
}

// Judged takes what the voters say, and returns how many of the nodes no majority says have failed.
func (s *Steps) Judged(asked []gossip.Asked, t Tally) (unconfirmed int) {
	s.asks--
	for i, a := range asked {
		if 2*t.Failed[i] <= t.Voters {
			unconfirmed++
		}
		s.step(reconcile.Judged{Key: a.Key, Failed: t.Failed[i], Voters: t.Voters})
	}
	return unconfirmed
}

// Propose returns the next command that is to be proposed, or false if there is none or no room. How it ended comes back with
// Finish.
func (s *Steps) Propose() (Proposal, bool) {
	if len(s.waiting) == 0 || s.under >= proposalsMax {
		return Proposal{}, false
	}
	e := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.under++
	return Proposal{Effect: e, Command: s.command(e)}, true
}

// Finish takes how a proposal ended.
func (s *Steps) Finish(k gossip.Key, failed bool) error {
	s.under--
	if err := s.read([]gossip.Key{k}); err != nil {
		return err
	}
	s.step(reconcile.Done{Key: k, Failed: failed})
	return nil
}

// inOrder returns keys by name and id, so that the same news has the same effects.
func inOrder(keys map[gossip.Key]bool) []gossip.Key {
	return slices.SortedFunc(maps.Keys(keys), gossip.Key.Compare)
}

// step has the state take an event, and keeps what is to be done.
func (s *Steps) step(e reconcile.Event) {
	for _, effect := range s.state.Step(e, s.o.Now()-s.began) {
		if effect.Kind == reconcile.Ask {
			s.asking = append(s.asking, gossip.Asked{Key: effect.Key, Address: effect.Address})
		} else {
			s.waiting = append(s.waiting, effect)
		}
	}
}

// read takes what the catalog has of nodes, and how the pool sees them.
func (s *Steps) read(keys []gossip.Key) (err error) {
	r := s.o.Store().NewReader()
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, k := range keys {
		e, err := entryOf(r, k)
		if err != nil {
			return err
		}
		s.take(k, e)
	}
	return nil
}

// take has the state take both sides of a node.
func (s *Steps) take(k gossip.Key, e reconcile.Entry) {
	if s.byName[k.Name] == nil {
		s.byName[k.Name] = map[gossip.Key]bool{}
	}
	s.byName[k.Name][k] = true
	seen := s.seen[k]
	seen.Key = k
	s.step(seen)
	s.step(reconcile.Stored{Key: k, Entry: e})
}

// sweep compares all nodes: those of the pool, and those of the catalog whose check liveness is the cluster's.
func (s *Steps) sweep() (err error) {
	if err = s.PoolChanged(); err != nil {
		return err
	}
	r := s.o.Store().NewReader()
	defer func() { err = errors.Join(err, r.Close()) }()
	all := map[gossip.Key]bool{}
	for k, seen := range s.seen {
		if seen.State == gossip.Unknown {
			delete(s.seen, k)
		} else {
			all[k] = true
		}
	}
	err = r.Nodes("", "", func(n storage.NodeEntry) (bool, error) {
		check, found, failed := r.Check(n.Key, catalog.LivenessID)
		if found && check.GetOrigin() == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL {
			all[gossip.KeyOf([16]byte(n.Record.GetNode().GetNodeId()), n.Key)] = true
		}
		return true, failed
	})
	if err != nil {
		return err
	}
	clear(s.byName)
	for _, k := range inOrder(all) {
		e, err := entryOf(r, k)
		if err != nil {
			return err
		}
		s.take(k, e)
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
	applied, err := s.Applied()
	if err != nil {
		return reconcile.Entry{}, err
	}
	record := n.Record.GetNode()
	if string(record.GetNodeId()) != string(k.ID[:]) {
		return reconcile.Entry{Taken: true, TakenStatus: status}, nil
	}
	outside := checked && check.GetOrigin() != storev1.CatalogOrigin_CATALOG_ORIGIN_POOL
	return reconcile.Entry{
		Known: true, Status: status, Address: record.GetGossipAddress(), Outside: outside,
		Doubted: status == reconcile.Warning && !outside && storage.KnowsDoubt(applied.ClusterVersion),
		Ours:    n.Record.GetOrigin() == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL, SyncBoot: n.Tally.GetLastSync().GetBoot(),
	}, nil
}

// command returns the command that does what is to be done.
func (s *Steps) command(e reconcile.Effect) *storev1.Command {
	c := &storev1.Command{WallTimeMs: s.o.WallNow().UnixMilli()}
	switch e.Kind {
	case reconcile.Register:
		n := s.o.Pool.Node(e.Key)
		host, _, _ := net.SplitHostPort(n.Address) // An address that cannot be split has no host.
		const pool = storev1.CatalogOrigin_CATALOG_ORIGIN_POOL
		c.Kind = &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
			Node:   &storev1.Node{Name: n.Name, NodeId: e.ID[:], Address: host, GossipAddress: n.Address},
			Checks: []*storev1.Check{{CheckId: catalog.LivenessID, Name: catalog.LivenessID, Kind: "gossip", Status: storev1.CheckStatus_CHECK_STATUS_PASSING, Output: "it answers"}},
			Origin: pool, Term: s.o.Term, SkipNodeUpdate: !e.Replace,
		}}
	case reconcile.Deregister:
		c.Kind = &storev1.Command_Deregister{Deregister: &storev1.Deregister{
			Name: &storev1.CatalogName{Node: e.Name}, IfNodeId: e.ID[:], Term: s.o.Term, UnlessBound: true,
		}}
	default:
		c.Kind = &storev1.Command_SetLiveness{SetLiveness: &storev1.SetLiveness{
			Term: s.o.Term, NodeId: e.ID[:], Status: storev1.CheckStatus(e.Status), Output: e.Output,
		}}
	}
	return c
}
