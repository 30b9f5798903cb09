package cluster

import (
	"context"
	"slices"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
)

// members returns the members as this one knows them, by name: those that are recorded, and of others, such as one that
// is being added, their ids.
func (a *Service) members(status raftnode.Status) []*tenurev1.Member {
	var members []*tenurev1.Member
	seen := map[uint64]bool{}
	for _, m := range a.Node.Members() {
		seen[m.GetId()] = true
		members = append(members, memberToProto(m, status.MemberID))
	}
	add := func(ids []uint64, learner bool) {
		for _, id := range ids {
			if seen[id] {
				continue
			}
			m := &tenurev1.Member{Id: id, Learner: learner, Leader: id == status.Leader}
			if id == status.MemberID {
				m.Name = a.self.Name
				m.ClientAddress = a.self.ClientAddr
				m.HttpAddress = a.self.HTTPAddr
				m.PeerAddress = a.self.PeerAddr
				m.Zone = a.self.Zone
				m.Version = a.self.Version
			}
			members = append(members, m)
		}
	}
	add(status.Voters, false)
	add(status.Learners, true)
	slices.SortFunc(members, func(x, y *tenurev1.Member) int { return strings.Compare(x.GetName(), y.GetName()) })
	return members
}

// memberToProto returns a member as the API shows it.
func memberToProto(m raftnode.Member, self uint64) *tenurev1.Member {
	out := &tenurev1.Member{
		Id:            m.GetId(),
		Name:          m.GetName(),
		ClientAddress: m.GetClientAddress(),
		HttpAddress:   m.GetHttpAddress(),
		PeerAddress:   m.GetPeerAddress(),
		Learner:       !m.Voter,
		Leader:        m.Leader,
		Zone:          m.GetZone(),
		Version:       m.GetBinaryVersion(),
	}
	if m.GetId() != self {
		out.Reachable = &m.Reachable
	}
	if m.Known {
		out.Lag = &m.Lag
	}
	return out
}

// ListMembers serves ClusterService.
func (a *Service) ListMembers(ctx context.Context, _ *tenurev1.ListMembersRequest) (*tenurev1.ListMembersResponse, error) {
	if err := a.Node.ReadIndex(ctx); err != nil {
		return nil, err
	}
	return &tenurev1.ListMembersResponse{
		Header:  a.Header(a.Node.Store().Applied()),
		Members: a.members(a.Node.Status()),
	}, nil
}

// LeaderHint returns the id of the leader and where clients reach it, as far as this member knows.
func (a *Service) LeaderHint() (id uint64, address string) {
	id = a.Node.Status().Leader
	if id == 0 {
		return 0, ""
	}
	if id == a.MemberID {
		return id, a.self.ClientAddr
	}
	for _, m := range a.Node.Members() {
		if m.GetId() == id {
			return id, m.GetClientAddress()
		}
	}
	return id, ""
}
