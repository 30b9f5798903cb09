package raftnode_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// smallLogs makes members that keep little log.
func smallLogs(_ uint64, o *raftnode.Options) {
	o.CheckpointLogBytes = 64 << 10
	o.Snapshots.TailEntries = 50
}

// A member that was away while the log was cut past its end comes back by a snapshot, even if every stream breaks again
// and again, and has all that the others have.
func TestAMemberBehindTheLogComesBack(t *testing.T) {
	for name, breakAfter := range map[string]int{"in one go": 0, "streams break": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				installed := atomic.Int32{}
				f := newFleet(t, func(id uint64, o *raftnode.Options) {
					smallLogs(id, o)
					if id == 3 {
						o.Snapshots.OnInstalled = func(a storage.Applied) { installed.Add(int32(min(a.Index, 1))) }
					}
				})
				f.breakAfter = breakAfter
				f.begin(3)
				f.put("before", "1")
				f.w.setCut(3)
				value := strings.Repeat("v", 16<<10)
				for i := range 80 {
					f.put(fmt.Sprintf("k%d", i), value+fmt.Sprint(i))
				}
				leader := f.leader()
				if err := leader.Checkpoint(); err != nil {
					t.Fatal(err)
				}
				f.await("a log that begins behind the member's end", func() bool {
					return leader.Status().FirstIndex > f.node(3).Status().LastIndex+1
				})
				f.w.setCut(0)
				f.put("after", "1")
				f.agree(1, 2, 3)
				if installed.Load() == 0 {
					t.Error("no snapshot was installed")
				}
				if breakAfter > 0 && (f.broken == 0 || f.resumed == 0) {
					t.Errorf("%d streams broke, %d were resumed", f.broken, f.resumed)
				}
				t.Logf("%d streams, %d broken, %d resumed", f.streams, f.broken, f.resumed)
			})
		})
	}
}

// A member that was away for a million entries comes back, while the others go on.
func TestAMemberAwayForAMillionEntries(t *testing.T) {
	if os.Getenv("TENURE_SOAK") != "1" {
		t.Skip("long: with TENURE_SOAK=1; a member behind the log comes back in a test of its own")
	}
	entries := 1_000_000
	if text := os.Getenv("TENURE_AWAY_ENTRIES"); text != "" {
		if _, err := fmt.Sscan(text, &entries); err != nil {
			t.Fatal(err)
		}
	}
	f := newFleet(t, nil)
	f.begin(3)
	f.put("before", "1")
	f.w.setCut(3)
	leader := f.leader()
	from := leader.Status().LastIndex
	for i := 0; leader.Status().LastIndex < from+uint64(entries); i++ {
		propose(t, leader, put(fmt.Sprintf("k%d", i%50_000), fmt.Sprint(i)))
	}
	if err := leader.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	raftnode.CutLog(t, leader)
	if first := leader.Status().FirstIndex; first <= f.node(3).Status().LastIndex+1 {
		t.Fatalf("the log still begins at %d", first)
	}
	l := f.load()
	f.w.setCut(0)
	begin := time.Now()
	f.await("the member to catch up", func() bool { return f.node(3).Store().Applied().Index > from+uint64(entries) })
	t.Logf("%d entries behind, back after %v, %d snapshots sent", entries, time.Since(begin), f.streams)
	<-time.After(5 * time.Second)
	l.end(1, 2, 3)
	if f.streams == 0 {
		t.Error("no snapshot was sent")
	}
}

// A member that is away for a moment finds what it lacks in the log, also when a checkpoint was made meanwhile.
func TestAMemberThatWasBrieflyAwayNeedsNoSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(3)
		f.put("before", "1")
		f.w.setCut(3)
		for i := range 500 {
			f.put(fmt.Sprintf("k%d", i), "v")
		}
		for id := uint64(1); id <= 2; id++ {
			if err := f.node(id).Checkpoint(); err != nil {
				t.Fatal(err)
			}
			raftnode.CutLog(t, f.node(id))
		}
		f.w.setCut(0)
		f.agree(1, 2, 3)
		if f.streams != 0 {
			t.Errorf("%d snapshots were sent", f.streams)
		}
	})
}

// A leader that did not hear how far a member has come, and has cut its log there, offers a snapshot of what the member has. The
// member says how far it is, and goes on with the log, though no newer snapshot is made.
func TestAMemberIsFurtherThanItsLeaderBelieves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, func(_ uint64, o *raftnode.Options) { o.Snapshots.TailEntries = 1 })
		f.begin(3)
		f.put("before", "1")
		f.agree(1, 2, 3)
		leader := f.leader()
		id := leader.Status().MemberID%3 + 1
		believed := f.node(id).Status().LastIndex
		f.w.setMute(id)
		for i := range 60 {
			f.put(fmt.Sprintf("k%d", i), strings.Repeat("v", 4<<10))
		}
		if err := leader.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		checkpoint := leader.Status().CheckpointIndex
		f.put("behind", "1")
		f.await("the member to apply what the snapshot has", func() bool {
			return f.node(id).Store().Applied().Index >= checkpoint
		})
		leader.ReportUnreachable(id)
		synctest.Wait()
		f.await("a log that begins behind what the leader believes", func() bool {
			raftnode.CutLog(t, leader)
			return leader.Status().FirstIndex > believed+1
		})
		if f.leader() != leader || leader.Status().CheckpointIndex != checkpoint {
			t.Fatal("another leader, or another checkpoint")
		}
		f.w.setMute(0)
		f.put("after", "1")
		f.agree(1, 2, 3)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.streams == 0 {
			t.Error("no snapshot was offered")
		}
	})
}

// A reader that was opened before a snapshot came reads on from the state that was replaced.
func TestReadersOutliveAnInstallation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, smallLogs)
		f.begin(3)
		f.put("before", "1")
		f.agree(1, 2, 3)
		old := f.node(3).Store()
		r := old.NewReader()
		f.w.setCut(3)
		for i := range 100 {
			f.put(fmt.Sprintf("k%d", i), string(make([]byte, 4000)))
		}
		if err := f.leader().Checkpoint(); err != nil {
			t.Fatal(err)
		}
		f.w.setCut(0)
		f.agree(1, 2, 3)
		if f.node(3).Store() == old {
			t.Fatal("no snapshot was installed")
		}
		<-time.After(10 * time.Second)
		if _, ok, err := r.Get("before"); !ok || err != nil {
			t.Errorf("read from the replaced state: got %v %v", ok, err)
		}
		if _, ok, err := r.Get("k99"); ok || err != nil {
			t.Errorf("the replaced state changed: got %v %v", ok, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		f.await("the replaced state to be removed", func() bool {
			_, err := f.disks[3].Stat("/data/sm-1")
			return err != nil
		})
	})
}
