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

// endListVersion is the cluster version from which on no waiter on the end list is granted a lock.
const endListVersion = 3

// endListPatience bounds the test, most of which is to open the sessions.
const endListPatience = 8 * time.Minute

// keysOfOne is how many locks one session waits for that stays.
const keysOfOne = 64

// All sessions of a node that is deregistered end, in the order of their ids and each once, although the leader is killed as soon as it has
// said that the node is deregistered. Half of them hold a lock for which another one waits, which ends as well, and behind it one that stays:
// that is granted the lock, once. A command takes about 5 ms; in the long form, few take longer than 51 ms, with
// three members and the test on one machine.
func TestTheEndListIsCarriedOutByTheNextLeader(t *testing.T) {
	sessions, long := 3_000, os.Getenv("TENURE_SOAK") == "1"
	if long {
		sessions = 20_000
	}
	ctx, cancel := context.WithTimeout(t.Context(), endListPatience)
	defer cancel()
	c := rig.StartCluster(ctx, t, binary, 3)
	lead := c.Leader(ctx)
	stays := followers(c, lead)[0]
	cl := dial(t, stays, "")
	awaitVersion(ctx, t, stays)
	node, err := cl.RegisterNode(ctx, &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "dies"}})
	if err != nil {
		t.Fatal(err)
	}
	next := fillNode(ctx, t, stays, sessions)
	before, applied := slowApplies(ctx, t, stays)

	stream, err := cl.Watch(ctx, &tenurev1.WatchRequest{AllSessions: true, LockPrefixes: []string{"end/"}})
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
	lead.Kill()
	// Nothing is committed now before another member leads.
	carriedOut := number(ctx, t, stays, "tenure_catalog_sessions_ended_total")
	t.Logf("at the kill, %d sessions had ended", carriedOut)
	if carriedOut >= sessions {
		t.Error("all sessions had ended when the leader was killed")
	}
	for ends := (endings{t: t, next: next}); ends.sessions < sessions || len(next) > 0; {
		m, err := stream.Recv()
		if err != nil {
			t.Fatalf("after %d sessions, with %d waiters left: %v", ends.sessions, len(next), err)
		}
		for _, e := range m.GetEvents().GetEvents() {
			ends.take(e)
		}
	}
	after, appliedNow := slowApplies(ctx, t, stays)
	t.Logf("%d sessions ended within %v; %d of %d batches took more than 51 ms", sessions, time.Since(began), after-before, appliedNow-applied)
	if marks := number(ctx, t, stays, "tenure_catalog_end_list"); marks != 0 {
		t.Errorf("the end list has %d marks, and no session is left", marks)
	}
	if long && 10*(after-before) > appliedNow-applied {
		t.Errorf("%d batches of %d took more than 51 ms", after-before, appliedNow-applied)
	}
}

// awaitVersion waits until the cluster has the version that the test needs.
func awaitVersion(ctx context.Context, t *testing.T, m *rig.Member) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, err := m.Status(ctx); err == nil && s.GetClusterVersion() >= endListVersion {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the cluster does not use version %d", endListVersion)
		}
	}
}

// endings is what has ended of a node's sessions, and what became of their locks.
type endings struct {
	t        *testing.T
	last     string // The session that ended last.
	sessions int
	next     map[string]string // The session that is to have a lock next, by its key, until it has it.
}

// take compares an event with what may happen.
func (x *endings) take(e *tenurev1.Event) {
	x.t.Helper()
	switch e.GetType() {
	case tenurev1.EventType_EVENT_TYPE_SESSION_ENDED:
		id, end := e.GetSession().GetSessionId(), e.GetSession().GetEnd()
		if end.GetCause() != tenurev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED || id <= x.last {
			x.t.Fatalf("session %s ended behind %q: %v", id, x.last, end)
		}
		x.last = id
		x.sessions++
	case tenurev1.EventType_EVENT_TYPE_LOCK_GRANTED:
		if id, want := e.GetHold().GetSequencer().GetSessionId(), x.next[e.GetKey()]; id != want {
			x.t.Fatalf("session %s has the lock %s, want %q", id, e.GetKey(), want)
		}
		delete(x.next, e.GetKey())
	default:
	}
}

// fillNode opens sessions on a node. Every second one waits for the lock that the one before it holds, and behind it waits a session that stays. It
// returns the latter by key. It uses several connections: each wait is cancelled once it is in the queue, and a member closes a connection whose
// client cancels calls again and again.
func fillNode(ctx context.Context, t *testing.T, m *rig.Member, sessions int) map[string]string {
	t.Helper()
	clients := make([]*client, 8)
	for i := range clients {
		clients[i] = dial(t, m, "")
	}
	next := map[string]string{}
	var staying string
	var opening errgroup.Group
	opening.SetLimit(64)
	for i := range sessions / 2 {
		cl := clients[i%len(clients)]
		if i%keysOfOne == 0 {
			r, err := cl.CreateSession(ctx, &tenurev1.CreateSessionRequest{Ttl: durationpb.New(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			staying = r.GetSessionId()
		}
		key, behind := fmt.Sprintf("end/%d", i), staying
		next[key] = behind
		opening.Go(func() error {
			onNode := &tenurev1.CreateSessionRequest{Node: "dies", Ttl: durationpb.New(time.Hour), LockDelay: durationpb.New(0)}
			holder, err := cl.CreateSession(ctx, onNode)
			if err != nil {
				return err
			}
			if _, err = cl.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: key, SessionId: holder.GetSessionId()}); err != nil {
				return err
			}
			waiter, err := cl.CreateSession(ctx, onNode)
			if err != nil {
				return err
			}
			for _, id := range []string{waiter.GetSessionId(), behind} {
				if _, err = messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.AcquireLockResponse], error) {
					return cl.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: key, SessionId: id})
				})(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := opening.Wait(); err != nil {
		t.Fatal(err)
	}
	return next
}

// number returns a metric of a member.
func number(ctx context.Context, t *testing.T, m *rig.Member, metric string) (n int) {
	t.Helper()
	_, metrics, err := m.Fetch(ctx, "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(metrics)) {
		if _, err = fmt.Sscanf(line, metric+" %d", &n); err == nil {
			return n
		}
	}
	t.Fatalf("the member reports no %s", metric)
	return 0
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
