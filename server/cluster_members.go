package server

import (
	"context"
	"net"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
)

// AddMember serves ClusterService.
func (a *api) AddMember(ctx context.Context, r *tenurev1.AddMemberRequest) (*tenurev1.AddMemberResponse, error) {
	if err := checkNewMember(r.GetName(), r.GetPeerAddress()); err != nil {
		return nil, err
	}
	done, err := a.changeMembers(ctx, &peerv1.ChangeMembersRequest{Call: &peerv1.ChangeMembersRequest_Add{Add: r}}, false)
	if err != nil {
		return nil, err
	}
	return &tenurev1.AddMemberResponse{Header: a.header(a.node.Store().Applied()), Member: done.GetMember()}, nil
}

// checkNewMember refuses what cannot be a member.
func checkNewMember(name, peerAddress string) error {
	if !validName(name) {
		return invalid("name", "must be 1 to 63 letters, digits, dots, hyphens or underscores")
	}
	host, port, err := net.SplitHostPort(peerAddress)
	if err != nil || host == "" || port == "" {
		return invalid("peer_address", "must be host:port")
	}
	return nil
}

// PromoteMember serves ClusterService.
func (a *api) PromoteMember(
	ctx context.Context, r *tenurev1.PromoteMemberRequest,
) (*tenurev1.PromoteMemberResponse, error) {
	_, err := a.changeMembers(ctx, &peerv1.ChangeMembersRequest{Call: &peerv1.ChangeMembersRequest_Promote{Promote: r}}, true)
	if err != nil {
		return nil, err
	}
	return &tenurev1.PromoteMemberResponse{Header: a.header(a.node.Store().Applied())}, nil
}

// RemoveMember serves ClusterService.
func (a *api) RemoveMember(ctx context.Context, r *tenurev1.RemoveMemberRequest) (*tenurev1.RemoveMemberResponse, error) {
	_, err := a.changeMembers(ctx, &peerv1.ChangeMembersRequest{Call: &peerv1.ChangeMembersRequest_Remove{Remove: r}}, false)
	if err != nil {
		return nil, err
	}
	return &tenurev1.RemoveMemberResponse{Header: a.header(a.node.Store().Applied())}, nil
}

// ReplaceMember serves ClusterService.
func (a *api) ReplaceMember(
	ctx context.Context, r *tenurev1.ReplaceMemberRequest,
) (*tenurev1.ReplaceMemberResponse, error) {
	if err := checkNewMember(r.GetName(), r.GetPeerAddress()); err != nil {
		return nil, err
	}
	done, err := a.changeMembers(ctx, &peerv1.ChangeMembersRequest{Call: &peerv1.ChangeMembersRequest_Replace{Replace: r}}, false)
	if err != nil {
		return nil, err
	}
	return &tenurev1.ReplaceMemberResponse{Header: a.header(a.node.Store().Applied()), Member: done.GetMember()}, nil
}

// TransferLeadership serves ClusterService.
func (a *api) TransferLeadership(
	ctx context.Context, r *tenurev1.TransferLeadershipRequest,
) (*tenurev1.TransferLeadershipResponse, error) {
	done, err := a.changeMembers(ctx, &peerv1.ChangeMembersRequest{Call: &peerv1.ChangeMembersRequest_Transfer{Transfer: r}}, true)
	if err != nil {
		return nil, err
	}
	return &tenurev1.TransferLeadershipResponse{
		Header: a.header(a.node.Store().Applied()), Leader: done.GetLeader(),
	}, nil
}

