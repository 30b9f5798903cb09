package core

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"github.com/tenure-io/tenure/internal/invariants"
)

// Config is what Core is made from. Fields without a stated default are required.
type Config struct {
	// ID is this member.
	ID uint64
	// Storage holds the log that Appender writes.
	Storage raft.Storage
	// Applied is the index that the state machine contains.
	Applied uint64
	// Logger takes raft's messages.
	Logger raft.Logger
	// ElectionTicks and HeartbeatTicks count Tick events; 0 is 20 and 2.
	ElectionTicks, HeartbeatTicks int
	// ElectionTimeout is how long ElectionTicks are on the clock of Gone; 0 lets no member ask for votes early.
	ElectionTimeout time.Duration
	// ReadRetryTicks is how long a read round may take before it is asked again; 0 is 10.
	ReadRetryTicks int
	// AppendsMax is how many appends may be unfinished before proposals are held back; 0 is 1. Held back, they gather.
	AppendsMax int
	// WriteTicksMax is for how many ticks append work, or apply work, may not come to an end before the disk counts as
	// hanging; 0 is three election time-outs.
	WriteTicksMax int
	// UncommittedBytesMax bounds the proposals that are not committed yet; 0 is 64 MiB.
	UncommittedBytesMax uint64
	// ReadSeed makes read rounds distinct from those of earlier runs of this member.
	ReadSeed uint64
}

const (
	// EntryBytesMax bounds the data of one entry. It stays below MessageBytesMax.
	EntryBytesMax = 1 << 20
	// MessageBytesMax bounds the entries of one message to a peer.
	MessageBytesMax = 2 << 20

	applyingBytesMax    = 8 << 20
	inflightMessagesMax = 256
	// inflightBytesMax bounds what is on its way to one peer, and so what a step reads of the log for one that is far
	// behind.
	inflightBytesMax           = 8 << 20
	uncommittedBytesMaxDefault = 64 << 20

	electionTicksDefault  = 20
	heartbeatTicksDefault = 2
	readRetryTicksDefault = 10
	hangElectionsDefault  = 3
)

func (c *Config) setDefaults() {
	if c.ElectionTicks == 0 {
		c.ElectionTicks = electionTicksDefault
	}
	if c.HeartbeatTicks == 0 {
		c.HeartbeatTicks = min(heartbeatTicksDefault, c.ElectionTicks-1)
	}
	if c.ReadRetryTicks == 0 {
		c.ReadRetryTicks = readRetryTicksDefault
	}
	if c.AppendsMax == 0 {
		c.AppendsMax = 1
	}
	if c.WriteTicksMax == 0 {
		c.WriteTicksMax = hangElectionsDefault * c.ElectionTicks
	}
	if c.UncommittedBytesMax == 0 {
		c.UncommittedBytesMax = uncommittedBytesMaxDefault
	}
}

// Core is one member's consensus.
type Core struct {
	rn      *raft.RawNode
	cfg     Config
	lead    Leadership
	commit  uint64 // highest index known to be committed
	started bool   // the first entry of the term this member leads is applied
	applied uint64 // last applied index
	appends int    // append work with entries that is not answered yet
	writes  writes
	applies applies
	tried   []uint64 // members that were asked in vain to take over from this one, which hangs
	changes []change // of members, in the log and not applied yet
	reads   reads
	gone    succession
	refused refusals
}

// New makes a Core that continues from what Storage holds.
func New(cfg Config) (*Core, error) {
	cfg.setDefaults()
	rn, err := newRawNode(cfg)
	if err != nil {
		return nil, fmt.Errorf("start raft: %w", err)
	}
	c := &Core{rn: rn, cfg: cfg, applied: cfg.Applied, reads: reads{next: cfg.ReadSeed}}
	st := rn.BasicStatus()
	c.lead, c.commit = leadershipOf(st), st.HardState.GetCommit()
	c.gone.electionTimeout = cfg.ElectionTimeout
	return c, c.loadChanges()
}

