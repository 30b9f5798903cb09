package server

import (
	"context"
	"fmt"
	"net"

	"github.com/google/uuid"
	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
)

// Inside is what a member gives to what runs in its process, such as the agent of its machine.
type Inside struct {
	// Conn leads to the member's own services.
	Conn grpc.ClientConnInterface
	// Node is the member's machine as the pool knows it: name, id, address and where it takes part in gossip.
	Node *tenurev1.Node
	// Decide makes a call that is served inside the process, if the client of HTTP may make it that ctx names.
	Decide func(ctx context.Context, of authz.Local, serve func() error) error
}

// besidePart is what a member runs and serves beside its own API.
type besidePart struct{ *running }

// start runs what is inside the member, and serves Consul's HTTP.
func (r besidePart) start(ctx context.Context, conn *grpc.ClientConn) error {
	if r.config.Inside != nil {
		run, err := r.config.Inside(Inside{Conn: conn, Node: r.machine(), Decide: r.gate.Local})
		if err != nil {
			return err
		}
		r.background(context.WithoutCancel(ctx), func(ctx context.Context) {
			if err := run(ctx); err != nil {
				r.fail(fmt.Errorf("agent: %w", err))
			}
		})
	}
	return r.serveConsul(ctx, conn)
}

// machine returns the node that the member is.
func (r besidePart) machine() *tenurev1.Node {
	status := r.node.Status()
	n := &tenurev1.Node{
		Name: r.config.Gossip.NodeName, NodeId: uuid.UUID(nodeID(status.ClusterID, status.MemberID)).String(),
		GossipAddress: r.addresses.Gossip, Zone: r.config.Zone,
	}
	if n.GetName() == "" {
		n.Name = r.config.Name
	}
	for _, address := range []string{r.addresses.Gossip, r.addresses.GRPC} {
		if host, _, err := net.SplitHostPort(address); err == nil && n.GetAddress() == "" {
			n.Address = host
		}
	}
	return n
}
