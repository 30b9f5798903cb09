package raftnode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

// Errors of changes of members. With all of them nothing was changed.
var (
	// ErrMemberUnknown says that no member has that id.
	ErrMemberUnknown = errors.New("unknown member")
	// ErrMemberExists says that a member has that name, or that id from another disk.
	ErrMemberExists = errors.New("the member already exists")
	// ErrMemberRemoved says that the id belonged to a member that was removed. Ids are never used again.
	ErrMemberRemoved = errors.New("member was removed")
	// ErrMemberRefused says that the member cannot be of this cluster; the text says why.
	ErrMemberRefused = errors.New("the member was refused")
	// ErrLosesQuorum says that too few voters could be reached after the change.
	ErrLosesQuorum = errors.New("the change would lose the quorum")
	// ErrNotCaughtUp says that a member lacks too much of the log for what is asked of it.
	ErrNotCaughtUp = errors.New("member has not caught up")
	// ErrConfChangePending says that another change of members is not finished.
	ErrConfChangePending = core.ErrConfChangePending
	// ErrTransferFailed says that the leadership was not taken over in time.
	ErrTransferFailed = errors.New("leadership was not transferred")
	// ErrOnlyVoter says that the leadership cannot be handed over, because no other member votes.
	ErrOnlyVoter = errors.New("no other member votes, so leadership cannot be transferred")
	// ErrRemoved says that this member was removed from its cluster, and stops for good.
	ErrRemoved = errors.New("this member was removed from the cluster")
)

// MembershipOptions says how members come and go. The zero value is good.
type MembershipOptions struct {
	// ManualPromotion leaves it to PromoteMember to let a learner vote, instead of doing so when it has caught up.
	ManualPromotion bool
}

const (
	// caughtUpEntries is how many entries a learner may lack to be promoted.
	caughtUpEntries = 1000
	// caughtUpChecks is for how many looks in a row it must have caught up.
	caughtUpChecks = 4
	// orphanGrace is how long a record of a learner may be there before raft knows it: time for a member that joins to
	// ask again after a change of leaders.
	orphanGrace = 30 * time.Second
)

// conf returns the members as applied, or ErrConfChangePending while a joint change is under way.
func (n *Node) conf() (*raftpb.ConfState, error) {
	cs, err := core.UnmarshalConfState(n.Store().Applied().ConfState)
	if err != nil {
		return nil, err
	}
	if len(cs.GetVotersOutgoing()) > 0 || len(cs.GetLearnersNext()) > 0 {
		return nil, ErrConfChangePending
	}
	return cs, nil
}

