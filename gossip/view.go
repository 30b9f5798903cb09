package gossip

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// stallMin is how late a look at the clock must be for this process to have stood still.
	stallMin = time.Second
	// strangerAfter is how long a run must last before a node counts as failed of which it never heard.
	strangerAfter = 90 * time.Second
	// forgetAfter is how long a node that is gone is remembered.
	forgetAfter = 80 * time.Hour
	// bootsMax is how many boots of a node are remembered, and nodesMax how many nodes that are gone.
	bootsMax, nodesMax = 4, 20_000
)

// State is how a node is, as one process sees it.
type State uint8

// The states.
const (
	// Unknown is a node of which the process has not heard.
	Unknown State = iota
	// Alive is a node that answers, or of which others say so.
	Alive
	// Failed is a node that stopped to answer.
	Failed
	// Left is a node that said that it leaves.
	Left
)

// String returns the word for a state.
func (s State) String() string {
	return [...]string{Unknown: "unknown", Alive: "alive", Failed: "failed", Left: "left"}[s]
}

// Role is what takes part in gossip.
type Role string

// The roles.
const (
	Member Role = "member"
	Agent  Role = "agent"
)

// Key names a node: a machine under one name. Under another name, the same machine is another node.
type Key struct {
	ID   [16]byte
	Name string // in lower case
}

// KeyOf returns the key of a node.
func KeyOf(id [16]byte, name string) Key { return Key{ID: id, Name: strings.ToLower(name)} }

// Compare orders keys by name and id.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Name, other.Name), slices.Compare(k.ID[:], other.ID[:]))
}

// Node is a node as one process sees it.
type Node struct {
	Key
	// Name is as the node spells it.
	Name    string
	Role    Role
	Version string
	// Address is where it takes part in gossip.
	Address string
	State   State
	// Since is when it came into this state.
	Since time.Time
}

// Asked is a node that a process is asked about.
type Asked struct {
	Key
	// Address is where the node took part in gossip, as the catalog has it; empty if it does not say.
	Address string
}

// boot is one start of a node.
type boot struct {
	Node
	number uint64
	seen   bool // alive in this run
	leaves bool // said that it goes
}

// view is what a process has seen of its pool. Its caller guards it.
type view struct {
	began  time.Time // of the run
	looked time.Time // the last look at the clock
	nodes  map[Key][]boot
}

// newView returns the view of a run that begins.
func newView(now time.Time) *view {
	return &view{began: now, looked: now, nodes: map[Key][]boot{}}
}

// look looks at the clock. After a stall a new run begins; it reports whether one does.
func (v *view) look(now time.Time) bool {
	stalled := now.Sub(v.looked) > lookEvery+stallMin
	v.looked = now
	if !stalled {
		return false
	}
	v.began = now
	for _, boots := range v.nodes {
		for i := range boots {
			boots[i].seen = false
		}
	}
	return true
}

// note takes what memberlist says of one start of a node, and reports whether the node is otherwise than before. Heard says that
// it was alive a moment ago.
func (v *view) note(n Node, number uint64, heard bool) bool {
	before := v.state(n.Key)
	boots := v.nodes[n.Key]
	i := slices.IndexFunc(boots, func(b boot) bool { return b.number == number })
	if i < 0 {
		boots = append(boots, boot{number: number})
		slices.SortFunc(boots, func(a, b boot) int { return cmp.Compare(a.number, b.number) })
		if gone := slices.IndexFunc(boots, func(b boot) bool { return b.State != Alive && b.number != number }); gone >= 0 && len(boots) > bootsMax {
			boots = slices.Delete(boots, gone, gone+1)
		}
		i = slices.IndexFunc(boots, func(b boot) bool { return b.number == number })
	}
	b := &boots[i]
	if n.State == Failed && b.leaves {
		n.State = Left
	}
	if b.State == n.State {
		n.Since = b.Since
	}
	changed := b.State != n.State || b.Address != n.Address
	b.Node, b.seen = n, b.seen || heard
	v.nodes[n.Key] = boots
	return changed || before != v.state(n.Key)
}

// leave takes that a start of a node goes on purpose, and reports whether it is gone already.
func (v *view) leave(k Key, number uint64) bool {
	boots := v.nodes[k]
	for i := range boots {
		if b := &boots[i]; b.number == number {
			b.leaves = true
			if b.State == Failed {
				b.State = Left
				return true
			}
		}
	}
	return false
}

// heard says that a start of a node is alive now.
func (v *view) heard(k Key, number uint64) {
	boots := v.nodes[k]
	for i := range boots {
		if boots[i].number == number && boots[i].State == Alive {
			boots[i].seen = true
		}
	}
}

// newest returns the start of a node that says how the node is: one that is alive, or else the last one.
func (v *view) newest(k Key) (boot, bool) {
	boots := v.nodes[k]
	for _, b := range slices.Backward(boots) {
		if b.State == Alive {
			return b, true
		}
	}
	if len(boots) == 0 {
		return boot{}, false
	}
	return boots[len(boots)-1], true
}

func (v *view) state(k Key) State {
	b, _ := v.newest(k)
	return b.State
}

// node returns a node.
func (v *view) node(k Key) Node {
	b, _ := v.newest(k)
	b.Key = k
	return b.Node
}

// list returns all nodes, ordered by name and id.
func (v *view) list() []Node {
	out := make([]Node, 0, len(v.nodes))
	for k := range v.nodes {
		out = append(out, v.node(k))
	}
	slices.SortFunc(out, func(a, b Node) int { return a.Key.Compare(b.Key) })
	return out
}

// liveAt returns the node that is alive at an address.
func (v *view) liveAt(address string) (Key, bool) {
	for k := range v.nodes {
		if b, _ := v.newest(k); b.State == Alive && b.Address == address {
			return k, true
		}
	}
	return Key{}, false
}

// verdict is what this process can say of a node without asking anybody.
type verdict uint8

const (
	saysAlive verdict = iota
	saysFailed
	// mustDial is a node of which the run never heard: it is failed if it cannot be reached either.
	mustDial
)

// judge returns what this process says of a node. "Failed" needs that this run has seen the node alive, and that it is gone since.
func (v *view) judge(a Asked, now time.Time) verdict {
	b, known := v.newest(a.Key)
	switch {
	case known && b.State == Alive:
		return saysAlive
	case known && slices.ContainsFunc(v.nodes[a.Key], func(b boot) bool { return b.seen }):
		return saysFailed
	case now.Sub(v.began) < strangerAfter || a.Address == "":
		return saysAlive
	}
	if other, taken := v.liveAt(a.Address); taken && other != a.Key {
		return saysFailed
	}
	return mustDial
}

// forget forgets nodes that have been gone for long, and the oldest of those if they are too many.
func (v *view) forget(now time.Time) {
	var gone []Node
	for k := range v.nodes {
		if n := v.node(k); n.State != Alive {
			gone = append(gone, n)
		}
	}
	slices.SortFunc(gone, func(a, b Node) int { return a.Since.Compare(b.Since) })
	for i, n := range gone {
		if now.Sub(n.Since) > forgetAfter || len(gone)-i > nodesMax {
			delete(v.nodes, n.Key)
		}
	}
}

// addresses returns the addresses of the nodes that are alive.
func (v *view) addresses() map[string]bool {
	out := map[string]bool{}
	for k := range maps.Keys(v.nodes) {
		if b, _ := v.newest(k); b.State == Alive {
			out[b.Address] = true
		}
	}
	return out
}
