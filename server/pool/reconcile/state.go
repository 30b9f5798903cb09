package reconcile

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/tenure-io/tenure/gossip"
)

const (
	// flapWindow is how far back failures count, flapFirst how long a node must be alive after its second failure in that
	// time, and flapMax the longest such time.
	flapWindow, flapFirst, flapMax = 10 * time.Minute, 10 * time.Second, 5 * time.Minute
	// goneAfter is after which time of one term a node that failed counts as one that left.
	goneAfter = 72 * time.Hour
	// askFirst and askMax bound how long it takes until the voters are asked again that did not confirm.
	askFirst, askMax = time.Second, 10 * time.Second
	// heirPatience is how long a machine in doubt has to come under another id. One that begins with an empty directory may be silent to gossip for
	// some seconds, although it votes already.
	heirPatience = 15 * time.Second
	// retryFirst and retryMax bound how long it takes until something is proposed again that failed.
	retryFirst, retryMax = 500 * time.Millisecond, time.Minute
)

// Status is what the check liveness says.
type Status uint8

// The values of Status.
const (
	None Status = iota // there is no such check
	Passing
	Warning
	Critical
)

// Entry is what the catalog has of a node.
type Entry struct {
	// Known says that the node is registered, with its id and its name.
	Known bool
	// Taken says that another machine is registered under its name, and TakenStatus how that one is.
	Taken       bool
	TakenStatus Status
	// Status is its check liveness; Outside says that this check belongs to a program outside of the cluster.
	Status  Status
	Outside bool
	// Doubted says that nobody has seen the node since a restore, and that it may take another id with all it has.
	Doubted bool
	// Address is where it took part in gossip when it was registered.
	Address string
	// Ours says that the leader registered the node, and not an agent or a call.
	Ours bool
	// SyncBoot is which start of its agent synced it last; 0: none has.
	SyncBoot uint64
}

// Event is what a State hears of.
type Event interface{ event() }

// Seen says how the leader's pool sees a node.
type Seen struct {
	gossip.Key
	State   gossip.State
	Address string
	// SyncBoot is which start of its agent took part; 0: that is not known.
	SyncBoot uint64
}

// Stored says what the catalog has of a node.
type Stored struct {
	gossip.Key
	Entry
}

// Judged says what the voters say of a node, after an effect Ask.
type Judged struct {
	gossip.Key
	// Failed is how many voters say that it has failed, of Voters in all.
	Failed, Voters int
}

// Done says how a proposal ended, which any effect but Ask is.
type Done struct {
	gossip.Key
	// Failed says that it has to be made again.
	Failed bool
}

// Tick says that time has passed.
type Tick struct{}

func (Seen) event()   {}
func (Stored) event() {}
func (Judged) event() {}
func (Done) event()   {}
func (Tick) event()   {}

// Kind is what an effect does.
type Kind uint8

// The kinds of effects.
const (
	// Ask asks all voters, and comes back as Judged.
	Ask Kind = iota + 1
	// Register registers the node as the pool sees it, with its check liveness passing. It and the following come back as Done.
	Register
	// Set writes the check liveness.
	Set
	// Leave deletes the check liveness.
	Leave
	// Deregister deletes the node unless a session is bound to it.
	Deregister
)

// Effect is what is to be done about a node.
type Effect struct {
	gossip.Key
	Kind   Kind
	Status Status // of Set
	Output string // of Set
	// Address is where the node took part in gossip, for Ask.
	Address string
	// Replace says that Register writes the node also if one has the name: another machine's, or what the leader wrote before. One in doubt keeps
	// what it has.
	Replace bool
	// Flap says that Set is about a node that failed before, not long ago.
	Flap bool
}

// node is what is known of one node.
type node struct {
	state gossip.State
	addr  string
	entry Entry

	since    time.Duration // in the present state: alive, or not
	gone     bool          // for so long that it counts as one that left
	syncBoot uint64        // of the agent's start that was seen last
	due      bool          // it was registered when it left, and not anew since
	busy     bool          // an effect is under way
	before   Entry         // when the effect began
	notSoon  time.Duration // nothing before this time
	backoff  time.Duration
	failures []time.Duration // when it turned critical, in the window
}

// State is what the leader of one term knows of all nodes.
type State struct {
	nodes map[gossip.Key]*node
	named map[string][]gossip.Key // the nodes by their names
}

