package pool_test

import (
	"fmt"
	"testing"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/server/pool"
	"github.com/tenure-io/tenure/server/pool/reconcile"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/test/stores"
)

const (
	term    = 1
	passing = storev1.CheckStatus_CHECK_STATUS_PASSING
	warning = storev1.CheckStatus_CHECK_STATUS_WARNING
	dead    = storev1.CheckStatus_CHECK_STATUS_CRITICAL
)

var (
	web      = gossip.KeyOf([16]byte{1}, "Web1")
	impostor = gossip.KeyOf([16]byte{2}, "web1")
	db       = gossip.KeyOf([16]byte{3}, "db1")
)

// leader is a leader with a store, whose pool says what a test wants. Time passes when the test says so.
type leader struct {
	t     *testing.T
	store *storage.Store
	nodes map[gossip.Key]gossip.Node
	now   time.Duration
	steps *pool.Steps
	// failed is how many of three voters say of a node that it failed.
	failed map[gossip.Key]int
	asked  []gossip.Asked
}

func newLeader(t *testing.T) *leader {
	t.Helper()
	_, newest := storage.ClusterVersions()
	l := &leader{
		t: t, nodes: map[gossip.Key]gossip.Node{}, failed: map[gossip.Key]int{}, now: time.Hour,
		store: stores.With(t, &storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: newest}}}),
	}
	l.elect(term)
	return l
}

// elect begins a term.
func (l *leader) elect(number uint64) {
	l.steps = pool.NewSteps(pool.StepsOptions{
		Term: number, Pool: l, Store: func() *storage.Store { return l.store },
		Now: func() time.Duration { return l.now }, WallNow: func() time.Time { return time.UnixMilli(l.now.Milliseconds()) },
	})
}

func (l *leader) Nodes() (all []gossip.Node) {
	for _, n := range l.nodes {
		all = append(all, n)
	}
	return all
}

func (l *leader) Node(k gossip.Key) gossip.Node { return l.nodes[k] }

// sees lets the pool see a node in a state.
func (l *leader) sees(k gossip.Key, name string, s gossip.State, address string) {
	l.t.Helper()
	l.nodes[k] = gossip.Node{Key: k, Name: name, State: s, Address: address}
	l.no(l.steps.PoolChanged())
	l.settle()
}

func (l *leader) no(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// apply applies a command and tells the leader what it changed.
func (l *leader) apply(c *storev1.Command) *storev1.Result {
	l.t.Helper()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{c}})
	l.no(err)
	out, err := l.store.Apply([]storage.Entry{{Index: l.store.Applied().Index + 1, Term: term, Data: data}})
	l.no(err)
	for _, e := range out.Events {
		if name := pool.NodeOf(e); name != "" {
			l.no(l.steps.CatalogChanged(name))
		}
	}
	return out.Entries[0].Results[0]
}

// settle does all that the leader wants done.
func (l *leader) settle() {
	l.t.Helper()
	l.no(l.steps.Sweep(false))
	for range 100 {
		idle := true
		for asked := l.steps.Ask(); asked != nil; asked = l.steps.Ask() {
			idle = false
			l.asked = append(l.asked, asked...)
			tally := pool.Tally{Voters: 3}
			for _, a := range asked {
				tally.Failed = append(tally.Failed, l.failed[a.Key])
			}
			l.steps.Judged(asked, tally)
		}
		for p, found := l.steps.Propose(); found; p, found = l.steps.Propose() {
			idle = false
			failed := l.apply(p.Command).GetFailure() != nil
			l.no(l.steps.Finish(p.Effect.Key, failed))
		}
		if idle {
			return
		}
	}
	l.t.Fatal("the leader does not come to rest")
}

// pass lets time pass in ticks.
func (l *leader) pass(d time.Duration) {
	l.t.Helper()
	for end := l.now + d; l.now < end; {
		l.now += pool.TickEvery
		l.steps.Tick()
		l.settle()
	}
}

// registered returns a node as the catalog has it; nil if it has none.
func (l *leader) registered(name string) *storev1.Node {
	l.t.Helper()
	r := l.store.NewReader()
	n, found, err := r.Node(name)
	l.no(err)
	l.no(r.Close())
	if !found {
		return nil
	}
	return n.Record.GetNode()
}

// want demands what the catalog's check liveness says of a node.
func (l *leader) want(name string, want storev1.CheckStatus) {
	l.t.Helper()
	r := l.store.NewReader()
	check, _, err := r.Check(catalog.NodeKey(name), catalog.LivenessID)
	l.no(err)
	l.no(r.Close())
	if got := check.GetCheck().GetStatus(); got != want {
		l.t.Fatalf("liveness of %s is %v, want %v", name, got, want)
	}
}

