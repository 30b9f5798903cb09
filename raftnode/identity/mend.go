package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/health"
	"github.com/tenure-io/tenure/raftnode/raftlog"
)

// mend is what a member has to mend whose disk does not hold what it has promised: a log that ends before an entry, and
// votes in terms up to Term that it may not remember.
type mend struct {
	// Index is the entry's, IndexTerm its term; zero when it is not known.
	Index     uint64 `json:"index,string"`
	IndexTerm uint64 `json:"index_term,string"`
	Term      uint64 `json:"term,string"`
}

// and returns what mends both. Of two entries the later one of the newer term stands for both: what is committed of the
// other is in every log that has it.
func (m mend) and(other mend) mend {
	term := max(m.Term, other.Term)
	known := m.IndexTerm > 0 && other.IndexTerm > 0
	if known && other.IndexTerm > m.IndexTerm || (!known || other.IndexTerm == m.IndexTerm) && other.Index > m.Index {
		m = other
	}
	m.Term = term
	return m
}

// mending holds back the votes of a member until its disk holds again what it has promised, but for those that only help members
// that hold it.
type mending struct {
	n     *Self
	state atomic.Pointer[mend] // nil on a healthy member
	asked chan struct{}        // 1 slot; there is something to mend
}

func newMending(n *Self) *mending { return &mending{n: n, asked: make(chan struct{}, 1)} }

// load continues what an earlier run began. It comes before raft reads the log.
func (g *mending) load() error {
	raw, err := g.n.m.Dir.Mend()
	if err != nil || raw == nil {
		return err
	}
	m, err := decodeMend(raw)
	if err != nil {
		return err
	}
	return g.require(m)
}

func decodeMend(raw []byte) (m mend, err error) {
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("%w: MEND: %w", datadir.ErrDamaged, err)
	}
	return m, nil
}

// require remembers durably what is to be mended, and closes the terms in which the member may have voted. It comes before
// raft reads the log.
func (g *mending) require(next mend) error {
	if m := g.state.Load(); m != nil {
		next = next.and(*m)
	}
	if err := g.remember(next); err != nil {
		return err
	}
	g.ask()
	return g.closeTerms(next.Term)
}

// remember makes what is to be mended durable before it counts.
func (g *mending) remember(next mend) error {
	raw, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode MEND: %w", err)
	}
	if err := g.n.m.Dir.WriteMend(raw); err != nil {
		return err
	}
	g.state.Store(&next)
	return nil
}

// closeTerms sees to it that the member gives no vote in a term in which it may have given one that its disk lost, nor in an
// older one: it votes for itself there, without being a candidate. Raft needs that nobody votes for two candidates in one
// term. If the lost vote was for another, that one keeps it, and nobody else gets one; the member itself counts no votes
// that it has not asked for, and asks again only in a later term. A vote that is remembered stands, and it is the only one.
//
// The term may have been lost and heard of again since, so that a term without a vote is closed too. It costs an election
// at most, and nobody has to wait for it: other than a member that stays passive until the term is over, this one can vote
// and be elected in the next, also when all of a quorum have lost as much.
func (g *mending) closeTerms(term uint64) error {
	hs := g.n.m.Log.HardState()
	if hs.GetTerm() > term || hs.GetTerm() == term && (hs.GetVote() != 0 || term == 0) {
		return nil
	}
	b := g.n.m.Log.NewBatch()
	if err := b.SetHardState(&raftpb.HardState{
		Term: new(term), Vote: new(g.n.m.Identity.MemberID), Commit: new(hs.GetCommit()),
	}); err != nil {
		return err
	}
	return b.Commit(true)
}

func (g *mending) ask() {
	select {
	case g.asked <- struct{}{}:
	default:
	}
}

// behind tells whether the log still lacks what the member has acknowledged.
func (g *mending) behind(m *mend) bool { return m.lacking(g.n.m.Log) }

// lacking tells whether a log lacks the entry: it ends in an older term, or before it. A log that ends in a newer term is a
// later leader's, who had all that was committed.
func (m mend) lacking(log *raftlog.Log) bool {
	last, err := log.LastIndex()
	if err != nil {
		return true
	}
	if term, err := log.Term(last); err == nil && m.IndexTerm > 0 && term != m.IndexTerm {
		return term < m.IndexTerm
	}
	return last < m.Index
}

