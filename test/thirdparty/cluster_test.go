package thirdparty_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/internal/port"
	"github.com/tenure-io/tenure/test/rig"
)

// patience is how long a test waits for what must come.
const patience = 4 * time.Minute

// cluster is members that serve Consul's HTTP, at addresses that stay theirs.
type cluster struct {
	*rig.Cluster
	addresses []string
}

// start runs members, with more flags, until the test ends.
func start(ctx context.Context, t *testing.T, members int, flags ...string) *cluster {
	t.Helper()
	c := &cluster{}
	for range members {
		kept, err := port.Keep(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = kept.Close() })
		c.addresses = append(c.addresses, kept.Address())
	}
	c.Cluster = rig.StartClusterEach(ctx, t, binary, members, func(i int) []string {
		return append([]string{"--consul-http", c.addresses[i]}, flags...)
	})
	c.AwaitRaised(ctx)
	return c
}

// startAgent runs the agent of a machine, with more flags, until the test ends, and returns its address for clients of Consul.
func (c *cluster) startAgent(ctx context.Context, t *testing.T, flags ...string) string {
	t.Helper()
	a := rig.NewAgent(t, binary, "machine", strings.Join(c.Endpoints(), ","), append([]string{"--gossip", "off", "--consul-http", "127.0.0.1:0"}, flags...)...)
	a.Restart(ctx)
	return a.Consul
}

// address returns the address for the client with a number.
func (c *cluster) address(i int) string { return c.addresses[i%len(c.addresses)] }

// killLeader kills the leader, and starts it again at its addresses.
func (c *cluster) killLeader(ctx context.Context) {
	m := c.Leader(ctx)
	m.Kill()
	m.Restart(ctx)
}
