package identity

import (
	"context"
	"fmt"
	"sync"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// witnesses remembers what other members have promised this one since it started: how far they acknowledged its entries
// while it led, and in which term they last spoke. Held against their disks when they come back, it tells whether those
// lost something. A member that finds no witness, such as one that votes alone, cannot know.
type witnesses struct {
	mu    sync.Mutex // guards peers
	peers map[uint64]*testimony
}

// testimony is what one member has promised.
type testimony struct {
	term  uint64 // newest term it spoke in
	index uint64 // newest entry it acknowledged that was known to be committed, of earlier terms of this leader
	// indexTerm is the term that this member led then. The entry is of that term, or of an older one.
	indexTerm uint64
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
		if index := min(t.ackIndex, commit); t.ackTerm == term && index > t.index {
			t.index, t.indexTerm = index, term
		}
	}
}

// of returns what a member has promised to this one, whose leadership is given. While this one leads everything counts that
// was acknowledged, committed or not: the leader goes on believing in it, and commits entries by it.
func (w *witnesses) of(id uint64, lead core.Leadership) (p promise) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.peers[id]
	if t == nil {
		return p
	}
	p = promise{term: t.term, index: t.index, led: t.indexTerm}
	if lead.Role == core.RoleLeader && lead.Term == t.ackTerm && t.ackIndex > p.index {
		p.index, p.led = t.ackIndex, t.ackTerm
	}
	return p
}

// promise is what a member has promised to this one: the newest term it spoke in, and the last entry it acknowledged, in a term
// that this member led.
type promise struct{ term, index, led uint64 }

// testify tells a member what this one knows of it.
func (s *Self) testify(caller *peerv1.PeerHeader) *peerv1.Witness {
	id := caller.GetFrom()
	if id == 0 {
		return nil
	}
	w := &peerv1.Witness{Member: s.roster.member(id) != nil, Removed: s.roster.isRemoved(id)}
	w.Term, w.Index, w.IndexTerm = s.Promised(id)
	if s.wire != nil {
		w.Starts = s.wire.Starts(id)
	}
	for _, m := range *s.roster.records.Load() {
		if m.GetName() == caller.GetName() && m.GetId() != id {
			w.NameOwner = m.GetId()
		}
	}
	return w
}

// Promised returns what a member has promised to this one: the newest term it spoke in, and the last entry it acknowledged.
// The entry's term is zero when the log here is cut behind it; it is committed then.
func (s *Self) Promised(id uint64) (term, index, indexTerm uint64) {
	p := s.witnesses.of(id, s.m.Lead())
	last, err := s.m.Log.LastIndex()
	switch {
	case err != nil:
		return p.term, 0, 0
	case p.index > last:
		// The member was faster than the disk here, where all that a leader has yet to write is of its own term: its older
		// entries were written before it asked for votes. Others may have committed that entry without this member's disk.
		return p.term, p.index, p.led
	}
	if indexTerm, err = s.m.Log.Term(p.index); err != nil {
		indexTerm = 0
	}
	return p.term, p.index, indexTerm
}

// Acknowledged returns how far a member has acknowledged this one's entries. A snapshot that re-seeds it has to reach that far.
func (s *Self) Acknowledged(id uint64) uint64 {
	return s.witnesses.of(id, s.m.Lead()).index
}

// greetMin is the least time that a starting member gives the others to tell what they know.
const greetMin = 2 * time.Second

// Greet asks the other members what they know of this one before it takes part: one that was removed, or runs on an old
// or copied directory, ends here, and one whose log lost its end mends. Who does not answer in time is not waited for.
func (s *Self) Greet(ctx context.Context) error {
	if s.wire == nil {
		return nil
	}
	patience, cancel := context.WithTimeout(ctx, max(greetMin, 2*s.o.ElectionTimeout))
	defer cancel()
	found, err := s.weigh(s.askWitnesses(patience))
	if err != nil {
		return err
	}
	if err = context.Cause(ctx); err != nil {
		// Others may refuse this member for good before it has asked.
		return err
	}
	return s.heed(found)
}

// Heed takes what others know of this member before it takes part, as Greet does.
func (s *Self) Heed(all []*peerv1.Witness) error {
	found, err := s.weigh(all)
	if err != nil {
		return err
	}
	return s.heed(found)
}

// weigh returns what there is to mend by what others know, or why this member cannot take part.
func (s *Self) weigh(all []*peerv1.Witness) (found mend, err error) {
	for _, w := range all {
		switch {
		case w.GetRemoved():
			return found, explainRefusal(fmt.Errorf("%w: member %x", transport.ErrRemoved, s.m.Identity.MemberID))
		case transport.Stale(s.m.Identity.Starts, w.GetStarts()):
			return found, explainRefusal(fmt.Errorf("%w: start %d of member %x is known, or one on a copy; this is start %d",
				transport.ErrStaleIncarnation, transport.StartOf(w.GetStarts()), s.m.Identity.MemberID,
				transport.StartOf(s.m.Identity.Starts)))
		}
		if own := s.m.Log.HardState().GetTerm(); farAhead(own, w.GetTerm()) {
			s.log.Error("ignored what another member says: that it has seen this one in a term that no cluster reaches",
				zap.Uint64("term", own), zap.Uint64("seen_term", w.GetTerm()))
			continue
		}
		found = found.and(mend{Index: w.GetIndex(), IndexTerm: w.GetIndexTerm(), Term: w.GetTerm()})
	}
	return found, nil
}

// heed mends what there is to mend.
func (s *Self) heed(found mend) error {
	if term := s.m.Log.HardState().GetTerm(); found.Term > term {
		s.log.Info("others have seen this member in a newer term than it remembers; it gives no vote in that one",
			zap.Uint64("term", term), zap.Uint64("seen_term", found.Term))
	}
	if !s.mending.behind(&found) {
		return s.mending.closeTerms(found.Term)
	}
	last, err := s.m.Log.LastIndex()
	if err != nil {
		return err
	}
	s.log.Error("the disk of this member does not hold what it has promised others: it lost writes that were synced, or "+
		"is an older copy. It does not vote until the leader has sent it a snapshot",
		zap.Uint64("last_index", last), zap.Uint64("acknowledged_index", found.Index),
		zap.Uint64("acknowledged_term", found.IndexTerm), zap.Uint64("seen_term", found.Term))
	return s.mending.require(found)
}

// askWitnesses asks all members whose address is known.
func (s *Self) askWitnesses(ctx context.Context) []*peerv1.Witness {
	peers := s.wire.Peers()
	answers := make(chan *peerv1.Witness, len(peers))
	for _, p := range peers {
		go func() {
			resp, err := s.wire.Transport.Probe(ctx, p.Address, &peerv1.ProbeRequest{Caller: s.wire.header()})
			if err != nil || resp.GetHeader().GetFrom() != p.ID || string(resp.GetHeader().GetClusterId()) != string(s.m.Identity.ClusterID[:]) {
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
