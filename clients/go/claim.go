package tenure

import (
	"context"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// claim is one acquire or one try under way.
type claim struct {
	session *Session
	own     ownName
	cancel  context.CancelCauseFunc
	end     func() // Of its call under the session.
}

// claim begins an acquire or a try, which ends with the context that is returned; done or abandon has to follow. An error says that the session begins
// none any more.
func (s *Session) claim(ctx context.Context, own ownName) (context.Context, *claim, error) {
	if s.attached {
		return nil, nil, s.errAttached()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leavesQueues {
		return nil, nil, s.overLocked()
	}
	ctx, end, err := s.interruptibleLocked(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &claim{session: s, own: own, cancel: cancel, end: end}
	s.claims[c] = struct{}{}
	s.claiming.Add(1)
	s.holdings.ask(own)
	return ctx, c, nil
}

// acquire asks until it is told of a hold that can be believed, or of none. What ask is told may be late: the hold was given back, or lost, since.
func (c *claim) acquire(ctx context.Context, ask func(ctx context.Context) (*tenurev1.Hold, error)) (*Held, error) {
	pauses := &backoff.Backoff{}
	for {
		if err := c.session.awaitGivenBack(ctx, c.own); err != nil {
			return nil, err
		}
		granted, err := ask(ctx)
		if err != nil || granted == nil {
			return nil, err
		}
		held, err := c.session.take(ctx, granted)
		if err != nil || held != nil {
			return held, err
		}
		if !pauses.Wait(ctx) {
			return nil, interrupted(ctx, false, nil)
		}
	}
}

// done ends a claim that left nothing but what is held.
func (c *claim) done() { c.over(func() {}) }

// abandon ends a claim that may have left a place or a hold, or whose last request may still do so, and has that given up unless it is somebody
// else's, too: then there is no telling what becomes of it.
func (c *claim) abandon(last uint64) *abandoned {
	return c.over(func() { c.session.holdings.owe(c.own, last) })
}

func (c *claim) over(note func()) *abandoned {
	s := c.session
	c.cancel(nil)
	c.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	note()
	delete(s.claims, c)
	s.holdings.asked(c.own)
	a := s.giveUpOwed(c.own)
	s.claiming.Done()
	return a
}

// take makes a Held of a grant, or returns the one that there is, as soon as it can be believed; nil if the hold was given back or lost since.
func (s *Session) take(ctx context.Context, granted *tenurev1.Hold) (held *Held, err error) {
	err = s.whenBelieved(ctx, func() bool { return s.holdings.inherits(granted) }, func() { held = s.hold(granted) })
	return held, err
}

// whenBelieved calls f under mu as soon as what the session has can be believed: it lives for certain and, where inherited says so, nobody
// before it can believe in it any more. Inherited is called under mu, too.
func (s *Session) whenBelieved(ctx context.Context, inherited func() bool, f func()) error {
	for {
		s.mu.Lock()
		wait, err := s.belief(inherited())
		if err == nil && wait == 0 {
			f()
		}
		changed := s.changed
		s.mu.Unlock()
		if err != nil || wait == 0 {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return interrupted(ctx, false, nil)
		}
		timer.Stop()
	}
}

// belief returns how long to wait until what the session has may be believed, or why that never comes. Call it under mu.
func (s *Session) belief(inherited bool) (wait time.Duration, err error) {
	s.lookAtLease()
	left := s.believedAt - s.client.clock()
	switch {
	case s.state == StateClosed:
		return 0, s.overLocked()
	case inherited && s.believedAt == never:
		return 0, &Error{
			Kind: ErrLockLost, Applied: AppliedNo,
			Message: "what was held without TTL, and not handed over, may be believed in elsewhere for ever",
		}
	case inherited && left > 0:
		return min(left, lookEvery), nil
	case s.state == StateConnecting, s.state == StateJeopardy:
		return lookEvery, nil
	}
	return 0, nil
}

// awaitGivenBack waits until what the session had under a name, and gave up, is given back: another request would find it again.
func (s *Session) awaitGivenBack(ctx context.Context, own ownName) error {
	for {
		s.mu.Lock()
		leaves, moved := s.holdings.leaves(own), s.holdings.moved
		s.mu.Unlock()
		if !leaves {
			return nil
		}
		select {
		case <-moved:
		case <-s.done:
			return s.over()
		case <-ctx.Done():
			return interrupted(ctx, false, nil)
		}
	}
}

// leaveQueues ends all claims, begins none any more, and waits until all that was given up is given back, as far as members answer.
func (s *Session) leaveQueues() {
	s.mu.Lock()
	s.leavesQueues = true
	for c := range s.claims {
		c.cancel(ending{s.overLocked()})
	}
	s.mu.Unlock()
	s.claiming.Wait()
	timer := time.NewTimer(abandonPatience)
	defer timer.Stop()
	for {
		s.mu.Lock()
		answered := s.state == StateConnected || s.state == StateSuspended
		leaves, moved := answered && s.holdings.anyLeaves(), s.holdings.moved
		s.mu.Unlock()
		if !leaves {
			return
		}
		select {
		case <-moved:
		case <-s.done:
			return
		case <-timer.C: // The next user of the session has it.
			return
		}
	}
}
