package process_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// failoverTime bounds the time without a leader, with room for a machine that is busy with other things.
const failoverTime = 2 * time.Minute

// put writes a key through a member until it is acknowledged.
func put(ctx context.Context, t *testing.T, c *rig.Cluster, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, failoverTime)
	defer cancel()
	for {
		m := c.Leader(ctx)
		conn := m.Dial()
		_, err := tenurev1.NewKVServiceClient(conn).Put(ctx, &tenurev1.PutRequest{
			Key: key, Content: &tenurev1.PutRequest_Value{Value: []byte(key)},
		})
		_ = conn.Close()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("put %s: %v", key, err)
		}
	}
}

// seen fails unless every running member shows a key in a linearizable read.
func seen(ctx context.Context, t *testing.T, c *rig.Cluster, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, failoverTime)
	defer cancel()
	for _, m := range c.Running() {
		if err := get(ctx, m, key); err != nil {
			t.Errorf("member %s: get %s: %v", m.Name(), key, err)
		}
	}
}

// get reads a key through a member, which may know of no leader for a while.
func get(ctx context.Context, m *rig.Member, key string) error {
	conn := m.Dial()
	defer func() { _ = conn.Close() }()
	for {
		_, err := tenurev1.NewKVServiceClient(conn).Get(ctx, &tenurev1.GetRequest{Key: key})
		if status.Code(err) != codes.Unavailable || ctx.Err() != nil {
			return err
		}
		wait(ctx, 20*time.Millisecond)
	}
}

// Members elect a leader, replicate, and elect another one when it is killed; killed members come back.
func TestClustersSurviveKill9OfTheLeader(t *testing.T) {
	t.Parallel() // It mostly waits for elections.
	for _, members := range []int{3, 5} {
		t.Run(fmt.Sprintf("%d members", members), func(t *testing.T) {
			ctx := t.Context()
			c := rig.StartCluster(ctx, t, binary, members)
			put(ctx, t, c, "before")
			seen(ctx, t, c, "before")
			for round := range 2 {
				leader := c.Leader(ctx)
				leader.Kill()
				began := time.Now()
				put(ctx, t, c, fmt.Sprint("round-", round))
				t.Logf("without %s: a write after %v", leader.Name(), time.Since(began))
				if next := c.Leader(ctx); next == leader {
					t.Errorf("member %s leads after it was killed", next.Name())
				}
				leader.Restart(ctx)
				seen(ctx, t, c, fmt.Sprint("round-", round))
			}
			seen(ctx, t, c, "before")
			for _, m := range c.Running() {
				if err := m.Stop(); err != nil {
					t.Errorf("stop %s: %v", m.Name(), err)
				}
			}
			// All of them at once come back to what they had.
			for _, m := range c.Members {
				m.Launch(ctx)
			}
			for _, m := range c.Members {
				m.Await(ctx)
			}
			seen(ctx, t, c, "round-1")
		})
	}
}

// A member whose disk was wiped is refused under its old flags, and told what to do.
func TestAWipedMemberIsRefusedWithInstructions(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	put(ctx, t, c, "k")
	m := c.Member("a")
	m.Kill()
	m.Wipe()
	m.Launch(ctx)
	if err := m.AwaitExit(ctx); err == nil {
		t.Error("the member runs on an empty disk")
	}
	for _, want := range []string{"was started already", "member remove a", "--join"} {
		if !strings.Contains(m.Log(), want) {
			t.Errorf("the member does not say %q", want)
		}
	}
	put(ctx, t, c, "k2")
	seen(ctx, t, c, "k2")
}
