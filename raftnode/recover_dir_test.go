package raftnode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/storage"
)

// values returns all keys of a member with their values.
func values(t *testing.T, n *raftnode.Node, keys int) (found map[string]string) {
	t.Helper()
	found = map[string]string{}
	r := n.Store().NewReader()
	for i := range keys {
		key := fmt.Sprintf("k%d", i)
		st, ok, err := r.Get(key)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			found[key] = string(st.GetValue())
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return found
}

// The last member of a cluster goes on alone, with everything that it has in its log, and new members join it.
func TestRecoverFromALostMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, smallLogs)
		f.begin(3)
		for i := range 40 {
			f.put(fmt.Sprintf("k%d", i), fmt.Sprint(i))
		}
		f.agree(1, 2, 3)
		left := f.leader().Status().MemberID%3 + 1
		before := f.node(left).Status()
		for id := uint64(1); id <= 3; id++ {
			f.stop(id)
		}
		o := raftnode.RecoverOptions{FS: f.disks[left], Dir: "/data", DryRun: true}
		dry, err := raftnode.RecoverDir(o)
		if err != nil {
			t.Fatalf("dry run: %v", err)
		}
		if dry.Index < 41 || len(dry.Dropped) != 2 || dry.ClusterID != before.ClusterID || dry.MemberID != left || dry.Keys != 40 {
			t.Errorf("dry run: got %+v", dry)
		}
		o.DryRun = false
		done, err := raftnode.RecoverDir(o)
		if err != nil {
			t.Fatalf("recover: %v", err)
		}
		if done.NewClusterID == before.ClusterID || done.NewRevision < done.Revision+1<<40 || done.Keys != 40 {
			t.Errorf("recovered: got %+v", done)
		}
		n := f.start(left)
		if got := values(t, n, 40); len(got) != 40 || got["k39"] != "39" {
			t.Errorf("keys: got %v", got)
		}
		f.put("after", "1")
		if a := n.Store().Applied(); a.ClusterID != done.NewClusterID || a.Revision <= done.NewRevision {
			t.Errorf("state: got cluster %x, revision %d, want %x, more than %d", a.ClusterID, a.Revision, done.NewClusterID, done.NewRevision)
		}
		// The lost ones are forgotten, and others take their places.
		f.join(7)
		f.join(8)
		voters := []uint64{left, 7, 8}
		f.voters(voters...)
		f.agree(voters...)
	})
}

// Who is given up is told also when the changes of members are in the log alone.
func TestRecoveryTellsWhoIsGivenUpAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, smallLogs)
		disks := map[uint64]*vfs.MemFS{1: vfs.NewCrashableMem(), 2: vfs.NewCrashableMem()}
		for id, disk := range disks {
			f.disks[id] = disk
		}
		f.begin(1)
		f.join(2)
		f.join(3)
		f.voters(1, 2, 3)
		f.change("remove", func(ctx context.Context, leader *raftnode.Node) error { return leader.RemoveMember(ctx, 3, false) })
		f.ended(3, raftnode.ErrRemoved)
		f.voters(1, 2)
		f.agree(1, 2)
		for left, want := range map[uint64]uint64{1: 2, 2: 1} {
			crashed := disks[left].CrashClone(vfs.CrashCloneCfg{})
			r, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: crashed, Dir: "/data", DryRun: true})
			if err != nil || !slices.Equal(r.Dropped, []uint64{want}) {
				t.Errorf("member %d is left: got %d given up, %v; want [%d]", left, r.Dropped, err, want)
			}
		}
	})
}

