package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode"
)

// hangingDisk is a disk on which syncs take as long as the test says.
type hangingDisk struct {
	mu   sync.Mutex    // guards what follows
	hung chan struct{} // closed when the disk works again; nil while it does
	slow time.Duration // what a sync takes
}

// String names the injector.
func (d *hangingDisk) String() string { return "hanging disk" }

// MaybeError lets a sync wait.
func (d *hangingDisk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
	default:
		return nil
	}
	d.mu.Lock()
	hung, slow := d.hung, d.slow
	d.mu.Unlock()
	if hung != nil {
		<-hung
	}
	if slow > 0 {
		<-time.After(slow)
	}
	return nil
}

func (d *hangingDisk) hang() (release func()) {
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

func (d *hangingDisk) setSlow(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = by
}

// hangingFleet is so many members on disks that can hang.
func hangingFleet(t *testing.T, voters uint64) (*fleet, map[uint64]*hangingDisk) {
	f := newFleet(t, nil)
	disks := map[uint64]*hangingDisk{}
	for id := uint64(1); id <= voters; id++ {
		disks[id] = &hangingDisk{}
		f.disks[id] = errfs.Wrap(vfs.NewMem(), disks[id])
	}
	f.begin(voters)
	return f, disks
}

// slowDisks returns the members of whom a member says that their disks hang.
func slowDisks(n *raftnode.Node) []uint64 {
	var ids []uint64
	for _, a := range n.Alarms() {
		if a.Name == raftnode.AlarmSlowDisk {
			ids = append(ids, a.Member)
		}
	}
	return ids
}

// tryPut asks one member, for no longer than so long.
func tryPut(n *raftnode.Node, key string, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := n.Propose(ctx, put(key, "v"))
	return err
}

// A leader whose disk hangs hands over, and what waited there is told so; it follows, and does not lead, before the disk
// works again.
func TestALeaderWhoseDiskHangsHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, disks := hangingFleet(t, 3)
		f.put("before", "v")
		old := f.leader()
		id := old.Status().MemberID
		release := disks[id].hang()
		defer release()
		began := time.Now()

		waiting := make(chan error, 2)
		// The first is on its way to the log when the second comes.
		go func() { waiting <- tryPut(old, "taken", time.Minute) }()
		synctest.Wait()
		go func() { waiting <- tryPut(old, "queued", time.Minute) }()
		reading := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			reading <- old.ReadIndex(ctx)
		}()
		var unknown, refused int
		for range 2 {
			switch err := <-waiting; {
			case errors.Is(err, raftnode.ErrOutcomeUnknown):
				unknown++
			case errors.Is(err, raftnode.ErrNotLeader):
				refused++
			default:
				t.Errorf("a write that waited ended with %v", err)
			}
		}
		if unknown != 1 || refused != 1 {
			t.Errorf("of two writes %d ended as unknown and %d as refused, want one each", unknown, refused)
		}
		if err := <-reading; !errors.Is(err, raftnode.ErrDiskHangs) {
			t.Errorf("a read that waited ended with %v", err)
		}
		if took := time.Since(began); took > 5*time.Second || old.Status().Role == "leader" {
			t.Fatalf("after %v it is %s", took, old.Status().Role)
		}
		f.put("meanwhile", "v")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the next write was taken after %v", took)
		}
		// Nobody flaps: for a minute the others write, and the one stays what it is.
		term := f.leader().Status().Term
		for i := range 60 {
			f.put(fmt.Sprintf("minute%d", i), "v")
			<-time.After(time.Second)
		}
		if s := f.leader().Status(); s.Term != term {
			t.Errorf("after a minute term %d, want still %d", s.Term, term)
		}
		for other := uint64(1); other <= 3; other++ {
			if got := slowDisks(f.node(other)); len(got) != 1 || got[0] != id {
				t.Errorf("member %d tells of hanging disks %v, want %d", other, got, id)
			}
		}

		release()
		f.agree(1, 2, 3)
		if s := f.leader().Status(); s.Term != term {
			t.Errorf("after the disk came back term %d, want still %d", s.Term, term)
		}
		f.await("no alarm", func() bool {
			return len(slowDisks(f.node(1)))+len(slowDisks(f.node(2)))+len(slowDisks(f.node(3))) == 0
		})
		// Now it is as good as any.
		if err := f.leader().TransferLeadership(t.Context(), id); err != nil {
			t.Errorf("hand back: %v", err)
		}
		f.put("after", "v")
		for id := range f.stops {
			f.stop(id)
		}
	})
}

