package raftnode_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode"
)

// A member of three that is sent a snapshot crashes at any of its writes, of receiving as of installing: what is on its
// disk is a state that the cluster was in, and the member comes back into it.
func TestCrashesWhileASnapshotComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewCrashableMem()
		tk := &taker{mem: disk, model: newModel(1, 0), gap: 1, rng: rand.New(rand.NewPCG(5, 5))}
		f := newFleet(t, smallLogs)
		f.disks[3] = errfs.Wrap(apartFS{FS: disk, mu: &tk.apart}, tk)
		f.begin(3)
		f.put("before", "1")
		f.agree(1, 2, 3)
		f.w.setCut(3)
		for i := range 60 {
			f.put(fmt.Sprintf("k%d", i), strings.Repeat("v", 12<<10))
		}
		if err := f.leader().Checkpoint(); err != nil {
			t.Fatal(err)
		}
		f.await("a log that begins behind the member's end", func() bool {
			return f.leader().Status().FirstIndex > f.node(3).Status().LastIndex+1
		})
		tk.mu.Lock()
		tk.max = 150
		tk.mu.Unlock()
		f.w.setCut(0)
		f.agree(1, 2, 3)
		f.put("after", "1")
		f.agree(1, 2, 3)
		f.stop(3)
		before, after, behind := 0, 0, f.leader().Store().Applied().Index-5
		for i, p := range tk.points {
			n, err := raftnode.Open(raftnode.Options{FS: p.fs, Dir: "/data"})
			if err != nil {
				t.Fatalf("crash point %d of %d (%s survives): %v", i, len(tk.points), p.loss, err)
			}
			a := n.Store().Applied()
			if want, ok := f.leader().Store().ChecksumAt(a.Index); ok && want != a.Checksum {
				t.Errorf("crash point %d: at index %d with checksum %x, want %x", i, a.Index, a.Checksum, want)
			}
			if a.Index < behind {
				before++
			} else {
				after++
			}
			if err := n.Close(); err != nil {
				t.Errorf("crash point %d: %v", i, err)
			}
			if i%15 == 0 {
				// The others start again too: they have heard from the member after this moment.
				f.disks[3] = p.fs
				f.restart(1, 2, 3)
				f.agree(1, 2, 3)
				f.stop(3)
			}
		}
		t.Logf("%d crash points before the snapshot was in place, %d after", before, after)
		if before < 20 || after < 20 {
			t.Error("crash points on one side only")
		}
	})
}
