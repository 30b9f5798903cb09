package tenure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// life is a session's lease, and what its changes do to all that hangs on it: listeners, what is held, calls.
type life struct {
	session   *Session
	listeners listeners

	mu      sync.Mutex    // Guards what follows, and the session's custody.
	lease   lease         // Its TTL, and when to believe what was inherited, are set before anything else sees the session.
	refused error         // Why the last renewal was refused; nil if it was not.
	changed chan struct{} // Closed and replaced with each change of state.
	done    chan struct{} // Closed with StateClosed.
}

// look looks at the clock and does what follows for the lease: if it ran out, what was held ends. It returns the time. Call it under mu.
func (l *life) look() (now time.Duration) {
	now = l.session.client.clock()
	l.follow(l.lease.look(now))
	return now
}

// follow carries out what follows from an event. Call it under mu, in which the lease took the event.
func (l *life) follow(e effects) {
	for _, change := range e.changes[:e.changed] {
		l.listeners.tell(change)
		close(l.changed)
		l.changed = make(chan struct{})
	}
	if e.ranOut {
		l.session.custody.endAll(EndLeaseRanOut)
	}
	if e.graceOver {
		l.session.calls.interrupt(errJeopardy)
	}
}

// renewed takes an acknowledged renewal that was sent at a moment. It reports whether the session is CONNECTED by it.
func (l *life) renewed(sent, ttl time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = nil
	connected, e := l.lease.renewed(sent, ttl, l.session.client.clock())
	l.follow(e)
	if connected {
		wake(l.session.watch)
	}
	return connected
}

// linkDown notes that no member answers at the moment.
func (l *life) linkDown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow(l.lease.linkDown(l.session.client.clock()))
}

// failed notes how an attempt to renew failed: whether the cluster refused it for want of a right or of a credential.
func (l *life) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = nil
	if e, ok := errors.AsType[*Error](fromRPC(err)); ok && errors.Is(e, ErrAuth) {
		l.refused = e
	}
}

// end ends the session for this process, and reports whether it was this call that did.
func (l *life) end(cause Cause) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended, e := l.lease.end(cause, l.session.client.clock())
	l.follow(e)
	if !ended {
		return false
	}
	close(l.done)
	l.session.custody.endAll(endCauseOf(cause))
	switch cause {
	case CauseClosed, CauseExported:
		l.session.calls.interrupt(l.overLocked())
	default:
		patience := l.lease.grace()
		l.session.work.start(func(ctx context.Context) {
			l.session.calls.drain(ctx, patience, l.over())
			l.session.client.endings.start(func(context.Context) { l.session.client.care.release(l.session) })
		})
	}
	return true
}

// over returns the error of calls under a session that is over.
func (l *life) over() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.overLocked()
}

// overLocked is over under mu.
func (l *life) overLocked() error {
	e := &Error{Kind: l.lease.cause.err(), Applied: AppliedNo, Message: fmt.Sprintf("session %s", l.session.id)}
	if l.lease.cause == CauseAuthFailed {
		e.Reason, e.Message = "SESSION_SECRET_WRONG", e.Message+": its secret is wrong, or was not given"
	}
	return e
}
