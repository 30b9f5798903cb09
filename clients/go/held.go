package tenure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// EndCause says why a hold ended.
type EndCause string

// The causes for which a hold ends.
const (
	// EndNone: the hold has not ended.
	EndNone EndCause = ""
	// EndReleased: this process released the hold.
	EndReleased EndCause = "released"
	// EndLeaseRanOut: no renewal was acknowledged in time, and an expiry may have given the lock to another client.
	EndLeaseRanOut EndCause = "lease_ran_out"
	// EndTakenAway: an operator took the lock away, or a check failed.
	EndTakenAway EndCause = "taken_away"
	// EndSessionClosed: this process closed the session.
	EndSessionClosed EndCause = "session_closed"
	// EndSessionEnded: the cluster reported that the session has ended.
	EndSessionEnded EndCause = "session_ended"
	// EndSuperseded: another process took the session over.
	EndSuperseded EndCause = "superseded"
	// EndExported: this process exported the session.
	EndExported EndCause = "exported"
)

// endCauseOf returns why holds end with a session that ends so.
func endCauseOf(cause Cause) EndCause {
	switch cause {
	case CauseClosed:
		return EndSessionClosed
	case CauseExported:
		return EndExported
	case CauseSuperseded:
		return EndSuperseded
	default:
		return EndSessionEnded
	}
}

// Held is a hold of a lock. It ends with Release or when it may be lost, whichever comes first, and never becomes valid
// again.
type Held struct {
	session   *Session
	sequencer *tenurev1.Sequencer
	owner     string
	mode      Mode
	permits   uint32
	inherited bool

	ended chan struct{}
	// What follows, up to next, is guarded by the session's mu.
	cause   EndCause
	doubts  int // Calls under way that may give it to another; meanwhile it is not safe.
	cancels map[int]context.CancelCauseFunc
	next    int
	// released is closed when the cluster knows of the release, or has refused it; result is what came of it so far.
	released chan struct{}
	result   error
}

// name returns what names the hold within the session.
func (h *Held) name() ownName { return ownName{key: h.sequencer.GetKey(), owner: h.owner} }

// finish tells everybody that a hold ended. Call it under mu.
func (h *Held) finish(cause EndCause) {
	if h.cause != EndNone {
		return
	}
	h.cause = cause
	close(h.ended)
	for _, cancel := range h.cancels {
		cancel(h.errLocked())
	}
	h.cancels = nil
}

// Key returns the key of the lock.
func (h *Held) Key() string { return h.session.client.space.own(h.sequencer.GetKey()) }

// Owner returns the name of the hold within the session.
func (h *Held) Owner() string { return h.owner }

// Mode returns the mode in which the lock is held.
func (h *Held) Mode() Mode { return h.mode }

// Permits returns how many permits of a semaphore are held.
func (h *Held) Permits() int { return int(h.permits) }

// Token returns the fencing token. It grows with every grant in the cluster, so a resource that remembers the largest
// token it has seen can refuse a holder that lost an exclusive lock.
func (h *Held) Token() uint64 { return h.sequencer.GetFencingToken() }

// LockIndex returns the number of the hold on its key.
func (h *Held) LockIndex() uint64 { return h.sequencer.GetLockIndex() }

// Sequencer returns the proof of the hold, which can be passed to other processes.
func (h *Held) Sequencer() Sequencer { return sequencerOf(h.sequencer) }

// Session returns the session that holds the lock.
func (h *Held) Session() *Session { return h.session }

// Safe reports whether the lock is certainly held. It reads the clock and makes no call.
func (h *Held) Safe() bool { return h.SafeFor() > 0 }

// SafeFor returns how long the lock is certainly held even if no further renewal is acknowledged; zero once the hold
// has ended.
func (h *Held) SafeFor() time.Duration {
	s := h.session
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.look()
	if h.cause != EndNone || h.doubts > 0 {
		return 0
	}
	return s.lease.safeFor(now)
}

// Lost is closed when the hold has ended, even by Release: see Err.
func (h *Held) Lost() <-chan struct{} { return h.ended }

// Cause returns why the hold ended; EndNone if it has not.
func (h *Held) Cause() EndCause {
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	h.session.look()
	return h.cause
}

// Err returns nil while the hold has not ended, then ErrReleased or an error that wraps ErrLockLost.
func (h *Held) Err() error {
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	h.session.look()
	return h.errLocked()
}

func (h *Held) errLocked() error {
	switch h.cause {
	case EndNone:
		return nil
	case EndReleased:
		return ErrReleased
	default:
		return &Error{
			Kind: ErrLockLost, Applied: AppliedUnknown,
			Message: fmt.Sprintf("%s: %s", h.session.client.space.own(h.sequencer.GetKey()), h.cause),
		}
	}
}

