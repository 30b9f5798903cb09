package server

import (
	"context"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// unreadMax is how long a message may stay unread by a client while the call holds a snapshot of the store, which keeps
// everything on disk that is deleted meanwhile.
const unreadMax = time.Minute

// heldSender sends the messages of a call that holds a snapshot, and gives up when the client does not read. A send cannot
// be ended from outside: it is done by a goroutine of its own, which ends when gRPC ends the stream, right after the call
// has returned.
type heldSender[T any] struct {
	in       chan T
	out      chan error // one slot, so that a late end waits for nobody
	patience time.Duration
}

// newHeldSender returns a sender for a stream. It must be closed.
func newHeldSender[T any](send func(T) error, patience time.Duration) *heldSender[T] {
	h := &heldSender[T]{in: make(chan T), out: make(chan error, 1), patience: patience}
	go func() {
		for m := range h.in {
			h.out <- send(m)
		}
	}()
	return h
}

// send sends a message, and returns when it may be used again. After an error nothing more may be sent.
func (h *heldSender[T]) send(ctx context.Context, m T) error {
	h.in <- m // Whoever takes it has nothing else to do.
	timer := time.NewTimer(h.patience)
	defer timer.Stop()
	select {
	case err := <-h.out:
		return err
	case <-timer.C:
		return newError(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, "the client has not read for %v", h.patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close lets the goroutine end.
func (h *heldSender[T]) close() { close(h.in) }

// patienceWithClients returns how long a message may stay unread while a snapshot is held.
func (a *api) patienceWithClients() time.Duration {
	if a.unreadMax == 0 {
		return unreadMax
	}
	return a.unreadMax
}
