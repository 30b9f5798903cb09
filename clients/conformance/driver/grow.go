package driver

import (
	"context"
	"fmt"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// join adds a member, behind a proxy as the others, which may refuse all connections. It serves; it votes soon.
func (c *Cluster) join(ctx context.Context, t *testing.T, refuse bool) error {
	t.Helper()
	p, err := rig.NewProxy(ctx)
	if err != nil {
		return err
	}
	if refuse {
		p.Refuse()
	}
	c.Proxies = append(c.Proxies, p)
	c.joined++
	m := c.Rig.Join(ctx, "--advertise", p.Address())
	p.SetTarget(m.Addresses.GRPC)
	return nil
}

// remove takes a member out of the cluster for good, and ends it.
func (c *Cluster) remove(ctx context.Context, m *rig.Member) error {
	other := c.Rig.Members[0]
	if other == m {
		other = c.Rig.Members[1]
	}
	connection := other.Dial()
	defer func() { _ = connection.Close() }()
	cluster := tenurev1.NewClusterServiceClient(connection)
	answer, err := cluster.ListMembers(ctx, &tenurev1.ListMembersRequest{})
	if err != nil {
		return err
	}
	for _, member := range answer.GetMembers() {
		if member.GetName() == m.Name() {
			if _, err = cluster.RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: member.GetId()}); err != nil {
				return err
			}
			m.Kill()
			return nil
		}
	}
	return fmt.Errorf("%s is no member", m.Name())
}

// awaitUsed waits until clients have so many connections to members that joined, in all, or to each member there is.
func (c *Cluster) awaitUsed(ctx context.Context, connections int, each bool) error {
	ctx, cancel := context.WithTimeout(ctx, withinDefault)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		joined, least := 0, c.Proxies[0].Connections()
		for i, p := range c.Proxies {
			n := p.Connections()
			least = min(least, n)
			if i >= len(c.Proxies)-c.joined {
				joined += n
			}
		}
		if each && least >= connections || !each && joined >= connections {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("clients have %d connections to members that joined, and %d to one, want %d", joined, least, connections)
		}
	}
}
