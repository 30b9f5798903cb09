package cluster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// errJoinToken says that a text is no join token.
var errJoinToken = errors.New("a join token is 64 hexadecimal digits, as \"tenure member add\" prints it")

// Bounds of how long a join token can be used.
const (
	joinTTLDefault = time.Hour
	joinTTLMin     = time.Second
	joinTTLMax     = 30 * 24 * time.Hour
)

// AddMember serves ClusterService.
func (a *Service) AddMember(ctx context.Context, r *tenurev1.AddMemberRequest) (*tenurev1.AddMemberResponse, error) {
	made, err := a.makeJoinToken(ctx, r, r.GetPeerAddress(), r.GetTtl(), &storev1.MakeJoinToken{
		Name: r.GetName(), StayLearner: r.GetStayLearner(),
	})
	if err != nil {
		return nil, err
	}
	return &tenurev1.AddMemberResponse{
		Header: made.header, JoinToken: made.text, Ttl: durationpb.New(made.ttl), ReplacedToken: made.replaced,
	}, nil
}

// ReplaceMember serves ClusterService.
func (a *Service) ReplaceMember(
	ctx context.Context, r *tenurev1.ReplaceMemberRequest,
) (*tenurev1.ReplaceMemberResponse, error) {
	if r.GetMemberId() == 0 {
		return nil, reason.Invalid("member_id", "must not be zero")
	}
	if voters := a.Node.Status().Voters; len(voters) == 1 && voters[0] == r.GetMemberId() {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_MEMBERSHIP_REFUSED,
			"the member is the only one that votes: add the new one, and remove this one when the new one votes").
			With("cause", "loses_quorum")
	}
	made, err := a.makeJoinToken(ctx, r, r.GetPeerAddress(), r.GetTtl(), &storev1.MakeJoinToken{
		Name: r.GetName(), Replaces: r.GetMemberId(), Force: r.GetForce(),
	})
	if err != nil {
		return nil, err
	}
	return &tenurev1.ReplaceMemberResponse{
		Header: made.header, JoinToken: made.text, Ttl: durationpb.New(made.ttl), ReplacedToken: made.replaced,
	}, nil
}

// joinToken is a join token that was made. Nobody can read it again.
type joinToken struct {
	header   *tenurev1.ResponseHeader
	text     string
	ttl      time.Duration
	replaced bool
}

// makeJoinToken makes the token for a new member. This member draws it; what leaves it, for the log and other members, is
// the hash.
func (a *Service) makeJoinToken(
	ctx context.Context, request proto.Message, peerAddress string, ttl *durationpb.Duration, c *storev1.MakeJoinToken,
) (*joinToken, error) {
	// A member of an older program could not apply the command.
	if !storage.KnowsJoinTokens(a.Node.Store().Applied().ClusterVersion) {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, "no member can join yet: the cluster version is "+
			"raised a moment after the cluster started, or after the last member was upgraded; `tenure member list` shows their versions")
	}
	if !call.ValidName(c.GetName()) {
		return nil, reason.Invalid("name", "must be 1 to 63 letters, digits, dots, hyphens or underscores")
	}
	if err := a.self.CheckName(c.GetName()); err != nil {
		return nil, reason.Invalid("name", "%v", err)
	}
	if peerAddress != "" {
		return nil, reason.Invalid("peer_address", "must be empty: the new member reports its addresses when it joins")
	}
	d, err := joinTTL(ttl)
	if err != nil {
		return nil, err
	}
	token := make([]byte, raftnode.JoinTokenBytes)
	if _, err = rand.Read(token); err != nil {
		return nil, err
	}
	hash := sha256.Sum256(token)
	c.TokenSha256, c.TtlMs = hash[:], d.Milliseconds()
	result, err := a.Propose(ctx, call.Change{
		Request: request, Command: &storev1.Command{Kind: &storev1.Command_MakeJoinToken{MakeJoinToken: c}},
	})
	if err != nil {
		return nil, err
	}
	replaced := result.GetMakeJoinToken().GetReplaced()
	a.Log.Info("made a join token", zap.String("name", c.GetName()), zap.Uint64("replaces", c.GetReplaces()),
		zap.Duration("ttl", d), zap.Bool("replaced_token", replaced), zap.String("by", gate.Address(ctx)))
	return &joinToken{
		header: a.Header(a.Node.Store().Applied()), text: hex.EncodeToString(token), ttl: d, replaced: replaced,
	}, nil
}

// joinTTL returns how long a token can be used.
func joinTTL(d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return joinTTLDefault, nil
	}
	if d.CheckValid() != nil {
		return 0, reason.Invalid("ttl", "is not a duration")
	}
	ttl := d.AsDuration()
	if ttl < joinTTLMin || ttl > joinTTLMax {
		return 0, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_TTL_OUT_OF_RANGE, "ttl", "must be 1 s to 30 days (720h)")
	}
	return ttl, nil
}

// ParseJoinToken returns the token that a text holds, which may end with a line break as files do. The error does not
// repeat it.
func ParseJoinToken(text string) ([]byte, error) {
	token, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(token) != raftnode.JoinTokenBytes {
		return nil, errJoinToken
	}
	return token, nil
}