func (l *leader) wantAt(name, address string) {
	l.t.Helper()
	if got := l.registered(name).GetGossipAddress(); got != address {
		l.t.Fatalf("%s is registered at %q, want %q", name, got, address)
	}
}

func agentOf(k gossip.Key, name, address string) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
		Node: &storev1.Node{Name: name, NodeId: k.ID[:], GossipAddress: address}, Origin: storev1.CatalogOrigin_CATALOG_ORIGIN_AGENT,
	}}}
}

func bindTo(id byte, node string) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
		SessionId: append(make([]byte, 15), id), Node: node, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
	}}}
}

func (l *leader) sessions() uint64 { return l.store.Applied().Sessions }

func TestANodeThatJoinsIsRegistered(t *testing.T) {
	l := newLeader(t)
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.want("web1", passing)
	l.wantAt("web1", "10.0.0.1:7403")
	if n := l.registered("web1"); n.GetName() != "Web1" || n.GetAddress() != "10.0.0.1" {
		t.Errorf("got %v, want the name as the node spells it, and its host", n)
	}
	// One that an agent has registered gets the check, and stays as the agent says.
	l.apply(agentOf(db, "db1", "10.0.0.9:1"))
	l.sees(db, "db1", gossip.Alive, "10.0.0.2:7403")
	l.want("db1", passing)
	l.wantAt("db1", "10.0.0.9:1")
}

func TestNothingIsDoneBeforeTheClusterKnowsTheCatalog(t *testing.T) {
	l := newLeader(t)
	l.store = stores.With(t)
	l.elect(term)
	l.nodes[web] = gossip.Node{Key: web, Name: "Web1", State: gossip.Alive, Address: "10.0.0.1:7403"}
	l.no(l.steps.Sweep(false))
	l.no(l.steps.PoolChanged())
	l.steps.Tick()
	if p, found := l.steps.Propose(); found {
		t.Errorf("got %v, want that nothing is proposed", p.Command)
	}
}

func TestANodeThatLeavesGoesUnlessASessionIsBoundToIt(t *testing.T) {
	l := newLeader(t)
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.sees(db, "db1", gossip.Alive, "10.0.0.2:7403")
	l.apply(bindTo(1, "db1"))
	bound := bindTo(2, "db1")
	bound.GetCreateSession().Checks = &storev1.SessionChecks{}
	l.apply(bound)
	l.sees(web, "Web1", gossip.Left, "10.0.0.1:7403")
	l.sees(db, "db1", gossip.Left, "10.0.0.2:7403")
	if l.registered("web1") != nil {
		t.Error("the node that left is still registered")
	}
	l.want("db1", storev1.CheckStatus_CHECK_STATUS_UNSPECIFIED)
	if l.registered("db1") == nil || l.sessions() != 1 {
		t.Errorf("%d sessions live, want the one that is bound to the node without its liveness", l.sessions())
	}
	if len(l.asked) != 0 {
		t.Errorf("the voters were asked about %v, which said that they leave", l.asked)
	}
}

// syncOf is what an agent that starts says first, before the pool has seen this start.
func syncOf(k gossip.Key, name string, boot uint64) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: &storev1.SyncNode{
		NodeId: k.ID[:], Sync: &storev1.SyncNumber{Boot: boot, Number: 1}, Node: &storev1.Node{Name: name},
		Services: []*storev1.Service{{ServiceId: "s", Name: "s"}},
	}}}
}

func TestANodeThatLeftIsKeptOnceItsAgentRegistersItAgain(t *testing.T) {
	l := newLeader(t)
	l.apply(syncOf(web, "Web1", 1))
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.want("web1", passing)
	l.sees(web, "Web1", gossip.Left, "10.0.0.1:7403")
	if l.registered("web1") != nil {
		t.Fatal("the node that left is still registered")
	}
	l.apply(syncOf(web, "Web1", 2))
	l.settle()
	l.pass(5 * time.Minute)
	l.elect(term)
	l.settle()
	l.pass(5 * time.Minute)
	if l.registered("web1") == nil {
		t.Fatal("the node is deregistered that its agent registered after it had left")
	}
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7404")
	l.want("web1", passing)
}

// What a leader did not come to, the next one does: it sees that no later start has synced the node since.
func TestANewLeaderDeregistersWhatItsPredecessorLeft(t *testing.T) {
	l := newLeader(t)
	l.apply(syncOf(web, "Web1", 4))
	l.nodes[web] = gossip.Node{Key: web, Name: "Web1", State: gossip.Left, Address: "10.0.0.1:7403", SyncBoot: 4}
	l.elect(term)
	l.settle()
	if l.registered("web1") != nil {
		t.Error("the node that left is still registered")
	}
}

