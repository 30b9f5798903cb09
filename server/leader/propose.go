package leader

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// Order has a command ordered by the leader, whichever member that is, and returns its result once it is applied here. If
// leadership changes meanwhile it tries again, if nothing was applied or the command is one that may be repeated. shown is
// the hash of the session secret that the client showed; nil for none. Beside a result that is outdated, an error says that an earlier attempt may
// have been applied.
func (r *Relay) Order(ctx context.Context, c *storev1.Command, shown []byte) (*storev1.Result, error) {
	return r.OrderFor(ctx, nil, c, shown)
}

// OrderFor is Order for somebody who may go before ctx ends.
func (r *Relay) OrderFor(ctx context.Context, asked *Asked, c *storev1.Command, shown []byte) (*storev1.Result, error) {
	repeat := c.GetRequestId() != nil || len(c.GetIdempotencyKey()) > 0
	if !asked.begins() {
		return nil, newNotApplied(asked.life(ctx))
	}
	result, err := r.node.Propose(ctx, c)
	asked.ended(err)
	if err == nil || !MayComeRight(asked.life(ctx), err, repeat) {
		return result, err
	}
	index := uint64(0)
	err = r.Lead(ctx, Call{
		Name:   MethodPropose,
		Repeat: repeat,
		Asked:  asked,
		Blind:  func() bool { return storage.IsOutdated(result) },
		Here: func(ctx context.Context) (err error) {
			index = 0
			result, err = r.node.Propose(ctx, c)
			return err
		},
		Far: func(ctx context.Context, w *Way, options ...grpc.CallOption) error {
			request := &peerv1.ProposeRequest{Term: w.Term, Command: c, SecretSha256: shown}
			propose := w.line.Propose
			if !storage.ProposesMany(r.node.Store().Applied().ClusterVersion) {
				propose = func(ctx context.Context, request *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
					return w.Client.Propose(ctx, request, options...)
				}
			}
			answer, failed := propose(ctx, request)
			result, index = answer.GetResult(), answer.GetIndex()
			return failed
		},
	}, err)
	if err != nil && !storage.IsOutdated(result) {
		return nil, err
	}
	doubt := err
	if err = r.AwaitApplied(ctx, index); err != nil && result.GetFailure() == nil {
		return nil, err
	}
	return result, doubt
}

// AwaitApplied waits until this member has applied what the leader did, so that whoever changed something reads it here.
func (r *Relay) AwaitApplied(ctx context.Context, index uint64) error {
	if r.node.Store().Applied().Index >= index {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, relayApplyTimeout)
	defer cancel()
	for {
		changed := r.arrivals.Next()
		if r.node.Store().Applied().Index >= index {
			return nil
		}
		var why tenurev1.ErrorReason
		select {
		case <-changed:
			continue
		case <-r.stopping.Done():
			why = tenurev1.ErrorReason_ERROR_REASON_STOPPING
		case <-ctx.Done():
			why = tenurev1.ErrorReason_ERROR_REASON_CANCELLED
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				why = tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED
			}
		}
		e := reason.New(why, "the change was made, but this member does not show it yet")
		e.Applied = reason.AppliedYes
		return e
	}
}
