package turn

import (
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/membership"
)

// Core is what a turn needs of core.Core, which it owns.
type Core interface {
	Step(fx *core.Effects, events ...core.Event)
	Leadership() core.Leadership
	Commit() uint64
	CanPropose() bool
	Hangs() bool
	Progress(dst []core.Progress) []core.Progress
}

// Self is who the member is among the others.
type Self interface {
	// Filter takes away what a member that mends must not see, and changes what must not be believed. The term is raft's.
	Filter(events []core.Event, term uint64) []core.Event
	// Retire keeps what others acknowledged in a term that this member leads no more, in which so much was committed.
	Retire(term, commit uint64)
}

// Surroundings carry out what a turn decides. Nothing here blocks, and what is kept is copied: a turn uses its slices again.
type Surroundings interface {
	// Stops reports whether the member has failed: it answers nothing any more.
	Stops() bool
	// Hangs is told when the disk begins to hang, and when it works again.
	Hangs(hangs bool)
	// Changed is told of every other term, leader or role. Tasks of an earlier term end.
	Changed(l core.Leadership)
	// Started is told of the term that this member leads, once its first entry is applied. Its tasks begin.
	Started(term uint64)
	// Append and Apply hand out work for the disk, in order.
	Append(work []*raftpb.Message)
	Apply(work []*raftpb.Message)
	// Send carries messages to peers, and among them those that announce snapshots.
	Send(msgs []*raftpb.Message)
	// Dropped counts an entry that did not enter the log.
	Dropped()
	// Gone is told that the leader's process has ended, and whether this member asks for votes because of that.
	Gone(asks bool)
	// Alarm is asked for a core.Alarm at a time on the clock of core.Gone. It takes the place of an earlier one.
	Alarm(at time.Duration)
	// Released is told when a member does not need the log any more that was kept for it beyond what is kept for others.
	Released()
}

// Options are the parts of a member that its turns bring together. All of them are required.
type Options struct {
	Core      Core
	View      *View
	Readers   *Readers
	Proposals *envelope.Queue
	Confs     *membership.ConfChanges
	Peers     *membership.Peers
	// ElectionTicks is after how many ticks a member that is not heard of is not reachable.
	ElectionTicks int
	// DenyRevision returns that of the applied state. It does not block.
	DenyRevision func() uint64
	Self         Self
	Surroundings Surroundings
}

// Turn is one round of a member's loop, with memory that is used again. Only the loop uses it.
type Turn struct {
	o         Options
	s         Surroundings
	fx        core.Effects
	proposals []core.Proposal
	hangs     bool
}

// New returns the turns of a member that starts, and shows the first view.
func New(o Options) *Turn {
	o.View.Show(o.Core.Leadership(), o.Core.Commit())
	return &Turn{o: o, s: o.Surroundings}
}

// Step takes what happened since the turn before, in order, and does all that follows from it. It returns the memory of
// the events, for the next ones.
func (t *Turn) Step(events []core.Event) []core.Event {
	t.fx.Reset()
	t.lookAtPeers(events)
	events = t.o.Self.Filter(t.o.Readers.Take(events), t.o.Core.Leadership().Term)
	if t.s.Stops() {
		// What shows that this member must stop must not be answered: raft would acknowledge entries that its leader lost.
		clear(events)
		return events[:0]
	}
	events = t.admit(events)
	t.o.Core.Step(&t.fx, events...)
	clear(events)
	t.watchHang()
	t.propose()
	t.perform()
	return events[:0]
}

// admit takes away the changes of members that are not allowed any more, and tells those who wait for them. Only a turn proposes commands, so what takes
// rights away is in the log before the changes that come with these events, or behind them.
func (t *Turn) admit(events []core.Event) []core.Event {
	kept := events[:0]
	for _, ev := range events {
		var refused error
		switch ev := ev.(type) {
		case core.ChangeConf:
			if refused = t.allowed(ev.Guard); refused != nil {
				t.o.Confs.Finish(ev.Handle, refused)
			}
		case core.Transfer:
			refused = t.allowed(ev.Guard)
			t.o.Confs.Finish(ev.Handle, refused)
		}
		if refused == nil {
			kept = append(kept, ev)
		}
	}
	clear(events[len(kept):])
	return kept
}

