package cluster

import (
	"context"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
)

// EndFreeze serves ClusterService. Without an operator the leader's timer does it.
func (a *Service) EndFreeze(ctx context.Context, r *tenurev1.EndFreezeRequest) (*tenurev1.EndFreezeResponse, error) {
	if r.GetReason() == "" {
		return nil, reason.Invalid("reason", "is required; give the reason for the record")
	}
	if err := call.CheckText("reason", r.GetReason(), call.ReasonBytesMax); err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	_, frozen, err := s.Freeze()
	header := a.Header(s.At)
	a.CloseSnapshot(s)
	if err != nil || !frozen {
		return &tenurev1.EndFreezeResponse{Header: header}, err
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Command: &storev1.Command{Kind: &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{Reason: r.GetReason()}}},
	})
	if err != nil {
		return nil, err
	}
	a.Log.Info("freeze ended by an operator", zap.String("reason", r.GetReason()), zap.String("by", gate.Address(ctx)))
	return &tenurev1.EndFreezeResponse{Header: a.HeaderOf(result), Ended: true}, nil
}

// freezeNow is freezeLeft of what this member has, for an answer.
func (a *Service) freezeNow(ctx context.Context) (*durationpb.Duration, error) {
	s, err := a.LocalReader(ctx)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	left, frozen, _, err := a.freezeLeft(s)
	if err != nil || !frozen {
		return nil, err
	}
	return durationpb.New(left), nil
}

// freezeLeft returns for how long no lock is granted because of a restore, if grants are frozen. Only the leader counts it down: elsewhere it is the
// longest time, and not exact.
func (a *Service) freezeLeft(s *call.Snapshot) (left time.Duration, frozen, exact bool, err error) {
	freeze, frozen, err := s.Freeze()
	if err != nil || !frozen {
		return 0, false, false, err
	}
	if left, exact = a.Timers.FreezeLeft(); !exact {
		left = time.Duration(freeze.GetFreezeMs()) * time.Millisecond
	}
	return left, true, exact, nil
}
