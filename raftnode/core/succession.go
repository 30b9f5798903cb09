package core

import (
	"time"

	"github.com/tenure-io/tenure/raftnode/gone"
)

// succession is what a member does when the process of its leader has ended.
type succession struct {
	electionTimeout time.Duration // 0 does nothing
	state           gone.State
	now             time.Duration // the newest time that an event brought
	alarm           time.Duration // that was asked for last
}

// led notes who leads.
func (s *succession) led(l Leadership) {
	s.state, _ = gone.Step(s.state, gone.Led{Leader: l.Leader, Term: l.Term}, s.electionTimeout, s.now)
}

func (e Gone) step(c *Core, fx *Effects) {
	if c.gone.electionTimeout == 0 || e.ID == c.cfg.ID || e.ID != c.rn.BasicStatus().SoftState.Lead {
		return
	}
	fx.LeaderGone = true
	ev := gone.Ended{Member: e.ID, Self: c.cfg.ID, Sync: e.Sync, RoundTrip: e.RoundTrip}
	for id := range c.rn.Status().Config.Voters.IDs() {
		ev.Voters = append(ev.Voters, id)
	}
	c.succeed(fx, ev, e.At)
}

func (e Alarm) step(c *Core, fx *Effects) {
	c.gone.alarm = 0
	c.passed(fx, e.At)
}

// passed notes the time.
func (c *Core) passed(fx *Effects, at time.Duration) {
	if c.gone.electionTimeout > 0 {
		c.succeed(fx, gone.Passed{}, at)
	}
}

// succeed carries out what follows from an event. A member that hangs does not ask for votes.
func (c *Core) succeed(fx *Effects, ev gone.Event, at time.Duration) {
	s := &c.gone
	s.now = max(s.now, at)
	var todo gone.Effects
	s.state, todo = gone.Step(s.state, ev, s.electionTimeout, s.now)
	if todo.Forget {
		fx.Episode = true
		_ = c.rn.ForgetLeader() // A follower can.
	}
	if todo.Campaign && !c.Hangs() {
		Campaign{}.step(c, fx)
	}
	if due := s.state.Due(); due != 0 && due != s.alarm {
		s.alarm, fx.Alarm = due, due
	}
}
