package tenure

import (
	"context"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// claim is one acquire or one try under way.
type claim struct {
	custody *custody
	own     ownName
	cancel  context.CancelCauseFunc
	end     func() // Of its call under the session.
}

// claim begins an acquire or a try, which ends with the context that is returned; done or abandon has to follow. An error says that the session begins
// none any more.
func (c *custody) claim(ctx context.Context, own ownName) (context.Context, *claim, error) {
	s := c.session
	if s.attached {
		return nil, nil, errAttached(s.id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.leavesQueues {
		return nil, nil, s.overLocked()
	}
	ctx, end, err := s.calls.beginLocked(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	claimed := &claim{custody: c, own: own, cancel: cancel, end: end}
	c.claims[claimed] = struct{}{}
	c.claiming.Add(1)
	c.holdings.ask(own)
	return ctx, claimed, nil
}

// acquire asks until it is told of a hold that can be believed, or of none. What ask is told may be late: the hold was given back, or lost, since.
func (c *claim) acquire(ctx context.Context, ask func(ctx context.Context) (*tenurev1.Hold, error)) (*Held, error) {
	pauses := &backoff.Backoff{}
	for {
		if err := c.custody.awaitGivenBack(ctx, c.own); err != nil {
			return nil, err
		}
		granted, err := ask(ctx)
		if err != nil || granted == nil {
			return nil, err
		}
		held, err := c.custody.take(ctx, granted)
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
	return c.over(func() { c.custody.holdings.owe(c.own, last) })
}

func (c *claim) over(note func()) *abandoned {
	held := c.custody
	c.cancel(nil)
	c.end()
	held.session.mu.Lock()
	defer held.session.mu.Unlock()
	note()
	delete(held.claims, c)
	held.holdings.asked(c.own)
	a := held.giveUpOwed(c.own)
	held.claiming.Done()
	return a
}
