package tenure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// waitSlack is how much longer than its caller a member waits: the caller's own deadline comes first.
const waitSlack = time.Second

// Acquire acquires the lock, waiting in its queue until ctx ends. However the wait ends, no place remains in the queue.
// If the deadline of ctx ends it, the error is ErrWaitTimedOut and context.DeadlineExceeded.
func (l *Lock) Acquire(ctx context.Context) (*Held, error) {
	if l.options.hasWait {
		if l.options.wait <= 0 {
			return l.acquireNow(ctx)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.options.wait, ending{errWaitTimedOut()})
		defer cancel()
	}
	own, err := l.own()
	if err != nil {
		return nil, err
	}
	w := &waiter{session: l.session, lock: l, own: own}
	ctx, c, err := l.session.custody.claim(ctx, own)
	if err != nil {
		return nil, err
	}
	held, err := c.acquire(ctx, w.wait)
	if err == nil || w.left == nothing {
		c.done()
		return held, err
	}
	return nil, l.given(err, c.abandon(w.last).outcome())
}

// acquireNow is an Acquire that does not wait.
func (l *Lock) acquireNow(ctx context.Context) (*Held, error) {
	held, info, err := l.TryAcquire(ctx)
	if err == nil && held == nil {
		err = &Error{Kind: ErrWaitTimedOut, Applied: AppliedNo, Message: heldBy(info.Message)}
	}
	return held, err
}

func errWaitTimedOut() error { return &Error{Kind: ErrWaitTimedOut, Applied: AppliedNo} }

// heldBy says whose a lock is: its first holder's, or theirs whose lock-delay is left. It is empty for a lock that is free.
func heldBy(lock *tenurev1.Lock) string {
	name := func(hold *tenurev1.Hold) string {
		session := "session " + hold.GetSequencer().GetSessionId()
		if hold.GetSessionName() == "" {
			return session
		}
		return fmt.Sprintf("%q (%s)", hold.GetSessionName(), session)
	}
	switch {
	case len(lock.GetHolds()) > 0:
		return "held by " + name(lock.GetHolds()[0])
	case len(lock.GetDelayed()) > 0:
		return "lock-delay after a hold by " + name(lock.GetDelayed()[0])
	}
	return ""
}

// given returns the error of a call that gave up what it had asked for. It changed nothing, except that a grant before that wrote the value.
func (l *Lock) given(err error, a *abandoned) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !l.options.hasValue {
		return err
	}
	switch {
	case a.granted:
		return e.with(AppliedYes)
	case a.known:
		return e.with(AppliedNo)
	default:
		return e.with(AppliedUnknown)
	}
}

// remains says what a wait may have in the cluster.
type remains int

// What a wait may have.
const (
	// nothing: it asked for nothing, or the cluster says that there is nothing.
	nothing remains = iota
	// perhaps a place or a hold: a stream has no first answer yet.
	perhaps
	// something: a place, which (session, owner) names from then on, or the hold that it became.
	something
)

// waiter is one wait for a lock, over as many streams as it takes.
type waiter struct {
	session *Session
	lock    *Lock
	own     ownName
	left    remains
	// request is the number of the stream that has no first answer yet; nil between streams. Another stream that is opened for want of that answer
	// has the same number, so that it is not a second wait.
	request *numbered
	last    uint64         // The number of a stream that never had its first answer.
	seen    *tenurev1.Lock // The lock when the wait began, or began again.
}

// wait waits until the lock is granted, or something ends the wait.
func (w *waiter) wait(ctx context.Context) (*tenurev1.Hold, error) {
	w.left = nothing // What an earlier grant gave was given back, or lost, since.
	defer w.unanswered()
	pauses := &backoff.Backoff{}
	for {
		granted, err := w.once(ctx)
		switch {
		case err == nil:
			return granted, nil
		case ctx.Err() != nil:
			return nil, w.interrupted(ctx, err)
		case errors.Is(err, errMoved), errors.Is(err, errStreamEnded):
			continue
		case !again(err):
			return nil, w.session.calls.noteEnd(underSession(fromRPC(err)))
		}
		if !pauses.Wait(ctx) {
			return nil, w.interrupted(ctx, err)
		}
	}
}

// interrupted returns the error of a wait whose context ended. Nothing is left of it, so nothing was applied. One that queued until its deadline has
// timed out; one that no member answered could not begin.
func (w *waiter) interrupted(ctx context.Context, last error) error {
	err := interrupted(ctx, false, last)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	if w.left == something && errors.Is(e.Kind, ErrUnavailable) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind = ErrWaitTimedOut
	}
	if holder := heldBy(w.seen); holder != "" && errors.Is(e.Kind, ErrWaitTimedOut) {
		e.Message = strings.TrimSuffix(holder+"; "+strings.TrimPrefix(e.Message, "; "), "; ")
	}
	return err
}

