package raftnode

import (
	"context"
	"fmt"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/turn"
)

// loop owns the core. It does no I/O, and calls nobody who may block.
type loop struct {
	n      *Node
	turn   *turn.Turn
	ticks  <-chan time.Time
	ticked int         // ticks so far
	alarm  *time.Timer // for the core
	events []core.Event
}

// newLoop returns the loop of a member that starts, and shows the first view.
func newLoop(n *Node) *loop {
	l := &loop{n: n, alarm: time.NewTimer(0)}
	l.alarm.Stop()
	l.turn = turn.New(turn.Options{
		Core: n.core, View: &n.view, Readers: n.readers, Proposals: n.proposals, Confs: n.confs, Peers: &n.peers,
		ElectionTicks: n.o.ElectionTicks, Self: n.self, Surroundings: around{n, l},
		DenyRevision: func() uint64 { return n.Store().Rights.Now().DenyRevision },
	})
	return l
}

// run takes turns until ctx ends.
func (l *loop) run(ctx context.Context) {
	defer func() {
		// raft panics when it cannot read its log or finds its state impossible. Either way this member is over.
		if r := recover(); r != nil {
			l.n.fail(fmt.Errorf("consensus failed: %v", r))
		}
	}()
	ticker := time.NewTicker(l.n.o.Tick)
	defer ticker.Stop()
	defer l.alarm.Stop()
	l.ticks = ticker.C
	if l.n.core.SoleVoter() {
		// Nobody else can lead, so there is nothing to wait for.
		l.events = append(l.events, core.Campaign{})
	}
	for l.step(); l.wait(ctx.Done()); {
		l.step()
	}
	l.handOver()
}

// step is one turn.
func (l *loop) step() { l.events = l.turn.Step(l.n.mail.drain(l.events)) }

// wait returns when there is something to do, or false when ended is closed.
func (l *loop) wait(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return false
	case <-l.ticks:
		l.ticked++
		l.events = append(l.events, core.Tick{At: l.n.now()})
	case <-l.alarm.C:
		l.events = append(l.events, core.Alarm{At: l.n.now()})
	case c := <-l.n.confApplies:
		c.answer <- l.n.core.ApplyConfChange(c.change)
	case <-l.n.mail.wake:
	}
	return true
}

// handOver gives the leadership to another member before this one ends, so that nobody waits for an election time-out.
// It takes no longer than one.
func (l *loop) handOver() {
	to := l.n.core.Successor()
	if to == 0 || l.n.failure.Load() != nil {
		return
	}
	l.n.log.Info("hands over the leadership", zap.Uint64("to", to))
	l.events = append(l.events, core.Transfer{To: to})
	for until := l.ticked + l.n.o.ElectionTicks; l.ticked < until; l.wait(nil) {
		l.step()
		// The successor may need this member's vote, so this one stays until it leads.
		if lead := l.n.core.Leadership(); lead.Role != core.RoleLeader && lead.Leader != 0 {
			return
		}
	}
}

// around carries out what the loop's turns decide.
type around struct {
	n *Node
	l *loop
}

// Stops reports whether the member has failed.
func (a around) Stops() bool { return a.n.failure.Load() != nil }

// Hangs tells the alarms and the log.
func (a around) Hangs(hangs bool) {
	a.n.health.SetHangs(hangs)
	if hangs {
		a.n.log.Warn("a write of the log or of the state does not come to an end", zap.Duration("for", a.n.o.hangAfter()),
			zap.Bool("state", a.n.core.AppliesHang()), zap.Stringer("role", a.n.core.Leadership().Role))
	} else {
		a.n.log.Info("the disk works again")
	}
}

// Changed ends the tasks of an earlier term. Those of this one begin when its first entry is applied.
func (a around) Changed(l core.Leadership) {
	a.n.metrics.leaderships.Inc()
	a.n.tasks.lead(0)
	if l.Role != core.RoleLeader {
		// Raft does not take a snapshot of an earlier term.
		a.n.couriers.Recall(ErrNotLeader)
	}
	fields := []zap.Field{zap.Uint64("term", l.Term), zap.Uint64("leader", l.Leader)}
	switch {
	case l.Role == core.RoleLeader:
		a.n.log.Info("became leader", fields...)
	case l.Leader != 0:
		a.n.log.Info("follows a leader", fields...)
	default:
		a.n.log.Debug("no leader", fields...)
	}
}

// Started begins the tasks of a term.
func (a around) Started(term uint64) { a.n.tasks.lead(term) }

// Append hands work to the append goroutine.
func (a around) Append(work []*raftpb.Message) { a.n.appendQ.push(work) }

// Apply hands work to the apply goroutine.
func (a around) Apply(work []*raftpb.Message) { a.n.applyQ.push(work) }

// Send gives snapshots to couriers, and the rest to the transport.
func (a around) Send(msgs []*raftpb.Message) {
	if rest := a.n.couriers.Take(msgs); len(rest) > 0 {
		a.n.o.Transport.Send(append([]*raftpb.Message(nil), rest...))
	}
}

// Dropped counts.
func (a around) Dropped() { a.n.metrics.dropped.Inc() }

// Gone counts. What an operator sees of it is the next leader.
func (a around) Gone(asks bool) {
	a.n.metrics.leadersGone.Inc()
	if asks {
		a.n.metrics.episodes.Inc()
	}
	a.n.log.Info("the leader's process has ended", zap.Bool("asks_for_votes", asks))
}

// Alarm sets the loop's alarm.
func (a around) Alarm(at time.Duration) { a.l.alarm.Reset(at - a.n.now()) }

// Released has the log cut.
func (a around) Released() { a.n.janitor.Ring() }