// beginChange waits until no other change of members is made through this member, proves that it leads, and returns the
// members. end is due when the error is nil.
func (n *Node) beginChange(ctx context.Context) (cs *raftpb.ConfState, end func(), err error) {
	select {
	case n.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("%w: %w", ErrConfChangePending, ctx.Err())
	case <-n.done:
		return nil, nil, ErrStopped
	}
	end = func() { <-n.changing }
	if _, err = n.ReadIndexLeader(ctx); err == nil {
		cs, err = n.conf()
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return cs, end, nil
}

// PromoteMember lets a learner vote, on the leader. Forced, also one that has not caught up or cannot be reached.
func (n *Node) PromoteMember(ctx context.Context, id uint64, force bool) (Member, error) {
	cs, end, err := n.beginChange(ctx)
	if err != nil {
		return Member{}, err
	}
	defer end()
	return n.promote(ctx, cs, id, force)
}

func (n *Node) promote(ctx context.Context, cs *raftpb.ConfState, id uint64, force bool) (Member, error) {
	switch {
	case slices.Contains(cs.GetVoters(), id):
		return n.member(id)
	case !slices.Contains(cs.GetLearners(), id):
		return Member{}, fmt.Errorf("%w: %x", ErrMemberUnknown, id)
	}
	if !force {
		if err := n.patiently(ctx, func() error { return n.caughtUp(id) }); err != nil {
			return Member{}, err
		}
		after := append(slices.Clone(cs.GetVoters()), id)
		if err := n.patiently(ctx, func() error { return n.checkQuorum(after) }); err != nil {
			return Member{}, err
		}
	}
	if err := n.changeConf(ctx, single(raftpb.ConfChangeAddNode, id)); err != nil {
		return Member{}, err
	}
	n.log.Info("promoted member", zap.Uint64("member", id))
	// The record says the same later if this fails.
	if err := n.recordVoter(ctx, id); err != nil {
		n.log.Debug("record of a promoted member", zap.Error(err))
	}
	return n.member(id)
}

func (n *Node) recordVoter(ctx context.Context, id uint64) error {
	record := n.record(id)
	if record == nil || !record.GetLearner() {
		return nil
	}
	record.Learner, record.StayLearner = false, false
	return n.putMember(ctx, record)
}

// RemoveMember removes a member for good, on the leader. A leader that is asked to remove itself hands the leadership
// over and answers ErrNotLeader with a hint: the next one removes it.
func (n *Node) RemoveMember(ctx context.Context, id uint64, force bool) error {
	cs, end, err := n.beginChange(ctx)
	if err != nil {
		return err
	}
	defer end()
	if !isMember(cs, id) {
		if n.record(id) == nil {
			return fmt.Errorf("%w: %x", ErrMemberUnknown, id)
		}
		return n.deleteMember(ctx, id)
	}
	rest := without(cs.GetVoters(), id)
	if len(rest) == 0 {
		return fmt.Errorf("%w: it is the only voter", ErrLosesQuorum)
	}
	if slices.Contains(cs.GetVoters(), id) && !force {
		if err := n.patiently(ctx, func() error { return n.checkQuorum(rest) }); err != nil {
			return err
		}
	}
	if id == n.identity.MemberID {
		return n.stepAside(ctx)
	}
	if err := n.changeConf(ctx, single(raftpb.ConfChangeRemoveNode, id)); err != nil {
		return err
	}
	n.log.Info("removed member", zap.Uint64("member", id))
	return n.deleteMember(ctx, id)
}

// stepAside hands the leadership to whoever can take it, and says who that is.
func (n *Node) stepAside(ctx context.Context) error {
	if err := n.transfer(ctx, 0); err != nil {
		return err
	}
	l := n.view.Load().lead
	return &NotLeaderError{Leader: l.Leader, Term: l.Term}
}

// TransferLeadership hands the leadership to a voter, on the leader; 0 lets the one take it that can soonest.
func (n *Node) TransferLeadership(ctx context.Context, id uint64) error {
	_, end, err := n.beginChange(ctx)
	if err != nil {
		return err
	}
	defer end()
	return n.transfer(ctx, id)
}

func (n *Node) transfer(ctx context.Context, id uint64) error {
	if id == n.identity.MemberID {
		return nil
	}
	cs, err := n.conf()
	if err != nil {
		return err
	}
	if id != 0 && !slices.Contains(cs.GetVoters(), id) {
		return fmt.Errorf("%w: %x is not a voter", ErrMemberUnknown, id)
	}
	if len(cs.GetVoters()) == 1 {
		return ErrOnlyVoter
	}
	var found *peerView
	err = n.patiently(ctx, func() error {
		found, err = n.successor(id)
		return err
	})
	if err != nil {
		return err
	}
	n.log.Info("transfers the leadership", zap.Uint64("to", found.ID))
	n.mail.put(core.Transfer{To: found.ID})
	tick := time.NewTicker(n.o.Tick)
	defer tick.Stop()
	for range 2 * n.o.ElectionTicks {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrTransferFailed, ctx.Err())
		case <-n.done:
			return ErrStopped
		}
		if l := n.view.Load().lead; l.Leader != 0 && l.Leader != n.identity.MemberID {
			if l.Leader != found.ID {
				return fmt.Errorf("%w: member %x is now the leader", ErrTransferFailed, l.Leader)
			}
			return nil
		}
	}
	return fmt.Errorf("%w: %x did not become leader", ErrTransferFailed, found.ID)
}

// successor returns who can take the leadership over: the member wanted, or the one that can soonest.
func (n *Node) successor(id uint64) (*peerView, error) {
	var found *peerView
	for _, p := range n.peers.list() {
		if p.Self || p.Learner || !p.Reachable {
			continue
		}
		if p.ID == id || id == 0 && (found == nil || p.Match > found.Match) {
			found = &p
		}
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("%w: no other voter can be reached", ErrTransferFailed)
	case !found.Replicating:
		return nil, fmt.Errorf("%w: %x", ErrNotCaughtUp, found.ID)
	default:
		return found, nil
	}
}

