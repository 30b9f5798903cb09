package cluster_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// try runs a command of the program on a member and returns what it printed, and how it ended.
func try(ctx context.Context, m *rig.Member, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "TENURE_ENDPOINTS="+m.Addresses.GRPC)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs a command of the program on a member and returns what it printed; fails tells whether it is to fail.
func run(ctx context.Context, t *testing.T, m *rig.Member, fails bool, args ...string) string {
	t.Helper()
	out, err := try(ctx, m, args...)
	if (err != nil) != fails {
		t.Fatalf("tenure %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// exitUnavailable is the exit code of a command that had no answer.
const exitUnavailable = 3

// runUntil runs a command on a member again and again until something is so. A change of members or of the leader is refused
// until the leader has heard from everybody lately, which it may not have on a loaded machine.
func runUntil(ctx context.Context, t *testing.T, m *rig.Member, done func() bool, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for first := true; ; first = false {
		out, err := try(ctx, m, args...)
		if done() {
			var exit *exec.ExitError
			if unanswered := errors.As(err, &exit) && exit.ExitCode() == exitUnavailable; first && err != nil && !unanswered {
				t.Errorf("tenure %s did what it says it did not do: %v\n%s", strings.Join(args, " "), err, out)
			}
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("tenure %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// lists tells whether a member is listed, as soon as somebody leads who can say so.
func lists(ctx context.Context, t *testing.T, m *rig.Member, name string) bool {
	t.Helper()
	for began := time.Now(); ; pause(ctx, 200*time.Millisecond) {
		out, err := try(ctx, m, "member", "list")
		if err == nil {
			return strings.Contains(out, "\n"+name+" ")
		}
		if time.Since(began) > noLeaderPatience {
			t.Fatalf("tenure member list: %v\n%s", err, out)
		}
	}
}

// Members come and go by the command line, asked of a member that does not lead.
func TestMembersAreChangedThroughAFollower(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	leader := c.Leader(ctx)
	follower := followers(c, leader)[0]
	cl := dial(t, follower, "")
	if _, err := cl.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: &tenurev1.PutRequest_Text{Text: "v"}}); err != nil {
		t.Fatal(err)
	}
	joined := c.Join(ctx)
	awaitVoters(ctx, t, cl, 4)
	run(ctx, t, follower, true, "member", "add", joined.Name()) // It is one already.
	run(ctx, t, follower, true, "member", "promote", "nobody")
	runUntil(ctx, t, follower, func() bool { return c.Leader(ctx) == joined }, "member", "transfer-leader", joined.Name())
	runUntil(ctx, t, follower, func() bool { return !lists(ctx, t, follower, leader.Name()) }, "member", "remove", leader.Name())
	awaitVoters(ctx, t, cl, 3)
	spare := c.Replace(ctx, joined)
	for began := time.Now(); lists(ctx, t, follower, joined.Name()); pause(ctx, 200*time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%s is not replaced by %s", joined.Name(), spare.Name())
		}
	}
	awaitVoters(ctx, t, cl, 3)
	if !lists(ctx, t, follower, spare.Name()) {
		t.Errorf("%s is no member", spare.Name())
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
