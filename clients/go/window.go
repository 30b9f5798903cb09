package tenure

import (
	"context"
	"errors"
	"sync"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// windowMax is how far the newest request of a session may be ahead of the oldest that is under way; more wait. The cluster
// remembers the results of 1 024 from the oldest on, also of those that were answered since.
const windowMax = 512

// window numbers the requests of a session, and knows which are done.
type window struct {
	mu    sync.Mutex // Guards what follows.
	next  uint64
	low   uint64 // All below are done.
	open  map[uint64]struct{}
	moved chan struct{} // Closed and replaced when low rises.
}

func newWindow() *window {
	return &window{next: 1, low: 1, open: map[uint64]struct{}{}, moved: make(chan struct{})}
}

// begin returns the number of a new request, as soon as there is room for it.
func (w *window) begin(ctx context.Context) (uint64, error) {
	for {
		w.mu.Lock()
		if w.next-w.low < windowMax {
			defer w.mu.Unlock()
			return w.draw(), nil
		}
		moved := w.moved
		w.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return 0, interrupted(ctx, false, nil)
		}
	}
}

// draw returns the next number. Call it under mu.
func (w *window) draw() uint64 {
	sequence := w.next
	w.next++
	w.open[sequence] = struct{}{}
	return sequence
}

// end notes that a request is done: it will never be sent again. Ending it again does nothing.
func (w *window) end(sequence uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close(sequence)
}

// close is end under mu.
func (w *window) close(sequence uint64) {
	delete(w.open, sequence)
	before := w.low
	for w.low < w.next {
		if _, open := w.open[w.low]; open {
			break
		}
		w.low++
	}
	if w.low > before {
		close(w.moved)
		w.moved = make(chan struct{})
	}
}

// renumber gives a request of which nothing was done another number, so that it is not what keeps the window full.
func (w *window) renumber(sequence uint64) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close(sequence)
	return w.draw()
}

// mark returns the number below which all are done, and a channel that is closed when that changes.
func (w *window) mark() (doneBelow uint64, moved <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.low, w.moved
}

// numbered is a request that keeps its number over its attempts.
type numbered struct {
	session  *Session
	sequence uint64
	sent     bool // Whether an attempt under this number may have been applied, for all that is known.
	full     bool // Whether the last attempt was refused because the window is full.
}

// options returns what the next attempt carries.
func (n *numbered) options() *tenurev1.CallOptions {
	if n.full && !n.sent {
		n.sequence = n.session.window.renumber(n.sequence)
	}
	o := n.session.options()
	doneBelow, _ := n.session.window.mark()
	o.RequestId = &tenurev1.RequestID{SessionId: n.session.id, Sequence: n.sequence, DoneBelow: doneBelow}
	return o
}

// failed notes how an attempt failed.
func (n *numbered) failed(err error) {
	n.full = reasonOf(err) == tenurev1.ErrorReason_ERROR_REASON_REQUEST_WINDOW_FULL
	n.sent = n.sent || err != nil && infoOf(err).GetMetadata()["applied"] != string(AppliedNo)
}

// options returns what every call under the session carries.
func (s *Session) options() *tenurev1.CallOptions {
	return &tenurev1.CallOptions{SessionSecret: s.secret, Epoch: s.epoch}
}

// read makes a call that changes nothing.
func (s *Session) read(ctx context.Context, f attempt) error {
	ctx, end, err := s.interruptible(ctx)
	if err != nil {
		return err
	}
	defer end()
	return s.client.read(ctx, f)
}

// change makes a call that is applied once, by its number under the session.
func (s *Session) change(
	ctx context.Context, f func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error,
) error {
	_, err := s.changeNumbered(ctx, f)
	return err
}

// changeNumbered is change; it also returns the number, zero if there was none. Two processes would use the same numbers for different requests, so
// only the owner makes some.
func (s *Session) changeNumbered(
	ctx context.Context, f func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error,
) (uint64, error) {
	if s.attached {
		return 0, s.errAttached()
	}
	ctx, end, err := s.interruptible(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	sequence, err := s.window.begin(ctx)
	if err != nil {
		return 0, err
	}
	n := &numbered{session: s, sequence: sequence}
	defer func() { s.window.end(n.sequence) }()
	err = s.client.retry(ctx, func(ctx context.Context, l *conn.Link) error {
		failure := f(ctx, l, n.options())
		n.failed(failure)
		return failure
	}, false)
	return n.sequence, s.noteEnd(underSession(err))
}

// noteEnd asks the cluster at once whether the session lives, when an error says that it may not.
func (s *Session) noteEnd(err error) error {
	if isAny(err, ErrSessionExpired, ErrSessionSuperseded, ErrAuth) {
		wake(s.poke)
	}
	return err
}

// underSession returns the error of a call under a session: one that is not known has ended.
func underSession(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && errors.Is(e.Kind, ErrSessionNotFound) {
		e.Kind = ErrSessionExpired
	}
	return err
}

// interruptible returns a context that ends also when the session does, or has been in JEOPARDY for too long.
func (s *Session) interruptible(ctx context.Context) (inner context.Context, end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interruptibleLocked(ctx)
}

// interruptibleLocked is interruptible under mu; end takes mu itself.
func (s *Session) interruptibleLocked(ctx context.Context) (inner context.Context, end func(), err error) {
	switch {
	case s.state == StateClosed:
		return nil, nil, s.overLocked()
	case s.state == StateJeopardy && s.graceOver:
		return nil, nil, &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: errJeopardy.Error()}
	}
	inner, cancel := context.WithCancelCause(ctx)
	number := s.nextCall
	s.nextCall++
	s.calls[number] = cancel
	return inner, func() {
		s.mu.Lock()
		delete(s.calls, number)
		s.mu.Unlock()
		cancel(nil)
	}, nil
}

// interruptCalls ends all calls that are under way. Call it under mu.
func (s *Session) interruptCalls(cause error) {
	for _, cancel := range s.calls {
		cancel(ending{cause})
	}
}
