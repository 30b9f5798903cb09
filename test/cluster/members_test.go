package cluster_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// run runs a command of the program on a member and returns what it printed; fails tells whether it is to fail.
func run(ctx context.Context, t *testing.T, m *rig.Member, fails bool, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "TENURE_ENDPOINTS="+m.Addresses.GRPC)
	out, err := cmd.CombinedOutput()
	if (err != nil) != fails {
		t.Fatalf("tenure %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Members come and go by the command line, asked of a member that does not lead.
func TestMembersAreChangedThroughAFollower(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	follower := followers(c, c.Leader(ctx))[0]
	cl := dial(t, follower, "")
	if _, err := cl.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: &tenurev1.PutRequest_Text{Text: "v"}}); err != nil {
		t.Fatal(err)
	}
	joined := c.Join(ctx)
	awaitVoters(ctx, t, cl, 4)
	run(ctx, t, follower, false, "member", "add", joined.Name(), joined.Addresses.Peer) // It is one already.
	run(ctx, t, follower, true, "member", "add", "zz", joined.Addresses.Peer)           // It says another name.
	run(ctx, t, follower, true, "member", "promote", "nobody")
	leader := c.Leader(ctx).Name()
	run(ctx, t, follower, false, "member", "transfer-leader", joined.Name())
	if got := c.Leader(ctx).Name(); got != joined.Name() {
		t.Errorf("%s leads, want %s", got, joined.Name())
	}
	run(ctx, t, follower, false, "member", "remove", leader)
	awaitVoters(ctx, t, cl, 3)
	spare := c.Join(ctx, "--learner")
	run(ctx, t, follower, false, "member", "replace", joined.Name(), spare.Name(), spare.Addresses.Peer, "--timeout", "60s")
	awaitVoters(ctx, t, cl, 3)
	out := run(ctx, t, follower, false, "member", "list")
	if strings.Contains(out, "\n"+joined.Name()+" ") || !strings.Contains(out, "\n"+spare.Name()+" ") || strings.Contains(out, "\n"+leader+" ") {
		t.Errorf("members are\n%s\nwant %s, and neither %s nor %s", out, spare.Name(), leader, joined.Name())
	}
	got, err := dial(t, spare, "").Get(ctx, &tenurev1.GetRequest{Key: "k"})
	if err != nil || string(got.GetKv().GetValue()) != "v" {
		t.Errorf("the new member answers %v, %v", got, err)
	}
}

// awaitVoters waits until so many members vote.
func awaitVoters(ctx context.Context, t *testing.T, c *client, want int) {
	t.Helper()
	awaitStatus(ctx, t, c, func(s *tenurev1.GetStatusResponse) bool {
		voters := 0
		for _, m := range s.GetMembers() {
			if !m.GetLearner() {
				voters++
			}
		}
		return voters == want && s.GetLeader() != ""
	})
}