// New returns the state at the start of a term.
func New() *State { return &State{nodes: map[gossip.Key]*node{}, named: map[string][]gossip.Key{}} }

// Nodes returns how many nodes are known.
func (s *State) Nodes() int { return len(s.nodes) }

// Step takes an event at a time of the leader's monotonic clock, and returns what is to be done.
func (s *State) Step(e Event, now time.Duration) []Effect {
	switch e := e.(type) {
	case Seen:
		n := s.node(e.Key, now)
		if (n.state == gossip.Alive) != (e.State == gossip.Alive) {
			n.since, n.notSoon, n.backoff, n.gone = now, 0, 0, false
		}
		if n.state != e.State {
			n.notSoon = 0
			n.due = e.State == gossip.Left && n.entry.Known && (n.state == gossip.Alive || n.entry.Status != None)
		}
		n.state, n.addr, n.syncBoot = e.State, e.Address, e.SyncBoot
		return s.decide(e.Key, now)
	case Stored:
		n := s.node(e.Key, now)
		if n.entry != e.Entry {
			n.notSoon, n.backoff = 0, 0
		}
		n.stored(e.Entry)
		return s.decide(e.Key, now)
	case Judged:
		return s.judged(e, now)
	case Done:
		n := s.node(e.Key, now)
		n.busy = false
		if e.Failed || n.entry == n.before {
			// What changed nothing, as in another term, would change nothing again at once.
			n.wait(now, retryFirst, retryMax)
			return nil
		}
		return s.decide(e.Key, now)
	default:
		var out []Effect
		for k, n := range s.nodes {
			if n.state == gossip.Unknown && !n.entry.Known && !n.busy {
				s.forget(k)
				continue
			}
			out = append(out, s.decide(k, now)...)
		}
		slices.SortFunc(out, func(a, b Effect) int { return a.Key.Compare(b.Key) })
		return out
	}
}

// node returns a node, new if it is not known yet.
func (s *State) node(k gossip.Key, now time.Duration) *node {
	n := s.nodes[k]
	if n == nil {
		n = &node{since: now}
		s.nodes[k] = n
		s.named[k.Name] = append(s.named[k.Name], k)
	}
	return n
}

// forget forgets a node.
func (s *State) forget(k gossip.Key) {
	delete(s.nodes, k)
	if s.named[k.Name] = slices.DeleteFunc(s.named[k.Name], func(o gossip.Key) bool { return o == k }); len(s.named[k.Name]) == 0 {
		delete(s.named, k.Name)
	}
}

// stored takes what the catalog has of the node. What is registered anew after the node left, or was gone, stays until it is seen again.
func (n *node) stored(e Entry) {
	switch {
	case !n.entry.Known:
		// With liveness it is what was registered before the node left: an agent and a call that register it anew give it none.
		n.due, n.gone = e.Status != None, false
	case !e.Known, e.SyncBoot != n.entry.SyncBoot:
		n.due, n.gone = false, false
	}
	n.entry = e
}

// deregisters reports whether a node that left and has no liveness any more is to go. A leader that saw it leave knows. One that comes later, as
// before a session ended that was bound to it, sees which start of the agent left, and that no later one has synced since. Only what calls
// alone registered, and what an agent that does not name its start registered, stays after a change of the leader: nothing tells it from new.
func (n *node) deregisters() bool {
	return n.due || n.entry.Ours || n.entry.SyncBoot != 0 && n.entry.SyncBoot <= n.syncBoot
}

// wait has nothing done about a node for a while, longer each time.
func (n *node) wait(now, first, most time.Duration) {
	n.backoff = min(max(2*n.backoff, first), most)
	n.notSoon = now + n.backoff
}

// decide returns what is to be done about a node: one thing at a time.
func (s *State) decide(k gossip.Key, now time.Duration) []Effect {
	n := s.nodes[k]
	if n.busy || now < n.notSoon || n.entry.Outside {
		return nil
	}
	var e Effect
	switch n.state {
	case gossip.Alive:
		e = n.alive(now)
	case gossip.Left:
		e = n.left(now)
	default:
		e = n.failed(now)
	}
	if e.Kind == 0 {
		return nil
	}
	n.busy, n.before = true, n.entry
	e.Key = k
	return []Effect{e}
}

