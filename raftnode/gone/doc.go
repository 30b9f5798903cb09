// Package gone decides what a member does when the process of its leader has ended: it asks for votes without waiting for
// the election time-out.
//
// It is a pure function of a state, an event and the time: no goroutine, no clock, no I/O. core owns the state and carries
// out the effects.
//
// It promises: a member that does not vote never acts, and nothing acts on silence; an episode has at most three rounds of
// an election; episodes of a member are at least an election time-out apart, and each further one doubles that pause, up to
// 64 election time-outs, until a leader has stayed for ten times the pause. The pauses matter because the timers of all
// sessions start again with each leader: leaders that change all the time would keep dead sessions alive.
//
// It does not promise that the leader is gone. Raft's safety does not depend on that, and voters that still hear from the
// leader refuse their votes.
package gone
