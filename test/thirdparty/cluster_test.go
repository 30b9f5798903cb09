package thirdparty_test

import (
	"context"
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

// start runs members until the test ends.
func start(ctx context.Context, t *testing.T, members int) *cluster {
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
		return []string{"--consul-http", c.addresses[i]}
	})
	return c
}

// address returns the address for the client with a number.
func (c *cluster) address(i int) string { return c.addresses[i%len(c.addresses)] }

// killLeader kills the leader, and starts it again at its addresses.
func (c *cluster) killLeader(ctx context.Context) {
	m := c.Leader(ctx)
	m.Kill()
	m.Restart(ctx)
}
