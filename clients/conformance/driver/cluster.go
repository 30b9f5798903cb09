package driver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// cluster is real members, each behind a proxy whose address it advertises to clients.
type cluster struct {
	members []*rig.Member
	proxies []*Proxy
}

// startCluster starts members and proxies.
func startCluster(ctx context.Context, t *testing.T, binary string, members int) *cluster {
	t.Helper()
	c := &cluster{}
	for range members {
		p, err := NewProxy(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.proxies = append(c.proxies, p)
	}
	for i, p := range c.proxies {
		m := rig.Start(ctx, t, binary, "--advertise", p.Address())
		c.members = append(c.members, m)
		c.proxies[i].SetTarget(m.Addresses.GRPC)
	}
	return c
}

// addresses returns the proxies' addresses.
func (c *cluster) addresses() []string {
	var list []string
	for _, p := range c.proxies {
		list = append(list, p.Address())
	}
	return list
}

// close ends the proxies; the members end with the test.
func (c *cluster) close() {
	for _, p := range c.proxies {
		p.Close()
	}
	for _, m := range c.members {
		m.Kill()
	}
}

// fault does something to one member or its proxy.
func (c *cluster) fault(ctx context.Context, s *Step, i int) error {
	p, m := c.proxies[i], c.members[i]
	switch s.Fault {
	case "member.kill":
		m.Kill()
	case "member.stop":
		return m.Stop()
	case "member.start":
		m.Restart(ctx)
		p.SetTarget(m.Addresses.GRPC)
	case "member.pause":
		m.Pause()
	case "member.resume":
		m.Resume()
	case "proxy.cut":
		p.Cut()
	case "proxy.refuse":
		p.Refuse()
	case "proxy.block":
		p.Block(s.Way)
	case "proxy.slow":
		p.Slow(time.Duration(s.DelayMs)*time.Millisecond, time.Duration(s.JitterMs)*time.Millisecond)
	case "proxy.heal":
		p.Heal()
	default:
		return fmt.Errorf("unknown fault %q", s.Fault)
	}
	return nil
}