// changeMembers has the leader change the members, and waits until this member has applied it. Only what does the same
// when done twice is repeated after a lost answer.
func (a *api) changeMembers(
	ctx context.Context, r *peerv1.ChangeMembersRequest, repeat bool,
) (done *peerv1.ChangeMembersResponse, err error) {
	r.By = callAddress(ctx)
	err = a.relay.lead(ctx, leaderCall{
		name:   relayMembers,
		repeat: repeat,
		here: func(ctx context.Context) (err error) {
			done, err = a.changeMembersHere(ctx, r)
			return err
		},
		far: func(ctx context.Context, w *leaderWay, options ...grpc.CallOption) (err error) {
			r.Term = w.term
			done, err = w.client.ChangeMembers(ctx, r, options...)
			return err
		},
	}, nil)
	if err != nil {
		return nil, err
	}
	return done, a.awaitApplied(ctx, done.GetIndex())
}

// ChangeMembers changes the members for another member's client.
func (s *relayService) ChangeMembers(
	ctx context.Context, r *peerv1.ChangeMembersRequest,
) (*peerv1.ChangeMembersResponse, error) {
	a, err := s.fence(r.GetTerm())
	if err != nil {
		return nil, s.refuse(relayMembers, err)
	}
	done, err := a.changeMembersHere(ctx, r)
	if err != nil {
		return nil, s.refuse(relayMembers, err)
	}
	return done, nil
}

// changeMembersHere changes the members, where this one leads.
func (a *api) changeMembersHere(
	ctx context.Context, r *peerv1.ChangeMembersRequest,
) (done *peerv1.ChangeMembersResponse, err error) {
	done = &peerv1.ChangeMembersResponse{}
	var added raftnode.Member
	by := zap.String("by", r.GetBy())
	switch call := r.GetCall().(type) {
	case *peerv1.ChangeMembersRequest_Add:
		add := call.Add
		var spec raftnode.MemberSpec
		if spec, err = a.newMember(ctx, add.GetName(), add.GetPeerAddress()); err == nil {
			spec.StayLearner = spec.StayLearner || add.GetStayLearner()
			spec.Force = add.GetForce()
			added, err = a.node.AddMember(ctx, spec)
		}
		a.log.Info("member asked to be added", zap.String("name", add.GetName()), zap.Error(err), by)
	case *peerv1.ChangeMembersRequest_Promote:
		added, err = a.node.PromoteMember(ctx, call.Promote.GetMemberId(), call.Promote.GetForce())
		a.log.Info("member asked to be promoted", zap.Uint64("id", call.Promote.GetMemberId()), zap.Error(err), by)
	case *peerv1.ChangeMembersRequest_Remove:
		err = a.node.RemoveMember(ctx, call.Remove.GetMemberId(), call.Remove.GetForce())
		a.log.Info("member asked to be removed", zap.Uint64("id", call.Remove.GetMemberId()), zap.Error(err), by)
	case *peerv1.ChangeMembersRequest_Replace:
		replace := call.Replace
		var spec raftnode.MemberSpec
		if spec, err = a.newMember(ctx, replace.GetName(), replace.GetPeerAddress()); err == nil {
			spec.Force = replace.GetForce()
			added, err = a.node.ReplaceMember(ctx, replace.GetMemberId(), spec)
		}
		a.log.Info("member asked to be replaced", zap.Uint64("id", replace.GetMemberId()),
			zap.String("name", replace.GetName()), zap.Error(err), by)
	case *peerv1.ChangeMembersRequest_Transfer:
		err = a.node.TransferLeadership(ctx, call.Transfer.GetMemberId())
		done.Leader = a.node.Status().LeaderName
	default:
		err = invalid("call", "is missing")
	}
	if err != nil {
		return nil, err
	}
	if added.Member != nil {
		done.Member = memberToProto(added, a.memberID)
	}
	done.Index = a.node.Store().Applied().Index
	return done, nil
}

// newMember asks the new member who it is. It runs and waits to be added; its id is its own.
func (a *api) newMember(ctx context.Context, name, peerAddress string) (raftnode.MemberSpec, error) {
	spec, err := a.node.Introduce(ctx, peerAddress)
	if err == nil && spec.Name != name {
		err = invalid("name", "the member at %s says that its name is %q", peerAddress, spec.Name)
	}
	return spec, err
}