// Context returns a context that ends with ctx or when the hold ends; then context.Cause is what Err returns. Call
// cancel when the work is done.
func (h *Held) Context(ctx context.Context) (held context.Context, cancel context.CancelFunc) {
	s := h.session
	held, end := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	if h.cause != EndNone {
		end(h.errLocked())
		return held, func() { end(nil) }
	}
	number := h.next
	h.next++
	h.cancels[number] = end
	return held, func() {
		s.mu.Lock()
		delete(h.cancels, number)
		s.mu.Unlock()
		end(nil)
	}
}

// ReleaseOption says what to do with the key in the same step.
type ReleaseOption func(*tenurev1.ReleaseLockRequest)

// ReleasePut writes a value to the key with the release.
func ReleasePut(value []byte) ReleaseOption {
	value = slices.Clone(value) // It may be sent after Release returned.
	return func(r *tenurev1.ReleaseLockRequest) { r.ValueOp = &tenurev1.ReleaseLockRequest_Put{Put: value} }
}

// ReleaseDelete deletes the key with the release.
func ReleaseDelete() ReleaseOption {
	return func(r *tenurev1.ReleaseLockRequest) { r.ValueOp = &tenurev1.ReleaseLockRequest_Delete{Delete: true} }
}

// Release releases the lock. The hold ends immediately. The library repeats the release until the cluster has
// acknowledged it, even if ctx ends before that. If the cluster refuses it, because a right is missing (ErrAuth) or a
// limit is reached (ErrLimit), Release returns the refusal at once, and the library goes on trying while the session
// lives. Releasing a hold twice is not an error: the second call returns what came of the first. Releasing a lost hold
// returns an error that wraps ErrLockLost.
func (h *Held) Release(ctx context.Context, options ...ReleaseOption) error {
	r := h.plainRelease()
	for _, option := range options {
		option(r.request)
	}
	if err := h.beginRelease(r); err != nil {
		return err
	}
	if err := h.awaitRelease(ctx); err != nil {
		return err
	}
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	return h.result
}

// awaitRelease waits until the cluster knows of the release, or has refused it. A context that Context made ends by the release itself; then it waits as
// Close does.
func (h *Held) awaitRelease(ctx context.Context) error {
	select {
	case <-h.released:
		return nil
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), ErrReleased) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
	}
	select {
	case <-h.released:
		return nil
	case <-ctx.Done():
		return interrupted(ctx, true, nil)
	}
}

// beginRelease ends the hold and starts to tell the cluster.
func (h *Held) beginRelease(r *returning) error {
	s := h.session
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.look()
	switch {
	case h.cause == EndReleased:
		return nil
	case h.cause != EndNone:
		return h.errLocked()
	}
	r.doubt, r.safeUntil = h.doubts > 0, now+s.lease.safeFor(now)
	h.released = make(chan struct{})
	s.custody.holdings.leave(h.name())
	s.custody.end(h, EndReleased)
	if !s.work.start(func(ctx context.Context) {
		result := h.release(ctx, r)
		s.custody.left(h.name())
		h.settle(result)
	}) {
		s.custody.leftLocked(h.name())
		close(h.released) // The session is being closed, which gives everything back.
	}
	return nil
}

// release tells the cluster, and returns what came of it at last. If a member refuses and it tries again, it reports the refusal at once.
func (h *Held) release(ctx context.Context, r *returning) error {
	c := &h.session.custody
	var err error
	if r.request.GetValueOp() == nil {
		err = c.releaseAnyway(ctx, r, h.settle)
	} else if err = c.release(ctx, r); err != nil && AppliedOf(err) != AppliedYes {
		// What was to become of the key was refused, perhaps before the cluster saw it, and the lock with it; it is given back all the same.
		_ = c.releaseAnyway(ctx, h.plainRelease(), func(error) { h.settle(err) })
	}
	if err == nil && !r.found {
		return h.lostBefore(r)
	}
	return err
}

// lostBefore notes that a release found nothing to release, so that the hold was lost when its user believed in it. Where the answer came after the end
// of the lease as it was then, that alone may be why.
func (h *Held) lostBefore(r *returning) error {
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	if h.session.look() >= r.safeUntil {
		return nil
	}
	h.cause = EndTakenAway
	return h.errLocked()
}

// settle notes what came of the release so far, and tells whoever waits for it.
func (h *Held) settle(result error) {
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	h.result = result
	select {
	case <-h.released:
	default:
		close(h.released)
	}
}

// plainRelease returns a request that does nothing to the key.
func (h *Held) plainRelease() *returning {
	return &returning{owner: h.owner, request: &tenurev1.ReleaseLockRequest{
		Key: h.sequencer.GetKey(), SessionId: h.session.id, LockIndex: h.LockIndex(),
	}}
}

// Close is Release for use with defer: it releases the lock, and waits a few seconds at most for the cluster's answer.
// If the hold was lost, it returns an error that says so.
func (h *Held) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	return h.Release(ctx)
}