// newRawNode makes the RawNode; raft panics on state it cannot start from, which is an error here.
func newRawNode(cfg Config) (rn *raft.RawNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("raft refuses its state: %v", r)
		}
	}()
	return raft.NewRawNode(&raft.Config{
		ID:                        cfg.ID,
		ElectionTick:              cfg.ElectionTicks,
		HeartbeatTick:             cfg.HeartbeatTicks,
		Storage:                   cfg.Storage,
		Applied:                   cfg.Applied,
		AsyncStorageWrites:        true,
		MaxSizePerMsg:             MessageBytesMax,
		MaxCommittedSizePerReady:  applyingBytesMax,
		MaxUncommittedEntriesSize: cfg.UncommittedBytesMax,
		MaxInflightMsgs:           inflightMessagesMax,
		MaxInflightBytes:          inflightBytesMax,
		CheckQuorum:               true,
		PreVote:                   true,
		ReadOnlyOption:            raft.ReadOnlySafe, // Reads are proven by a round of messages, never by a lease.
		Logger:                    cfg.Logger,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
	})
}

// Step takes events in order and adds what follows from them to fx.
func (c *Core) Step(fx *Effects, events ...Event) {
	for _, ev := range events {
		ev.step(c, fx)
	}
	c.settle(fx)
}

// settle turns raft's outstanding work into effects.
func (c *Core) settle(fx *Effects) {
	for {
		for c.rn.HasReady() {
			c.ready(fx)
		}
		c.observe(fx)
		c.reads.settle(c, fx)
		if !c.rn.HasReady() {
			return
		}
	}
}

func (c *Core) ready(fx *Effects) {
	rd := c.rn.Ready()
	for _, rs := range rd.ReadStates {
		c.reads.confirm(c, rs)
	}
	var write *raftpb.Message
	var votes []*raftpb.Message
	for _, m := range rd.Messages {
		switch m.GetTo() {
		case raft.LocalAppendThread:
			write = m
		case raft.LocalApplyThread:
			c.applies.begun()
			fx.Apply = append(fx.Apply, m)
		default:
			if m.GetType() == raftpb.MsgVote {
				votes = append(votes, m)
				continue
			}
			fx.Send = append(fx.Send, m)
		}
	}
	if write == nil {
		return
	}
	// Others are asked for votes when this member's own is on its disk. Raft would ask at once; a member elected so that
	// crashes before the write does not know that it has led, and can lead the same term again with other entries under
	// the same index and term. The own vote is written in the same Ready. And a member whose disk hangs asks nobody.
	write.Responses = append(c.refused.once(write.GetResponses()), votes...)
	if len(write.GetEntries()) > 0 {
		c.appends++
	}
	c.writes.begun(write)
	c.noteChanges(write.GetEntries())
	fx.Append = append(fx.Append, write)
}

// observe reports a change of term, leader or role.
func (c *Core) observe(fx *Effects) {
	st := c.rn.BasicStatus()
	invariants.That(st.HardState.GetCommit() >= c.commit, "the commit index fell from %d to %d", c.commit, st.HardState.GetCommit())
	c.commit = st.HardState.GetCommit()
	now := leadershipOf(st)
	invariants.That(now.Term >= c.lead.Term, "the term fell from %d to %d", c.lead.Term, now.Term)
	invariants.That(now.Term > c.lead.Term || now.Role != RoleLeader || c.lead.Leader == 0 || c.lead.Leader == c.cfg.ID,
		"in term %d member %d leads, and before it was %d", now.Term, c.cfg.ID, c.lead.Leader)
	if now == c.lead {
		return
	}
	if now.Term != c.lead.Term || now.Role != RoleLeader {
		c.started = false
	}
	c.lead = now
	c.gone.led(now)
	c.reads.restart()
	fx.Leadership = &now
	// A term that began and ended in one step never began.
	if !c.started {
		fx.Started = 0
	}
}

