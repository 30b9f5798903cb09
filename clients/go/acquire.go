package tenure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// waitSlack is how much longer than its caller a member waits: the caller's own deadline comes first.
	waitSlack = time.Second
	// abandonPatience bounds how long a call that failed waits until its place is given up.
	abandonPatience = 2 * time.Second
)

// Acquire takes the lock, waiting in its queue until ctx ends. Whatever ends the wait, no place is left in the queue.
func (l *Lock) Acquire(ctx context.Context) (*Held, error) {
	if l.key == "" {
		return nil, invalid("the key is empty")
	}
	if l.options.hasWait {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, l.options.wait, &Error{Kind: ErrWaitTimedOut, Applied: AppliedNo})
		defer cancel()
	}
	s := l.session
	w := &waiter{session: s, lock: l, owner: l.owner()}
	if err := s.awaitOrphan(ctx, l.key, w.owner); err != nil {
		return nil, err
	}
	granted, err := w.wait(ctx)
	if err == nil {
		return s.take(granted)
	}
	if !w.settled {
		given := s.abandon(l.key, w.owner)
		timer := time.NewTimer(abandonPatience)
		select {
		case <-given:
		case <-timer.C: // It goes on behind.
		}
		timer.Stop()
	}
	return nil, err
}

// take makes a Held of a grant, or tells why it cannot be believed.
func (s *Session) take(granted *tenurev1.Hold) (*Held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.helds {
		if h.is(granted.GetSequencer()) {
			return h, nil // The same owner acquired it before.
		}
	}
	h := s.hold(granted)
	if h.cause != EndNone {
		return nil, h.errLocked()
	}
	return h, nil
}

// waiter is one wait for a lock, over as many streams as it takes.
type waiter struct {
	session *Session
	lock    *Lock
	owner   string
	// queued tells that the cluster has the place: from then on (session, owner) names it, and no request id is needed.
	queued bool
	// settled tells that there is no place to give up.
	settled bool

	sequence, doneBelow uint64
}

// wait waits until the lock is granted, or something ends the wait.
func (w *waiter) wait(ctx context.Context) (*tenurev1.Hold, error) {
	s := w.session
	ctx, end, err := s.interruptible(ctx)
	if err != nil {
		w.settled = true
		return nil, err
	}
	defer end()
	if w.sequence, w.doneBelow, err = s.window.begin(ctx); err != nil {
		w.settled = true
		return nil, err
	}
	defer w.numbered()
	pauses := &backoff.Backoff{}
	for {
		granted, err := w.once(ctx)
		switch {
		case err == nil:
			return granted, nil
		case ctx.Err() != nil:
			return nil, interrupted(ctx, false, err) // Nothing is left of it, so nothing was applied.
		case errors.Is(err, errMoved), errors.Is(err, errStreamEnded):
			continue
		case !again(err):
			err = s.noteEnd(underSession(fromRPC(err)))
			w.settled = AppliedOf(err) == AppliedNo && !w.queued
			return nil, err
		}
		if !pauses.Wait(ctx) {
			return nil, interrupted(ctx, false, err)
		}
	}
}

// numbered ends the use of the request's number, once.
func (w *waiter) numbered() {
	if w.sequence != 0 {
		w.session.window.end(w.sequence)
		w.sequence = 0
	}
}

