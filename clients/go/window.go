package tenure

import (
	"context"
	"errors"
	"sync"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// openMax is how many requests of a session are under way at once; more wait. The cluster remembers 1 024.
const openMax = 512

// window numbers the requests of a session, and knows which are done.
type window struct {
	room chan struct{}

	mu   sync.Mutex // Guards what follows.
	next uint64
	open map[uint64]struct{}
}

func newWindow() *window {
	return &window{room: make(chan struct{}, openMax), next: 1, open: map[uint64]struct{}{}}
}

// begin returns the number of a new request, and the number below which all are done.
func (w *window) begin(ctx context.Context) (sequence, doneBelow uint64, err error) {
	select {
	case w.room <- struct{}{}:
	case <-ctx.Done():
		return 0, 0, interrupted(ctx, false, nil)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	sequence = w.next
	w.next++
	w.open[sequence] = struct{}{}
	doneBelow = sequence
	for other := range w.open {
		doneBelow = min(doneBelow, other)
	}
	return sequence, doneBelow, nil
}

// end notes that a request is done: it will never be sent again.
func (w *window) end(sequence uint64) {
	w.mu.Lock()
	delete(w.open, sequence)
	w.mu.Unlock()
	<-w.room
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
	ctx, end, err := s.interruptible(ctx)
	if err != nil {
		return err
	}
	defer end()
	sequence, doneBelow, err := s.window.begin(ctx)
	if err != nil {
		return err
	}
	defer s.window.end(sequence)
	err = s.client.retry(ctx, func(ctx context.Context, l *conn.Link) error {
		o := s.options()
		o.RequestId = &tenurev1.RequestID{SessionId: s.id, Sequence: sequence, DoneBelow: doneBelow}
		return f(ctx, l, o)
	}, false)
	return s.noteEnd(underSession(err))
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
		cancel(cause)
	}
}