// patiently checks at every tick, up to an election time-out, until nothing is wrong: a new leader has not heard of
// everybody yet.
func (n *Node) patiently(ctx context.Context, check func() error) error {
	tick := time.NewTicker(n.o.Tick)
	defer tick.Stop()
	err := check()
	for range n.o.ElectionTicks {
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		case <-n.done:
			return ErrStopped
		}
		err = check()
	}
	return err
}

func without(ids []uint64, id uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(ids), func(x uint64) bool { return x == id })
}

// checkQuorum refuses voters of which too few can be reached.
func (n *Node) checkQuorum(voters []uint64) error {
	reachable := 0
	var missing []string
	for _, id := range voters {
		if p := n.peer(id); p != nil && p.Reachable {
			reachable++
		} else {
			missing = append(missing, fmt.Sprintf("%x", id))
		}
	}
	if need := len(voters)/2 + 1; reachable < need {
		return fmt.Errorf("%w: after it there are %d voters, of which %d can be reached and %d are needed (unreachable: %v)",
			ErrLosesQuorum, len(voters), reachable, need, missing)
	}
	return nil
}

// peer returns what the leader sees of a member, nil if nothing.
func (n *Node) peer(id uint64) *peerView {
	for _, p := range n.peers.list() {
		if p.ID == id {
			return &p
		}
	}
	return nil
}

// caughtUp refuses a member that lacks too much.
func (n *Node) caughtUp(id uint64) error {
	p := n.peer(id)
	switch {
	case p == nil || !p.Reachable:
		return fmt.Errorf("%w: %x cannot be reached", ErrNotCaughtUp, id)
	case !p.Replicating:
		return fmt.Errorf("%w: %x is receiving a snapshot", ErrNotCaughtUp, id)
	}
	if commit := n.view.Load().commit; p.Match+caughtUpEntries < commit {
		return fmt.Errorf("%w: %x lacks %d entries", ErrNotCaughtUp, id, commit-p.Match)
	}
	return nil
}

// awaitConf waits until the members are as wanted.
func (n *Node) awaitConf(ctx context.Context, is func(*raftpb.ConfState) bool) error {
	return n.await(ctx, func() (bool, error) {
		cs, err := core.UnmarshalConfState(n.Store().Applied().ConfState)
		return err == nil && is(cs), err
	}, func() error { return ErrOutcomeUnknown })
}

// await looks at every tick until something is so. late explains what it was not when ctx ended.
func (n *Node) await(ctx context.Context, is func() (bool, error), late func() error) error {
	tick := time.NewTicker(n.o.Tick)
	defer tick.Stop()
	for {
		if ok, err := is(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(late(), ctx.Err())
		case <-n.done:
			return ErrStopped
		}
	}
}

// putMember writes a member's record.
func (n *Node) putMember(ctx context.Context, m *storev1.Member) error {
	return n.proposeMember(ctx, &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{Member: m}}})
}

// deleteMember forgets a member that raft has forgotten, and keeps its id from being used again.
func (n *Node) deleteMember(ctx context.Context, id uint64) error {
	return n.proposeMember(ctx, &storev1.Command{
		WallTimeMs: time.Now().UnixMilli(),
		Kind:       &storev1.Command_DeleteMember{DeleteMember: &storev1.DeleteMember{Id: id}},
	})
}

// proposeMember proposes a command about members and makes an error of its failure.
func (n *Node) proposeMember(ctx context.Context, c *storev1.Command) error {
	result, err := n.Propose(ctx, c)
	if err != nil {
		return err
	}
	f := result.GetFailure()
	switch f.GetReason() {
	case storev1.FailureReason_FAILURE_REASON_UNSPECIFIED:
		return nil
	case storev1.FailureReason_FAILURE_REASON_MEMBER_EXISTS:
		return fmt.Errorf("%w: %s", ErrMemberExists, storage.FailureText(f))
	case storev1.FailureReason_FAILURE_REASON_MEMBER_REMOVED:
		return fmt.Errorf("%w: %s", ErrMemberRemoved, storage.FailureText(f))
	case storev1.FailureReason_FAILURE_REASON_JOIN_TOKEN_REFUSED:
		return fmt.Errorf("%w: %s", ErrJoinToken, storage.FailureText(f))
	case storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED:
		return ErrNotEnabled
	default:
		return fmt.Errorf("%w: %s", ErrMemberRefused, storage.FailureText(f))
	}
}
