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
	ticks int
	buf   []core.Progress
	// peers is nil on a member that does not lead.
	peers atomic.Pointer[[]peerView]
	// floor is the index behind which members that listen need the log; 0 for none.
	floor atomic.Uint64
}

// tick looks at the members once a tick.
func (w *peerWatch) tick(c *core.Core, electionTicks int) {
	w.ticks++
	w.buf = c.Progress(w.buf[:0])
	if len(w.buf) == 0 {
		w.seen = nil
		w.peers.Store(nil)
		w.floor.Store(0)
		return
	}
	if w.seen == nil {
		w.seen = map[uint64]int{}
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
		if at := max(p.Match, p.Snapshot); !p.Self && v.Reachable && at > 0 && (floor == 0 || at < floor) {
			floor = at
		}
	}
	w.peers.Store(&peers)
	w.floor.Store(floor)
}

// list returns what was seen last; nil on a member that does not lead.
func (w *peerWatch) list() []peerView {
	if p := w.peers.Load(); p != nil {
		return *p
	}
	return nil
}
