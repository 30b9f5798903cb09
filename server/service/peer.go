package service

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/acting"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/proposals"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/relayed"
	"github.com/tenure-io/tenure/storage"
)

// Peer does for other members what only the leader can do. It relays nothing: a member that does not lead says so.
type Peer struct {
	peerv1.UnimplementedRelayServiceServer
	log *zap.Logger
	api atomic.Pointer[Services] // nil before everything is made
}

// NewPeer returns the service, which serves nobody yet.
func NewPeer(log *zap.Logger) *Peer { return &Peer{log: log} }

// Open has the service use a member's services from now on.
func (s *Peer) Open(a *Services) { s.api.Store(a) }

// Register adds the service to the peer address.
func (s *Peer) Register(r grpc.ServiceRegistrar) { peerv1.RegisterRelayServiceServer(r, s) }

// fence refuses unless this member leads, as far as it knows, in a term that is not older than the caller's.
func (s *Peer) fence(term uint64) (*Services, error) {
	a := s.api.Load()
	if a != nil && a.Stopping.Err() != nil {
		return nil, reason.ErrStopping
	}
	if a == nil || !leads(a.Node, term) {
		return nil, errNotLeader()
	}
	return a, nil
}

func errNotLeader() error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, "this member is not the leader")
}

// leads reports whether this member leads, as far as it knows, in a term that is not older than the given one.
func leads(node leader.Node, term uint64) bool {
	at := node.Status()
	return at.Leader == at.MemberID && at.Term >= term
}

// refuse makes the status of an error, and logs what nobody else must see.
func (s *Peer) refuse(method string, err error) error {
	id := gate.NewRequestID()
	st, internal := reason.Status(err, id)
	if internal {
		s.log.Error("relayed call failed", zap.String("method", method), zap.String("request_id", id), zap.Error(err))
	}
	return st.Err()
}

// Propose orders a command of another member's client.
func (s *Peer) Propose(ctx context.Context, r *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
	answer, err := s.propose(ctx, r)
	if err != nil {
		return nil, s.refuse(leader.MethodPropose, err)
	}
	return answer, nil
}

// ProposeMany orders the commands of another member's clients.
func (s *Peer) ProposeMany(stream grpc.BidiStreamingServer[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse]) error {
	a := s.api.Load()
	if a == nil {
		return s.refuse(leader.MethodPropose, errNotLeader())
	}
	err := proposals.Serve(stream, a.Stopping.Done(), s.proposeSafely)
	if err != nil {
		return s.refuse(leader.MethodPropose, err)
	}
	return nil
}

// proposeSafely does what Propose does, where no interceptor makes an error of a panic.
func (s *Peer) proposeSafely(ctx context.Context, r *peerv1.ProposeRequest) (_ *peerv1.ProposeResponse, err error) {
	defer func() {
		if err != nil {
			err = s.refuse(leader.MethodPropose, err)
		}
	}()
	defer gate.Recovered(s.log, leader.MethodPropose, &err)
	return s.propose(ctx, r)
}

func (s *Peer) propose(ctx context.Context, r *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
	a, err := s.fence(r.GetTerm())
	if err != nil {
		return nil, err
	}
	if !mayRelay(r.GetCommand()) {
		return nil, reason.Invalid("command", "is not a command for clients")
	}
	if err = relayed.Check(r); err != nil {
		return nil, err
	}
	if err = a.renewer.CheckShown(ctx, acting.Sessions(r.GetCommand()), r.GetSecretSha256()); err != nil {
		return nil, err
	}
	r.Command.WallTimeMs = time.Now().UnixMilli()
	ofClient := r.GetCommand().GetChangeAuth().GetTokensUsed() == nil
	if ofClient && r.GetCommand().GetAuthorisedBelow() == 0 && storage.KnowsPrincipals(a.Node.Store().Applied().ClusterVersion) {
		// A member that says nothing knows of no rights. What it relays is good as long as there are none.
		r.Command.AuthorisedBelow = 1
	}
	result, err := a.Node.Propose(ctx, r.GetCommand())
	if err != nil {
		return nil, err
	}
	return &peerv1.ProposeResponse{Result: result, Index: a.Node.Store().Applied().Index}, nil
}

// Renew serves the renewals of another member's clients.
func (s *Peer) Renew(stream grpc.BidiStreamingServer[peerv1.RenewRequest, peerv1.RenewResponse]) error {
	a, err := s.fence(0)
	if err == nil {
		err = a.renewer.ServePeer(stream, func(term uint64) error {
			_, refused := s.fence(term)
			return refused
		})
	}
	if err != nil {
		return s.refuse("Renew", err)
	}
	return nil
}