// number gives a stream its number: that of the one before if it had no answer.
func (w *waiter) number(ctx context.Context) error {
	if w.request == nil {
		sequence, err := w.session.calls.window.begin(ctx)
		if err != nil {
			return err
		}
		w.request = &numbered{calls: &w.session.calls, sequence: sequence}
	}
	return nil
}

// answered ends the use of a stream's number.
func (w *waiter) answered() {
	if w.request != nil {
		w.session.calls.window.end(w.request.sequence)
		w.request = nil
	}
}

// unanswered is answered for when nobody waits any more.
func (w *waiter) unanswered() {
	if w.request != nil && w.request.sent {
		w.last = w.request.sequence
	}
	w.answered()
}

// once waits over one stream.
func (w *waiter) once(ctx context.Context) (*tenurev1.Hold, error) {
	s := w.session
	l, err := s.client.link(ctx)
	if err != nil {
		if errors.Is(err, conn.ErrClosed) {
			return nil, errClientClosed()
		}
		return nil, err
	}
	defer l.Release()
	line, err := l.Line(ctx)
	if err != nil {
		return nil, err
	}
	defer line.Release()
	if err = w.number(ctx); err != nil {
		return nil, err
	}
	wait := ctx
	ctx, end := onLink(wait, l)
	defer end()
	stream, err := w.open(ctx, line)
	for err == nil {
		var step *tenurev1.AcquireLockResponse
		if step, err = stream.Recv(); err != nil {
			break
		}
		l.Answered()
		w.answered()
		switch {
		case step.GetGranted() != nil:
			w.left = something
			return step.GetGranted(), nil
		case step.GetRejected() != nil:
			return nil, w.rejected(step.GetRejected())
		case step.GetQueued() != nil:
			w.left = something
			w.seen = step.GetQueued().GetLock()
			w.tell(wait, Queued{
				Position: int(step.GetQueued().GetPlace().GetPosition()),
				Lock:     lockInfo(s.client.space, step.GetQueued().GetLock()),
			})
		case step.GetMoved() != nil:
			w.tell(wait, Queued{Position: int(step.GetMoved().GetPosition())})
		}
	}
	if w.request != nil {
		w.request.failed(err)
		if w.left == perhaps && !w.request.sent {
			w.left = nothing // All attempts were refused.
		}
	}
	if errors.Is(err, io.EOF) {
		return nil, errStreamEnded
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return nil, err
}

// tell calls the function that wants to know where it waits, until it returned or the wait is over. It may close the session, which waits for
// the end of this wait.
func (w *waiter) tell(ctx context.Context, q Queued) {
	f := w.lock.options.onQueued
	if f == nil {
		return
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		f(q)
	}()
	select {
	case <-told:
	case <-ctx.Done():
	}
}

// open begins a stream.
func (w *waiter) open(ctx context.Context, l *conn.Line) (grpc.ServerStreamingClient[tenurev1.AcquireLockResponse], error) {
	s := w.session
	o := w.request.options()
	o.Owner = w.own.owner
	w.left = max(w.left, perhaps)
	request := &tenurev1.AcquireLockRequest{
		Key: w.lock.key, SessionId: s.id, Mode: tenurev1.LockMode(w.lock.mode), Permits: w.lock.permits,
		Limit: w.lock.limit, Options: o,
	}
	if w.lock.options.hasValue {
		request.Value = append([]byte{}, w.lock.options.value...)
	}
	if w.lock.options.hasWait {
		request.Wait = durationpb.New(w.lock.options.wait + waitSlack)
	}
	return tenurev1.NewLockServiceClient(l).AcquireLock(ctx, request)
}

// rejected returns why a wait ended.
func (w *waiter) rejected(step *tenurev1.LockRejectedStep) error {
	w.left = nothing
	e := &Error{Kind: ErrWaitEnded, Applied: AppliedNo, Message: step.GetReason()}
	switch step.GetCause() {
	case tenurev1.WaitEndCause_WAIT_END_CAUSE_TIMED_OUT:
		e.Kind, e.Message = ErrWaitTimedOut, heldBy(w.seen)
	case tenurev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED:
		e.Kind = ErrSessionExpired
		wake(w.session.poke)
	default:
		if e.Message == "" {
			e.Message = fmt.Sprint(step.GetCause())
		}
	}
	return e
}

// do runs f while a hold lasts, and gives it back however f ends.
func (h *Held) do(ctx context.Context, f func(ctx context.Context, held *Held) error) (err error) {
	defer func() {
		if released := h.Close(); released != nil {
			err = errors.Join(err, released)
		}
	}()
	work, cancel := h.Context(ctx)
	defer cancel()
	return f(work, h)
}
