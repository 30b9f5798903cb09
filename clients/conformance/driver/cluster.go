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
	rig     *rig.Cluster
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
	c.rig = rig.StartClusterEach(ctx, t, binary, members, func(i int) []string {
		return []string{"--advertise", c.proxies[i].Address()}
	})
	for i, m := range c.rig.Members {
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
	for _, m := range c.rig.Members {
		m.Kill()
	}
}

// fault does something to one member or its proxy.
func (c *cluster) fault(ctx context.Context, s *Step, i int) error {
	p, m := c.proxies[i], c.rig.Members[i]
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

// startAll starts all members, which need each other to serve.
func (c *cluster) startAll(ctx context.Context) {
	for _, m := range c.rig.Members {
		m.Launch(ctx)
	}
	for i, m := range c.rig.Members {
		m.Await(ctx)
		c.proxies[i].SetTarget(m.Addresses.GRPC)
	}
}
