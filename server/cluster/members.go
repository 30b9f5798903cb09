package cluster

import (
	"context"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
)

// PromoteMember serves ClusterService.
func (a *Service) PromoteMember(
	ctx context.Context, r *tenurev1.PromoteMemberRequest,
) (*tenurev1.PromoteMemberResponse, error) {
	_, err := a.changeMembers(ctx, &peerv1.ChangeMembersRequest{Call: &peerv1.ChangeMembersRequest_Promote{Promote: r}}, true)
	if err != nil {
		return nil, err
	}
	return &tenurev1.PromoteMemberResponse{Header: a.Header(a.Node.Store().Applied())}, nil
}

// RemoveMember serves ClusterService.
func (a *Service) RemoveMember(ctx context.Context, r *tenurev1.RemoveMemberRequest) (*tenurev1.RemoveMemberResponse, error) {
	_, err := a.changeMembers(ctx, &peerv1.ChangeMembersRequest{Call: &peerv1.ChangeMembersRequest_Remove{Remove: r}}, false)
	if err != nil {
		return nil, err
	}
	return &tenurev1.RemoveMemberResponse{Header: a.Header(a.Node.Store().Applied())}, nil
}

// TransferLeadership serves ClusterService.
func (a *Service) TransferLeadership(
	ctx context.Context, r *tenurev1.TransferLeadershipRequest,
) (*tenurev1.TransferLeadershipResponse, error) {
	done, err := a.changeMembers(ctx, &peerv1.ChangeMembersRequest{Call: &peerv1.ChangeMembersRequest_Transfer{Transfer: r}}, true)
	if err != nil {
		return nil, err
	}
	return &tenurev1.TransferLeadershipResponse{
		Header: a.Header(a.Node.Store().Applied()), Leader: done.GetLeader(),
	}, nil
}

// changeMembers has the leader change the members, and waits until this member has applied it. Only what does the same
// when done twice is repeated after a lost answer.
func (a *Service) changeMembers(
	ctx context.Context, r *peerv1.ChangeMembersRequest, repeat bool,
) (done *peerv1.ChangeMembersResponse, err error) {
	r.By = gate.Address(ctx)
	err = a.Relay.Lead(ctx, leader.Call{
		Name:   leader.MethodMembers,
		Repeat: repeat,
		Here: func(ctx context.Context) (err error) {
			done, err = a.ChangeMembersHere(ctx, r)
			return err
		},
		Far: func(ctx context.Context, w *leader.Way, options ...grpc.CallOption) (err error) {
			r.Term = w.Term
			done, err = w.Client.ChangeMembers(ctx, r, options...)
			return err
		},
	}, nil)
	if err != nil {
		return nil, err
	}
	return done, a.Relay.AwaitApplied(ctx, done.GetIndex())
}

// ChangeMembersHere changes the members, where this one leads.
func (a *Service) ChangeMembersHere(
	ctx context.Context, r *peerv1.ChangeMembersRequest,
) (done *peerv1.ChangeMembersResponse, err error) {
	done = &peerv1.ChangeMembersResponse{}
	by := zap.String("by", r.GetBy())
	switch call := r.GetCall().(type) {
	case *peerv1.ChangeMembersRequest_Promote:
		_, err = a.Node.PromoteMember(ctx, call.Promote.GetMemberId(), call.Promote.GetForce())
		a.Log.Info("member asked to be promoted", zap.Uint64("id", call.Promote.GetMemberId()), zap.Error(err), by)
	case *peerv1.ChangeMembersRequest_Remove:
		err = a.Node.RemoveMember(ctx, call.Remove.GetMemberId(), call.Remove.GetForce())
		a.Log.Info("member asked to be removed", zap.Uint64("id", call.Remove.GetMemberId()), zap.Error(err), by)
	case *peerv1.ChangeMembersRequest_Transfer:
		err = a.Node.TransferLeadership(ctx, call.Transfer.GetMemberId())
		done.Leader = a.Node.Status().LeaderName
	default:
		// Members of older programs relay calls that are none any more.
		err = reason.NotServed("this change of members")
	}
	if err != nil {
		return nil, err
	}
	done.Index = a.Node.Store().Applied().Index
	return done, nil
}