// Lost returns the last entry that a stopped member has acknowledged and lost; 0 if nothing is known to be lost.
func Lost(dir *datadir.Dir, log *raftlog.Log) (uint64, error) {
	raw, err := dir.Mend()
	if err != nil || raw == nil {
		return 0, err
	}
	m, err := decodeMend(raw)
	if err != nil || !m.lacking(log) {
		return 0, err
	}
	return m.Index, nil
}

// holds reports whether the log of a candidate, which ends with an entry of a term, has what this member has promised. Of an
// entry whose term is not known nobody can tell.
func (m mend) holds(term, index uint64) bool {
	return m.IndexTerm > 0 && (term > m.IndexTerm || term == m.IndexTerm && index >= m.Index)
}

// alarm tells that the member does not vote like the others, and why; nil if it does.
func (g *mending) alarm() []health.Alarm {
	m := g.state.Load()
	if m == nil || !g.behind(m) {
		return nil
	}
	return []health.Alarm{{Name: health.AlarmWipedDisk, Member: g.n.m.Identity.MemberID, Message: fmt.Sprintf(
		"The disk of this member lost entries up to %d that it had acknowledged: it votes only for members that have them, until "+
			"a leader has sent it a snapshot. If none can be elected, start the other members first.", m.Index)}}
}

// filter takes away what a member that mends must not see: it asks for no votes, and believes no commit index of heartbeats.
//
// It votes only for candidates whose logs hold what it has promised, though its own log, with which raft compares theirs, does
// not. Raft needs two things of a vote: that there is one in a term, which closeTerms sees to; and that whoever is elected has
// all that may be committed, which is part of the promise as far as this member helped to commit it. So the vote represents the
// log that was lost. Without it two voters, of which one mends, could not elect the other one again after its restart.
//
// It runs on the loop.
func (g *mending) filter(events []core.Event, term uint64) []core.Event {
	m := g.state.Load()
	if m == nil {
		return g.compare(events, term)
	}
	if !g.behind(m) {
		return events
	}
	kept := events[:0]
	for _, ev := range events {
		switch e := ev.(type) {
		case core.Tick:
			// It does not campaign. But who waits for a proof does not wait for ever, and a leader that is gone is not
			// waited for.
			ev = core.Age{}
		case core.Gone, core.Alarm:
			continue
		case core.Receive:
			switch e.Message.GetType() {
			case raftpb.MsgVote, raftpb.MsgPreVote:
				if !m.holds(e.Message.GetLogTerm(), e.Message.GetIndex()) {
					continue
				}
			case raftpb.MsgTimeoutNow:
				continue
			default:
				ev = core.Receive{Message: unpromising(e.Message)}
			}
		}
		kept = append(kept, ev)
	}
	clear(events[len(kept):])
	return kept
}

// compare stops a member whose leader has another log than there is. What is known to be committed is in every leader's log,
// so either this disk lost writes, or those of a majority did. It returns what may be believed.
func (g *mending) compare(events []core.Event, term uint64) []core.Event {
	for i, ev := range events {
		e, ok := ev.(core.Receive)
		// An older term's message may come late, of a time before the log was overwritten.
		if !ok || e.Message.GetTerm() < term {
			continue
		}
		switch e.Message.GetType() {
		case raftpb.MsgHeartbeat:
			events[i] = core.Receive{Message: g.n.doubts.hear(e.Message)}
		case raftpb.MsgApp:
			g.compareEntries(e.Message)
		default:
		}
	}
	return events
}

// compareEntries stops a member whose leader has other entries where this one has applied what was committed. Raft would
// take them for those it has, and tell the leader so. What is committed and not applied may not be in the log yet.
func (g *mending) compareEntries(m *raftpb.Message) {
	applied := g.n.m.Consensus.Store().Applied().Index
	index, term := m.GetIndex(), m.GetLogTerm()
	for i := 0; index <= applied; i++ {
		if own, differs := g.differs(index, term); differs {
			g.n.m.Fail(fmt.Errorf("%w: entry %d is of term %d there, here of term %d at most: the disks of a majority lost writes "+
				"that were synced, or are older copies. This directory has what they lost: to keep it stop the other members and "+
				"see \"tenure recover\"; to give it up, \"tenure member remove\" this member, empty the directory, and start with "+
				"--join ADDRESS", ErrCommittedLost, index, term, own))
			return
		}
		if i == len(m.GetEntries()) {
			return
		}
		index, term = m.GetEntries()[i].GetIndex(), m.GetEntries()[i].GetTerm()
	}
}

