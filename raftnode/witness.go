package raftnode

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// witnesses remembers what other members have promised this one since it started: how far they acknowledged its entries
// while it led, and in which term they last spoke. Held against their disks when they come back, it tells whether those
// lost something. A member that finds no witness, such as one that votes alone, cannot know.
type witnesses struct {
	mu    sync.Mutex // guards of
	peers map[uint64]*testimony
}

// testimony is what one member has promised.
type testimony struct {
	term  uint64 // newest term it spoke in
	index uint64 // newest entry it acknowledged that was known to be committed, of earlier terms of this leader
	// ackTerm is the term in which it acknowledged ackIndex.
	ackTerm, ackIndex uint64
}

func newWitnesses() *witnesses { return &witnesses{peers: map[uint64]*testimony{}} }

// hear takes note of a message.
func (w *witnesses) hear(m *raftpb.Message) {
	switch m.GetType() {
	case raftpb.MsgPreVote, raftpb.MsgPreVoteResp:
		// These speak of a term that may never be.
		return
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.peers[m.GetFrom()]
	if t == nil {
		t = &testimony{}
		w.peers[m.GetFrom()] = t
	}
	t.term = max(t.term, m.GetTerm())
	if m.GetType() == raftpb.MsgAppResp && !m.GetReject() {
		if m.GetTerm() > t.ackTerm {
			t.ackTerm, t.ackIndex = m.GetTerm(), 0
		}
		if m.GetTerm() == t.ackTerm {
			t.ackIndex = max(t.ackIndex, m.GetIndex())
		}
	}
}

// retire keeps what was acknowledged in a term that this member leads no more. What was not committed by then may be
// overwritten, and does not count.
func (w *witnesses) retire(term, commit uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.peers {
		if t.ackTerm == term {
			t.index = max(t.index, min(t.ackIndex, commit))
		}
	}
}

// of returns what a member has promised. The leadership and commit are this member's.
func (w *witnesses) of(id uint64, lead core.Leadership, commit uint64) (term, index uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.peers[id]
	if t == nil {
		return 0, 0
	}
	index = t.index
	if lead.Role == core.RoleLeader && lead.Term == t.ackTerm {
		index = max(index, min(t.ackIndex, commit))
	}
	return t.term, index
}

// testify tells a member what this one knows of it.
func (n *Node) testify(caller *peerv1.PeerHeader) *peerv1.Witness {
	id := caller.GetFrom()
	if id == 0 {
		return nil
	}
	v := n.view.Load()
	w := &peerv1.Witness{Member: n.roster.leader(id) != nil, Removed: n.roster.isRemoved(id)}
	w.Term, w.Index = n.witnesses.of(id, v.lead, v.commit)
	if n.wire != nil {
		w.Starts = n.wire.Starts(id)
	}
	for _, m := range *n.roster.records.Load() {
		if m.GetName() == caller.GetName() && m.GetId() != id {
			w.NameOwner = m.GetId()
		}
	}
	return w
}

// mend is what a member waits for whose disk does not hold what it has promised: a log that ends before Index, or a vote
// in a term up to Term that it may not remember.
type mend struct {
	Index uint64 `json:"index,string"`
	Term  uint64 `json:"term,string"`
}

// mending holds back the votes of a member until its disk holds again what it has promised.
type mending struct {
	n     *Node
	state atomic.Pointer[mend] // nil on a healthy member
	asked chan struct{}        // 1 slot; there is something to mend
}

func newMending(n *Node) *mending { return &mending{n: n, asked: make(chan struct{}, 1)} }

// load continues what an earlier run began.
func (g *mending) load() error {
	raw, err := g.n.dir.Mend()
	if err != nil || raw == nil {
		return err
	}
	m := &mend{}
	if err := json.Unmarshal(raw, m); err != nil {
		return fmt.Errorf("%w: MEND: %w", datadir.ErrDamaged, err)
	}
	g.state.Store(m)
	g.ask()
	return nil
}

// require remembers durably what is to be mended.
func (g *mending) require(next mend) error {
	if m := g.state.Load(); m != nil {
		next = mend{Index: max(next.Index, m.Index), Term: max(next.Term, m.Term)}
	}
	if err := g.remember(next); err != nil {
		return err
	}
	g.ask()
	return nil
}

// remember makes what is to be mended durable before it counts.
func (g *mending) remember(next mend) error {
	raw, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode MEND: %w", err)
	}
	if err := g.n.dir.WriteMend(raw); err != nil {
		return err
	}
	g.state.Store(&next)
	return nil
}

