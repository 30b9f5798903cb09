package raftnode_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenure-io/tenure/raftnode"
)

// unmergedDisk is a disk on which the state machine's files are written, and not merged while the test says so.
type unmergedDisk struct {
	vfs.FS
	mu   sync.Mutex    // guards hung
	hung chan struct{} // closed when files are merged again; nil while they are
}

// Create lets the first file of a merge wait.
func (d *unmergedDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.mu.Lock()
	hung := d.hung
	d.mu.Unlock()
	if hung != nil && category == "pebble-compaction" && strings.Contains(name, "/sm-") {
		<-hung
	}
	return d.FS.Create(name, category)
}

func (d *unmergedDisk) hang() (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hung := make(chan struct{})
	d.hung = hung
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		close(hung)
		d.hung = nil
	})
}

// alarms returns the messages of a member's alarms of one name.
func alarms(n *raftnode.Node, name string) []string {
	var messages []string
	for _, a := range n.Alarms() {
		if a.Name == name {
			messages = append(messages, a.Message)
		}
	}
	return messages
}

// A leader whose store holds writes back, since its files are not merged, hands over, and reports it: while it lasts, for some
// minutes after, and in its metrics.
func TestALeaderWhoseStoreHoldsWritesBackHandsOver(t *testing.T) {
	const flushes = 9 // Pebble holds writes back when 12 files wait to be merged; the first are there, and the last come by themselves.
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		disks, metrics := map[uint64]*unmergedDisk{}, map[uint64]*prometheus.Registry{}
		for id := uint64(1); id <= 3; id++ {
			disks[id], metrics[id] = &unmergedDisk{FS: vfs.NewMem()}, prometheus.NewRegistry()
			f.disks[id] = disks[id]
		}
		f.options = func(id uint64, o *raftnode.Options) { o.Registerer = metrics[id] }
		f.begin(3)
		f.put("before", "v")
		old := f.leader()
		s := old.Status()
		release := disks[s.MemberID].hang()
		defer release()
		for i := range flushes {
			f.put("file", fmt.Sprint(i))
			if err := old.Store().Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if got := alarms(old, raftnode.AlarmWriteStall); len(got) > 0 {
			t.Errorf("before the stall: %q", got)
		}
		began := time.Now()
		for i := 0; old.Status().Role == "leader" && i < 200; i++ {
			f.put("fill", strings.Repeat("v", 128<<10))
		}
		if old.Status().Role == "leader" {
			t.Fatal("it leads, though its store should hold writes back")
		}
		t.Logf("another member writes after %v", time.Since(began))
		if got := alarms(old, raftnode.AlarmWriteStall); len(got) != 1 || !strings.Contains(got[0], "has taken no writes for") {
			t.Errorf("in the stall: %q", got)
		}
		if got := metric(t, metrics[s.MemberID], "tenure_storage_write_stalls_total"); got != 1 {
			t.Errorf("%v stalls, want 1", got)
		}
		if got := metric(t, metrics[s.MemberID], "tenure_storage_write_stall_seconds_total"); got < 3 {
			t.Errorf("stalled for %v s, want 3 at least", got)
		}

		release()
		f.agree(1, 2, 3)
		if got := alarms(old, raftnode.AlarmWriteStall); len(got) != 1 || !strings.Contains(got[0], "took no writes for") {
			t.Errorf("after the stall: %q", got)
		}
		f.await("no alarm", func() bool {
			<-time.After(time.Second)
			return len(alarms(old, raftnode.AlarmWriteStall)) == 0
		})
		for id := range f.stops {
			f.stop(id)
		}
	})
}

// A write of the state that takes long is reported before anything waits for it.
func TestASlowWriteIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, disks := hangingFleet(t, 1)
		metrics := prometheus.NewRegistry()
		f.stop(1)
		f.stops = map[uint64]func() error{}
		f.options = func(_ uint64, o *raftnode.Options) { o.Registerer = metrics }
		m := f.start(1)
		f.put("before", "v")
		release := disks[1].hang()
		defer release()
		if err := m.Store().AsyncFlush(); err != nil {
			t.Fatal(err)
		}
		<-time.After(4 * time.Second)
		if got := alarms(m, raftnode.AlarmSlowDisk); len(got) > 0 {
			t.Errorf("after 4 s: %q", got)
		}
		<-time.After(4 * time.Second)
		if got := alarms(m, raftnode.AlarmSlowDisk); len(got) != 1 || !strings.Contains(got[0], "running for 8s") {
			t.Errorf("after 8 s: %q", got)
		}
		release()
		synctest.Wait()
		if got := alarms(m, raftnode.AlarmSlowDisk); len(got) > 0 {
			t.Errorf("after the write has ended: %q", got)
		}
		if got := metric(t, metrics, "tenure_health_slow_writes_total"); got < 1 {
			t.Errorf("%v slow writes, want 1", got)
		}
		f.put("after", "v")
		f.stop(1)
	})
}
