package cluster_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// applyBucket is the bucket of tenure_raft_apply_seconds that has what took at most 51 ms.
const applyBucket = `tenure_raft_apply_seconds_bucket{le="0.0512"}`

// All sessions of a node that is deregistered end, in the order of their ids and each once, although the leader is killed when the
// first of them have ended. Half of them hold a lock for which another one waits. A command takes about 5 ms; in the long form, few take longer than 51 ms, with
// three members and the test on one machine.
func TestTheEndListIsCarriedOutByTheNextLeader(t *testing.T) {
	sessions, long := 3_000, os.Getenv("TENURE_SOAK") == "1"
	if long {
		sessions = 20_000
	}
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	c.AwaitRaised(ctx)
	lead := c.Leader(ctx)
	stays := followers(c, lead)[0]
	cl := dial(t, stays, "")
	node, err := cl.RegisterNode(ctx, &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "dies"}})
	if err != nil {
		t.Fatal(err)
	}
	fillNode(ctx, t, cl, sessions)
	before, applied := slowApplies(ctx, t, stays)

	stream, err := cl.Watch(ctx, &tenurev1.WatchRequest{AllSessions: true})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetStarted() == nil {
		t.Fatalf("the watch starts with %v, %v", m, err)
	}
	began := time.Now()
	if _, err := cl.DeregisterNode(ctx, &tenurev1.DeregisterNodeRequest{Node: "dies", IfNodeId: node.GetNodeId()}); err != nil {
		t.Fatal(err)
	}
	last, ended, atKill := "", 0, 0
	for ended < sessions {
		m, err := stream.Recv()
		if err != nil {
			t.Fatalf("after %d sessions: %v", ended, err)
		}
		for _, e := range m.GetEvents().GetEvents() {
			id, end := e.GetSession().GetSessionId(), e.GetSession().GetEnd()
			if end.GetCause() != tenurev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED || id <= last {
				t.Fatalf("session %s ended behind %q: %v", id, last, end)
			}
			last = id
			ended++
		}
		if ended > 0 && atKill == 0 {
			lead.Kill()
			atKill = ended
		}
	}
	after, appliedNow := slowApplies(ctx, t, stays)
	t.Logf("%d sessions ended within %v, %d of them before the leader was killed; %d of %d batches took more than 51 ms",
		ended, time.Since(began), atKill, after-before, appliedNow-applied)
	if atKill == sessions {
		t.Error("all sessions had ended when the leader was killed")
	}
	if long && 10*(after-before) > appliedNow-applied {
		t.Errorf("%d batches of %d took more than 51 ms", after-before, appliedNow-applied)
	}
}

// fillNode opens sessions on a node. Every second one waits for the lock that the one before it holds.
func fillNode(ctx context.Context, t *testing.T, cl *client, sessions int) {
	t.Helper()
	var opening errgroup.Group
	opening.SetLimit(64)
	for i := range sessions / 2 {
		opening.Go(func() error {
			key := fmt.Sprintf("end/%d", i)
			holder, err := cl.CreateSession(ctx, &tenurev1.CreateSessionRequest{Node: "dies", Ttl: durationpb.New(time.Hour)})
			if err != nil {
				return err
			}
			if _, err = cl.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: key, SessionId: holder.GetSessionId()}); err != nil {
				return err
			}
			waiter, err := cl.CreateSession(ctx, &tenurev1.CreateSessionRequest{Node: "dies", Ttl: durationpb.New(time.Hour)})
			if err != nil {
				return err
			}
			_, err = messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.AcquireLockResponse], error) {
				return cl.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: key, SessionId: waiter.GetSessionId()})
			})(ctx)
			return err
		})
	}
	if err := opening.Wait(); err != nil {
		t.Fatal(err)
	}
}

// slowApplies returns how many batches a member has applied that took more than 51 ms, and how many in all.
func slowApplies(ctx context.Context, t *testing.T, m *rig.Member) (slow, all int) {
	t.Helper()
	_, metrics, err := m.Fetch(ctx, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	quick := -1
	for line := range strings.Lines(string(metrics)) {
		_, _ = fmt.Sscanf(line, applyBucket+" %d", &quick)
		_, _ = fmt.Sscanf(line, "tenure_raft_apply_seconds_count %d", &all)
	}
	if quick < 0 || all == 0 {
		t.Fatalf("the member reports no %s", applyBucket)
	}
	return all - quick, all
}
