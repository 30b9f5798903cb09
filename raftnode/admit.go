package raftnode

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
	"github.com/tenure-io/tenure/storage"
)

// JoinTokenBytes is how long a join token is.
const JoinTokenBytes = 32

// Errors of members that ask to join. With all of them nothing was changed.
var (
	// ErrJoinToken says that a member cannot join with the token that it brought.
	ErrJoinToken = errors.New("join token refused")
	// ErrNotEnabled says that the cluster version does not allow it yet.
	ErrNotEnabled = errors.New("the cluster version does not allow it yet")
)

// Admit adds a member that brought a join token, as learner, on the leader. Its first call binds the token to it; asked
// again, by the same member, it changes nothing. One that takes the place of another does so when it has caught up.
func (n *Node) Admit(ctx context.Context, token []byte, spec MemberSpec) (Member, error) {
	if spec.ID == 0 || raft.IsLocalMsgTarget(spec.ID) || spec.Name == "" {
		return Member{}, fmt.Errorf("%w: it needs a name and an id", ErrMemberRefused)
	}
	record := spec.record()
	if err := storage.CheckJoiner(record); err != nil {
		return Member{}, fmt.Errorf("%w: %w", ErrMemberRefused, err)
	}
	hash := sha256.Sum256(token)
	join := &storev1.JoinMember{Member: record, TokenSha256: hash[:]}
	if err := n.mayJoin(join); err != nil {
		return Member{}, err
	}
	cs, end, err := n.beginChange(ctx)
	if err != nil {
		return Member{}, err
	}
	defer end()
	// The record comes first: nobody could talk to a member without it.
	err = n.proposeMember(ctx, &storev1.Command{Kind: &storev1.Command_JoinMember{JoinMember: join}})
	if err != nil {
		return Member{}, err
	}
	if err := n.enlist(ctx, cs, record); err != nil {
		return Member{}, err
	}
	return n.member(spec.ID)
}

// mayJoin refuses a member that cannot join, before anything enters the log or waits for its turn: anybody can ask.
func (n *Node) mayJoin(join *storev1.JoinMember) error {
	if err := n.mayPropose(); err != nil {
		return err
	}
	if !n.takesTokens() {
		return ErrNotEnabled
	}
	if n.tombstoned(join.GetMember().GetId()) {
		return ErrMemberRemoved
	}
	rd := n.Store().NewReader()
	can, err := rd.CanJoin(join)
	if err = errors.Join(err, rd.Close()); err == nil && !can {
		err = ErrJoinToken
	}
	return err
}

// takesTokens reports whether the cluster version knows join tokens. A member of an older program could not apply a
// command about them.
func (n *Node) takesTokens() bool { return storage.KnowsJoinTokens(n.Store().Applied().ClusterVersion) }

// enlist makes a recorded member a learner of raft's.
func (n *Node) enlist(ctx context.Context, cs *raftpb.ConfState, m *storev1.Member) error {
	if isMember(cs, m.GetId()) {
		return nil
	}
	if err := n.changeConf(ctx, single(raftpb.ConfChangeAddLearnerNode, m.GetId())); err != nil {
		return err
	}
	n.log.Info("added member", zap.String("name", m.GetName()), zap.Uint64("member", m.GetId()),
		zap.String("peer_address", m.GetPeerAddress()))
	return nil
}

// record returns the record of a member that joins.
func (s MemberSpec) record() *storev1.Member {
	return &storev1.Member{
		Id: s.ID, Incarnation: s.Incarnation, Name: s.Name,
		PeerAddress: s.Addresses.Peer, ClientAddress: s.Addresses.Client, HttpAddress: s.Addresses.HTTP,
		VersionMin: s.VersionMin, VersionMax: s.VersionMax, Zone: s.Zone, BinaryVersion: s.BinaryVersion,
		Learner: true, StayLearner: s.StayLearner,
	}
}

// joinTokens returns the tokens with which members have joined, by the members' ids; none while the store is being replaced.
func (n *Node) joinTokens() map[uint64]storage.JoinToken {
	rd := n.Store().NewReader()
	all, err := rd.JoinTokens()
	if err = errors.Join(err, rd.Close()); err != nil {
		return nil
	}
	used := map[uint64]storage.JoinToken{}
	for _, t := range all {
		if t.GetMemberId() != 0 {
			used[t.GetMemberId()] = t
		}
	}
	return used
}

// replaces returns the member in whose place another joined, as long as both are there; 0 if there is none.
func replaces(cs *raftpb.ConfState, tokens map[uint64]storage.JoinToken, id uint64) uint64 {
	old := tokens[id].GetReplaces()
	if old == 0 || old == id || !isMember(cs, old) || !slices.Contains(cs.GetLearners(), id) {
		return 0
	}
	return old
}

// takePlace lets a learner take the place of another member in one joint change: never a vote less. A leader that is to be
// replaced hands the leadership over, and the next one does it.
func (n *Node) takePlace(ctx context.Context, cs *raftpb.ConfState, old uint64, t storage.JoinToken) error {
	if old == n.identity.MemberID {
		return n.stepAside(ctx)
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
	if err := n.checkQuorum(after); err != nil && !t.GetForce() {
		return err
	}
	if err := n.changeConf(ctx, change); err != nil {
		return err
	}
	if err := n.awaitConf(ctx, func(cs *raftpb.ConfState) bool { return !isMember(cs, old) }); err != nil {
		return err
	}
	n.log.Info("replaced member", zap.Uint64("member", old), zap.Uint64("by", id))
	err := n.deleteMember(ctx, old)
	if slices.Contains(after, id) {
		err = errors.Join(err, n.recordVoter(ctx, id))
	}
	return err
}
