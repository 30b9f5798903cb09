package sim

import (
	"slices"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/gone"
)

// early is what a life did because it took its leader for gone, as the simulator saw it.
type early struct {
	asked    []time.Duration // when it began to ask for votes, on the member's clock
	role     core.Role
	led      int           // tick in which it last heard from a leader
	leader   uint64        // whom it follows
	follows  time.Duration // since when, on the member's clock
	stayed   time.Duration // the longest that a leader stayed
	campaign bool          // it was told to take over, or asked early
}

// redialDelay is about how long it takes to find out that nothing listens any more.
const redialDelay = 2 * time.Millisecond

// processEnded cuts the connections of a process that has ended, as the kernel does: whoever is connected tries again.
func (w *World) processEnded(m *member) {
	for _, other := range w.members {
		if r := other.life; r != nil && other != m && !w.net.isCut(m.id, other.id) {
			suspecting{r}.cutFrom(m, m.starts, false)
		}
	}
}

// reset cuts the connections to whoever leads, of some or all others, until a time.
func (w trouble) reset(f Fault, until time.Duration) {
	d := w.dice("resets " + w.now.String())
	var again func()
	again = func() {
		if w.quiet {
			return
		}
		if l := w.leader(); l != nil {
			for _, other := range w.members {
				if r := other.life; r != nil && other != l && !w.net.isCut(l.id, other.id) && d.IntN(4) > 0 {
					suspecting{r}.cutFrom(l, l.starts, d.IntN(100) < f.Percent)
				}
			}
		}
		if next := between(d, 20*time.Millisecond, 600*time.Millisecond); w.now+next < until {
			w.after(next, again)
		}
	}
	again()
}

// suspecting is what a life does when its leader may be gone, and what is demanded of it.
type suspecting struct{ *life }

// cutFrom cuts the connection to a member in one of its starts. This one tries again: it is refused if no process is there,
// or, wrongly, if something on the way says so.
func (r suspecting) cutFrom(peer *member, known uint64, wrongly bool) {
	r.w.floors.Resets++
	r.after(expo(r.dice, redialDelay), func() {
		if !wrongly && r.w.net.isCut(r.m.id, peer.id) {
			return // Silence.
		}
		redial := gone.Redial{Cut: true, Known: known, Refused: wrongly || peer.life == nil}
		if !redial.Refused && peer.up() {
			redial.Answered = peer.starts
		}
		if !redial.Ended() {
			return
		}
		switch {
		case wrongly:
			r.w.floors.FalseResets++
		case peer.life != nil && peer.starts == known:
			r.w.violated("gone", "member %d takes member %d for gone, which answers", r.m.id, peer.id)
		}
		r.post(core.Gone{
			ID: peer.id, At: r.m.clock(), Sync: 400*time.Microsecond + r.m.lag, RoundTrip: time.Millisecond + 2*r.w.net.slow,
		})
	})
}

// leaderGone notes that this life takes its leader for gone, and holds against the rules that it asks for votes.
func (r suspecting) leaderGone(asks bool) {
	r.w.note("leader gone", r.m.id, boolNumber(asks))
	r.w.floors.LeadersGone++
	if !asks {
		return
	}
	r.w.floors.EarlyElections++
	e, now, timeout := &r.early, r.m.clock(), r.w.plan.electionTimeout()
	if _, votes := r.core.Status().Config.Voters.IDs()[r.m.id]; !votes {
		r.w.violated("gone", "member %d asks for votes, and is no voter", r.m.id)
	}
	// As long as no leader stays for ten election time-outs, each pause is twice as long as the one before. The core knows the time as of the last tick.
	if e.stayed+r.w.plan.tick() >= 10*timeout {
		e.asked = nil
	}
	e.stayed = 0
	for i, at := range slices.Backward(e.asked) {
		if pause := timeout << min(i, 6); now-at < pause {
			r.w.violated("gone", "member %d asks for votes %v after the time before, the pause is %v", r.m.id, now-at, pause)
		}
		break
	}
	e.asked = append(e.asked, now)
	e.campaign = true
}

// noteLeader notes that a leader was heard of, or told this member to take over.
func (r suspecting) noteLeader(msg *raftpb.Message) {
	switch msg.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		if msg.GetTerm() >= r.view.Lead().Term { // Raft takes no notice of an earlier leader.
			r.early.led = r.ticks
		}
	case raftpb.MsgTimeoutNow:
		r.early.campaign = true
	default:
	}
}

// watchCampaign demands a reason of a member that asks for votes: it was told to, its leader is gone, or it heard of none for an
// election time-out.
func (r suspecting) watchCampaign(l core.Leadership) {
	e, now := &r.early, r.m.clock()
	if l.Leader != e.leader {
		if e.leader != 0 {
			e.stayed = max(e.stayed, now-e.follows)
		}
		e.leader, e.follows = l.Leader, now
	}
	begins := l.Role == core.RoleCandidate && e.role == core.RoleFollower
	e.role = l.Role
	if l.Leader != 0 {
		e.campaign = false
	}
	silent := r.ticks - e.led
	if !begins || e.campaign || r.core.SoleVoter() || e.led == 0 || silent >= r.w.plan.ElectionTicks {
		return
	}
	// What it was told, and what follows from it, may be of the same turn.
	r.w.after(0, func() {
		if !e.campaign {
			r.w.violated("gone", "member %d asks for votes %d ticks after it heard of a leader", r.m.id, silent)
		}
	})
}