// allowed returns why a change of members is not allowed now. While a command is under way that may take rights away, nobody knows: the deny revision is
// that of what is applied, so it is read after that.
func (t *Turn) allowed(g core.Guard) error {
	switch {
	case g.Below == 0:
		return nil
	case t.o.Proposals.Taking():
		return membership.ErrRightsUnsettled
	case t.o.DenyRevision() >= g.Below:
		return membership.ErrRightsTaken
	default:
		return nil
	}
}

// lookAtPeers follows the other members, once a tick.
func (t *Turn) lookAtPeers(events []core.Event) {
	for _, ev := range events {
		if _, ok := ev.(core.Tick); ok && t.o.Peers.Tick(t.o.Core, t.o.ElectionTicks) {
			t.s.Released()
		}
	}
}

// watchHang tells everybody when the disk begins to hang, and when it works again.
func (t *Turn) watchHang() {
	if hangs := t.o.Core.Hangs(); hangs != t.hangs {
		t.hangs = hangs
		t.s.Hangs(hangs)
	}
	l := t.o.Core.Leadership() // The view that errors explain themselves by is stored later in this turn.
	if t.hangs && l.Role != core.RoleLeader {
		// What another member commits now is not applied here before the disk works again, so nobody here hears of it.
		why := &NotLeaderError{Leader: l.Leader, Term: l.Term}
		t.o.Proposals.Abandon(why)
		t.o.Confs.Unknown(why)
	}
}

// propose offers what waits to the log. While an append is under way proposals wait, and share the next one.
func (t *Turn) propose() {
	if !t.o.Core.CanPropose() {
		return
	}
	t.proposals = t.o.Proposals.Take(t.o.Core.Leadership().Term, t.proposals[:0])
	if len(t.proposals) > 0 {
		t.o.Core.Step(&t.fx, core.Propose{Proposals: t.proposals})
		clear(t.proposals)
	}
}

// perform carries out the effects of a turn.
func (t *Turn) perform() {
	fx := &t.fx
	// The view comes first: it is what errors explain themselves by.
	t.show()
	if fx.Leadership != nil {
		t.s.Changed(*fx.Leadership)
	}
	t.s.Append(fx.Append)
	t.s.Apply(fx.Apply)
	if len(fx.Send) > 0 {
		t.o.Peers.Sends(fx.Send)
		t.s.Send(fx.Send)
	}
	for _, d := range fx.Reads {
		t.o.Readers.Finish(d, t.o.View.Explain(d.Err))
	}
	for _, d := range fx.Dropped {
		if d.Handle != 0 {
			t.o.Confs.Finish(d.Handle, t.o.View.Explain(d.Err))
			continue
		}
		t.s.Dropped()
		t.o.Proposals.Drop(d.Sequence, t.o.View.Explain(d.Err))
	}
	if fx.Started != 0 {
		t.s.Started(fx.Started)
	}
	if fx.LeaderGone {
		t.s.Gone(fx.Episode)
	}
	if fx.Alarm != 0 {
		t.s.Alarm(fx.Alarm)
	}
}

// show shows others what raft knows, and keeps what they acknowledged while this member led, when that is over.
func (t *Turn) show() {
	now, commit := t.o.Core.Leadership(), t.o.Core.Commit()
	before, committed := t.o.View.Both()
	if t.fx.Leadership == nil && committed == commit {
		return
	}
	if before.Role == core.RoleLeader && before != now {
		t.o.Self.Retire(before.Term, committed)
	}
	t.o.View.Show(now, commit)
}