// once waits over one stream.
func (w *waiter) once(ctx context.Context) (*tenurev1.Hold, error) {
	s := w.session
	l, err := s.client.pool.Get(ctx)
	if err != nil {
		if errors.Is(err, conn.ErrClosed) {
			return nil, errClientClosed()
		}
		return nil, err
	}
	defer l.Release()
	ctx, end := onLink(ctx, l)
	defer end()
	next, err := w.open(ctx, l)
	for err == nil {
		var step *tenurev1.AcquireLockResponse
		if step, err = next(); err != nil {
			break
		}
		l.Answered()
		switch {
		case step.GetGranted() != nil:
			return step.GetGranted(), nil
		case step.GetRejected() != nil:
			return nil, w.rejected(step.GetRejected())
		case step.GetQueued() != nil:
			w.queued = true
			w.numbered()
			w.tell(Queued{
				Position: int(step.GetQueued().GetPlace().GetPosition()),
				Lock:     lockInfo(s.client.space, step.GetQueued().GetLock()),
			})
		case step.GetMoved() != nil:
			w.tell(Queued{Position: int(step.GetMoved().GetPosition())})
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

func (w *waiter) tell(q Queued) {
	if f := w.lock.options.onQueued; f != nil {
		f(q)
	}
}

// open begins a stream: a campaign for an election, else for the lock.
func (w *waiter) open(ctx context.Context, l *conn.Link) (func() (*tenurev1.AcquireLockResponse, error), error) {
	s := w.session
	o := s.options()
	o.Owner = w.owner
	if !w.queued {
		o.RequestId = &tenurev1.RequestID{SessionId: s.id, Sequence: w.sequence, DoneBelow: w.doneBelow}
	}
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
	stream, err := tenurev1.NewLockServiceClient(l).AcquireLock(ctx, request)
	if err != nil {
		return nil, err
	}
	return stream.Recv, nil
}

// rejected returns why a wait ended.
func (w *waiter) rejected(step *tenurev1.LockRejectedStep) error {
	w.settled = true
	e := &Error{Kind: ErrWaitEnded, Applied: AppliedNo, Message: step.GetReason()}
	switch step.GetCause() {
	case tenurev1.WaitEndCause_WAIT_END_CAUSE_TIMED_OUT:
		e.Kind = ErrWaitTimedOut
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

// abandon gives up a place in a queue, or the hold that it became, in the background until the cluster knows or the session is over.
// The channel is closed then.
func (s *Session) abandon(key, owner string) <-chan struct{} {
	given := make(chan struct{})
	started := s.work.start(func(ctx context.Context) {
		defer close(given)
		pauses := &backoff.Backoff{}
		for s.Err() == nil {
			answer, err := s.cancelWait(ctx, key, owner)
			if hold := answer.GetHold(); err == nil && hold != nil {
				err = s.release(ctx, &tenurev1.ReleaseLockRequest{
					Key: key, SessionId: s.id, LockIndex: hold.GetSequencer().GetLockIndex(),
				}, owner)
			}
			if err == nil || !pauses.Wait(ctx) {
				return
			}
		}
	})
	if !started {
		close(given)
	}
	return given
}

func (s *Session) cancelWait(ctx context.Context, key, owner string) (answer *tenurev1.CancelWaitResponse, err error) {
	err = s.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) (err error) {
		o.Owner = owner
		answer, err = tenurev1.NewLockServiceClient(l).CancelWait(ctx, &tenurev1.CancelWaitRequest{
			Key: key, SessionId: s.id, Options: o,
		})
		return err
	})
	return answer, err
}

// awaitOrphan waits until a possession of the same name, which ended here, is given back: an acquire would find it again.
func (s *Session) awaitOrphan(ctx context.Context, key, owner string) error {
	for {
		s.mu.Lock()
		waiting := false
		for name, o := range s.orphans {
			waiting = waiting || name.key == key && o.owner == owner
		}
		state := s.state
		s.mu.Unlock()
		switch {
		case !waiting:
			return nil
		case state == StateClosed:
			return s.over()
		case !backoff.Pause(ctx, lookEvery):
			return interrupted(ctx, false, nil)
		}
	}
}

// do runs f while a hold lasts, and gives it back.
func (h *Held) do(ctx context.Context, f func(ctx context.Context, held *Held) error) error {
	work, cancel := h.Context(ctx)
	defer cancel()
	err := f(work, h)
	if released := h.Close(); released != nil {
		return errors.Join(err, released)
	}
	return err
}
