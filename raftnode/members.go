package raftnode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/membership"
)

// Member is one server of the cluster, as this member sees it.
type Member struct {
	// Member is the replicated record. Nobody may change it.
	*storev1.Member
	// Voter and Learner tell what it is to raft, by the applied members. Both are false for one that is recorded only.
	Voter, Learner bool
	// Leader tells whether it leads, as far as this member knows.
	Leader bool
	// Reachable tells whether this member has a connection to it. It is true for this member itself.
	Reachable bool
	// RoundTrip is how long it took for its last answer to this member, 0 if unknown.
	RoundTrip time.Duration
	// Problem is what is wrong with the way to it or back; empty if nothing is known to be.
	Problem string
	// Known tells whether Match and Lag are known, which they are on the leader.
	Known bool
	// Match is the last entry that it has for certain, Lag how many it lacks.
	Match, Lag uint64
}

// JoinTokenBytes is how long a join token is.
const JoinTokenBytes = 32

// Addresses are where a member says that it can be reached, host:port each.
type Addresses = membership.Addresses

// MemberSpec says who asks to join.
type MemberSpec = membership.Spec

// MembershipOptions says how members come and go. The zero value is good.
type MembershipOptions struct {
	// ManualPromotion leaves it to PromoteMember to let a learner vote, instead of doing so when it has caught up.
	ManualPromotion bool
}

// Admit adds a member that brought a join token, as learner, on the leader. Its first call binds the token to it; asked
// again, by the same member, it changes nothing. One that takes the place of another does so when it has caught up.
func (n *Node) Admit(ctx context.Context, token []byte, spec MemberSpec) (Member, error) {
	if err := n.changes.Admit(ctx, token, spec); err != nil {
		return Member{}, err
	}
	return memberOf(n.Members(), spec.ID)
}

// AllowedBelow returns a context for a change of members that was allowed below a deny revision. It is compared right before the change is proposed, with
// what is applied then: the change fails with ErrRightsTaken if rights were taken away up to then, and waits while a command is under way that may take
// some. What takes some later is behind the change in the log. Zero: it is not compared.
func AllowedBelow(ctx context.Context, below uint64) context.Context {
	return membership.AllowedBelow(ctx, below)
}

// PromoteMember lets a learner vote, on the leader. Forced, also one that has not caught up or cannot be reached.
func (n *Node) PromoteMember(ctx context.Context, id uint64, force bool) (Member, error) {
	if err := n.changes.Promote(ctx, id, force); err != nil {
		return Member{}, err
	}
	return memberOf(n.Members(), id)
}

// RemoveMember removes a member for good, on the leader. A leader that is asked to remove itself hands the leadership
// over and answers ErrNotLeader with a hint: the next one removes it.
func (n *Node) RemoveMember(ctx context.Context, id uint64, force bool) error {
	return n.changes.Remove(ctx, id, force)
}

// TransferLeadership hands the leadership to a voter, on the leader; 0 lets the one take it that can soonest.
func (n *Node) TransferLeadership(ctx context.Context, id uint64) error {
	return n.changes.Transfer(ctx, id)
}

// memberOf returns one of some members.
func memberOf(members []Member, id uint64) (Member, error) {
	for _, m := range members {
		if m.GetId() == id {
			return m, nil
		}
	}
	return Member{}, fmt.Errorf("%w: %x", ErrMemberUnknown, id)
}

// connector is a transport with connections for calls.
type connector interface {
	Conn(member uint64) (grpc.ClientConnInterface, error)
}

// PeerConn returns a connection for calls to another member, kept by this one. Calls name both ends; the other member
// refuses them if it is not of this cluster, or does not know this member.
func (n *Node) PeerConn(member uint64) (grpc.ClientConnInterface, error) {
	c, ok := n.o.Transport.(connector)
	if !ok {
		return nil, ErrMemberUnknown
	}
	return c.Conn(member)
}

// Members returns the members that are recorded, by id, and what this one sees of them.
func (n *Node) Members() []Member {
	r := n.Store().NewReader()
	records, err := r.Members()
	if err = errors.Join(err, r.Close()); err != nil {
		// A store that is being replaced or closed has nothing to tell.
		return nil
	}
	s, ways := n.Status(), n.self.Ways()
	progress := map[uint64]membership.Peer{}
	for _, v := range n.peers.List() {
		progress[v.ID] = v
	}
	members := make([]Member, 0, len(records))
	for _, m := range records {
		id := m.GetId()
		v, leads := progress[id]
		member := Member{
			Member:    m,
			Voter:     slices.Contains(s.Voters, id),
			Learner:   slices.Contains(s.Learners, id),
			Leader:    s.Leader == id,
			Reachable: s.MemberID == id || ways[id].Connected,
			RoundTrip: ways[id].RoundTrip,
			Problem:   ways[id].Problem,
		}
		if leads && ways == nil {
			member.Reachable = member.Reachable || v.Reachable
		}
		if leads {
			member.Known, member.Match, member.Lag = true, v.Match, s.LastIndex-min(v.Match, s.LastIndex)
		}
		members = append(members, member)
	}
	return members
}
