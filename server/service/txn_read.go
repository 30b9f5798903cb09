package service

import (
	"context"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
)

// orderTxn has a transaction run, and returns the header of its answer. One that only reads never enters the log: this member
// answers it as any linearizable read, from one snapshot that is proved to be current.
func orderTxn(ctx context.Context, a *KV, c call.Change) (*storev1.Result, *tenurev1.ResponseHeader, error) {
	if !storage.ReadsOnly(c.Command.GetTxn()) {
		result, err := a.Propose(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		return result, a.HeaderOf(result), nil
	}
	if err := a.AddOptions(ctx, &c); err != nil {
		return nil, nil, err
	}
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	defer a.CloseSnapshot(s)
	if err = unread.Begin(ctx); err != nil {
		return nil, nil, err
	}
	result, err := s.Txn(c.Command)
	if err != nil {
		return nil, nil, err
	}
	if f := result.GetFailure(); f != nil {
		return nil, nil, reason.OfFailure(f, false)
	}
	return result, a.Header(s.At), nil
}
