package gone

import "time"

const (
	// roundsMax is how often a member asks for votes in one episode.
	roundsMax = 3
	// retryAfter is after how long a member asks again if nobody won: the votes were split, or the others had not yet
	// noticed that the leader is gone. On a slow disk or network it is a step.
	retryAfter = 100 * time.Millisecond
	// stepMin is the least time by which one member asks after another.
	stepMin = 50 * time.Millisecond
	// pauseMax is the longest pause between two episodes, in election time-outs.
	pauseMax = 64
	// steady is for how many pauses a leader has to stay before the next pause is a short one again.
	steady = 10
)

// State is what a member remembers. The zero value is that of a member that starts.
type State struct {
	leader uint64        // whom this member follows, or itself; 0 for nobody
	term   uint64        // of the leader
	since  time.Duration // when the leader was first seen
	pause  time.Duration // after the last episode; 0 if the next one may begin at any time
	begun  time.Duration // when the last episode began
	rounds int           // that are left of the present episode
	due    time.Duration // when the next of them begins
	gap    time.Duration // between two rounds
}

// Due returns when the state wants Passed; 0 for never.
func (s State) Due() time.Duration {
	if s.rounds == 0 {
		return 0
	}
	return s.due
}

// Event is something that happened: Led, Ended or Passed.
type Event interface {
	step(s State, electionTimeout, now time.Duration) (State, Effects)
}

// Led says whom a member follows from now on: 0 for nobody.
type Led struct {
	Leader, Term uint64
}

// Ended says that the process of a member has ended.
type Ended struct {
	// Member is whose it was, Self the member to which it is told.
	Member, Self uint64
	// Voters are those who vote.
	Voters []uint64
	// Sync is how long a write of the log takes, RoundTrip how long a message to another member and its answer.
	Sync, RoundTrip time.Duration
}

// Passed says that time has passed.
type Passed struct{}

// Effects is what the member has to do, in the order of the fields.
type Effects struct {
	// Forget says that there is no leader any more. With it an episode begins.
	Forget bool
	// Campaign says to ask for votes now.
	Campaign bool
}

// Step returns what follows from an event. The election time-out is the shortest of the cluster's.
func Step(s State, ev Event, electionTimeout, now time.Duration) (State, Effects) {
	return ev.step(s, electionTimeout, now)
}

func (e Led) step(s State, _, now time.Duration) (State, Effects) { //nolint:unparam // Other events have effects.
	if e.Leader == s.leader && e.Term == s.term {
		return s, Effects{}
	}
	s = s.settled(now)
	s.leader, s.term, s.since = e.Leader, e.Term, now
	if e.Leader != 0 {
		s.rounds = 0
	}
	return s, Effects{}
}

// settled forgets the pause if the leader has stayed long enough.
func (s State) settled(now time.Duration) State {
	if s.leader != 0 && now-s.since >= steady*s.pause {
		s.pause = 0
	}
	return s
}

func (e Ended) step(s State, electionTimeout, now time.Duration) (State, Effects) {
	if e.Member == 0 || e.Member != s.leader || e.Member == e.Self {
		return s, Effects{}
	}
	rank, votes := e.rank()
	if !votes {
		return s, Effects{}
	}
	s = s.settled(now)
	if s.pause > 0 && now < s.begun+s.pause {
		return s, Effects{}
	}
	s.pause = min(max(electionTimeout, 2*s.pause), pauseMax*electionTimeout)
	s.begun, s.leader = now, 0
	step := min(max(stepMin, 3*(e.Sync+e.RoundTrip)), electionTimeout)
	s.rounds, s.gap, s.due = roundsMax, max(retryAfter, step), now+time.Duration(rank)*step
	s, fx := Passed{}.step(s, electionTimeout, now)
	fx.Forget = true
	return s, fx
}

// rank returns how many voters ask before this one, and whether it is one.
func (e Ended) rank() (rank int, votes bool) {
	for _, id := range e.Voters {
		if id < e.Self && id != e.Member {
			rank++
		}
		votes = votes || id == e.Self
	}
	return rank, votes
}

func (Passed) step(s State, electionTimeout, now time.Duration) (State, Effects) {
	switch {
	case s.rounds == 0 || now < s.due:
		return s, Effects{}
	case now-s.due > electionTimeout:
		// The member stood still. What it decided is old.
		s.rounds = 0
		return s, Effects{}
	}
	s.rounds--
	s.due = now + s.gap
	return s, Effects{Campaign: true}
}