// A disk that is slow, or hangs for less than the limit, changes no leader and raises no alarm.
func TestASlowDiskIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, disks := hangingFleet(t, 3)
		f.put("before", "v")
		leader := f.leader()
		s := leader.Status()
		disks[s.MemberID].setSlow(500 * time.Millisecond)
		for i := range 30 {
			f.put(fmt.Sprintf("slow%d", i), "v")
		}
		disks[s.MemberID].setSlow(0)
		for i := range 5 {
			release := disks[s.MemberID].hang()
			stop := time.AfterFunc(2*time.Second, release)
			f.put(fmt.Sprintf("hiccup%d", i), "v")
			stop.Stop()
			release()
		}
		if now := leader.Status(); now.Role != "leader" || now.Term != s.Term {
			t.Errorf("%s in term %d, want the leader of term %d", now.Role, now.Term, s.Term)
		}
		if got := slowDisks(leader); len(got) > 0 {
			t.Errorf("hanging disks: %v", got)
		}
		for id := range f.stops {
			f.stop(id)
		}
	})
}

// A leader that the others cannot replace stays: of two members both are needed to write, and one is enough to read.
func TestALeaderThatCannotBeReplacedStays(t *testing.T) {
	for _, voters := range []uint64{1, 2} {
		t.Run(fmt.Sprintf("%d voters", voters), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, disks := hangingFleet(t, voters)
				f.put("before", "v")
				leader := f.leader()
				s := leader.Status()
				release := disks[s.MemberID].hang()
				defer release()
				if err := tryPut(leader, "hangs", 30*time.Second); !errors.Is(err, raftnode.ErrOutcomeUnknown) {
					t.Errorf("a write ended with %v", err)
				}
				if now := leader.Status(); now.Role != "leader" || now.Term != s.Term {
					t.Errorf("%s in term %d, want the leader of term %d", now.Role, now.Term, s.Term)
				}
				if _, err := leader.ReadIndexLeader(t.Context()); err != nil {
					t.Errorf("a renewal needs no disk: %v", err)
				}
				if alarms := fmt.Sprint(leader.Alarms()); !strings.Contains(alarms, raftnode.AlarmSlowDisk) {
					t.Errorf("alarms: %s", alarms)
				}
				release()
				f.put("after", "v")
				for id := range f.stops {
					f.stop(id)
				}
			})
		})
	}
}

// Votes are written before they count, one after the other: disks slower than an election time-out delay an election, and do not
// prevent it.
func TestSlowDisksElectALeader(t *testing.T) {
	for _, slow := range []time.Duration{700 * time.Millisecond, 1100 * time.Millisecond, 1400 * time.Millisecond} {
		t.Run(slow.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, disks := hangingFleet(t, 3)
				f.put("before", "v")
				old := f.leader().Status().MemberID
				for _, d := range disks {
					d.setSlow(slow)
				}
				f.w.setCut(old)
				elected := false
				for range 60 {
					<-time.After(time.Second)
					for id := uint64(1); id <= 3; id++ {
						elected = elected || id != old && f.node(id).Status().Role == "leader"
					}
				}
				if !elected {
					t.Error("nobody leads after a minute")
				}
				for _, d := range disks {
					d.setSlow(0)
				}
				f.w.setCut(0)
				f.agree(1, 2, 3)
				for id := range f.stops {
					f.stop(id)
				}
			})
		})
	}
}
