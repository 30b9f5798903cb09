package gossip

import (
	"cmp"
	"maps"
	"net"
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
	// Failed is a node that stopped answering.
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
	// SyncBoot is the number that the syncs of its agent carried in this start; 0: it does not say.
	SyncBoot uint64
	State    State
	// Since is when it came into this state.
	Since time.Time
}

// Asked is a node that a process is asked about.
type Asked struct {
	Key
	// Address is where the node took part in gossip, as the catalog has it; empty if it takes part no more.
	Address string
}

// boot is one start of a node.
type boot struct {
	Node
	number uint64
	seen   bool // alive in this run
	leaves bool // said that it leaves; in state Unknown, memberlist has not named it
	// came and spoke are when it was first noted and last heard, in turns of the view. A start is silenced once a later one has left, if
	// it was not heard after the later one came: others may still repeat that it is alive, but it was killed.
	came, spoke uint64
	silenced    bool
}

// View is what a process has seen of its pool. Its caller guards it.
type View struct {
	began  time.Time // of the run
	looked time.Time // the last look at the clock
	turn   uint64    // counts what was noted and heard
	nodes  map[Key][]boot
}

// NewView returns the view of a run that begins.
func NewView(now time.Time) *View {
	return &View{began: now, looked: now, nodes: map[Key][]boot{}}
}

// Look looks at the clock. After a stall a new run begins; it reports whether one does.
func (v *View) Look(now time.Time) bool {
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

// Note takes what memberlist says of one start of a node, and reports whether the node is otherwise than before. Heard says that
// it was alive a moment ago. A start that said that it leaves does not come back.
func (v *View) Note(n Node, number uint64, heard bool) bool {
	v.turn++
	before := v.state(n.Key)
	boots, b := v.start(n.Key, number)
	if b.leaves {
		n.State = Left
	}
	if b.State == n.State {
		n.Since = b.Since
	}
	changed := b.State != n.State || b.Address != n.Address
	b.Node, b.seen = n, b.seen || heard
	if heard {
		b.spoke, b.silenced = v.turn, false
	}
	switch {
	case b.State == Left:
		silence(boots, *b)
	case b.State == Failed:
		replace(boots, *b)
	case b.State == Alive && !b.silenced:
		boots = outlived(boots)
	}
	v.nodes[n.Key] = boots
	return changed || before != v.state(n.Key)
}

// start returns the starts of a node and the one with a number, which is new if there was none. One too many drops one that is gone.
func (v *View) start(k Key, number uint64) ([]boot, *boot) {
	boots := v.nodes[k]
	find := func() int { return slices.IndexFunc(boots, func(b boot) bool { return b.number == number }) }
	i := find()
	if i < 0 {
		boots = append(boots, boot{number: number, came: v.turn})
		slices.SortFunc(boots, func(a, b boot) int { return cmp.Compare(a.number, b.number) })
		if gone := slices.IndexFunc(boots, func(b boot) bool { return b.State != Alive && b.number != number }); gone >= 0 && len(boots) > bootsMax {
			boots = slices.Delete(boots, gone, gone+1)
		}
		i = find()
	}
	return boots, &boots[i]
}

// Leave takes the word of a start of a node that it leaves, and reports whether the node is otherwise than before. The word of a start that
// memberlist has not yet named may also come late, from before those that are named: it counts once an earlier start is dead, or the start is named.
func (v *View) Leave(k Key, number uint64, now time.Time) bool {
	if len(v.nodes[k]) == 0 {
		return false
	}
	v.turn++
	before := v.state(k)
	boots, b := v.start(k, number)
	b.leaves = true
	if b.State != Unknown {
		b.leave(now)
		silence(boots, *b)
	}
	for _, earlier := range boots {
		if earlier.State == Failed {
			replace(boots, earlier)
		}
	}
	v.nodes[k] = boots
	return before != v.state(k)
}

// leave ends a start by its own word.
func (b *boot) leave(now time.Time) {
	if b.State != Left {
		b.State, b.Since = Left, now
	}
}

// replace lets the word of a later start that memberlist never named count once an earlier one is dead. Had the earlier one been heard
// since, the word would be forgotten: see outlived.
func replace(boots []boot, dead boot) {
	for i := range boots {
		if b := &boots[i]; b.State == Unknown && b.number > dead.number {
			b.Node = dead.Node
			b.leave(dead.Since)
			silence(boots, *b)
		}
	}
}

// silence applies the leave of a start to its whole node: earlier starts that were not heard after it came were killed, even if
// memberlist does not know that yet. An earlier start that was heard since, and one with a higher number, live beside it.
func silence(boots []boot, left boot) {
	for i := range boots {
		if b := &boots[i]; b.number < left.number && b.spoke < left.came {
			b.silenced = true
		}
	}
}

// outlived removes the starts that are gone from those of a node that is alive: they no longer say how it is. Their numbers may be
// higher than that of the start that is alive, as clocks may have gone back since.
func outlived(boots []boot) []boot {
	return slices.DeleteFunc(boots, func(b boot) bool { return b.State != Alive })
}

// Heard says that a start of a node is alive now, and reports whether the node is otherwise than before.
func (v *View) Heard(k Key, number uint64) bool {
	v.turn++
	before := v.state(k)
	boots := v.nodes[k]
	for i := range boots {
		if b := &boots[i]; b.number == number && b.State == Alive {
			b.seen, b.spoke, b.silenced = true, v.turn, false
			v.nodes[k] = outlived(boots)
			break
		}
	}
	return before != v.state(k)
}

// newest returns the start of a node that says how the node is: one that is alive, or else the last one; silenced ones do not count.
func (v *View) newest(k Key) (found boot, known bool) {
	for _, b := range slices.Backward(v.nodes[k]) {
		switch {
		case b.silenced, b.State == Unknown:
		case b.State == Alive:
			return b, true
		case !known:
			found, known = b, true
		}
	}
	return found, known
}

func (v *View) state(k Key) State {
	b, _ := v.newest(k)
	return b.State
}

// Node returns a node.
func (v *View) Node(k Key) Node {
	b, _ := v.newest(k)
	b.Key = k
	return b.Node
}

// List returns all nodes, ordered by name and id.
func (v *View) List() []Node {
	out := make([]Node, 0, len(v.nodes))
	for k := range v.nodes {
		out = append(out, v.Node(k))
	}
	slices.SortFunc(out, func(a, b Node) int { return a.Key.Compare(b.Key) })
	return out
}

// liveAt returns the node that is alive at an address.
func (v *View) liveAt(address string) (Key, bool) {
	for k := range v.nodes {
		if b, _ := v.newest(k); b.State == Alive && b.Address == address {
			return k, true
		}
	}
	return Key{}, false
}

// namesake returns where another node with the name of one is alive, at an address or at least on its host; empty: there is none. That is the same
// machine under another id, as one whose directory was lost, or a member that joined again after a restore.
func (v *View) namesake(of Key, address string) (found string) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	for k := range v.nodes {
		if k.Name != of.Name || k == of {
			continue
		}
		b, _ := v.newest(k)
		if at, _, _ := net.SplitHostPort(b.Address); b.State == Alive && at == host {
			if b.Address == address {
				return address
			}
			found = b.Address
		}
	}
	return found
}

