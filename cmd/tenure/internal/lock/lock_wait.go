package lock

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// watchHold waits until a hold is lost or given back, and says how; it returns nil when ctx ends. When the watch cannot
// go on, say because the history behind it is forgotten, it asks whether the hold still is, and watches on from the answer.
func watchHold(ctx context.Context, c *tenure.Client, hold tenure.Sequencer) error {
	pause := cli.Backoff{}
	for after := hold.Token; ; {
		err := watchHoldAfter(ctx, c, hold, after)
		if lost, ok := errors.AsType[*cli.HoldLostError](err); ok {
			return lost
		}
		if !pause.Wait(ctx) {
			return nil
		}
		// The answer shows this revision, so a watch behind it misses nothing. If nobody answers, the session's renewals
		// and the lease tell of a loss.
		var answer *tenurev1.CheckSequencerResponse
		err = c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
			answer, err = tenurev1.NewLockServiceClient(member).CheckSequencer(ctx, &tenurev1.CheckSequencerRequest{
				Proof: &tenurev1.CheckSequencerRequest_Text{Text: hold.String()},
			})
			return err
		})
		if err != nil {
			continue
		}
		if !answer.GetHolds() {
			return &cli.HoldLostError{}
		}
		after = max(after, answer.GetHeader().GetRevision())
	}
}

// watchHoldAfter watches a hold from a revision on. It returns a HoldLostError when the hold ended, and any other error
// when the watch cannot go on.
func watchHoldAfter(ctx context.Context, c *tenure.Client, hold tenure.Sequencer, after uint64) error {
	for event, err := range c.Watch(ctx, tenure.OnLocks(hold.Key), tenure.AfterRevision(after, hold.HistoryID)) {
		switch {
		case err != nil:
			return err
		case event.Hold == nil || event.Hold.Token != hold.Token:
		case event.Type == tenure.EventLockLost, event.Type == tenure.EventLockReleased:
			return &cli.HoldLostError{Cause: event.Message.GetHoldEndCause(), Reason: event.Message.GetReason()}
		}
	}
	return ctx.Err()
}
