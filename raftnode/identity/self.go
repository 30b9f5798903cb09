package identity

import (
	"context"
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/health"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/raftnode/snapshots"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// Member is the member whose identity it is, and what that needs of it. All of it is required but Wire and Doubted.
type Member struct {
	Identity datadir.Identity
	Dir      *datadir.Dir
	Log      *raftlog.Log
	Wire     *Wire // nil without peers
	// Consensus is the member's for the records of members, which Changes changes.
	Consensus membership.Consensus
	Changes   *membership.Changes
	// Receiver takes snapshots that peers send, and Reseed sends one to a member that raft takes for one that has all.
	Receiver interface {
		Receive(from uint64, s snapshots.Source) error
	}
	Reseed func(message *raftpb.Message, index uint64) error
	// Health answers members that compare states.
	Health interface {
		Answer(req *peerv1.CompareRequest) *peerv1.CompareResponse
	}
	// Lead returns who leads. It is known once the member is open.
	Lead func() core.Leadership
	// Receive takes a message of a peer, Unreachable that messages to one were lost, Gone that the process of one has ended. They
	// do not block.
	Receive           func(m *raftpb.Message)
	Unreachable, Gone func(id uint64)
	// Doubted is told of a heartbeat that promises more than the log holds, by a member without Wire that asks others in a way
	// of its own, and then calls Judge. Without both such a heartbeat stops the member. It does not block.
	Doubted func(commit uint64)
	// Fail stops the member. It does not block.
	Fail func(error)
	// Background are goroutines that are waited for before the member ends.
	Background *sync.WaitGroup
	// TermJumps and StartsRefused count what was not believed.
	TermJumps, StartsRefused prometheus.Counter
}

// Self is this member among the others: who it is, who they are, and what it has promised them.
type Self struct {
	o         Options
	m         Member
	log       *zap.Logger
	wire      *Wire // nil without peers
	roster    *roster
	witnesses *witnesses
	jumps     *termJumps
	mending   *mending
	doubts    *doubts
	reseeds   *reseeds
}

// New reads whom the member knows, and continues what an earlier run has begun to mend. It comes before raft reads the log.
func New(o Options, m Member) (*Self, error) {
	s := &Self{o: o, m: m, log: o.Logger, wire: m.Wire, witnesses: newWitnesses(), reseeds: newReseeds(o.ElectionTimeout)}
	s.roster, s.mending, s.doubts, s.jumps = newRoster(s), newMending(s), newDoubts(s), &termJumps{n: s}
	return s, errors.Join(s.roster.refresh(), s.mending.load())
}

// Attach connects the transport to the member, which is open. What came before is lost, and sent again.
func (s *Self) Attach() {
	if s.wire != nil {
		s.wire.self.Store(s)
	}
}

// Run follows the records of members, and mends and asks what there is to mend and to ask, until ctx ends.
func (s *Self) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.roster.run(ctx) })
	all.Go(func() { s.mending.run(ctx) })
	all.Go(func() { s.doubts.run(ctx) })
	all.Wait()
}

// Hear takes note of a message, and reports whether it may be believed.
func (s *Self) Hear(m *raftpb.Message) bool {
	if s.Refuse(m.GetFrom(), m.GetTerm()) {
		return false
	}
	s.witnesses.hear(m)
	return true
}

// Refuse reports whether a member speaks in a term too far ahead of this one's.
func (s *Self) Refuse(from, term uint64) bool { return s.jumps.refuse(from, term) }

// Retire keeps what others acknowledged in a term that this member leads no more, in which so much was committed.
func (s *Self) Retire(term, commit uint64) { s.witnesses.retire(term, commit) }

// Filter takes away what a member that mends must not see, and changes what must not be believed. The term is raft's. It runs
// on the loop.
func (s *Self) Filter(events []core.Event, term uint64) []core.Event {
	return s.mending.filter(events, term)
}

// MembersChanged says that the records of members may have changed. It does not block.
func (s *Self) MembersChanged() { s.roster.ring() }

// Record is the leader's task that keeps the records of members true.
func (s *Self) Record(ctx context.Context, term uint64) error {
	return s.roster.record(ctx, term)
}

// Member returns the record of a member, or nil. Nobody changes it.
func (s *Self) Member(id uint64) *storev1.Member { return s.roster.member(id) }

// Ways returns what is known of the ways to other members, by id; nil without a transport of its own.
func (s *Self) Ways() map[uint64]transport.Status {
	if s.wire == nil {
		return nil
	}
	all := map[uint64]transport.Status{}
	for _, p := range s.wire.Peers() {
		all[p.ID] = p
	}
	return all
}

// Alarms returns what an operator has to know of what this member, and others, have lost or claim.
func (s *Self) Alarms() []health.Alarm {
	all := append(s.mending.alarm(), s.jumps.alarm()...)
	if s.wire != nil {
		all = append(all, s.wire.claims.alarm()...)
	}
	return all
}

// Desired returns what a member's record should be, by what it last said of itself; nil leaves the one that is stored.
func (s *Self) Desired(id uint64, stored *storev1.Member) *storev1.Member {
	return s.roster.desired(id, stored)
}

// Judge takes the answers of others, who were asked after a heartbeat promised this member more than its log holds. It stops
// the member if one of them knows that it acknowledged so much.
func (s *Self) Judge(commit uint64, all []*peerv1.Witness) { s.doubts.judge(commit, all) }

// Mended reports whether the disk holds what the member has promised, so that it needs no snapshot of the leader.
func (s *Self) Mended() (bool, error) { return s.mending.mended() }

// Mend keeps the member from votes until its log reaches an index. It comes before raft reads the log.
func (s *Self) Mend(index uint64) error { return s.mending.require(mend{Index: index}) }