func leadershipOf(st raft.BasicStatus) Leadership {
	l := Leadership{Term: st.HardState.GetTerm(), Leader: st.SoftState.Lead}
	switch st.SoftState.RaftState {
	case raft.StateLeader:
		l.Role = RoleLeader
	case raft.StateCandidate, raft.StatePreCandidate:
		l.Role = RoleCandidate
	default:
		l.Role = RoleFollower
	}
	return l
}

// CanPropose reports whether proposals are welcome now, or better held back so that they gather.
func (c *Core) CanPropose() bool { return c.appends < c.cfg.AppendsMax }

// Leadership returns who leads.
func (c *Core) Leadership() Leadership { return c.lead }

// Commit returns the highest index known to be committed.
func (c *Core) Commit() uint64 { return c.commit }

// Status returns raft's own status, with the progress of every member on a leader.
func (c *Core) Status() raft.Status { return c.rn.Status() }

// SoleVoter reports whether this member is the only voter, and so may elect itself at once.
func (c *Core) SoleVoter() bool {
	cs := c.rn.Status().Config
	voters := cs.Voters.IDs()
	_, self := voters[c.cfg.ID]
	return self && len(voters) == 1
}

// Successor returns the member that can take over the leadership soonest: the voter heard of recently whose log is
// longest. It is 0 when this member does not lead or there is none.
func (c *Core) Successor() uint64 {
	if c.lead.Role != RoleLeader {
		return 0
	}
	best, match := uint64(0), uint64(0)
	c.rn.WithProgress(func(id uint64, typ raft.ProgressType, pr tracker.Progress) {
		if id != c.cfg.ID && typ == raft.ProgressTypePeer && pr.RecentActive && pr.Match > match && c.stays(id) {
			best, match = id, pr.Match
		}
	})
	return best
}

// ApplyConfChange makes a committed change of members effective. The apply work calls it, through whoever owns the
// Core, before the batch with that entry is written.
func (c *Core) ApplyConfChange(cc *raftpb.ConfChangeV2) *raftpb.ConfState {
	return c.rn.ApplyConfChange(cc)
}

func (e Tick) step(c *Core, fx *Effects) {
	c.passed(fx, e.At)
	c.refused.tick()
	c.writes.tick()
	c.applies.tick(&c.writes)
	c.reads.tick()
	if c.Hangs() {
		c.tickHanging()
		return
	}
	if c.writes.waiting > 0 && c.rn.BasicStatus().SoftState.RaftState == raft.StateCandidate {
		return // The others are asked once its own vote is written; the time in which they have to answer begins then.
	}
	c.rn.Tick()
}

func (Age) step(c *Core, _ *Effects) {
	c.refused.tick()
	c.writes.tick()
	c.applies.tick(&c.writes)
	c.reads.tick()
	c.rn.TickQuiesced() // Time passes without an election.
}

func (Campaign) step(c *Core, _ *Effects) {
	// An error says that there is nothing to campaign for, which the election time-out finds out again.
	_ = c.rn.Campaign()
}

func (e Receive) step(c *Core, _ *Effects) {
	m := e.Message
	if raft.IsLocalMsg(m.GetType()) || m.GetType() == raftpb.MsgProp ||
		raft.IsLocalMsgTarget(m.GetFrom()) || raft.IsLocalMsgTarget(m.GetTo()) {
		return
	}
	if m.GetType() == raftpb.MsgTimeoutNow && c.Hangs() {
		return // Another member can take over at once.
	}
	if m.GetType() == raftpb.MsgReadIndex && !c.leads() {
		return // Raft would pass it on, as another's message, which no peer takes. The member that asks asks again.
	}
	// raft refuses answers of members it does not know; those are late and harmless.
	_ = c.rn.Step(m)
}

func (e AppendDone) step(c *Core, _ *Effects) {
	c.appends -= e.Done.Entries
	c.writes.ended(e.Done)
	invariants.That(c.appends >= 0 && c.writes.waiting >= 0 && c.writes.installs >= 0,
		"more was written than was to be: %d appends, %d writes, %d installations are left", c.appends, c.writes.waiting, c.writes.installs)
	c.tried = nil
	for _, m := range e.Done.Responses {
		// An installed snapshot is applied: reads up to its index need not wait for the entries behind it.
		c.applied = max(c.applied, m.GetSnapshot().GetMetadata().GetIndex())
		_ = c.rn.Step(m)
	}
	c.forgetChanges()
}