func TestOnlyAMajorityOfAllVotersMakesANodeCritical(t *testing.T) {
	l := newLeader(t)
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.apply(bindTo(1, "web1"))
	l.failed[web] = 1
	l.sees(web, "Web1", gossip.Failed, "10.0.0.1:7403")
	l.pass(time.Minute)
	l.want("web1", passing)
	if len(l.asked) < 5 || len(l.asked) > 20 {
		t.Errorf("the voters were asked %d times in a minute, want again and again, and more seldom", len(l.asked))
	}
	if a := l.asked[0]; a.Key != web || a.Address != "10.0.0.1:7403" {
		t.Errorf("got %+v, want the node with its address", a)
	}
	l.failed[web] = 2
	l.pass(10 * time.Second)
	l.want("web1", dead)
	if l.sessions() != 0 {
		t.Error("the session of the node lives on")
	}
	// It comes back under another address.
	l.sees(web, "Web1", gossip.Alive, "10.0.0.7:1234")
	l.want("web1", passing)
	l.pass(time.Second)
	l.wantAt("web1", "10.0.0.7:1234")
}

func TestAMemberThatStartsAgainElsewhereStaysPassing(t *testing.T) {
	l := newLeader(t)
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.apply(bindTo(1, "web1"))
	before := l.store.Applied().Revision
	l.sees(web, "Web1", gossip.Alive, "10.0.0.5:9000")
	l.want("web1", passing)
	l.wantAt("web1", "10.0.0.5:9000")
	if l.sessions() != 1 || l.store.Applied().Revision != before+1 {
		t.Errorf("%d sessions, revision %d, want one session and one revision after %d", l.sessions(), l.store.Applied().Revision, before)
	}
}

func TestANameBelongsToTheMachineThatLives(t *testing.T) {
	l := newLeader(t)
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.apply(bindTo(1, "web1"))
	l.sees(impostor, "web1", gossip.Alive, "10.0.0.66:1")
	l.pass(2 * time.Minute)
	l.want("web1", passing)
	l.wantAt("web1", "10.0.0.1:7403")
	if l.sessions() != 1 {
		t.Fatal("another machine with the same name ended a session")
	}
	l.failed[web] = 3
	l.sees(web, "Web1", gossip.Failed, "10.0.0.1:7403")
	l.want("web1", passing)
	l.wantAt("web1", "10.0.0.66:1")
	if id := l.registered("web1").GetNodeId(); string(id) != string(impostor.ID[:]) {
		t.Errorf("got id %x, want that of the machine that lives", id)
	}
}

// After a restore a member has another id. It has its name back, and sessions that are bound to it, once no voter has seen the machine under the id of
// before; a machine on another host gets the name only as that of one that failed.
func TestAMachineInDoubtComesBackUnderAnotherID(t *testing.T) {
	for name, c := range map[string]struct {
		address  string
		sessions uint64
	}{
		"on its host":     {"10.0.0.1:9", 1},
		"on another host": {"10.0.0.2:7403", 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLeader(t)
			l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
			l.apply(bindTo(1, "web1"))
			delete(l.nodes, web)
			l.elect(term)
			l.apply(&storev1.Command{Kind: &storev1.Command_SetLiveness{SetLiveness: &storev1.SetLiveness{Term: term, NodeId: web.ID[:], Status: warning}}})
			l.want("web1", warning)
			l.sees(impostor, "web1", gossip.Alive, c.address)
			l.want("web1", warning)
			l.pass(time.Minute)
			l.want("web1", warning)
			l.wantAt("web1", "10.0.0.1:7403")
			l.failed[web] = 2
			l.pass(15 * time.Second)
			l.want("web1", passing)
			l.wantAt("web1", c.address)
			if l.sessions() != c.sessions {
				t.Errorf("%d sessions live, want %d", l.sessions(), c.sessions)
			}
			l.failed[impostor] = 2
			l.sees(impostor, "web1", gossip.Failed, c.address)
			l.want("web1", dead)
		})
	}
}

func TestARefusedNameIsTriedAgainAndHarmsNoOther(t *testing.T) {
	l := newLeader(t)
	bad := gossip.KeyOf([16]byte{9}, "not a name")
	l.sees(bad, "not a name", gossip.Alive, "10.0.0.9:1")
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.pass(5 * time.Second)
	l.want("web1", passing)
	if l.registered("not a name") != nil {
		t.Error("a node with a name that is refused is registered")
	}
}

