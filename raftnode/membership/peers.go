package membership

import (
	"sync/atomic"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
)

// Peer is what the leader saw of its members at a tick.
type Peer struct {
	core.Progress
	// Reachable tells whether it was heard of within two election time-outs.
	Reachable bool
}

// Progress tells the members' progress on a leader, as core.Core does.
type Progress interface {
	Progress(dst []core.Progress) []core.Progress
}

// Peers follows the members' progress. The loop owns it; what it publishes anybody may read.
type Peers struct {
	seen  map[uint64]int // tick at which a member was last heard of
	sent  map[uint64]sent
	ticks int
	buf   []core.Progress
	// peers is nil on a member that does not lead.
	peers atomic.Pointer[[]Peer]
	// floor is the index behind which members that listen need the log, and seeding that behind which those do that a
	// snapshot is on its way to, or that have not caught up since; 0 for none.
	floor, seeding atomic.Uint64
}

// sent is the snapshot that a member is sent, until it has caught up behind it. It may be receiving it, or installing it
// after raft took it for sent; then it takes the log behind it. What was written meanwhile may be more than is kept for others.
type sent struct {
	index uint64
	tick  int // at which the member was last heard of
}

// Tick looks at the members once a tick, and reports whether a member does not need the log any more that was kept for it
// beyond what is kept for others.
func (w *Peers) Tick(c Progress, electionTicks int) (released bool) {
	w.ticks++
	w.buf = c.Progress(w.buf[:0])
	if len(w.buf) == 0 {
		w.seen, w.sent = nil, nil
		w.peers.Store(nil)
		w.floor.Store(0)
		return w.seeding.Swap(0) != 0
	}
	if w.seen == nil {
		w.seen, w.sent = map[uint64]int{}, map[uint64]sent{}
	}
	peers := make([]Peer, 0, len(w.buf))
	floor, seeding, last := uint64(0), uint64(0), uint64(0)
	for _, p := range w.buf {
		if p.Self {
			last = p.Match
		}
	}
	for _, p := range w.buf {
		// Raft takes a member that was just added for active; it has to show itself here.
		if p.Active && (p.Self || p.Match > 0) {
			w.seen[p.ID] = w.ticks
		}
		at, ever := w.seen[p.ID]
		v := Peer{Progress: p, Reachable: ever && w.ticks-at <= electionTicks}
		peers = append(peers, v)
		if p.Self {
			continue
		}
		if at, ok := w.seeds(v, last, electionTicks); ok {
			seeding = lower(seeding, at)
		} else if v.Reachable {
			floor = lower(floor, v.Match)
		}
	}
	w.peers.Store(&peers)
	w.floor.Store(floor)
	return w.seeding.Swap(seeding) != 0 && seeding == 0
}

// Sends keeps the log behind snapshots that are about to be sent, from now on: the next tick may come after a cut.
func (w *Peers) Sends(msgs []*raftpb.Message) {
	for _, m := range msgs {
		if m.GetType() == raftpb.MsgSnap {
			w.seeding.Store(lower(w.seeding.Load(), m.GetSnapshot().GetMetadata().GetIndex()))
		}
	}
}

// lower returns the lower of two indexes, of which 0 is none.
func lower(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// seeds reports whether a snapshot is on its way to a member, or it has not caught up since with a log that ends at last; and
// the index behind which it needs the log. One that joins has nothing but the snapshot on its way to it.
func (w *Peers) seeds(v Peer, last uint64, electionTicks int) (uint64, bool) {
	s, ok := w.sent[v.ID]
	switch {
	case v.Snapshot > 0:
		// Raft may send a newer one in the place of one that failed.
		s.index, ok = v.Snapshot, true
	case v.Match >= max(s.index, last):
		delete(w.sent, v.ID)
		ok = false
	}
	if v.Active {
		s.tick = w.ticks
	}
	if ok && w.ticks-s.tick > electionTicks {
		delete(w.sent, v.ID)
		ok = false
	}
	if ok {
		w.sent[v.ID] = s
	}
	return max(v.Match, s.index), ok
}

// List returns what was seen last; nil on a member that does not lead.
func (w *Peers) List() []Peer {
	if p := w.peers.Load(); p != nil {
		return *p
	}
	return nil
}

// Of returns what was seen of a member, nil if nothing.
func (w *Peers) Of(id uint64) *Peer {
	for _, p := range w.List() {
		if p.ID == id {
			return &p
		}
	}
	return nil
}

// Floor returns the index behind which members that listen need the log; 0 for none.
func (w *Peers) Floor() uint64 { return w.floor.Load() }

// Seeding returns the index behind which members need the log that a snapshot is on its way to, or that have not caught up
// since; 0 for none.
func (w *Peers) Seeding() uint64 { return w.seeding.Load() }
