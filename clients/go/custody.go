package tenure

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// refusedPauseMax is the longest pause before a release that was refused is tried again.
const refusedPauseMax = 30 * time.Second

// custody takes care of what a session has of locks: of its claims, of grants until they can be believed, and of holds and places until they are
// given back. The session's mu guards it: whether something is believed is decided at once with whether the session lives.
type custody struct {
	session  *Session
	holdings holdings

	claims       map[*claim]struct{}
	leavesQueues bool           // Whether claims may begin no more.
	claiming     sync.WaitGroup // Claims; none is added once leavesQueues.
}

// hold makes a Held of what the cluster granted, or returns the one that there is; nil if it was given back or lost since. Call it under mu, when
// it can be believed.
func (c *custody) hold(granted *tenurev1.Hold) *Held {
	if c.holdings.late(granted) {
		return nil
	}
	if h := c.holdings.known(granted); h != nil {
		return h // The same owner acquired it before.
	}
	h := &Held{
		session: c.session, sequencer: granted.GetSequencer(), owner: granted.GetOwner(), mode: Mode(granted.GetMode()),
		permits: granted.GetPermits(), inherited: c.holdings.disinherit(granted),
		ended: make(chan struct{}), cancels: map[int]context.CancelCauseFunc{},
	}
	if before := c.holdings.believe(h); before != nil {
		before.finish(EndTakenAway)
	}
	wake(c.session.watch)
	return h
}

// adoptAll makes Helds of what was inherited, and returns all that there are. Call it under mu.
func (c *custody) adoptAll() []*Held {
	for _, hold := range slices.Clone(c.holdings.inherited) {
		c.hold(hold)
	}
	helds := slices.DeleteFunc(c.holdings.helds(), func(h *Held) bool { return !h.inherited })
	slices.SortFunc(helds, func(a, b *Held) int {
		return cmp.Or(cmp.Compare(a.Token(), b.Token()), cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.owner, b.owner))
	})
	return helds
}

// take makes a Held of a grant, or returns the one that there is, as soon as it can be believed; nil if the hold was given back or lost since.
func (c *custody) take(ctx context.Context, granted *tenurev1.Hold) (held *Held, err error) {
	err = c.whenBelieved(ctx, func() bool { return c.holdings.inherits(granted) }, func() { held = c.hold(granted) })
	return held, err
}

