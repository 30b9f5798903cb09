package tenure

import (
	"context"
	"math"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
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
)

// leaseEnd returns the moment up to which a session lives for certain, by a renewal that was sent at a moment and
// acknowledged with a TTL. Without TTL there is no such moment.
func leaseEnd(sent, ttl time.Duration) time.Duration {
	if ttl == 0 {
		return math.MaxInt64
	}
	return sent + ttl - max(marginMin, ttl/marginShare)
}

// grace returns how long calls wait in JEOPARDY.
func (s *Session) grace() time.Duration {
	if s.ttl == 0 {
		return graceMax
	}
	return min(graceMax, 2*s.ttl)
}

// lookAtLease ends what is held if the lease ran out. Call it under mu.
func (s *Session) lookAtLease() {
	switch s.state {
	case StateConnected, StateSuspended:
	default:
		return
	}
	if s.ttl == 0 {
		return
	}
	if now := s.client.clock(); now >= s.safeUntil {
		s.setState(StateJeopardy, CauseNone)
		s.jeopardy, s.graceOver = now, false
		s.endHelds(EndLeaseRanOut)
	}
}

// guardLease looks at the lease until ctx ends.
func (s *Session) guardLease(ctx context.Context) {
	timer := time.NewTimer(s.guardOnce())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.watch:
		case <-timer.C:
		}
		timer.Reset(s.guardOnce())
	}
}

// guardOnce looks at the lease, and returns how long the next look may wait.
func (s *Session) guardOnce() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookAtLease()
	now := s.client.clock()
	switch s.state {
	case StateJeopardy:
		over := s.jeopardy + s.grace()
		if now < over {
			return min(lookEvery, over-now)
		}
		if !s.graceOver {
			s.graceOver = true
			s.interruptCalls(errJeopardy)
		}
		return graceMax
	case StateConnected, StateSuspended:
		if s.holdings.any() {
			return min(lookEvery, s.safeUntil-now)
		}
		return s.safeUntil - now
	default:
		return graceMax
	}
}

// renewed takes an acknowledged renewal that was sent at a moment. It tells whether the session is CONNECTED by it.
func (s *Session) renewed(sent, ttl time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// If the lease ran out meanwhile, it ran out: what is held ends before the lease goes on.
	s.lookAtLease()
	if s.state == StateClosed {
		return false
	}
	until := leaseEnd(sent, ttl)
	s.safeUntil = max(s.safeUntil, until)
	if s.client.clock() >= s.safeUntil {
		if s.state == StateConnecting { // It took too long to open it.
			s.setState(StateJeopardy, CauseNone)
			s.jeopardy, s.graceOver = s.client.clock(), false
		}
		return false
	}
	s.graceOver = false
	s.setState(StateConnected, CauseNone)
	wake(s.watch)
	return true
}

// linkDown notes that no member answers at the moment.
func (s *Session) linkDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookAtLease()
	if s.state == StateConnected {
		s.setState(StateSuspended, CauseNone)
	}
}

// end ends the session for this process, and tells whether it was this call that did.
func (s *Session) end(cause Cause) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookAtLease() // If it ran out, it ran out first.
	if s.state == StateClosed {
		return false
	}
	s.setState(StateClosed, cause)
	close(s.done)
	s.endHelds(endCauseOf(cause))
	switch cause {
	case CauseClosed, CauseExported:
		s.interruptCalls(s.overLocked())
	default:
		s.work.start(func(ctx context.Context) {
			s.endCalls(ctx)
			s.client.endings.start(func(context.Context) { s.leaveClient() })
		})
	}
	return true
}

// leaveClient ends what a session that is over still does, and the client forgets it.
func (s *Session) leaveClient() {
	s.work.stop()
	s.client.remove(s)
}

// endCalls interrupts what is still under way when it has had its time to learn its result: the cluster knows it, and is asked once more.
func (s *Session) endCalls(ctx context.Context) {
	s.mu.Lock()
	patience := s.grace()
	if len(s.calls) == 0 {
		patience = 0 // Nor do others begin.
	}
	s.mu.Unlock()
	backoff.Pause(ctx, patience)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interruptCalls(s.overLocked())
}