// ChangeMembers changes the members for another member's client.
func (s *Peer) ChangeMembers(
	ctx context.Context, r *peerv1.ChangeMembersRequest,
) (*peerv1.ChangeMembersResponse, error) {
	a, err := s.fence(r.GetTerm())
	if err != nil {
		return nil, s.refuse(leader.MethodMembers, err)
	}
	if err = relayed.Check(r); err != nil {
		return nil, s.refuse(leader.MethodMembers, err)
	}
	done, err := a.Cluster.ChangeMembersHere(ctx, r)
	if err != nil {
		return nil, s.refuse(leader.MethodMembers, err)
	}
	return done, nil
}

// Attach puts attempts to attach in order, for other members.
func (s *Peer) Attach(ctx context.Context, r *peerv1.AttachRequest) (*peerv1.AttachResponse, error) {
	a, err := s.fence(r.GetTerm())
	if err != nil {
		return nil, s.refuse(leader.MethodAttach, err)
	}
	if err = relayed.Check(r); err != nil {
		return nil, s.refuse(leader.MethodAttach, err)
	}
	id, err := storage.SessionIDFromBytes(r.GetSessionId())
	if err != nil {
		return nil, s.refuse(leader.MethodAttach, err)
	}
	if err = a.renewer.CheckShown(ctx, [][]byte{id[:]}, r.GetSecretSha256()); err != nil {
		return nil, s.refuse(leader.MethodAttach, err)
	}
	latest, err := a.Sessions.latestAttempt(id, r.GetInstanceId(), r.GetAttempt())
	if err != nil {
		return nil, s.refuse(leader.MethodAttach, err)
	}
	return &peerv1.AttachResponse{LatestAttempt: latest}, nil
}

// mayRelay tells whether a command is of a kind that clients ask for. What leaders' tasks decide belongs to the leader.
func mayRelay(c *storev1.Command) bool {
	switch c.GetKind().(type) {
	case *storev1.Command_CreateSession, *storev1.Command_DestroySession, *storev1.Command_TakeOverSession,
		*storev1.Command_Put, *storev1.Command_Delete, *storev1.Command_DeletePrefix, *storev1.Command_Txn,
		*storev1.Command_AcquireLock, *storev1.Command_CancelWait, *storev1.Command_ReleaseLock, *storev1.Command_BreakLock,
		*storev1.Command_Resign, *storev1.Command_SetLimits, *storev1.Command_Compact, *storev1.Command_MakeJoinToken,
		*storev1.Command_SyncNode, *storev1.Command_UpdateCheck, *storev1.Command_ChangeAuth,
		*storev1.Command_PutQuery, *storev1.Command_DeleteQuery:
		return true
	case *storev1.Command_RegisterNode:
		return c.GetRegisterNode().GetTerm() == 0 && c.GetRegisterNode().GetOrigin() != storev1.CatalogOrigin_CATALOG_ORIGIN_POOL
	case *storev1.Command_Deregister:
		return c.GetDeregister().GetTerm() == 0
	case *storev1.Command_EndFreeze:
		return c.GetEndFreeze().GetTerm() == 0
	default:
		return false
	}
}

// TimesLeft tells what the timers know.
func (s *Peer) TimesLeft(_ context.Context, r *peerv1.TimesLeftRequest) (*peerv1.TimesLeftResponse, error) {
	a, err := s.fence(0)
	if err != nil {
		return nil, s.refuse(leader.MethodTimesLeft, err)
	}
	if len(r.GetSessionIds())+len(r.GetDelays()) > leader.TimesLeftMax {
		return nil, s.refuse(leader.MethodTimesLeft, reason.Invalid("session_ids", "too many timers"))
	}
	answer := &peerv1.TimesLeftResponse{}
	for _, text := range r.GetSessionIds() {
		left := &peerv1.SessionTimeLeft{LeftMs: -1}
		if id, err := storage.SessionIDFromBytes(text); err == nil {
			if d, renewed, ok := a.Timers.SessionLeft(id); ok {
				left.LeftMs = d.Milliseconds()
				if !renewed.IsZero() {
					left.LastRenewalMs = renewed.UnixMilli()
				}
			}
		}
		answer.Sessions = append(answer.Sessions, left)
	}
	for _, h := range r.GetDelays() {
		ms := int64(-1)
		if d, ok := a.Timers.DelayLeft(h.GetKey(), h.GetLockIndex()); ok {
			ms = d.Milliseconds()
		}
		answer.DelayLeftMs = append(answer.DelayLeftMs, ms)
	}
	return answer, nil
}
