package sim

import (
	"math/rand/v2"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// network carries messages between members, and between clients and members.
type network struct {
	w    *World
	dice *rand.Rand
	cut  map[[2]uint64]int // links from one member to another that lose everything, by how many faults
	// What faults add; each is the sum of those that last.
	loss, dup float64
	slow      time.Duration
	slowTo    map[uint64]time.Duration // members to which the others' messages take long
	fifo      bool
	last      map[[2]uint64]time.Duration // when the last message of a link arrives
	second    time.Duration               // the second in which messages are counted
	sent      int                         // of raft, in it
}

// messagesMax is how many messages all members may send in a second. They need a few hundred; what they send each other without an end is
// more, and would take all memory.
const messagesMax = 20_000

func newNetwork(w *World) *network {
	return &network{
		w: w, dice: w.dice("network"), cut: map[[2]uint64]int{}, last: map[[2]uint64]time.Duration{}, fifo: w.plan.FIFO,
		slowTo: map[uint64]time.Duration{},
	}
}

// delay draws how long a message takes.
func (n *network) delay() time.Duration {
	return 200*time.Microsecond + expo(n.dice, 300*time.Microsecond) + expo(n.dice, n.slow)
}

// takes draws how long a message from one end to another takes.
func (n *network) takes(from, to uint64) time.Duration {
	d := n.delay()
	if slow := n.slowTo[to]; from != 0 && slow > 0 {
		d += expo(n.dice, slow)
	}
	return d
}

// lost says whether a message from one member to another is lost. Clients have id 0 and reach everybody, as far as
// messages are not lost by chance.
func (n *network) lost(from, to uint64) bool {
	return n.cut[[2]uint64{from, to}] > 0 || n.loss > 0 && n.dice.Float64() < n.loss
}

// isCut says whether the link between two members loses everything, in one direction at least.
func (n *network) isCut(a, b uint64) bool {
	return n.cut[[2]uint64{a, b}] > 0 || n.cut[[2]uint64{b, a}] > 0
}

// carry brings something from one end to another, perhaps twice, perhaps not at all.
func (n *network) carry(from, to uint64, arrive func()) {
	if n.lost(from, to) {
		return
	}
	n.w.after(n.arrival(from, to), arrive)
	if n.dup > 0 && n.dice.Float64() < n.dup {
		n.w.floors.Duplicates++
		n.w.after(n.arrival(from, to)+n.again(), arrive)
	}
}

// again is by how much a message that comes twice is late the second time.
func (n *network) again() time.Duration {
	if n.fifo {
		return 0
	}
	return expo(n.dice, 200*time.Millisecond)
}

// call brings something from one end to another once, or not at all, as a stream does. Clients have id 0.
func (n *network) call(from, to uint64, arrive func()) {
	if !n.lost(from, to) {
		n.w.after(n.takes(from, to), arrive)
	}
}

func (n *network) arrival(from, to uint64) time.Duration {
	d := n.takes(from, to)
	if !n.fifo {
		return d
	}
	link := [2]uint64{from, to}
	at := max(n.w.now+d, n.last[link]+1)
	n.last[link] = at
	return at - n.w.now
}

// count counts messages that are sent.
func (n *network) count(sent int) {
	n.w.floors.Messages += sent
	if now := n.w.now.Truncate(time.Second); now != n.second {
		n.second, n.sent = now, 0
	}
	if n.sent += sent; n.sent > messagesMax {
		n.w.violated("messages", "members sent %d messages of raft in less than a second", n.sent)
	}
}

// send carries raft messages of a member's life.
func (n *network) send(r *life, msgs []*raftpb.Message) {
	n.count(len(msgs))
	for _, m := range msgs {
		to := n.w.memberByID(m.GetTo())
		if m.GetType() == raftpb.MsgSnap {
			n.w.sendSnapshot(r, to, m)
			continue
		}
		if to == nil {
			continue
		}
		c := cloneMessage(m)
		from := r.sender()
		n.carry(from.id, to.id, func() { to.receive(from, cloneMessage(c)) })
	}
}

// cloneMessage copies a message, but not its entries: nobody changes those.
func cloneMessage(m *raftpb.Message) *raftpb.Message {
	entries := m.GetEntries()
	m.Entries = nil
	c := proto.CloneOf(m)
	m.Entries, c.Entries = entries, entries
	return c
}

// setCut cuts a link, or takes one cut back.
func (n *network) setCut(from, to uint64, cut bool) {
	if cut {
		n.cut[[2]uint64{from, to}]++
	} else {
		n.cut[[2]uint64{from, to}]--
	}
}
