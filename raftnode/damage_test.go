package raftnode_test

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/storage"
)

// damageTables changes the blocks of all tables of the state machine, also for those who have them open. It returns how many there are.
func damageTables(t *testing.T, fs vfs.FS) (tables int) {
	t.Helper()
	for _, p := range files(t, fs, "/data") {
		if !strings.HasPrefix(p, "/data/sm-") || path.Ext(p) != ".sst" {
			continue
		}
		tables++
		f, err := fs.OpenReadWrite(p, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		for at := int64(0); err == nil && at < info.Size()*9/10; at += 200 {
			_, err = f.WriteAt([]byte("damage"), at)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return tables
}

// readAll reads keys until one cannot be read.
func readAll(t *testing.T, n *raftnode.Node, keys int) (err error) {
	t.Helper()
	r := n.Store().NewReader()
	for i := 0; i < keys && err == nil; i++ {
		_, _, err = r.Get(fmt.Sprintf("k%d", i))
	}
	if cerr := r.Close(); cerr != nil {
		t.Fatal(cerr)
	}
	return err
}

// A member stops when a read finds that its state machine is damaged, also if nothing is written, and the state machine came in a snapshot while
// it ran. Before, it served errors until something was applied.
func TestAMemberStopsAtDamageThatAReadFinds(t *testing.T) {
	const keys = 80
	synctest.Test(t, func(t *testing.T) {
		var installed atomic.Bool
		f := newFleet(t, func(id uint64, o *raftnode.Options) {
			smallLogs(id, o)
			if id == 3 {
				o.Snapshots.OnInstalled = func(storage.Applied) { installed.Store(true) }
			}
		})
		f.begin(3)
		f.put("before", "1")
		f.w.setCut(3)
		for i := range keys {
			f.put(fmt.Sprintf("k%d", i), strings.Repeat(fmt.Sprint(i%10), 16<<10))
		}
		leader := f.leader()
		if err := leader.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		f.await("a log that begins behind the member's end", func() bool {
			return leader.Status().FirstIndex > f.node(3).Status().LastIndex+1
		})
		f.w.setCut(0)
		f.await("a snapshot", installed.Load)
		f.await("the end of the log", func() bool {
			return f.node(3).Store().Applied().Index == f.leader().Store().Applied().Index
		})
		if damageTables(t, f.disks[3]) == 0 {
			t.Fatal("the state machine has no table")
		}
		if err := readAll(t, f.node(3), keys); !errors.Is(err, storage.ErrCorrupt) {
			t.Fatalf("read: got %v, want %v", err, storage.ErrCorrupt)
		}
		f.await("the end of the member", func() bool {
			select {
			case <-f.ends[3]:
				return true
			default:
				return false
			}
		})
		f.ended(3, storage.ErrCorrupt)
	})
}

// A member whose state machine is damaged does not start, and says where that is and what to do.
func TestOpenSaysWhatToDoAboutADamagedState(t *testing.T) {
	fs := vfs.NewMem()
	m := start(t, raftnode.Options{FS: fs, Dir: "/data"})
	propose(t, m.Node, put("k", "v"))
	if err := m.stop(); err != nil {
		t.Fatal(err)
	}
	cut := 0
	for _, p := range files(t, fs, "/data/sm-1") {
		if path.Ext(p) != ".sst" {
			continue
		}
		content := read(t, fs, p)
		if err := datadir.WriteFile(fs, path.Dir(p), path.Base(p), content[:len(content)-1]); err != nil {
			t.Fatal(err)
		}
		cut++
	}
	n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
	if err == nil {
		_ = n.Close()
	}
	if cut == 0 || !errors.Is(err, storage.ErrCorrupt) {
		t.Fatalf("%d tables were cut; got %v, want %v", cut, err, storage.ErrCorrupt)
	}
	for _, want := range []string{"/data/sm-1", ".sst", "tenure member remove", "tenure restore"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
