package raftnode

import (
	"context"
	"fmt"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/core"
)

// runLoop owns the core. It does no I/O, calls nobody who may block, and ends with ctx.
func runLoop(ctx context.Context, n *Node) {
	defer func() {
		// raft panics when it cannot read its log or finds its state impossible. Either way this member is over.
		if r := recover(); r != nil {
			n.fail(fmt.Errorf("consensus failed: %v", r))
		}
	}()
	ticker := time.NewTicker(n.o.Tick)
	defer ticker.Stop()
	t := loop{n: n, ticks: ticker.C}
	if n.core.SoleVoter() {
		// Nobody else can lead, so there is nothing to wait for.
		t.events = append(t.events, core.Campaign{})
	}
	for t.run(); t.wait(ctx.Done()); {
		t.run()
	}
	t.handOver()
}

// loop is one round of the loop, with memory that is used again.
type loop struct {
	n         *Node
	ticks     <-chan time.Time
	ticked    int // ticks so far
	fx        core.Effects
	events    []core.Event
	proposals []core.Proposal
}

func (t *loop) run() {
	n := t.n
	t.fx.Reset()
	t.events = n.mail.drain(t.events)
	t.events = n.self.Filter(n.readers.Take(t.events), n.core.Leadership().Term)
	if n.failure.Load() != nil {
		// What shows that this member must stop must not be answered: raft would acknowledge entries that its leader lost.
		clear(t.events)
		t.events = t.events[:0]
		return
	}
	n.core.Step(&t.fx, t.events...)
	clear(t.events)
	t.events = t.events[:0]
	t.watchHang()
	// While an append is under way proposals wait, and share the next one.
	if n.core.CanPropose() {
		t.proposals = n.proposals.Take(n.core.Leadership().Term, t.proposals[:0])
		if len(t.proposals) > 0 {
			n.core.Step(&t.fx, core.Propose{Proposals: t.proposals})
			clear(t.proposals)
		}
	}
	t.perform(&t.fx)
}

// watchHang tells everybody when the disk begins to hang, and when it works again.
func (t *loop) watchHang() {
	n := t.n
	hangs := n.core.Hangs()
	if n.health.SetHangs(hangs) {
		if hangs {
			n.log.Warn("a write of the log or of the state does not come to an end", zap.Duration("for", n.o.hangAfter()),
				zap.Bool("state", n.core.AppliesHang()), zap.Stringer("role", n.core.Leadership().Role))
		} else {
			n.log.Info("the disk works again")
		}
	}
	if hangs && n.core.Leadership().Role != core.RoleLeader {
		// What another member commits now is not applied here before the disk works again, so nobody here hears of it.
		leadership := n.core.Leadership() // The view that errors explain themselves by is stored later in this turn.
		why := &NotLeaderError{Leader: leadership.Leader, Term: leadership.Term}
		n.proposals.Abandon(why)
		n.confs.Unknown(why)
	}
}

// wait returns when there is something to do, or false when ended is closed.
func (t *loop) wait(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return false
	case <-t.ticks:
		t.ticked++
		t.events = append(t.events, core.Tick{})
		if t.n.peers.Tick(t.n.core, t.n.o.ElectionTicks) {
			t.n.janitor.Ring()
		}
	case c := <-t.n.confApplies:
		c.answer <- t.n.core.ApplyConfChange(c.change)
	case <-t.n.mail.wake:
	}
	return true
}

// handOver gives the leadership to another member before this one ends, so that nobody waits for an election time-out.
// It takes no longer than one.
func (t *loop) handOver() {
	to := t.n.core.Successor()
	if to == 0 || t.n.failure.Load() != nil {
		return
	}
	t.n.log.Info("hands over the leadership", zap.Uint64("to", to))
	t.events = append(t.events, core.Transfer{To: to})
	for until := t.ticked + t.n.o.ElectionTicks; t.ticked < until; t.wait(nil) {
		t.run()
		// The successor may need this member's vote, so this one stays until it leads.
		if l := t.n.core.Leadership(); l.Role != core.RoleLeader && l.Leader != 0 {
			return
		}
	}
}

// perform carries out the effects of a turn.
func (t *loop) perform(fx *core.Effects) {
	n := t.n
	// The view comes first: it is what errors explain themselves by.
	if lead, commit := n.view.Both(); fx.Leadership != nil || commit != n.core.Commit() {
		if lead.Role == core.RoleLeader && lead != n.core.Leadership() {
			n.self.Retire(lead.Term, commit)
		}
		n.view.Show(n.core.Leadership(), n.core.Commit())
	}
	if fx.Leadership != nil {
		t.leadershipChanged(*fx.Leadership)
	}
	n.appendQ.push(fx.Append)
	n.applyQ.push(fx.Apply)
	n.peers.Sends(fx.Send)
	if msgs := n.couriers.Take(fx.Send); len(msgs) > 0 {
		n.o.Transport.Send(append([]*raftpb.Message(nil), msgs...))
	}
	for _, d := range fx.Reads {
		n.readers.Finish(d, n.view.Explain(d.Err))
	}
	for _, d := range fx.Dropped {
		if d.Handle != 0 {
			n.confs.Finish(d.Handle, n.view.Explain(d.Err))
			continue
		}
		n.metrics.dropped.Inc()
		n.proposals.Drop(d.Sequence, n.view.Explain(d.Err))
	}
	if fx.Started != 0 {
		n.tasks.lead(fx.Started)
	}
}

func (t *loop) leadershipChanged(l core.Leadership) {
	n := t.n
	n.metrics.leaderships.Inc()
	// Tasks of an earlier term end here; those of this one begin when its first entry is applied.
	n.tasks.lead(0)
	if l.Role != core.RoleLeader {
		// Raft does not take a snapshot of an earlier term.
		n.couriers.Recall(ErrNotLeader)
	}
	fields := []zap.Field{zap.Uint64("term", l.Term), zap.Uint64("leader", l.Leader)}
	switch {
	case l.Role == core.RoleLeader:
		n.log.Info("became leader", fields...)
	case l.Leader != 0:
		n.log.Info("follows a leader", fields...)
	default:
		n.log.Debug("no leader", fields...)
	}
}