func (g *mending) ask() {
	select {
	case g.asked <- struct{}{}:
	default:
	}
}

// behind tells whether the log still ends before what the member has acknowledged.
func (g *mending) behind(m *mend) bool {
	last, err := g.n.rlog.LastIndex()
	return err != nil || last < m.Index
}

// filter takes away what a member that mends must not see: it gives no vote it may have given before, asks for none, and
// believes no commit index that its log does not reach. It runs on the loop.
func (g *mending) filter(events []core.Event) []core.Event {
	m := g.state.Load()
	if m == nil {
		g.compare(events)
		return events
	}
	behind := g.behind(m)
	last, _ := g.n.rlog.LastIndex() // It comes from memory and has no error.
	// In the terms it may have voted in, and before it knows of them, it does not ask for votes either.
	passive := behind || g.n.core.Leadership().Term < m.Term
	kept := events[:0]
	for _, ev := range events {
		switch e := ev.(type) {
		case core.Tick:
			// Without ticks it does not campaign. Who waits for a proof does not wait for ever.
			if passive {
				ev = core.Age{}
			}
		case core.Receive:
			if !g.mayHear(m, behind, e.Message) {
				continue
			}
			ev = core.Receive{Message: clamp(e.Message, last)}
		}
		kept = append(kept, ev)
	}
	clear(events[len(kept):])
	return kept
}

// compare stops a member whose leader knows more of its log than there is. Started again it mends.
func (g *mending) compare(events []core.Event) {
	for _, ev := range events {
		e, ok := ev.(core.Receive)
		if !ok || e.Message.GetType() != raftpb.MsgHeartbeat {
			continue
		}
		last, err := g.n.rlog.LastIndex()
		// An older term's heartbeat may come late, of a time before the log was overwritten.
		if err == nil && e.Message.GetCommit() > last && e.Message.GetTerm() >= g.n.core.Leadership().Term {
			g.n.fail(fmt.Errorf("%w: it ends at %d, the leader was told that it holds %d, which is committed",
				ErrLogLostTail, last, e.Message.GetCommit()))
		}
	}
}

func (g *mending) mayHear(m *mend, behind bool, msg *raftpb.Message) bool {
	switch msg.GetType() {
	case raftpb.MsgVote:
		return !behind && msg.GetTerm() > m.Term
	case raftpb.MsgPreVote, raftpb.MsgTimeoutNow:
		return !behind
	default:
		return true
	}
}

// clamp returns a heartbeat that promises no more than the log holds.
func clamp(m *raftpb.Message, last uint64) *raftpb.Message {
	if m.GetType() != raftpb.MsgHeartbeat || m.GetCommit() <= last {
		return m
	}
	return &raftpb.Message{
		Type: m.Type, To: m.To, From: m.From, Term: m.Term, Commit: new(last), Context: m.GetContext(),
	}
}

// run asks the leader for a snapshot until nothing is left to mend.
func (g *mending) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.asked:
		}
		for {
			done, err := g.step(ctx)
			if err != nil {
				g.n.fail(err)
				return
			}
			if done {
				break
			}
			wait := time.NewTimer(g.n.o.electionTimeout())
			select {
			case <-ctx.Done():
				wait.Stop()
				return
			case <-wait.C:
			}
		}
	}
}

// step asks once, and reports whether all is mended.
func (g *mending) step(ctx context.Context) (bool, error) {
	n := g.n
	m := g.state.Load()
	if m == nil {
		return true, nil
	}
	if !g.behind(m) {
		return g.caughtUp(m)
	}
	if leader := n.roster.leader(n.view.Load().lead.Leader); leader != nil && n.wire != nil {
		call, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		_, err := n.wire.Transport.Probe(call, leader.GetPeerAddress(), &peerv1.ProbeRequest{Caller: n.wire.header(), Mends: true})
		if err != nil {
			n.log.Info("cannot ask the leader for a snapshot", zap.Error(err))
		}
	}
	return false, nil
}

