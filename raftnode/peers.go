package raftnode

import (
	"sync/atomic"

	"github.com/tenure-io/tenure/raftnode/core"
)

// peerView is what the leader saw of its members at a tick.
type peerView struct {
	core.Progress
	// Reachable tells whether it was heard of within two election time-outs.
	Reachable bool
}

// peerWatch follows the members' progress. The loop owns it; what it publishes anybody may read.
type peerWatch struct {
	seen  map[uint64]int // tick at which a member was last heard of
	sent  map[uint64]sent
	ticks int
	buf   []core.Progress
	// peers is nil on a member that does not lead.
	peers atomic.Pointer[[]peerView]
	// floor is the index behind which members that listen need the log; 0 for none.
	floor atomic.Uint64
}

// sent is the snapshot that a member is sent and has not shown to have yet. It may be receiving it, or installing it
// after raft took it for sent; in both it needs the log behind it.
type sent struct {
	index uint64
	tick  int // at which the member was last heard of
}

// tick looks at the members once a tick.
func (w *peerWatch) tick(c *core.Core, electionTicks int) {
	w.ticks++
	w.buf = c.Progress(w.buf[:0])
	if len(w.buf) == 0 {
		w.seen, w.sent = nil, nil
		w.peers.Store(nil)
		w.floor.Store(0)
		return
	}
	if w.seen == nil {
		w.seen, w.sent = map[uint64]int{}, map[uint64]sent{}
	}
	peers := make([]peerView, 0, len(w.buf))
	floor := uint64(0)
	for _, p := range w.buf {
		// Raft takes a member that was just added for active; it has to show itself here.
		if p.Active && (p.Self || p.Match > 0) {
			w.seen[p.ID] = w.ticks
		}
		last, ever := w.seen[p.ID]
		v := peerView{Progress: p, Reachable: ever && w.ticks-last <= electionTicks}
		peers = append(peers, v)
		if at := w.needs(v, electionTicks); at > 0 && (floor == 0 || at < floor) {
			floor = at
		}
	}
	w.peers.Store(&peers)
	w.floor.Store(floor)
}

// needs returns the index behind which a member needs the log, 0 if it is not waited for. One that joins has nothing but
// the snapshot on its way to it.
func (w *peerWatch) needs(v peerView, electionTicks int) uint64 {
	if v.Self {
		return 0
	}
	s, ok := w.sent[v.ID]
	switch {
	case v.Snapshot > 0:
		// Raft may send a newer one in the place of one that failed.
		s.index, ok = v.Snapshot, true
	case v.Match >= s.index:
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
		return max(v.Match, s.index)
	}
	if !v.Reachable {
		return 0
	}
	return v.Match
}

// list returns what was seen last; nil on a member that does not lead.
func (w *peerWatch) list() []peerView {
	if p := w.peers.Load(); p != nil {
		return *p
	}
	return nil
}