// A crash at any write of a recovery leaves the member as it was, or recovered, or asks to be recovered again.
func TestCrashesDuringARecovery(t *testing.T) {
	outcomes := map[string]int{}
	for round := range 3 {
		fs := vfs.NewCrashableMem()
		puts(t, fs, 20, round == 1)
		tk := &taker{mem: fs, model: newModel(1, 0), gap: 1, max: 2000, rng: rand.New(rand.NewPCG(3, uint64(round)))}
		done, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: errfs.Wrap(apartFS{FS: fs, mu: &tk.apart}, tk), Dir: "/data"})
		if err != nil {
			t.Fatal(err)
		}
		tk.mu.Lock()
		tk.take() // After it returned, too.
		tk.mu.Unlock()
		for i, p := range tk.points {
			n, err := raftnode.Open(raftnode.Options{FS: p.fs, Dir: "/data"})
			again := errors.Is(err, raftnode.ErrRecoveryInterrupted)
			if again {
				var r raftnode.Recovery
				if r, err = raftnode.RecoverDir(raftnode.RecoverOptions{FS: p.fs, Dir: "/data"}); err != nil || !r.Finished {
					t.Fatalf("crash point %d: recover again: %+v %v", i, r, err)
				}
				n, err = raftnode.Open(raftnode.Options{FS: p.fs, Dir: "/data"})
			}
			if err != nil {
				t.Fatalf("round %d, crash point %d of %d (%s survives): %v", round, i, len(tk.points), p.loss, err)
			}
			recovered := n.Status().ClusterID == done.NewClusterID
			switch {
			case again && recovered:
				outcomes["again"]++
			case recovered:
				outcomes["after"]++
			case n.Status().ClusterID == done.ClusterID && !again:
				outcomes["before"]++
			default:
				t.Errorf("crash point %d: cluster %x", i, n.Status().ClusterID)
			}
			if got := values(t, n, 20); len(got) != 20 && recovered {
				t.Errorf("crash point %d: %d keys", i, len(got))
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%v", outcomes)
	if outcomes["before"] < 20 || outcomes["after"] < 3 || outcomes["again"] < 3 {
		t.Errorf("crash points: got %v", outcomes)
	}
}

func backupOf(t *testing.T, n *raftnode.Node) []byte {
	t.Helper()
	var b bytes.Buffer
	r := n.Store().NewReader()
	err := storage.WriteBackup(&b, r, storage.BackupMeta{})
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A backup taken under load becomes a cluster of three: the same keys, higher revisions, a history of its own each time.
func TestRestoreABackupToThreeMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, smallLogs)
		f.begin(3)
		for i := range 40 {
			f.put(fmt.Sprintf("k%d", i), fmt.Sprint(i))
		}
		l := f.load()
		<-time.After(2 * time.Second)
		backup := backupOf(t, f.leader())
		<-time.After(2 * time.Second)
		l.end(1, 2, 3)
		info, err := storage.VerifyBackup(bytes.NewReader(backup))
		if err != nil {
			t.Fatal(err)
		}
		histories := map[[16]byte]bool{f.leader().Store().Applied().HistoryID: true}
		for range 2 {
			g := newFleet(t, smallLogs)
			fs := vfs.NewMem()
			a, err := raftnode.RestoreDir(raftnode.RestoreDirOptions{FS: fs, Dir: "/data"}, bytes.NewReader(backup))
			if err != nil {
				t.Fatalf("restore: %v", err)
			}
			if histories[a.HistoryID] || a.Revision < info.Revision+1<<40 || a.Keys != info.Keys {
				t.Errorf("restored: got %+v from %+v", a, info)
			}
			histories[a.HistoryID] = true
			_, err = raftnode.RestoreDir(raftnode.RestoreDirOptions{FS: fs, Dir: "/data"}, bytes.NewReader(backup))
			if !errors.Is(err, raftnode.ErrNotEmpty) {
				t.Errorf("restore over it: got %v, want %v", err, raftnode.ErrNotEmpty)
			}
			n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
			if err != nil {
				t.Fatal(err)
			}
			self := n.Status().MemberID
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			g.disks[self] = fs
			g.start(self)
			g.join(2)
			g.join(3)
			g.voters(2, 3, self)
			g.agree(2, 3, self)
			for _, id := range []uint64{2, 3, self} {
				if got := values(t, g.node(id), 40); len(got) != 40 || got["k7"] != "7" {
					t.Errorf("keys of member %d: got %v", id, got)
				}
			}
			g.put("after", "1")
		}
	})
}

// A crash at any write of a restore leaves what is refused, or all of it.
func TestCrashesDuringARestore(t *testing.T) {
	from := vfs.NewMem()
	m := start(t, raftnode.Options{FS: from, Dir: "/data"})
	for i := range 20 {
		propose(t, m.Node, put(fmt.Sprintf("k%d", i), "v"))
	}
	backup := backupOf(t, m.Node)
	fs := vfs.NewCrashableMem()
	tk := &taker{mem: fs, model: newModel(1, 0), gap: 1, max: 2000, rng: rand.New(rand.NewPCG(4, 4))}
	o := raftnode.RestoreDirOptions{FS: errfs.Wrap(apartFS{FS: fs, mu: &tk.apart}, tk), Dir: "/data"}
	if _, err := raftnode.RestoreDir(o, bytes.NewReader(backup)); err != nil {
		t.Fatal(err)
	}
	tk.mu.Lock()
	for range 10 {
		tk.take()
	}
	tk.mu.Unlock()
	refused, whole, nothing := 0, 0, 0
	for i, p := range tk.points {
		n, err := raftnode.Open(raftnode.Options{FS: p.fs, Dir: "/data"})
		if errors.Is(err, datadir.ErrNotDataDir) {
			refused++
			continue
		}
		if err != nil {
			t.Fatalf("crash point %d of %d (%s survives): %v", i, len(tk.points), p.loss, err)
		}
		switch len(values(t, n, 20)) {
		case 20:
			whole++
		case 0:
			// The directory was not there yet: this is a new cluster.
			if n.Store().Applied().Index != 1 {
				t.Errorf("crash point %d: an empty state at index %d", i, n.Store().Applied().Index)
			}
			nothing++
		default:
			t.Errorf("crash point %d: a part of the keys", i)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d refused, %d whole, %d had nothing yet", refused, whole, nothing)
	if refused < 20 || whole < 10 {
		t.Error("crash points on one side only")
	}
}
