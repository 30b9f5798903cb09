package membership

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

// Errors of members that ask to join. With all of them nothing was changed.
var (
	// ErrJoinToken says that a member cannot join with the token that it brought.
	ErrJoinToken = errors.New("join token refused")
	// ErrWithoutTLS says that there are tokens, and that clients could send theirs to the member without TLS.
	ErrWithoutTLS = errors.New("the cluster has tokens, and clients could reach the member without TLS")
	// ErrNotEnabled says that the cluster version does not allow it yet.
	ErrNotEnabled = errors.New("the cluster version does not allow it yet")
)

// Addresses are where a member says that it can be reached, host:port each.
type Addresses struct {
	// Peer is for other members, Client for gRPC clients, HTTP for REST, metrics and health.
	Peer, Client, HTTP string
}

// Spec says who asks to join.
type Spec struct {
	// ID and Incarnation are those it drew itself.
	ID, Incarnation uint64
	// Name is unique in the cluster.
	Name string
	// Addresses are those it advertises.
	Addresses Addresses
	// Zone is its failure domain, BinaryVersion that of its program; for people.
	Zone, BinaryVersion string
	// VersionMin and VersionMax are the cluster versions it can follow.
	VersionMin, VersionMax uint32
	// StayLearner keeps it from being promoted when it has caught up.
	StayLearner bool
	// WithoutTLS says that clients of other machines reach it without TLS.
	WithoutTLS bool
}

// Admit adds a member that brought a join token, as learner. Its first call binds the token to it; asked again, by the same
// member, it changes nothing. One that takes the place of another does so when it has caught up.
func (c *Changes) Admit(ctx context.Context, token []byte, spec Spec) error {
	if spec.ID == 0 || raft.IsLocalMsgTarget(spec.ID) || spec.Name == "" {
		return fmt.Errorf("%w: it needs a name and an id", ErrMemberRefused)
	}
	record := spec.record()
	if err := storage.CheckJoiner(record); err != nil {
		return fmt.Errorf("%w: %w", ErrMemberRefused, err)
	}
	hash := sha256.Sum256(token)
	join := &storev1.JoinMember{Member: record, TokenSha256: hash[:]}
	if err := c.mayJoin(join); err != nil {
		return err
	}
	if err := c.mayReach(spec); err != nil {
		return err
	}
	cs, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err = c.mayReach(spec); err != nil { // It has waited for other changes.
		return err
	}
	// The record comes first: nobody could talk to a member without it.
	err = c.records.propose(ctx, &storev1.Command{Kind: &storev1.Command_JoinMember{JoinMember: join}})
	if err != nil {
		return err
	}
	return c.enlist(ctx, cs, record)
}

// mayReach refuses a member whose clients would send tokens without TLS, once there are tokens.
func (c *Changes) mayReach(spec Spec) error {
	if spec.WithoutTLS && c.o.Consensus.Store().Applied().AuthChanges > 0 {
		return ErrWithoutTLS
	}
	return nil
}

// mayJoin refuses a member that cannot join, before anything enters the log or waits for its turn: anybody can ask.
func (c *Changes) mayJoin(join *storev1.JoinMember) error {
	if err := c.o.MayPropose(); err != nil {
		return err
	}
	if !c.TakesTokens() {
		return ErrNotEnabled
	}
	if c.records.tombstoned(join.GetMember().GetId()) {
		return ErrMemberRemoved
	}
	rd := c.o.Consensus.Store().NewReader()
	can, err := rd.CanJoin(join)
	if err = errors.Join(err, rd.Close()); err == nil && !can {
		err = ErrJoinToken
	}
	return err
}

// enlist makes a recorded member a learner of raft's.
func (c *Changes) enlist(ctx context.Context, cs *raftpb.ConfState, m *storev1.Member) error {
	if core.IsMember(cs, m.GetId()) {
		return nil
	}
	if err := c.o.Confs.Change(ctx, c.guard(ctx), single(raftpb.ConfChangeAddLearnerNode, m.GetId())); err != nil {
		return err
	}
	c.log.Info("added member", zap.String("name", m.GetName()), zap.Uint64("member", m.GetId()),
		zap.String("peer_address", m.GetPeerAddress()))
	return nil
}

// record returns the record of a member that joins.
func (s Spec) record() *storev1.Member {
	return &storev1.Member{
		Id: s.ID, Incarnation: s.Incarnation, Name: s.Name,
		PeerAddress: s.Addresses.Peer, ClientAddress: s.Addresses.Client, HttpAddress: s.Addresses.HTTP,
		VersionMin: s.VersionMin, VersionMax: s.VersionMax, Zone: s.Zone, BinaryVersion: s.BinaryVersion,
		Learner: true, StayLearner: s.StayLearner,
	}
}

// replaces returns the member in whose place another joined, as long as both are there; 0 if there is none.
func replaces(cs *raftpb.ConfState, tokens map[uint64]storage.JoinToken, id uint64) uint64 {
	old := tokens[id].GetReplaces()
	if old == 0 || old == id || !core.IsMember(cs, old) || !slices.Contains(cs.GetLearners(), id) {
		return 0
	}
	return old
}

// takePlace lets a learner take the place of another member in one joint change: never a vote less. A leader that is to be
// replaced hands the leadership over, and the next one does it.
func (c *Changes) takePlace(ctx context.Context, cs *raftpb.ConfState, old uint64, t storage.JoinToken) error {
	if old == c.o.Member {
		return c.stepAside(ctx)
	}
	id := t.GetMemberId()
	change := &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{
		{Type: raftpb.ConfChangeRemoveNode.Enum(), NodeId: new(old)},
	}}
	after := without(cs.GetVoters(), old)
	if slices.Contains(cs.GetVoters(), old) {
		change.Changes = append(change.Changes,
			&raftpb.ConfChangeSingle{Type: raftpb.ConfChangeAddNode.Enum(), NodeId: new(id)})
		after = append(after, id)
	}
	if err := c.checkQuorum(after); err != nil && !t.GetForce() {
		return err
	}
	if err := c.o.Confs.Change(ctx, c.guard(ctx), change); err != nil {
		return err
	}
	if err := c.awaitConf(ctx, func(cs *raftpb.ConfState) bool { return !core.IsMember(cs, old) }); err != nil {
		return err
	}
	c.log.Info("replaced member", zap.Uint64("member", old), zap.Uint64("by", id))
	err := c.records.remove(ctx, old)
	if slices.Contains(after, id) {
		err = errors.Join(err, c.recordVoter(ctx, id))
	}
	return err
}