// caughtUp notes that the log is whole again. The terms in which the member may have voted before stay closed to it until
// the next election.
func (g *mending) caughtUp(m *mend) (bool, error) {
	n := g.n
	if m.Index > 0 {
		n.log.Info("the member's disk holds again what it has promised; it votes", zap.Uint64("index", m.Index))
		return false, g.remember(mend{Term: m.Term})
	}
	if n.rlog.HardState().GetTerm() <= m.Term {
		return false, nil
	}
	g.state.Store(nil)
	return true, n.dir.WriteMend(nil)
}

// reseed sends a snapshot to a member whose log lost its end. Raft would not: it believes what was acknowledged.
func (n *Node) reseed(caller *peerv1.PeerHeader) {
	id := caller.GetFrom()
	lead := n.view.Load().lead
	if lead.Role != core.RoleLeader || n.roster.leader(id) == nil {
		return
	}
	_, index := n.witnesses.of(id, lead, n.view.Load().commit)
	n.background.Go(func() {
		if m := n.snaps.Newest(); m == nil || m.Index < index {
			if n.Store().Applied().Index < index {
				return // It asks again.
			}
			if err := n.makeCheckpoint(); err != nil {
				n.fail(fmt.Errorf("checkpoint: %w", err))
				return
			}
		}
		n.log.Info("re-seeds a member that lost the end of its log", zap.Uint64("member_id", id))
		n.couriers.take([]*raftpb.Message{{
			Type: raftpb.MsgSnap.Enum(), To: new(id), From: new(n.identity.MemberID), Term: new(lead.Term),
		}})
	})
}

// greetMin is the least time that a starting member gives the others to tell what they know.
const greetMin = 2 * time.Second

// greet asks the other members what they know of this one before it takes part: one that was removed, or runs on an old
// or copied directory, ends here, and one whose log lost its end mends. Who does not answer in time is not waited for.
func (n *Node) greet(ctx context.Context) error {
	if n.wire == nil {
		return nil
	}
	patience, cancel := context.WithTimeout(ctx, max(greetMin, 2*n.o.electionTimeout()))
	defer cancel()
	found := mend{}
	for _, w := range n.askWitnesses(patience) {
		switch {
		case w.GetRemoved():
			return explainRefusal(fmt.Errorf("%w: member %x", transport.ErrRemoved, n.identity.MemberID))
		case transport.Stale(n.identity.Starts, w.GetStarts()):
			return explainRefusal(fmt.Errorf("%w: a newer start of member %x is known, or one on a copy",
				transport.ErrStaleIncarnation, n.identity.MemberID))
		}
		found.Index, found.Term = max(found.Index, w.GetIndex()), max(found.Term, w.GetTerm())
	}
	if err := context.Cause(ctx); err != nil {
		// Others may refuse this member for good before it has asked.
		return err
	}
	last, err := n.rlog.LastIndex()
	if err != nil {
		return err
	}
	term := n.rlog.HardState().GetTerm()
	switch {
	case found.Index <= last && found.Term <= term:
		return nil
	case found.Index <= last:
		// A member that crashes as it hears of a new term may not remember it.
		n.log.Info("others have seen this member in a newer term than it remembers; it gives no vote in that one",
			zap.Uint64("term", term), zap.Uint64("seen_term", found.Term))
		return n.mending.require(found)
	}
	n.log.Error("the disk of this member does not hold what it has promised others: it lost writes that were synced, or "+
		"is an older copy. It does not vote until the leader has sent it a snapshot",
		zap.Uint64("last_index", last), zap.Uint64("acknowledged_index", found.Index),
		zap.Uint64("term", term), zap.Uint64("seen_term", found.Term))
	return n.mending.require(found)
}

// askWitnesses asks all members whose address is known.
func (n *Node) askWitnesses(ctx context.Context) []*peerv1.Witness {
	peers := n.wire.Peers()
	answers := make(chan *peerv1.Witness, len(peers))
	for _, p := range peers {
		go func() {
			resp, err := n.wire.Transport.Probe(ctx, p.Address, &peerv1.ProbeRequest{Caller: n.wire.header()})
			if err != nil || resp.GetHeader().GetFrom() != p.ID || string(resp.GetHeader().GetClusterId()) != string(n.identity.ClusterID[:]) {
				answers <- nil
				return
			}
			answers <- resp.GetWitness()
		}()
	}
	var all []*peerv1.Witness
	for range peers {
		if w := <-answers; w != nil {
			all = append(all, w)
		}
	}
	return all
}
