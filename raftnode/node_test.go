package raftnode_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
)

// gcPercent lets the collector run a quarter as often as it would, which saves CPU. Databases in memory are soon garbage.
const gcPercent = 400

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	goleak.VerifyTestMain(m)
}

// member is a running node of a test.
type member struct {
	*raftnode.Node
	stop func() error
}

// start opens and runs a node until the test ends or stop is called.
func start(t testing.TB, o raftnode.Options) *member {
	t.Helper()
	n, err := raftnode.Open(o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	var once sync.Once
	var result error
	m := &member{Node: n, stop: func() error {
		once.Do(func() { cancel(); result = <-ended })
		return result
	}}
	t.Cleanup(func() {
		if err := m.stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	ready(t, n)
	return m
}

// ready waits until the node proves that it leads.
func ready(t testing.TB, n *raftnode.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// A plain read waits for a leader, and this member is the only one.
	if err := n.ReadIndex(ctx); err != nil {
		t.Fatalf("wait for a leader: %v", err)
	}
	if _, err := n.ReadIndexLeader(ctx); err != nil {
		t.Fatalf("prove leadership: %v", err)
	}
}

func put(key, value string) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: key, Value: []byte(value)}}}
}

func propose(t testing.TB, n *raftnode.Node, cmd *storev1.Command) *storev1.Result {
	t.Helper()
	res, err := n.Propose(context.Background(), cmd)
	if err != nil {
		t.Fatalf("propose: %v", err)
	}
	if f := res.GetFailure(); f != nil {
		t.Fatalf("propose: %v", f)
	}
	return res
}

func TestSingleVoterServesAndRestarts(t *testing.T) {
	fs := vfs.NewMem()
	m := start(t, raftnode.Options{FS: fs, Dir: "/data", Name: "a"})
	for i := range 10 {
		res := propose(t, m.Node, put(fmt.Sprintf("k%d", i), "v"))
		if got, want := res.GetRevision(), uint64(i+1); got != want {
			t.Errorf("revision of put %d: got %d, want %d", i, got, want)
		}
	}
	if err := m.ReadIndex(context.Background()); err != nil {
		t.Fatalf("read index: %v", err)
	}
	before := m.Store().Applied()
	if err := m.stop(); err != nil {
		t.Fatalf("run: %v", err)
	}

	again := start(t, raftnode.Options{FS: fs, Dir: "/data", Name: "a"})
	after := again.Store().Applied()
	if after.Revision != before.Revision || after.HistoryID != before.HistoryID {
		t.Errorf("after restart: got revision %d, want %d", after.Revision, before.Revision)
	}
	st := again.Status()
	if st.Role != "leader" || st.LeaderName != "a" || st.Term != 3 || len(st.Voters) != 1 {
		t.Errorf("status after restart: got %+v", st)
	}
	res := propose(t, again.Node, put("k", "v"))
	if got, want := res.GetRevision(), before.Revision+1; got != want {
		t.Errorf("revision after restart: got %d, want %d", got, want)
	}
}
