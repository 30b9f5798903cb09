package storage_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

func registerCommand(node string, checks ...*storev1.Check) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
		Node: &storev1.Node{Name: node}, DrawnNodeId: numberedID(9999), Checks: checks,
	}}}
}

// TestEndListEndsWhatACommandHasNoRoomFor deregisters a node with more sessions than one command ends: all are dead at once, and the
// commands behind it end the rest in the order of their ids, each once, with the cause of the node. No command ends more than its share.
func TestEndListEndsWhatACommandHasNoRoomFor(t *testing.T) {
	needsNoRaceDetector(t)
	const share = 256
	sessions := 20_000
	if testing.Short() {
		sessions = 1_200
	}
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(registerCommand("web1", &storev1.Check{CheckId: "up", Name: "up", Status: storev1.CheckStatus_CHECK_STATUS_PASSING}))
	for n := range uint64(sessions) {
		r.apply(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: numberedID(n + 1), Node: "web1", Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE, Checks: &storev1.SessionChecks{CheckIds: []string{"up"}},
		}}})
	}
	var ended [][]byte
	var slowest time.Duration
	count := func(events []*storev1.Event) {
		for _, e := range events {
			if s := e.GetSessionEnded(); s != nil {
				ended = append(ended, s.GetSessionId())
				if s.GetCause() != storev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED {
					t.Fatalf("got %v, want it ended by the node", s)
				}
			}
		}
	}
	out, results := r.apply(&storev1.Command{Kind: &storev1.Command_Deregister{Deregister: &storev1.Deregister{
		Name: &storev1.CatalogName{Node: "web1"},
	}}})
	count(out.Events)
	if !results[0].GetCatalog().GetMarksLeft() || len(ended) == 0 || len(ended) >= sessions {
		t.Fatalf("the command ended %d sessions: %v, want some, and the rest on the end list", len(ended), results[0])
	}
	if got := r.applyAny(putCommandOf("key", uint64(sessions))); got.GetFailure().GetReason() != storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED {
		t.Errorf("a session of the end list acts: got %v", got)
	}
	for r.store.Applied().EndMarks > 0 {
		before := len(ended)
		began := time.Now()
		out, _ = r.apply(&storev1.Command{Kind: &storev1.Command_EndMarked{EndMarked: &storev1.EndMarked{Term: r.store.Applied().Term}}})
		slowest = max(slowest, time.Since(began))
		if count(out.Events); len(ended) == before && r.store.Applied().EndMarks > 0 {
			t.Fatal("a command of the end list ended nobody")
		}
		if n := len(ended) - before; n > share {
			t.Fatalf("a command ended %d sessions, want at most %d", n, share)
		}
	}
	t.Logf("the slowest command of the end list took %v", slowest)
	if len(ended) != sessions || r.store.Applied().Sessions != 0 {
		t.Fatalf("%d sessions ended, %d are left", len(ended), r.store.Applied().Sessions)
	}
	for i, id := range ended {
		if !bytes.Equal(id, numberedID(uint64(i+1))) {
			t.Fatalf("session %d ended as number %d", numberOf(id), i+1)
		}
	}
}

// putCommandOf puts a key that is bound to a session.
func putCommandOf(key string, session uint64) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
		Key: key, BindSession: &storev1.SessionRef{SessionId: numberedID(session)},
	}}}
}

// TestANodeHasRoomForSoMuch fills a node: more is refused with the limit, and the whole node goes in one command.
func TestANodeHasRoomForSoMuch(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(registerCommand("web1"))
	full := 0
	for i := range 2048 {
		result := r.applyAny(registerCommand("web1", &storev1.Check{
			CheckId: fmt.Sprint(i), Name: "n", Notes: strings.Repeat("n", 2000), Output: strings.Repeat("o", 4096), Status: 1,
		}))
		if f := result.GetFailure(); f != nil {
			if f.GetReason() != storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED || f.GetLimitName() != "node_bytes_max" {
				t.Fatalf("check %d: got %v", i, f)
			}
			full = i
			break
		}
	}
	if full < 1000 || full > 1040 {
		t.Errorf("a node had room for %d checks of 2 000 bytes, want 2 MiB of them", full)
	}
	_, results := r.apply(&storev1.Command{Kind: &storev1.Command_Deregister{Deregister: &storev1.Deregister{
		Name: &storev1.CatalogName{Node: "web1"},
	}}})
	if !results[0].GetCatalog().GetDeleted() || r.store.Applied().Checks != 0 {
		t.Errorf("deregister it: got %v", results[0])
	}
}

// TestACommandPassesSoManyDeadWaiters frees two locks for which hundreds of sessions wait that the end list has ended. One command takes no
// more of them out of the queues than it may grant; the others leave in those that follow, and none is granted a lock.
func TestACommandPassesSoManyDeadWaiters(t *testing.T) {
	const waiters, grantsMax = 1000, 256
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(registerCommand("web1"))
	r.sessions(0, 1)
	r.apply(acquireCommand("lock/0", 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE), acquireCommand("lock/1", 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	for n := range uint64(waiters) {
		r.apply(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: numberedID(n + 1), Node: "web1", Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}})
		r.apply(acquireCommand(fmt.Sprintf("lock/%d", n%2), n+1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	}
	r.apply(&storev1.Command{Kind: &storev1.Command_Deregister{Deregister: &storev1.Deregister{Name: &storev1.CatalogName{Node: "web1"}}}})
	out, _ := r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: &storev1.SessionRef{SessionId: numberedID(0)},
	}}})
	left := 0
	for _, e := range out.Events {
		if e.GetLockGranted() != nil {
			t.Fatalf("a session of the end list is granted a lock: %v", e)
		}
		if e.GetLockLeft() != nil {
			left++
		}
	}
	if left == 0 || left > grantsMax {
		t.Errorf("one command took %d dead waiters out of the queues, want some, and at most %d", left, grantsMax)
	}
}
