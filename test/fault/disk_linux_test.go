package fault_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// smallDisk is larger than what a member needs with its reserve of 64 MiB.
	smallDisk = "size=256m"
	// little is less room than a member of the rig wants to keep.
	little = 8 << 20
)

// ontoSmallDisk moves what a stopped member stores to a small disk of its own.
func ontoSmallDisk(t *testing.T, m *rig.Member) {
	t.Helper()
	away := m.Dir() + ".away"
	if err := os.Rename(m.Dir(), away); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(m.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", m.Dir(), "tmpfs", 0, smallDisk); err != nil {
		t.Skipf("cannot mount a small disk here (%v); the simulator covers full disks", err)
	}
	t.Cleanup(func() {
		m.Kill()
		if err := syscall.Unmount(m.Dir(), 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	if err := os.CopyFS(m.Dir(), os.DirFS(away)); err != nil {
		t.Fatal(err)
	}
}

// fill leaves so much room on the member's disk, with a file in a folder that the member does not look at.
func fill(t *testing.T, m *rig.Member, leave uint64) {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(m.Dir(), &st); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(m.Dir(), "ballast"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	free := st.Bavail * uint64(st.Bsize)
	block := make([]byte, 64<<10)
	for free > leave {
		n, err := f.Write(block[:min(uint64(len(block)), free-leave)])
		if err != nil {
			break // Full to the brim.
		}
		free -= uint64(n)
	}
	if err := f.Close(); err != nil && leave > 0 {
		t.Fatal(err)
	}
}

func empty(t *testing.T, m *rig.Member) {
	t.Helper()
	if err := os.Remove(filepath.Join(m.Dir(), "ballast")); err != nil {
		t.Fatal(err)
	}
}

// putUntil puts a key on the cluster until the answer is as wanted: a reason, or "" for success.
func putUntil(ctx context.Context, t *testing.T, c *rig.Cluster, wanted string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	last := "nothing"
	for ctx.Err() == nil {
		conn := c.Leader(ctx).Dial()
		_, err := tenurev1.NewKVServiceClient(conn).Put(ctx, &tenurev1.PutRequest{
			Key: "grows", Content: &tenurev1.PutRequest_Value{Value: make([]byte, 1000)},
		})
		closeConn(t, conn)
		if err == nil && wanted == "" || err != nil && read(err).reason == wanted {
			return
		}
		last = "success"
		if err != nil {
			last = err.Error()
		}
		wait(ctx, 100*time.Millisecond)
	}
	t.Fatalf("a put was answered with %s, want %q", last, wanted)
}

// A member whose disk fills up makes the cluster refuse growth, while deletes, renewals and expiry go on, and take it again
// by itself when there is room; one whose disk is really full stops, and when it is started again waits for room.
func TestFullDisk(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	m := without(c.Members, c.Leader(ctx))[0]
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	ontoSmallDisk(t, m)
	m.Restart(ctx)
	putUntil(ctx, t, c, "")

	fill(t, m, little)
	putUntil(ctx, t, c, "quota_exceeded")
	goesOn(ctx, t, c)
	empty(t, m)
	putUntil(ctx, t, c, "")

	// The reserve keeps the alarm from coming too late, so it has to go for the disk to be full to the brim.
	fill(t, m, 0)
	conn := c.Leader(ctx).Dial()
	defer closeConn(t, conn)
	stop := keepDeleting(ctx, conn)
	err := m.AwaitExit(ctx)
	stop()
	if err == nil {
		t.Error("the member on the full disk ended well, want a failure")
	}
	if log := m.Log(); !strings.Contains(log, "no space left") {
		t.Errorf("the log does not say why:\n%s", log)
	}
	goesOn(ctx, t, c)

	// What is full stays full: it starts on what the reserve held, or waits.
	m.Launch(ctx)
	empty(t, m)
	m.Await(ctx)
	putUntil(ctx, t, c, "")
}

// goesOn demands that what frees room, or needs none, is served.
func goesOn(ctx context.Context, t *testing.T, c *rig.Cluster) {
	t.Helper()
	caller := newCaller(t, newRecorder(), "goes on", 1, c.Running())
	for what, call := range map[string]func(context.Context, tenurev1.KVServiceClient) error{
		"delete": func(ctx context.Context, kv tenurev1.KVServiceClient) error {
			_, err := kv.Delete(ctx, &tenurev1.DeleteRequest{Key: "grows"})
			return err
		},
		"list": func(ctx context.Context, kv tenurev1.KVServiceClient) error {
			_, err := kv.List(ctx, &tenurev1.ListRequest{})
			return err
		},
	} {
		err := caller.persist(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
			return call(ctx, tenurev1.NewKVServiceClient(conn))
		})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// keepDeleting makes changes that are taken although disks are full, until it is stopped.
func keepDeleting(ctx context.Context, conn *grpc.ClientConn) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_, err := tenurev1.NewKVServiceClient(conn).DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{Prefix: strings.Repeat("x", 900)})
			if err != nil {
				wait(ctx, 10*time.Millisecond)
			}
		}
	}()
	return func() { cancel(); <-ended }
}