// differs tells whether the entry at an index that is applied is of another term here, and of which. Where the log is cut
// all terms are known not to be newer than the last one.
func (g *mending) differs(index, term uint64) (own uint64, differs bool) {
	if cut := g.n.m.Log.Truncated(); index < cut.Index {
		return cut.Term, term > cut.Term
	}
	own, err := g.n.m.Log.Term(index)
	return own, err == nil && own != term
}

// unpromising returns a heartbeat without its commit index, which counts on what this member has acknowledged. Where that is
// lost the log may hold other entries of before, which were never committed. Entries that follow on the log's end bring a commit
// index that is true of them.
func unpromising(m *raftpb.Message) *raftpb.Message {
	if m.GetType() != raftpb.MsgHeartbeat {
		return m
	}
	return &raftpb.Message{Type: m.Type, To: m.To, From: m.From, Term: m.Term, Context: m.GetContext()}
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
				g.n.m.Fail(err)
				return
			}
			if done {
				break
			}
			wait := time.NewTimer(g.n.o.ElectionTimeout)
			select {
			case <-ctx.Done():
				wait.Stop()
				return
			case <-wait.C:
			}
		}
	}
}

// mended reports whether nothing is left to mend.
func (g *mending) mended() (bool, error) {
	m := g.state.Load()
	if m == nil {
		return true, nil
	}
	if !g.behind(m) {
		return g.caughtUp(m)
	}
	return false, nil
}

// step asks once, and reports whether all is mended.
func (g *mending) step(ctx context.Context) (bool, error) {
	n := g.n
	if done, err := g.mended(); done || err != nil {
		return done, err
	}
	if leader := n.roster.member(n.m.Lead().Leader); leader != nil && n.wire != nil {
		call, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		_, err := n.wire.Transport.Probe(call, leader.GetPeerAddress(), &peerv1.ProbeRequest{Caller: n.wire.header(), Mends: true})
		if err != nil {
			n.log.Info("cannot ask the leader for a snapshot", zap.Error(err))
		}
	}
	return false, nil
}

// caughtUp notes that the log is whole again.
func (g *mending) caughtUp(m *mend) (bool, error) {
	if m.Index > 0 {
		g.n.log.Info("the member's disk holds again what it has promised; it votes", zap.Uint64("index", m.Index))
	}
	// In this order: from the moment that nothing is to be mended the loop may find that there is, and write it down.
	err := g.n.m.Dir.WriteMend(nil)
	g.state.Store(nil)
	return true, err
}

// reseeds bounds how often members are sent snapshots because they ask: each may cost a checkpoint. At most one is under way to a
// member, and at most one begins in an election time-out. A member that asks for more is not heard; one that mends asks again.
type reseeds struct {
	every time.Duration

	mu    sync.Mutex // guards what follows
	under map[uint64]bool
	next  map[uint64]time.Time // before it none begins; of members for which that is still to come
}

func newReseeds(every time.Duration) *reseeds {
	return &reseeds{every: every, under: map[uint64]bool{}, next: map[uint64]time.Time{}}
}

// begin reports whether one may begin to a member now. If so, end follows.
func (r *reseeds) begin(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(r.next, func(_ uint64, next time.Time) bool { return !now.Before(next) })
	if _, soon := r.next[id]; soon || r.under[id] {
		return false
	}
	r.under[id], r.next[id] = true, now.Add(r.every)
	return true
}

func (r *reseeds) end(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.under, id)
}

// reseed sends a snapshot to a member whose log lost its end. Raft would not: it believes what was acknowledged.
func (s *Self) reseed(caller *peerv1.PeerHeader) {
	id := caller.GetFrom()
	lead := s.m.Lead()
	if lead.Role != core.RoleLeader || s.roster.member(id) == nil || !s.reseeds.begin(id) {
		return
	}
	// Raft takes nothing back that it believes: the snapshot has to reach that far.
	index := s.witnesses.of(id, lead).index
	s.m.Background.Go(func() {
		defer s.reseeds.end(id)
		err := s.m.Reseed(&raftpb.Message{
			Type: raftpb.MsgSnap.Enum(), To: new(id), From: new(s.m.Identity.MemberID), Term: new(lead.Term),
		}, index)
		if err != nil {
			s.m.Fail(err)
		}
	})
}