func (e ApplyDone) step(c *Core, fx *Effects) {
	for _, m := range e.Done.Responses {
		_ = c.rn.Step(m)
	}
	invariants.That(e.Done.Index <= c.commit, "index %d was applied, committed is %d", e.Done.Index, c.commit)
	c.applied = max(c.applied, e.Done.Index)
	c.applies.ended(e.Done)
	invariants.That(c.applies.waiting >= 0, "more was applied than was to be: %d", c.applies.waiting)
	c.tried = nil
	c.forgetChanges()
	if c.lead.Role == RoleLeader && e.Done.Term == c.lead.Term && !c.started {
		c.started = true
		fx.Started = c.lead.Term
	}
}

func (e Propose) step(c *Core, fx *Effects) {
	if len(e.Proposals) == 0 {
		return
	}
	ents := make([]*raftpb.Entry, len(e.Proposals))
	for i, p := range e.Proposals {
		ents[i] = &raftpb.Entry{Data: p.Data}
	}
	err := c.propose(ents)
	if err == nil {
		return
	}
	for _, p := range e.Proposals {
		fx.Dropped = append(fx.Dropped, Dropped{Sequence: p.Sequence, Err: err})
	}
}

func (e ChangeConf) step(c *Core, fx *Effects) {
	typ, data, err := raftpb.MarshalConfChange(e.Change)
	if err == nil && !c.isIn(e.Guard.Term) {
		err = ErrNotLeader
	}
	if err == nil {
		entry := &raftpb.Entry{Type: typ.Enum(), Data: data}
		ents := []*raftpb.Entry{entry}
		err = c.propose(ents)
		// raft puts an empty entry in place of a change it refuses.
		if err == nil && ents[0] != entry {
			err = ErrConfChangePending
		}
	}
	if err != nil {
		fx.Dropped = append(fx.Dropped, Dropped{Handle: e.Handle, Err: err})
	}
}

func (c *Core) propose(ents []*raftpb.Entry) error {
	err := c.rn.Step(&raftpb.Message{Type: raftpb.MsgProp.Enum(), From: new(c.cfg.ID), Entries: ents})
	if !errors.Is(err, raft.ErrProposalDropped) {
		return err
	}
	// raft has one error for all reasons; its own state tells them apart.
	st := c.rn.BasicStatus()
	switch {
	case st.SoftState.Lead == raft.None:
		return ErrNoLeader
	case st.SoftState.RaftState != raft.StateLeader:
		return ErrNotLeader
	case st.LeadTransferee != raft.None:
		return ErrTransferring
	default:
		return ErrTooBusy
	}
}

func (e Read) step(c *Core, _ *Effects) { c.reads.waiting = append(c.reads.waiting, e) }

func (e Transfer) step(c *Core, _ *Effects) {
	// Raft would ask the leader on behalf of the other member, which no peer takes.
	if c.leads() && c.isIn(e.Guard.Term) && c.stays(e.To) {
		c.rn.TransferLeader(e.To)
	}
}

// isIn reports whether the term is one that was asked for, also in the middle of a step; zero: any.
func (c *Core) isIn(term uint64) bool { return term == 0 || term == c.rn.BasicStatus().GetTerm() }

// leads reports whether this member leads now, also in the middle of a step.
func (c *Core) leads() bool { return c.rn.BasicStatus().SoftState.RaftState == raft.StateLeader }

func (e Unreachable) step(c *Core, _ *Effects) { c.rn.ReportUnreachable(e.ID) }

func (e SnapshotSent) step(c *Core, _ *Effects) {
	status := raft.SnapshotFinish
	if !e.OK {
		status = raft.SnapshotFailure
	}
	c.rn.ReportSnapshot(e.ID, status)
}
