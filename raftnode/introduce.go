package raftnode

import (
	"context"
	"fmt"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

// Introduce asks whoever listens at a peer address who it is, so that it can be added. It fails with ErrMemberRefused if
// nobody answers there, or one of another cluster.
func (n *Node) Introduce(ctx context.Context, address string) (MemberSpec, error) {
	if n.wire == nil {
		return MemberSpec{}, ErrNoPeers
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	resp, err := n.wire.Transport.Probe(ctx, address, &peerv1.ProbeRequest{Caller: n.wire.header()})
	if err != nil {
		return MemberSpec{}, fmt.Errorf("%w: nobody answers at %s: %w", ErrMemberRefused, address, err)
	}
	h := resp.GetHeader()
	if id := h.GetClusterId(); !isZero(id) && string(id) != string(n.identity.ClusterID[:]) {
		return MemberSpec{}, fmt.Errorf("%w: the member at %s is of another cluster", ErrMemberRefused, address)
	}
	if m := n.record(h.GetFrom()); m != nil {
		// It asked to be added itself, and said more.
		return MemberSpec{
			ID: m.GetId(), Incarnation: h.GetFromIncarnation(), Name: m.GetName(),
			Addresses: Addresses{Peer: m.GetPeerAddress(), Client: m.GetClientAddress(), HTTP: m.GetHttpAddress()},
			Zone:      m.GetZone(), BinaryVersion: m.GetBinaryVersion(), VersionMin: m.GetVersionMin(), VersionMax: m.GetVersionMax(),
			StayLearner: m.GetStayLearner(),
		}, nil
	}
	return MemberSpec{
		ID: h.GetFrom(), Incarnation: h.GetFromIncarnation(), Name: h.GetName(),
		Addresses: Addresses{Peer: address}, BinaryVersion: h.GetBinaryVersion(),
		VersionMax: h.GetVersionMax(),
	}, nil
}
