package main

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// transient tells whether an error may pass: while a session lives, waiting goes on.
func transient(err error) bool {
	var unreachable *unreachableError
	switch {
	case errors.As(err, &unreachable), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, errNoAnswer), errors.Is(err, errStreamEnded):
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Canceled:
		return true
	default:
		return false
	}
}

// watchHold waits until a hold is lost or given back, and says how; it returns nil when ctx ends, and when it cannot tell.
func watchHold(ctx context.Context, m *members, hold *tenurev1.Sequencer) error {
	watch := &watcher{
		members: m,
		patient: true,
		request: &tenurev1.WatchRequest{
			Locks:         []string{hold.GetKey()},
			AfterRevision: hold.GetFencingToken(),
			HistoryId:     hold.GetHistoryId(),
		},
	}
	err := watch.run(ctx, func(e *tenurev1.Event) error {
		if e.GetHold().GetSequencer().GetLockIndex() != hold.GetLockIndex() {
			return nil
		}
		switch e.GetType() {
		case tenurev1.EventType_EVENT_TYPE_LOCK_LOST, tenurev1.EventType_EVENT_TYPE_LOCK_RELEASED:
			return &holdLostError{cause: e.GetHoldEndCause(), reason: e.GetReason()}
		default:
			return nil
		}
	})
	if lost, ok := errors.AsType[*holdLostError](err); ok {
		return lost
	}
	// Without the watch a loss shows later: by the session's next renewal, or by the lease.
	return nil
}
