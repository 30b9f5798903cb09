package tenure

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// calls are the calls under a session. Each change has a number, by which the cluster makes it once, and each call ends with the session, or when the
// session has been in JEOPARDY for too long.
type calls struct {
	session *Session
	window  *window

	mu   sync.Mutex // Guards what follows. It may be taken under the session's mu.
	open map[int]context.CancelCauseFunc
	next int
}

var _ caller = (*calls)(nil)

// options returns what every call under the session carries.
func (c *calls) options() *tenurev1.CallOptions {
	return &tenurev1.CallOptions{SessionSecret: c.session.secret, Epoch: c.session.epoch}
}

// read makes a call that changes nothing.
func (c *calls) read(ctx context.Context, f attempt) error {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return c.session.client.read(ctx, f)
}

// change makes a call that is applied once, by its number under the session.
func (c *calls) change(
	ctx context.Context, f func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error,
) error {
	_, err := c.changeNumbered(ctx, f)
	return err
}

// changeNumbered is change; it also returns the number, zero if there was none. Two processes would use the same numbers for different requests, so
// only the owner makes some.
func (c *calls) changeNumbered(
	ctx context.Context, f func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error,
) (uint64, error) {
	if c.session.attached {
		return 0, errAttached(c.session.id)
	}
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	sequence, err := c.window.begin(ctx)
	if err != nil {
		return 0, err
	}
	n := &numbered{calls: c, sequence: sequence}
	defer func() { c.window.end(n.sequence) }()
	err = c.session.client.retry(ctx, func(ctx context.Context, l *conn.Link) error {
		failure := f(ctx, l, n.options())
		n.failed(failure)
		return failure
	}, kindChange)
	return n.sequence, c.noteEnd(underSession(err))
}

// noteEnd asks the cluster at once whether the session lives, when an error says that it may not.
func (c *calls) noteEnd(err error) error {
	if isAny(err, ErrSessionExpired, ErrSessionSuperseded, ErrAuth) {
		wake(c.session.poke)
	}
	return err
}

// begin begins a call: the context that it returns ends also when the session does, or has been in JEOPARDY for too long.
func (c *calls) begin(ctx context.Context) (inner context.Context, end func(), err error) {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.beginLocked(ctx)
}

// beginLocked is begin under the session's mu, under which calls are interrupted, too: so none begins after that. end takes the mu of the calls only.
func (c *calls) beginLocked(ctx context.Context) (inner context.Context, end func(), err error) {
	switch l := &c.session.lease; {
	case l.state == StateClosed:
		return nil, nil, c.session.overLocked()
	case l.state == StateJeopardy && l.graceOver:
		return nil, nil, &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: errJeopardy.Error()}
	}
	inner, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	number := c.next
	c.next++
	c.open[number] = cancel
	return inner, func() {
		c.mu.Lock()
		delete(c.open, number)
		c.mu.Unlock()
		cancel(nil)
	}, nil
}

// interrupt ends all calls that are under way.
func (c *calls) interrupt(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.open {
		cancel(ending{cause})
	}
}

// drain interrupts what is still under way when it has had its time to learn its result: the cluster knows it, and is asked once more. None begins
// meanwhile: the session is over.
func (c *calls) drain(ctx context.Context, patience time.Duration, cause error) {
	c.mu.Lock()
	under := len(c.open)
	c.mu.Unlock()
	if under > 0 {
		backoff.Pause(ctx, patience)
	}
	c.interrupt(cause)
}

// underSession returns the error of a call under a session: one that is not known has ended.
func underSession(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && errors.Is(e.Kind, ErrSessionNotFound) {
		e.Kind = ErrSessionExpired
	}
	return err
}

// numbered is a request that keeps its number over its attempts.
type numbered struct {
	calls    *calls
	sequence uint64
	sent     bool // Whether an attempt under this number may have been applied, for all that is known.
	full     bool // Whether the last attempt was refused because the window is full.
}

// options returns what the next attempt carries.
func (n *numbered) options() *tenurev1.CallOptions {
	if n.full && !n.sent {
		n.sequence = n.calls.window.renumber(n.sequence)
	}
	o := n.calls.options()
	doneBelow, _ := n.calls.window.mark()
	o.RequestId = &tenurev1.RequestID{SessionId: n.calls.session.id, Sequence: n.sequence, DoneBelow: doneBelow}
	return o
}

// failed notes how an attempt failed.
func (n *numbered) failed(err error) {
	n.full = errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_REQUEST_WINDOW_FULL
	n.sent = n.sent || mayBeApplied(err)
}

// mayBeApplied reports whether an attempt failed so that its change may have been made.
func mayBeApplied(err error) bool {
	return err != nil && errorinfo.Fact(err, "applied") != string(AppliedNo)
}
