package tenure

import (
	"math"
	"time"
)

// The margin makes a lease end for its holder before the cluster may end it: clocks may differ in rate by 1 % each, and a
// decision takes a moment to act on.
const (
	marginMin   = 50 * time.Millisecond
	marginShare = 50
)

// Times of a lease.
const (
	// lookEvery bounds the time between two looks at the clock: timers stand still while the machine sleeps or the process is
	// stopped, and the lease does not.
	lookEvery = 250 * time.Millisecond
	// graceMax bounds how long calls wait for a session in JEOPARDY.
	graceMax = 45 * time.Second
	// never is a moment that does not come.
	never = math.MaxInt64
)

// lease is what a process may believe of its session, as a value: what happened, and when, goes in, and what follows from it comes out. It reads
// no clock, takes no lock and starts nothing; the session carries out the effects. Moments are those of the client's clock.
type lease struct {
	ttl   time.Duration // As granted; zero: the lease never runs out.
	state State
	cause Cause // Why it is CLOSED.

	// safeUntil is the moment up to which the session lives for certain.
	safeUntil time.Duration
	// believedAt is when what was inherited by a resume may be believed; it may be never.
	believedAt time.Duration
	jeopardy   time.Duration // When JEOPARDY began.
	graceOver  bool          // Whether calls wait no more in this JEOPARDY.
}

// effects are what follows from an event, for the session to carry out in this order.
type effects struct {
	changes [2]StateChange // The new states, in order: an event may find that the lease ran out first.
	changed int            // How many there are.
	// ranOut says that the lease ran out: nothing that was held may be believed any longer.
	ranOut bool
	// graceOver says that calls have waited for long enough.
	graceOver bool
}

// leaseEnd returns the moment up to which a session lives for certain, by a renewal that was sent at a moment and
// acknowledged with a TTL. Without TTL there is no such moment.
func leaseEnd(sent, ttl time.Duration) time.Duration {
	if ttl == 0 {
		return never
	}
	return sent + ttl - max(marginMin, ttl/marginShare)
}

// look finds whether the lease has run out.
func (l *lease) look(now time.Duration) (e effects) {
	if l.certain() && l.ttl > 0 && now >= l.safeUntil {
		l.endanger(now, &e)
		e.ranOut = true
	}
	return e
}

// renewed takes an acknowledged renewal that was sent at a moment. It reports whether the session is CONNECTED by it.
func (l *lease) renewed(sent, ttl, now time.Duration) (connected bool, e effects) {
	// If the lease ran out meanwhile, it ran out: what is held ends before the lease goes on.
	e = l.look(now)
	if l.state == StateClosed {
		return false, e
	}
	l.safeUntil = max(l.safeUntil, leaseEnd(sent, ttl))
	if now >= l.safeUntil {
		if l.state == StateConnecting { // It took too long to open it.
			l.endanger(now, &e)
		}
		return false, e
	}
	l.graceOver = false
	l.become(StateConnected, CauseNone, &e)
	return true, e
}

// linkDown notes that no member answers at the moment.
func (l *lease) linkDown(now time.Duration) (e effects) {
	e = l.look(now)
	if l.state == StateConnected {
		l.become(StateSuspended, CauseNone, &e)
	}
	return e
}

// end closes the session for this process. Only the first cause counts: it reports whether this is the one.
func (l *lease) end(cause Cause, now time.Duration) (ended bool, e effects) {
	e = l.look(now) // If it ran out, it ran out first.
	if l.state == StateClosed {
		return false, e
	}
	l.become(StateClosed, cause, &e)
	return true, e
}

// watch looks at the lease, and returns how long the next look may wait. While something is held, that is never for long.
func (l *lease) watch(now time.Duration, holding bool) (wait time.Duration, e effects) {
	e = l.look(now)
	switch l.state {
	case StateJeopardy:
		if over := l.jeopardy + l.grace(); now < over {
			return min(lookEvery, over-now), e
		}
		e.graceOver = !l.graceOver
		l.graceOver = true
		return graceMax, e
	case StateConnected, StateSuspended:
		wait = l.safeUntil - now
		if holding {
			wait = min(lookEvery, wait)
		}
		return wait, e
	default:
		return graceMax, e
	}
}

// certain reports whether the session lived for certain at the last look.
func (l *lease) certain() bool { return l.state == StateConnected || l.state == StateSuspended }

// safeFor returns for how long the session lives for certain from now on. Look first.
func (l *lease) safeFor(now time.Duration) time.Duration {
	if !l.certain() {
		return 0
	}
	return max(0, l.safeUntil-now)
}

// inherits reports whether what a resume inherited may be believed: nobody before this process can believe in it any more.
func (l *lease) inherits(now time.Duration) bool { return now >= l.believedAt }

// belief returns how long to wait before what the session has may be believed; zero: it may be now. For what was inherited that may be never.
// Look first. A session that is CLOSED has nothing to be believed.
func (l *lease) belief(now time.Duration, inherited bool) time.Duration {
	switch {
	case inherited && l.believedAt == never:
		return never
	case inherited && !l.inherits(now):
		return min(l.believedAt-now, lookEvery)
	case !l.certain():
		return lookEvery
	default:
		return 0
	}
}

// grace returns how long calls wait in JEOPARDY.
func (l *lease) grace() time.Duration {
	if l.ttl == 0 {
		return graceMax
	}
	return min(graceMax, 2*l.ttl)
}

// patience returns how long a renewal may be without verdict.
func (l *lease) patience() time.Duration {
	if l.ttl == 0 {
		return renewalPatienceMax
	}
	return min(renewalPatienceMax, max(renewalPatienceMin, l.ttl/3))
}

// endanger begins JEOPARDY.
func (l *lease) endanger(now time.Duration, e *effects) {
	l.become(StateJeopardy, CauseNone, e)
	l.jeopardy, l.graceOver = now, false
}

// become changes the state, unless it is that already.
func (l *lease) become(state State, cause Cause, e *effects) {
	if l.state == state {
		return
	}
	l.state, l.cause = state, cause
	e.changes[e.changed] = StateChange{State: state, Cause: cause}
	e.changed++
}
