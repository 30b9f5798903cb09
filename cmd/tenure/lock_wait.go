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

// watchHold waits until a hold is lost or given back, and says how; it returns nil when ctx ends. When the watch cannot
// go on, say because the history behind it is forgotten, it asks whether the hold still is, and watches on from the answer.
func watchHold(ctx context.Context, m *members, hold *tenurev1.Sequencer) error {
	pause := backoff{}
	for after := hold.GetFencingToken(); ; {
		err := watchHoldAfter(ctx, m, hold, after)
		if lost, ok := errors.AsType[*holdLostError](err); ok {
			return lost
		}
		if !pause.wait(ctx) {
			return nil
		}
		// The answer shows this revision, so a watch behind it misses nothing. If nobody answers, the session's renewals
		// and the lease tell of a loss.
		var answer *tenurev1.CheckSequencerResponse
		err = m.call(ctx, mayRepeat, func(ctx context.Context, l *link) (err error) {
			answer, err = l.locks().CheckSequencer(ctx, &tenurev1.CheckSequencerRequest{
				Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: hold},
			})
			return err
		})
		if err != nil {
			continue
		}
		if !answer.GetHolds() {
			return &holdLostError{}
		}
		after = max(after, answer.GetHeader().GetRevision())
	}
}

// watchHoldAfter watches a hold from a revision on. It returns a holdLostError when the hold ended, and any other error
// when the watch cannot go on.
func watchHoldAfter(ctx context.Context, m *members, hold *tenurev1.Sequencer, after uint64) error {
	watch := &watcher{
		members: m,
		patient: true,
		request: &tenurev1.WatchRequest{
			Locks:         []string{hold.GetKey()},
			AfterRevision: after,
			HistoryId:     hold.GetHistoryId(),
		},
	}
	return watch.run(ctx, func(e *tenurev1.Event) error {
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
}
