package fault_test

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// roomToWrite is how far a member gets in a file before its writes fail, in bytes: into the middle of a write.
const roomToWrite = 100_000

// leadWait bounds the wait until a member leads.
const leadWait = 90 * time.Second

// lead makes a running member the leader. A cluster that has just begun may not know the member by its name yet.
func lead(ctx context.Context, t *testing.T, c *rig.Cluster, m *rig.Member) {
	t.Helper()
	known := func() bool {
		return slices.ContainsFunc(listed(ctx, t, c), func(l *tenurev1.Member) bool { return l.GetName() == m.Name() })
	}
	ctx, cancel := context.WithTimeout(ctx, leadWait)
	defer cancel()
	for !known() && ctx.Err() == nil {
		wait(ctx, 20*time.Millisecond)
	}
	for c.Leader(ctx) != m {
		admin(ctx, t, c, func(ctx context.Context, members tenurev1.ClusterServiceClient) error {
			_, err := members.TransferLeadership(ctx, &tenurev1.TransferLeadershipRequest{MemberId: memberID(ctx, t, c, m)})
			return err
		})
	}
}

// A leader whose disk fails a sync, and loses what was not synced, stops and says why. It does not try again: what it
// acknowledged is there when it comes back, also when it is alone.
func TestFailedSync(t *testing.T) {
	for name, members := range map[string]int{"of three": 3, "alone": 1} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			c := rig.StartCluster(ctx, t, binary, members)
			m := c.Members[0]
			if err := m.Stop(); err != nil {
				t.Fatal(err)
			}
			disk, err := m.MountDisk()
			if err != nil {
				t.Skipf("cannot mount a disk that fails here (%v); the simulator covers failed syncs", err)
			}
			t.Cleanup(func() {
				m.Kill()
				if err := disk.Close(); err != nil {
					t.Error(err)
				}
			})
			m.Restart(ctx)
			lead(ctx, t, c, m)
			stopsAndLosesNothing(t, c, "input/output error", func() { disk.FailSyncs(syscall.EIO) }, func() {
				if disk.FailedSyncs() == 0 {
					t.Error("floor: no sync failed")
				}
				disk.FailSyncs(0)
			})
		})
	}
}

// resumeWait bounds how long nothing may be written after a sync began to hang: 3 s until the disk counts as hanging, and what
// a loaded machine needs for a change of leaders.
const resumeWait = 20 * time.Second

// While a sync of the leader's disk hangs the others write on, under another leader, and every member says whose disk it
// is. When the sync ends the member follows, and nothing that was acknowledged is lost.
func TestHangingSync(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	m := c.Members[0]
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	disk, err := m.MountDisk()
	if err != nil {
		t.Skipf("cannot mount a disk that hangs here (%v); the simulator covers hanging disks", err)
	}
	t.Cleanup(func() {
		m.Kill()
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	m.Restart(ctx)
	lead(ctx, t, c, m)
	w := startCrowd(t, c.Members, 12)
	w.settle(t, 200)

	release := disk.HangSyncs()
	t.Cleanup(release)
	hung := w.rec.now()
	w.settle(t, 200)
	gap := w.firstAfter(hung+100*time.Millisecond) - hung
	if disk.HungSyncs() == 0 {
		t.Error("floor: no sync hung")
	}
	if l := c.Leader(ctx); l == m {
		t.Error("the member whose disk hangs still leads")
	} else {
		awaitProblem(ctx, t, l, "slow-disk", m.Name())
	}
	awaitProblem(ctx, t, m, "slow-disk", "this member")

	release()
	w.settle(t, 200)
	w.stop()
	// Asked alone it shows all that was acknowledged: it has caught up.
	conn := m.Dial()
	defer closeConn(t, conn)
	reading, cancel := context.WithTimeout(ctx, leadWait)
	defer cancel()
	if _, err := tenurev1.NewKVServiceClient(conn).List(reading, &tenurev1.ListRequest{}); err != nil {
		t.Errorf("a read of the member after its disk came back: %v", err)
	}
	report := judge(t, c, w.rec, w.seen)
	t.Logf("the leader's disk hung; writes went on after %v\n%s", gap, report)
	if gap > resumeWait {
		t.Errorf("writes went on after %v, want %v at most", gap, resumeWait)
	}
	floors(t, report, map[string]int{"linearizable operations": 200, "replay revisions": 200})
}

// awaitProblem waits until the status of a member tells of a problem with some words in it.
func awaitProblem(ctx context.Context, t *testing.T, m *rig.Member, name, words string) {
	t.Helper()
	conn := m.Dial()
	defer closeConn(t, conn)
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	var got []*tenurev1.StatusProblem
	for ctx.Err() == nil {
		status, err := tenurev1.NewClusterServiceClient(conn).GetStatus(ctx, &tenurev1.GetStatusRequest{})
		if err == nil {
			got = status.GetProblems()
		}
		if slices.ContainsFunc(got, func(p *tenurev1.StatusProblem) bool {
			return p.GetName() == name && strings.Contains(p.GetMessage(), words)
		}) {
			return
		}
		wait(ctx, 50*time.Millisecond)
	}
	t.Errorf("the status of %s tells of %v, want %s with %q", m.Name(), got, name, words)
}

// A leader that cannot write stops in the middle of a write and says why, and what it acknowledged is there when it comes
// back, also when it is alone.
func TestFailedWrite(t *testing.T) {
	for name, members := range map[string]int{"of three": 3, "alone": 1} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			c := rig.StartCluster(ctx, t, binary, members)
			lead(ctx, t, c, c.Members[0])
			stopsAndLosesNothing(t, c, "file too large", func() {
				if err := c.Members[0].LimitFileSize(roomToWrite); err != nil {
					t.Skipf("cannot make writes fail here (%v); the simulator covers failed writes", err)
				}
			}, func() {})
		})
	}
}

// stopsAndLosesNothing breaks the disk of the first member, which leads, while clients work, waits until it has stopped by
// itself with a reason in its log, mends the disk, starts the member, and holds what clients saw against the history.
func stopsAndLosesNothing(t *testing.T, c *rig.Cluster, reason string, breakDisk, mend func()) {
	t.Helper()
	ctx := t.Context()
	m := c.Members[0]
	w := startCrowd(t, c.Members, 12)
	w.settle(t, 200)
	breakDisk()
	if err := m.AwaitExit(ctx); err == nil {
		t.Error("the member ended well, want a failure")
	}
	if log := m.Log(); !strings.Contains(log, reason) {
		t.Errorf("the log does not say %q:\n%s", reason, log)
	}
	if len(c.Members) > 1 {
		w.settle(t, 200)
	}
	mend()
	m.Restart(ctx)
	w.settle(t, 200)
	w.stop()
	report := judge(t, c, w.rec, w.seen)
	t.Logf("a disk of %d members broke\n%s", len(c.Members), report)
	floors(t, report, map[string]int{"linearizable operations": 200, "replay revisions": 200})
}
