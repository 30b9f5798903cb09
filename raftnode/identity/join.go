package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/transport"
	"github.com/tenure-io/tenure/storage"
)

// joinTimeout bounds one request to be added.
const joinTimeout = 10 * time.Second

// joinTokenRetry is how soon a token that was refused is brought again: an operator may have made it since, or put another
// into the file.
const joinTokenRetry = time.Second

// errNoToken says that a member that joins has no token yet.
var errNoToken = errors.New("no join token was given")

// join asks members of a running cluster to add this one, until one did. Asked again, also after a crash, it is the same
// member that is added. Without a token with which it can join it waits, and says what an operator has to do.
func (w *beginning) join(ctx context.Context) (*Genesis, error) {
	reported, waited := time.Now(), false
	for {
		resp, err := w.askAll(ctx)
		switch {
		case err == nil:
			return w.joined(resp)
		case refused(err):
			return nil, err
		}
		lacksToken := errors.Is(err, errNoToken) || errors.Is(err, transport.ErrJoinToken)
		if time.Since(reported) > beginReport || lacksToken && !waited {
			reported, waited = time.Now(), waited || lacksToken
			w.reportJoin(err, lacksToken)
		}
		pause := beginRetry
		if errors.Is(err, transport.ErrJoinToken) {
			pause = joinTokenRetry
		}
		retry := time.NewTimer(pause)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// reportJoin says why a member still waits to be added.
func (w *beginning) reportJoin(err error, lacksToken bool) {
	if !lacksToken {
		w.log.Info("waits to be added to the cluster", zap.Error(err))
		return
	}
	w.log.Warn("waits for a join token; on a member of the cluster run \"tenure member add "+w.o.Name+"\", or \"tenure member "+
		"replace OLD "+w.o.Name+"\", and give what it prints by --join-token-file or TENURE_JOIN_TOKEN", zap.Error(err))
}

// askAll asks one member after another, until one has added this one or refuses it for good.
func (w *beginning) askAll(ctx context.Context) (*peerv1.JoinResponse, error) {
	token, err := w.o.joinToken()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, address := range w.o.Join {
		resp, err := w.askToJoin(ctx, address, token)
		if err == nil {
			return resp, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", address, err))
		if refused(err) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// joinToken returns the token that the member has now. It is read for every attempt, so that an operator can bring it
// while the member waits.
func (o *Options) joinToken() ([]byte, error) {
	if o.JoinToken == nil {
		return nil, errNoToken
	}
	token, err := o.JoinToken()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errNoToken, err)
	case len(token) == 0:
		return nil, errNoToken
	}
	return token, nil
}

// hasJoinToken reports whether the member has a token now.
func (o *Options) hasJoinToken() bool {
	_, err := o.joinToken()
	return err == nil
}

// askToJoin asks one member. One of an older program would add this one whatever it brings, so it is not asked: it will be
// when all members know tokens.
func (w *beginning) askToJoin(ctx context.Context, address string, token []byte) (*peerv1.JoinResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	who, err := w.Transport.Probe(ctx, address, &peerv1.ProbeRequest{Caller: w.header()})
	if err != nil {
		return nil, err
	}
	if !storage.KnowsJoinTokens(who.GetHeader().GetVersionMax()) {
		return nil, fmt.Errorf("%w: the member there runs an older program, which knows no join tokens", transport.ErrTryAgain)
	}
	return w.Transport.Join(ctx, address, &peerv1.JoinRequest{
		Member: w.o.describe(w.own), StayLearner: w.o.StayLearner, Token: token,
	})
}

// refused tells whether asking again cannot help.
func refused(err error) bool {
	return errors.Is(err, transport.ErrNameTaken) || errors.Is(err, transport.ErrRemoved) ||
		errors.Is(err, transport.ErrStaleIncarnation) || errors.Is(err, transport.ErrWithoutTLS)
}

// joined takes note of the cluster. The state comes from its leader.
func (w *beginning) joined(resp *peerv1.JoinResponse) (*Genesis, error) {
	if err := checkJoined(resp); err != nil {
		return nil, err
	}
	id := w.own
	cluster := [16]byte(resp.GetClusterId())
	if known := id.ClusterID; known != [16]byte{} && known != cluster {
		return nil, fmt.Errorf("%w: %x, the directory says %x: to join another cluster give an empty --data-dir",
			ErrWrongCluster, cluster, known)
	}
	id.ClusterID = cluster
	// Before the directory names the cluster it says that it is not one of those that began it: started again without
	// --join it must not begin the cluster a second time.
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(resp)
	if err != nil {
		return nil, fmt.Errorf("encode JOIN: %w", err)
	}
	if err := w.dir.WriteJoined(raw); err != nil {
		return nil, err
	}
	if err := w.dir.WriteIdentity(id); err != nil {
		return nil, err
	}
	w.own = id
	w.setIdentity(id)
	w.SetPeers(peersOf(resp.GetMembers()), nil)
	w.log.Info("is added to the cluster", zap.String("cluster_id", fmt.Sprintf("%x", cluster)))
	return &Genesis{ClusterID: cluster, MemberID: id.MemberID, Empty: true}, nil
}

func decodeJoined(raw []byte) (*peerv1.JoinResponse, error) {
	resp := &peerv1.JoinResponse{}
	err := proto.Unmarshal(raw, resp)
	if err == nil {
		err = checkJoined(resp)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: JOIN: %w", datadir.ErrDamaged, err)
	}
	return resp, nil
}

// checkJoined refuses an answer with which a member cannot begin.
func checkJoined(resp *peerv1.JoinResponse) error {
	if len(resp.GetClusterId()) != 16 || isZero(resp.GetClusterId()) {
		return fmt.Errorf("%w: it has no cluster id", ErrBadAnswer)
	}
	ids := make([]uint64, 0, len(resp.GetMembers()))
	for _, m := range resp.GetMembers() {
		ids = append(ids, m.GetId())
	}
	if err := checkIDs(ids); err != nil {
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return nil
}

func peersOf(members []*storev1.Member) []transport.Peer {
	peers := make([]transport.Peer, 0, len(members))
	for _, m := range members {
		peers = append(peers, transport.Peer{
			ID: m.GetId(), Incarnation: m.GetIncarnation(), Starts: m.GetStarts(), Name: m.GetName(), Address: m.GetPeerAddress(),
			SpeaksTLS: transport.SpeaksTLS(m),
		})
	}
	return peers
}

// Join adds another member, here or through the leader.
func (w *Wire) Join(ctx context.Context, req *peerv1.JoinRequest) (*peerv1.JoinResponse, error) {
	n := w.self.Load()
	if n == nil {
		return nil, errNotOpen
	}
	m := req.GetMember()
	if err := storage.CheckJoiner(m); err != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrRefused, err)
	}
	if !n.m.Changes.TakesTokens() {
		return nil, fmt.Errorf("%w: %w", transport.ErrTryAgain, membership.ErrNotEnabled)
	}
	added, err := n.admit(ctx, req)
	switch {
	case err == nil:
		return n.joinResponse(added), nil
	case errors.Is(err, core.ErrNotLeader):
		return w.relayJoin(ctx, n, req)
	case errors.Is(err, membership.ErrJoinToken):
		w.log.Debug("refused a member that asked to join", zap.String("name", m.GetName()), zap.Uint64("member", m.GetId()))
		return nil, transport.ErrJoinToken
	case errors.Is(err, membership.ErrWithoutTLS):
		return nil, transport.ErrWithoutTLS
	case errors.Is(err, membership.ErrMemberExists):
		return nil, fmt.Errorf("%w: %w", transport.ErrNameTaken, err)
	case errors.Is(err, membership.ErrMemberRemoved):
		return nil, fmt.Errorf("%w: %w", transport.ErrRemoved, err)
	case errors.Is(err, core.ErrNoLeader), errors.Is(err, core.ErrTransferring), errors.Is(err, core.ErrConfChangePending),
		errors.Is(err, core.ErrTooBusy), errors.Is(err, envelope.ErrOutcomeUnknown), errors.Is(err, core.ErrStopped),
		errors.Is(err, membership.ErrNotEnabled):
		return nil, fmt.Errorf("%w: %w", transport.ErrTryAgain, err)
	default:
		return nil, fmt.Errorf("%w: %w", transport.ErrRefused, err)
	}
}

// relayJoin asks the leader. A leader relays nothing, so that no request goes in circles.
func (w *Wire) relayJoin(ctx context.Context, n *Self, req *peerv1.JoinRequest) (*peerv1.JoinResponse, error) {
	lead := n.m.Lead()
	leader := n.roster.member(lead.Leader)
	if leader == nil || lead.Leader == n.m.Identity.MemberID {
		return nil, fmt.Errorf("%w: %w", transport.ErrTryAgain, core.ErrNoLeader)
	}
	return w.Transport.Join(ctx, leader.GetPeerAddress(), req)
}

// admit adds another member through this one, which leads, and returns its record.
func (s *Self) admit(ctx context.Context, req *peerv1.JoinRequest) (*storev1.Member, error) {
	m := req.GetMember()
	err := s.m.Changes.Admit(ctx, req.GetToken(), membership.Spec{
		ID: m.GetId(), Incarnation: m.GetIncarnation(), Name: m.GetName(),
		Addresses: membership.Addresses{Peer: m.GetPeerAddress(), Client: m.GetClientAddress(), HTTP: m.GetHttpAddress()},
		Zone:      m.GetZone(), BinaryVersion: m.GetBinaryVersion(),
		VersionMin: m.GetVersionMin(), VersionMax: m.GetVersionMax(), StayLearner: req.GetStayLearner(),
		WithoutTLS: m.GetClientSecurity() == storev1.ListenerSecurity_LISTENER_SECURITY_CLEARTEXT,
	})
	if err != nil {
		return nil, err
	}
	for _, r := range s.m.Changes.Records() {
		if r.GetId() == m.GetId() {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%w: %x", membership.ErrMemberUnknown, m.GetId())
}

// joinResponse tells a new member who the others are.
func (s *Self) joinResponse(added *storev1.Member) *peerv1.JoinResponse {
	resp := &peerv1.JoinResponse{ClusterId: s.m.Identity.ClusterID[:]}
	known := false
	for _, m := range s.m.Changes.Records() {
		known = known || m.GetId() == added.GetId()
		resp.Members = append(resp.Members, m)
	}
	if !known {
		resp.Members = append(resp.Members, added)
	}
	return resp
}