func TestACheckOfAnOutsideMonitorIsLeftAlone(t *testing.T) {
	l := newLeader(t)
	c := agentOf(web, "web1", "10.0.0.1:7403")
	c.GetRegisterNode().Origin = storev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT
	c.GetRegisterNode().Checks = []*storev1.Check{{CheckId: catalog.LivenessID, Name: catalog.LivenessID, Status: warning}}
	if f := l.apply(c).GetFailure(); f != nil {
		t.Skip("liveness cannot be registered by calls")
	}
	l.failed[web] = 3
	for _, s := range []gossip.State{gossip.Alive, gossip.Failed, gossip.Left} {
		l.sees(web, "web1", s, "10.0.0.1:7403")
		l.pass(time.Minute)
		l.want("web1", warning)
	}
}

// A leader that the log has passed by changes nothing, whatever it believes.
func TestALeaderOfAnotherTermChangesNothing(t *testing.T) {
	l := newLeader(t)
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.apply(bindTo(1, "web1"))
	l.elect(term + 1)
	l.settle()
	before := l.store.Applied().Revision
	l.failed[web] = 3
	l.nodes[web] = gossip.Node{Key: web, Name: "Web1", State: gossip.Failed, Address: "10.0.0.1:7403"}
	l.no(l.steps.PoolChanged())
	l.pass(time.Second)
	l.want("web1", passing)
	if got := l.store.Applied(); got.Sessions != 1 || got.Revision != before {
		t.Errorf("%d sessions, revision %d, want 1 and %d", got.Sessions, got.Revision, before)
	}
}

// What a new leader has not seen yet fails only when the voters say so; a node that is gone when the term begins turns critical.
func TestANewTermComparesAllNodes(t *testing.T) {
	l := newLeader(t)
	l.sees(web, "Web1", gossip.Alive, "10.0.0.1:7403")
	l.sees(db, "db1", gossip.Alive, "10.0.0.2:7403")
	l.nodes = map[gossip.Key]gossip.Node{}
	l.failed[db] = 2
	l.elect(term)
	l.settle()
	l.want("web1", passing)
	l.want("db1", dead)
	// What changes in the catalog without a word to the leader is seen in the sweep.
	l.nodes[web] = gossip.Node{Key: web, Name: "Web1", State: gossip.Alive, Address: "10.0.0.1:7403"}
	l.no(l.steps.Sweep(true))
	l.settle()
	l.want("web1", passing)
}

// However many nodes fail at once, rounds and proposals are bounded, and the order is that of the names.
func TestWhatIsUnderWayIsBounded(t *testing.T) {
	l := newLeader(t)
	const nodes = 200
	for i := range byte(nodes) {
		k := gossip.KeyOf([16]byte{4, i}, "n"+string(rune('a'+i%26))+string(rune('a'+i/26)))
		l.nodes[k] = gossip.Node{Key: k, Name: k.Name, State: gossip.Alive, Address: "10.0.0.1:1"}
	}
	l.no(l.steps.Sweep(false))
	var names []string
	for p, found := l.steps.Propose(); found; p, found = l.steps.Propose() {
		if p.Effect.Kind != reconcile.Register {
			t.Fatalf("got effect %v", p.Effect)
		}
		names = append(names, p.Effect.Name)
	}
	if len(names) != 32 || names[0] != "naa" || names[31] != "nbr" && names[31] < names[30] {
		t.Errorf("got %d proposals at once, %v", len(names), names)
	}
}

// Questions go to all voters and take long, so they are asked in a few rounds at a time.
func TestFewRoundsOfQuestionsAreUnderWay(t *testing.T) {
	const rounds, inARound = 4, 1024
	l := newLeader(t)
	var keys []gossip.Key
	for i := range rounds*inARound + 2 {
		name := fmt.Sprintf("node%05d", i)
		k := gossip.KeyOf([16]byte{byte(i), byte(i >> 8), 1}, name)
		keys = append(keys, k)
		l.nodes[k] = gossip.Node{Key: k, Name: name, State: gossip.Alive, Address: "10.0.0.1:7403"}
	}
	l.no(l.steps.PoolChanged())
	l.settle()
	for _, k := range keys {
		n := l.nodes[k]
		n.State = gossip.Failed
		l.nodes[k] = n
	}
	l.no(l.steps.PoolChanged())
	l.no(l.steps.Sweep(false))
	var asked []gossip.Asked
	for round := range rounds {
		if asked = l.steps.Ask(); len(asked) != inARound {
			t.Fatalf("round %d has %d nodes, want %d", round, len(asked), inARound)
		}
	}
	if more := l.steps.Ask(); more != nil {
		t.Errorf("another round begins with %d nodes while %d are under way", len(more), rounds)
	}
	l.steps.Judged(asked, pool.Tally{Voters: 3, Failed: make([]int, len(asked))})
	if more := l.steps.Ask(); len(more) != 2 {
		t.Errorf("%d nodes are asked about once a round has ended, want the 2 that are left", len(more))
	}
}
