package call

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// unreadMax is how long a message may stay unread by a client while the call holds a snapshot of the store, which keeps
// everything on disk that is deleted meanwhile.
const unreadMax = time.Minute

// unreadRate is how many bytes a second a client must read at least while the call holds a snapshot, after unreadMax. Who reads
// a little now and then would hold it for weeks.
const unreadRate = 64 << 10

// HeldSender sends the messages of a call that holds a snapshot, and gives up when the client does not read. A send cannot
// be ended from outside: it is done by a goroutine of its own, which ends when gRPC ends the stream, right after the call
// has returned.
type HeldSender[T proto.Message] struct {
	in       chan T
	out      chan error // one slot, so that a late end waits for nobody
	patience time.Duration
	left     time.Duration // for which it may still wait for the client, all messages together
}

// NewHeldSender returns a sender for a stream. It must be closed.
func NewHeldSender[T proto.Message](send func(T) error, patience time.Duration) *HeldSender[T] {
	h := &HeldSender[T]{in: make(chan T), out: make(chan error, 1), patience: patience, left: patience}
	go func() {
		for m := range h.in {
			h.out <- send(m)
		}
	}()
	return h
}

// Send sends a message, and returns when it may be used again. After an error nothing more may be sent.
func (h *HeldSender[T]) Send(ctx context.Context, m T) error {
	h.left += time.Duration(proto.Size(m)) * time.Second / unreadRate
	h.in <- m // Whoever takes it has nothing else to do.
	began := time.Now()
	defer func() { h.left -= time.Since(began) }()
	timer := time.NewTimer(min(h.patience, h.left))
	defer timer.Stop()
	select {
	case err := <-h.out:
		return err
	case <-timer.C:
		if h.left < h.patience {
			return reason.New(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED,
				"the client reads less than %d KiB in a second", unreadRate>>10)
		}
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, "the client has not read for %v", h.patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close lets the goroutine end.
func (h *HeldSender[T]) Close() { close(h.in) }
