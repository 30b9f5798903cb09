package driver

import (
	"context"
	"errors"
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
	flags := []string{"--advertise", p.Address()}
	if c.certs != "" {
		flags = append(flags, rig.SecuredPeers(c.certs)...)
	}
	m := c.Rig.Join(ctx, flags...)
	p.SetTarget(m.Addresses.GRPC)
	return nil
}

// remove takes a member out of the cluster for good, and ends it. The cluster may be busy with another change, or without leader.
func (c *Cluster) remove(ctx context.Context, m *rig.Member) error {
	ctx, cancel := context.WithTimeout(ctx, withinDefault)
	defer cancel()
	other := c.Rig.Members[0]
	if other == m {
		other = c.Rig.Members[1]
	}
	connection := other.Dial()
	defer func() { _ = connection.Close() }()
	cluster := tenurev1.NewClusterServiceClient(connection)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for tried := false; ; {
		err := removeNamed(ctx, cluster, m.Name())
		if err == nil || tried && errors.Is(err, errNoMember) {
			m.Kill()
			return nil
		}
		if errors.Is(err, errNoMember) {
			return err
		}
		tried = true
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// errNoMember says that there is nobody to remove.
var errNoMember = errors.New("no member has this name")

// removeNamed removes the member of a name.
func removeNamed(ctx context.Context, cluster tenurev1.ClusterServiceClient, name string) error {
	answer, err := cluster.ListMembers(ctx, &tenurev1.ListMembersRequest{})
	if err != nil {
		return err
	}
	for _, member := range answer.GetMembers() {
		if member.GetName() == name {
			_, err = cluster.RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: member.GetId()})
			return err
		}
	}
	return fmt.Errorf("%s: %w", name, errNoMember)
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
