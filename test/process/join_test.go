package process_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// awaitVoters waits until the leader says that so many members vote.
func awaitVoters(ctx context.Context, t *testing.T, c *rig.Cluster, voters int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, failoverTime)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for got := 0; ; {
		if s, err := c.Leader(ctx).Status(ctx); err == nil {
			got = 0
			for _, m := range s.GetMembers() {
				if !m.GetLearner() {
					got++
				}
			}
			if got == voters {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d voters, want %d", got, voters)
		}
	}
}

// A cluster of one grows to three; the first member may then be lost.
func TestMembersJoin(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 1)
	put(ctx, t, c, "before")
	for want := 2; want <= 3; want++ {
		m := c.Join(ctx)
		seen(ctx, t, c, "before")
		awaitVoters(ctx, t, c, want)
		if want == 2 {
			// Told again to join, a member that is in already goes on as it is.
			m.Kill()
			m.Restart(ctx)
			awaitVoters(ctx, t, c, want)
		}
	}
	c.Member("a").Kill()
	put(ctx, t, c, "after")
	seen(ctx, t, c, "before")
	c.Member("a").Restart(ctx)
	seen(ctx, t, c, "after")
}

// A member that nobody invited stays outside of a cluster, even of one member: it has no vote, so losing it costs nothing.
func TestAMemberThatNobodyInvitedStaysOutside(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 1)
	put(ctx, t, c, "before")
	for _, name := range []string{"b", "a"} {
		m := c.Prepare(ctx, "--name="+name, "--join="+c.Member("a").Addresses.Peer)
		m.Launch(ctx)
		awaitLog(ctx, t, m, "tenure member add "+name)
		m.Kill()
	}
	s, err := c.Member("a").Status(ctx)
	if err != nil || len(s.GetMembers()) != 1 {
		t.Errorf("members: got %v, %v; want one", s.GetMembers(), err)
	}
	put(ctx, t, c, "after")
}