// Verdict is what this process can say of a node without asking anybody.
type Verdict uint8

const (
	// SaysAlive is a node that this process does not take for failed.
	SaysAlive Verdict = iota
	// SaysFailed is a node that this run saw alive, and that is gone.
	SaysFailed
	// MustDial is a node of which the run never heard: it is failed if it cannot be reached either.
	MustDial
)

// Judge returns what this process says of a node. "Failed" needs that this run has seen the node alive, and that it is gone since; or long after
// the run began, or once its machine is there under another id, that nobody is where the node was.
func (v *View) Judge(a Asked, now time.Time) Verdict {
	b, known := v.newest(a.Key)
	switch {
	case known && b.State == Alive:
		return SaysAlive
	case known && slices.ContainsFunc(v.nodes[a.Key], func(b boot) bool { return b.seen }):
		return SaysFailed
	}
	switch at := v.namesake(a.Key, a.Address); {
	case at != "" && at == a.Address:
		return SaysFailed
	case at != "":
		return MustDial
	case now.Sub(v.began) < strangerAfter:
		return SaysAlive
	case a.Address == "":
		// Nobody can dial it, and nothing is heard of it: what is left of it is its liveness from when it took part, as of an agent that
		// was started again without gossip. An agent that takes part keeps its address in the catalog from one start to the next.
		return SaysFailed
	}
	if other, taken := v.liveAt(a.Address); taken && other != a.Key {
		return SaysFailed
	}
	return MustDial
}

// forget forgets nodes that have been gone for long, and the oldest of those if they are too many.
func (v *View) forget(now time.Time) {
	var gone []Node
	for k := range v.nodes {
		if n := v.Node(k); n.State != Alive {
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
func (v *View) addresses() map[string]bool {
	out := map[string]bool{}
	for k := range maps.Keys(v.nodes) {
		if b, _ := v.newest(k); b.State == Alive {
			out[b.Address] = true
		}
	}
	return out
}