// whenBelieved calls f under mu as soon as this process can rely on what the session has: the session lives for certain and, where inherited
// says so, no earlier process can rely on it. Inherited is called under mu, too.
func (c *custody) whenBelieved(ctx context.Context, inherited func() bool, f func()) error {
	for {
		c.session.mu.Lock()
		wait, err := c.belief(inherited())
		if err == nil && wait == 0 {
			f()
		}
		changed := c.session.changed
		c.session.mu.Unlock()
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
func (c *custody) belief(inherited bool) (wait time.Duration, err error) {
	now := c.session.look()
	if c.session.lease.state == StateClosed {
		return 0, c.session.overLocked()
	}
	if wait = c.session.lease.belief(now, inherited); wait == never {
		return 0, &Error{
			Kind: ErrLockLost, Applied: AppliedNo,
			Message: "another process may always rely on what was held without TTL and not handed over",
		}
	}
	return wait, nil
}

// awaitGivenBack waits until what the session had under a name, and gave up, is given back: another request would find it again.
func (c *custody) awaitGivenBack(ctx context.Context, own ownName) error {
	for {
		c.session.mu.Lock()
		leaves, moved := c.holdings.leaves(own), c.holdings.moved
		c.session.mu.Unlock()
		if !leaves {
			return nil
		}
		select {
		case <-moved:
		case <-c.session.done:
			return c.session.over()
		case <-ctx.Done():
			return interrupted(ctx, false, nil)
		}
	}
}

// leaveQueues ends all claims, refuses new ones, and waits until everything that was given up is released, as far as members answer.
func (c *custody) leaveQueues() {
	c.session.mu.Lock()
	c.leavesQueues = true
	for claimed := range c.claims {
		claimed.cancel(ending{c.session.overLocked()})
	}
	c.session.mu.Unlock()
	c.claiming.Wait()
	timer := time.NewTimer(abandonPatience)
	defer timer.Stop()
	for {
		c.session.mu.Lock()
		answered := c.session.lease.certain()
		leaves, moved := answered && c.holdings.anyLeaves(), c.holdings.moved
		c.session.mu.Unlock()
		if !leaves {
			return
		}
		select {
		case <-moved:
		case <-c.session.done:
			return
		case <-timer.C: // The next user of the session has it.
			return
		}
	}
}

// endAll ends all that is held. Call it under mu.
func (c *custody) endAll(cause EndCause) {
	for _, h := range c.holdings.helds() {
		c.end(h, cause)
	}
}

// end ends one hold. If the cluster may still count it, it is given back later. Call it under mu.
func (c *custody) end(h *Held, cause EndCause) {
	if cause == EndLeaseRanOut {
		c.holdings.leave(h.name())
		c.holdings.due = append(c.holdings.due, h)
	}
	c.holdings.end(h)
	h.finish(cause)
	c.giveUpOwed(h.name())
}

// releaseAnyway is release, which goes on after a refusal that may pass, such as that of a token that has just run out, until the session is over:
// nobody else gives the lock back while the session lives. It calls refused with each such refusal.
func (c *custody) releaseAnyway(ctx context.Context, r *returning, refused func(err error)) error {
	pauses := &backoff.Backoff{Longest: refusedPauseMax}
	for {
		err := c.release(ctx, r)
		if !isAny(err, ErrAuth, ErrLimit) || c.session.Err() != nil {
			return err
		}
		refused(err)
		if !pauses.Wait(ctx) {
			return err
		}
	}
}

// returning is the release of a hold, which may take several attempts.
type returning struct {
	request *tenurev1.ReleaseLockRequest
	owner   string
	// doubt says that an attempt may have released it, and found says that it was there to release, as far as is known.
	doubt, found bool
	// safeUntil is when the lease under which the hold was believed ends.
	safeUntil time.Duration
}

// release tells the cluster of a release until it knows or refuses it, or the session is over.
func (c *custody) release(ctx context.Context, r *returning) error {
	pauses := &backoff.Backoff{}
	for {
		err := c.session.calls.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error {
			o.Owner = r.owner
			r.request.Options = o
			response, err := tenurev1.NewLockServiceClient(l).ReleaseLock(ctx, r.request)
			r.found = response.GetReleased() || r.doubt
			r.doubt = r.doubt || mayBeApplied(err)
			return err
		})
		if !isAny(err, ErrUnavailable, ErrOutcomeUnknown, ErrInternal) || !pauses.Wait(ctx) || c.session.Err() != nil {
			return err
		}
	}
}

// giveBackDue releases what ended here while the session was in JEOPARDY.
func (c *custody) giveBackDue() {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	for _, h := range c.holdings.due {
		c.giveBack(h)
	}
	c.holdings.due = nil
}

// giveBack releases in the background what was noted as leaving. Call it under mu.
func (c *custody) giveBack(h *Held) {
	if !c.session.work.start(func(ctx context.Context) {
		defer c.left(h.name())
		_ = c.releaseAnyway(ctx, h.plainRelease(), func(error) {})
	}) {
		c.leftLocked(h.name())
	}
}

// reconcile compares what is held with what the cluster says: a hold that the cluster no longer counts has ended.
func (c *custody) reconcile(truth *tenurev1.AttachSessionResponse) {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.session.look()
	for _, h := range c.holdings.compare(truth.GetHolds(), truth.GetHeader().GetRevision()) {
		c.end(h, EndTakenAway)
	}
}

// giveUp gives up a place for which no call waits, or the hold that it became.
func (c *custody) giveUp(own ownName) {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.holdings.owe(own, 0)
	c.giveUpOwed(own)
}

// giveUpOwed has what is owed under a name given up, in the background until the cluster knows or the session is over; nil if there is nothing to
// give up yet. Call it under mu, whenever somebody stops using the name.
func (c *custody) giveUpOwed(own ownName) *abandoned {
	last, now := c.holdings.takeOwed(own)
	if !now {
		return nil
	}
	a := &abandoned{custody: c, own: own, last: last, done: make(chan struct{})}
	if !c.session.work.start(func(ctx context.Context) {
		defer close(a.done)
		defer c.left(own)
		a.leave(ctx)
	}) {
		c.leftLocked(own)
		close(a.done)
	}
	return a
}

// left notes that something was given back.
func (c *custody) left(own ownName) {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.leftLocked(own)
}

// leftLocked is left under mu.
func (c *custody) leftLocked(own ownName) {
	c.holdings.left(own)
	c.giveUpOwed(own)
}
