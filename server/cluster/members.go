package cluster

import (
	"context"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
)

// changesAgainMax is how often a change of members is decided about again, under rights that are taken away again and again.
const changesAgainMax = 5

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
	for attempt := 1; ; attempt++ {
		if r.Principal, r.AuthorisedBelow, err = a.Authorised(ctx); err != nil {
			return nil, err
		}
		done, err = a.askLeader(ctx, r, repeat)
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED || attempt > changesAgainMax {
			break
		}
		if err = a.AuthoriseAgain(ctx); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return done, a.Relay.AwaitApplied(ctx, done.GetIndex())
}

// askLeader has the leader change the members.
func (a *Service) askLeader(
	ctx context.Context, r *peerv1.ChangeMembersRequest, repeat bool,
) (done *peerv1.ChangeMembersResponse, err error) {
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
	return done, err
}

// ChangeMembersHere changes the members, where this one leads, if rights were not taken away since the call was allowed.
func (a *Service) ChangeMembersHere(
	ctx context.Context, r *peerv1.ChangeMembersRequest,
) (done *peerv1.ChangeMembersResponse, err error) {
	if err = a.AllowedStill(ctx, r.GetAuthorisedBelow()); err != nil {
		return nil, err
	}
	ctx = raftnode.AllowedBelow(ctx, max(r.GetAuthorisedBelow(), 1)) // It waits for other changes, and is compared again when it is proposed.
	done = &peerv1.ChangeMembersResponse{}
	log := a.Log.With(zap.String("by", r.GetBy()), zap.String("principal", r.GetPrincipal()))
	switch call := r.GetCall().(type) {
	case *peerv1.ChangeMembersRequest_Promote:
		_, err = a.Node.PromoteMember(ctx, call.Promote.GetMemberId(), call.Promote.GetForce())
		log.Info("member asked to be promoted", zap.Uint64("id", call.Promote.GetMemberId()), zap.Error(err))
	case *peerv1.ChangeMembersRequest_Remove:
		err = a.Node.RemoveMember(ctx, call.Remove.GetMemberId(), call.Remove.GetForce())
		log.Info("member asked to be removed", zap.Uint64("id", call.Remove.GetMemberId()), zap.Error(err))
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
