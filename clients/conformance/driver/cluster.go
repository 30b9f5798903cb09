package driver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// Cluster is real members, each behind a proxy whose address it advertises to clients.
type Cluster struct {
	// Rig has the members.
	Rig *rig.Cluster
	// Proxies stand before the members, in their order.
	Proxies []*rig.Proxy

	joined int    // How many of the members were added later.
	certs  string // The folder with certificates; empty without TLS.
}

// StartCluster starts members and proxies. With a folder of certificates the members speak TLS, which the proxies pass on.
func StartCluster(ctx context.Context, t *testing.T, binary string, members int, certs string) *Cluster {
	t.Helper()
	c := &Cluster{certs: certs}
	for range members {
		p, err := rig.NewProxy(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c.Proxies = append(c.Proxies, p)
	}
	each := func(i int) []string {
		flags := []string{"--advertise", c.Proxies[i].Address()}
		if certs != "" {
			flags = append(flags, rig.SecuredPeers(certs)...)
		}
		return flags
	}
	if certs == "" {
		c.Rig = rig.StartClusterEach(ctx, t, binary, members, each)
	} else {
		c.Rig = rig.StartSecuredCluster(ctx, t, binary, members, certs, each)
	}
	for i, m := range c.Rig.Members {
		c.Proxies[i].SetTarget(m.Addresses.GRPC)
	}
	return c
}

// Addresses returns the proxies' addresses.
func (c *Cluster) Addresses() []string {
	var list []string
	for _, p := range c.Proxies {
		list = append(list, p.Address())
	}
	return list
}

// Close ends proxies and members.
func (c *Cluster) Close() {
	for _, p := range c.Proxies {
		p.Close()
	}
	for _, m := range c.Rig.Members {
		m.Kill()
	}
}

// fault does something to one member or its proxy.
func (c *Cluster) fault(ctx context.Context, s *Step, i int) error {
	p, m := c.Proxies[i], c.Rig.Members[i]
	switch s.Fault {
	case "member.kill":
		m.Kill()
	case "member.stop":
		return m.Stop()
	case "member.remove":
		return c.remove(ctx, m)
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
func (c *Cluster) startAll(ctx context.Context) {
	for _, m := range c.Rig.Members {
		m.Launch(ctx)
	}
	for i, m := range c.Rig.Members {
		m.Await(ctx)
		c.Proxies[i].SetTarget(m.Addresses.GRPC)
	}
}