// alive returns what is to be done about a node that is alive.
func (n *node) alive(now time.Duration) Effect {
	e := n.entry
	switch {
	case !e.Known && e.Taken && e.TakenStatus != None && e.TakenStatus != Critical:
		return Effect{} // Another machine has the name, and lives; or is in doubt: see inherit.
	case !e.Known:
		return Effect{Kind: Register, Replace: e.Taken}
	case e.Status == Passing && e.Ours && e.Address != n.addr:
		return Effect{Kind: Register, Replace: true}
	case e.Status == Passing:
		return Effect{}
	case e.Status == Critical && now-n.since < n.damping(now):
		return Effect{}
	default:
		return Effect{Kind: Set, Status: Passing, Output: "it answers"}
	}
}

// damping returns how long a node that failed must be alive before it passes.
func (n *node) damping(now time.Duration) time.Duration {
	for len(n.failures) > 0 && now-n.failures[0] > flapWindow {
		n.failures = n.failures[1:]
	}
	if len(n.failures) < 2 {
		return 0
	}
	wait := flapFirst
	for range len(n.failures) - 2 {
		if wait = 2 * wait; wait >= flapMax {
			return flapMax
		}
	}
	return wait
}

// failed returns what is to be done about a node that the pool calls failed, or does not know.
func (n *node) failed(now time.Duration) Effect {
	switch {
	case n.entry.Known && n.gone:
		return n.left(now)
	case !n.entry.Known || n.entry.Status == None:
		return Effect{}
	case n.entry.Status != Critical:
		return Effect{Kind: Ask, Address: n.entry.Address}
	case now-n.since >= goneAfter:
		n.gone, n.due = true, true
		return n.left(now)
	default:
		return Effect{}
	}
}

// left returns what is to be done about a node that left.
func (n *node) left(now time.Duration) Effect {
	switch {
	case !n.entry.Known:
		return Effect{}
	case n.entry.Status != None:
		return Effect{Kind: Leave}
	case !n.deregisters():
		return Effect{}
	default:
		// If a session is bound to it, the node stays for now.
		n.wait(now, retryMax, retryMax)
		return Effect{Kind: Deregister}
	}
}

// heir returns the node that is a machine in doubt under another id, as a member is that joined again with an empty directory after a restore: it has
// the same name, and takes part in gossip on the same host. Of several with that name nobody knows which it is.
func (s *State) heir(k gossip.Key) (heir gossip.Key, found bool) {
	old := s.nodes[k].entry
	if !old.Doubted {
		return heir, false
	}
	for _, other := range s.named[k.Name] {
		n := s.nodes[other]
		if other == k || n.state != gossip.Alive {
			continue
		}
		if found || hostOf(n.addr) != hostOf(old.Address) {
			return heir, false
		}
		heir, found = other, true
	}
	return heir, found
}

// inherit has the heir registered, to which all goes that the machine in doubt has, sessions included. If it cannot be yet, the voters are asked again.
func (s *State) inherit(k gossip.Key, now time.Duration) []Effect {
	n := s.nodes[k]
	if n.busy || now < n.notSoon || !n.entry.Taken {
		return nil
	}
	n.busy, n.before = true, n.entry
	return []Effect{{Key: k, Kind: Register, Replace: true}}
}

// hostOf returns the host of an address; one that cannot be split has none.
func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// judged takes what the voters say. Only a majority of all of them makes a node critical.
func (s *State) judged(e Judged, now time.Duration) []Effect {
	n := s.node(e.Key, now)
	n.busy = false
	confirmed := e.Voters > 0 && 2*e.Failed > e.Voters
	if !confirmed {
		n.wait(now, askFirst, askMax)
		return nil
	}
	if n.state == gossip.Alive || n.state == gossip.Left || !n.entry.Known || n.entry.Outside ||
		n.entry.Status == None || n.entry.Status == Critical {
		return s.decide(e.Key, now)
	}
	if heir, found := s.heir(e.Key); found {
		n.wait(now, askFirst, askMax)
		return s.inherit(heir, now)
	}
	if n.entry.Doubted && now-n.since < heirPatience {
		n.wait(now, askFirst, askMax)
		return nil
	}
	n.busy, n.before = true, n.entry
	n.damping(now) // forgets old failures
	flap := len(n.failures) > 0
	n.failures = append(n.failures, now)
	return []Effect{{
		Key: e.Key, Kind: Set, Status: Critical, Flap: flap,
		Output: fmt.Sprintf("it stopped answering: %d of %d voting members say so", e.Failed, e.Voters),
	}}
}
