package raftnode_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// A leader that applies nothing any more, though its log goes on, hands over within three election time-outs. The others
// write, it follows, and when it applies again it is as good as any.
func TestALeaderWhoseStateHangsHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := [4]atomic.Pointer[chan struct{}]{}
		f := newFleet(t, func(id uint64, o *raftnode.Options) {
			o.OnApplied = func(storage.Outcome) {
				if hang := hung[id].Load(); hang != nil {
					<-*hang
				}
			}
		})
		f.begin(3)
		f.put("before", "v")
		old := f.leader()
		id := old.Status().MemberID
		hang := make(chan struct{})
		hung[id].Store(&hang)
		release := sync.OnceFunc(func() {
			hung[id].Store(nil)
			close(hang)
		})
		defer release()
		began := time.Now()
		waiting := make(chan error, 1)
		go func() { waiting <- tryPut(old, "taken", time.Minute) }()
		if err := <-waiting; !errors.Is(err, raftnode.ErrOutcomeUnknown) {
			t.Errorf("a write that waited ended with %v", err)
		}
		if old.Status().Role == "leader" {
			t.Fatalf("after %v it leads", time.Since(began))
		}
		f.put("meanwhile", "v")
		if took := time.Since(began); took > 5*time.Second || old.Status().Role == "leader" {
			t.Errorf("after %v the old leader is %s", took, old.Status().Role)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := old.ReadIndex(ctx); !errors.Is(err, raftnode.ErrDiskHangs) {
			t.Errorf("a read there ended with %v", err)
		}
		if got := slowDisks(old); len(got) != 1 || got[0] != id {
			t.Errorf("it tells of hanging disks %v, want %d", got, id)
		}
		// Nobody flaps.
		term := f.leader().Status().Term
		<-time.After(time.Minute)
		f.put("later", "v")
		if s := f.leader().Status(); s.Term != term {
			t.Errorf("after a minute term %d, want still %d", s.Term, term)
		}
		release()
		f.agree(1, 2, 3)
		f.await("no alarm", func() bool { return len(slowDisks(old)) == 0 })
		if err := f.leader().TransferLeadership(t.Context(), id); err != nil {
			t.Errorf("hand back: %v", err)
		}
		f.put("after", "v")
		for id := range f.stops {
			f.stop(id)
		}
	})
}
