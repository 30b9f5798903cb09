package raftnode_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// arrival is a member's disk, and a snapshot of a later state of the same member.
type arrival struct {
	fs   *vfs.MemFS
	snap *raftpb.Snapshot
	want string // index of the snapshot
	// place lays the snapshot ready to be installed. A start removes what lies there.
	place func()
}

func received(t *testing.T) arrival {
	t.Helper()
	ahead := vfs.NewCrashableMem()
	puts(t, ahead, 5, true)
	behind := ahead.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	puts(t, ahead, 50, true)
	c, err := checkpoint.OpenCatalogue(ahead, "/data/snap")
	if err != nil {
		t.Fatal(err)
	}
	newest := c.Hold()
	return arrival{
		fs: behind,
		snap: &raftpb.Snapshot{
			Data:     []byte("from-the-leader"),
			Metadata: &raftpb.SnapshotMetadata{Index: new(newest.Manifest.Index), Term: new(newest.Manifest.Term)},
		},
		want: fmt.Sprint(newest.Manifest.Index),
		place: func() {
			copyDir(t, ahead, "/data/snap/"+newest.Name, behind, "/data/snap-in/from-the-leader")
			if err := errors.Join(datadir.SyncDir(behind, "/data/snap-in"), datadir.SyncDir(behind, "/data")); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestInstallSnapshot(t *testing.T) {
	a := received(t)
	fs, snap, want := a.fs, a.snap, a.want
	n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
	if err != nil {
		t.Fatal(err)
	}
	a.place()
	old := n.Store()
	if err = raftnode.Install(n, snap); err != nil {
		t.Fatalf("install: %v", err)
	}
	if n.Store() == old || fmt.Sprint(n.Store().Applied().Index) != want {
		t.Errorf("applied after the installation: got %d, want %s", n.Store().Applied().Index, want)
	}
	if st := n.Status(); fmt.Sprint(st.LastIndex) != want || fmt.Sprint(st.FirstIndex-1) != want {
		t.Errorf("log after the installation: got %d to %d, want to begin behind %s", st.FirstIndex, st.LastIndex, want)
	}
	if err = n.Close(); err != nil {
		t.Fatal(err)
	}
	m := start(t, raftnode.Options{FS: fs, Dir: "/data"})
	if got := m.Store().Applied().Revision; got != 55 {
		t.Errorf("revision after restart: got %d, want 55", got)
	}
	propose(t, m.Node, put("k", "v"))
	names, err := fs.List("/data")
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(names, "sm-1") || !slices.Contains(names, "sm-2") {
		t.Errorf("state machines: got %v, want sm-2 only", names)
	}
}

func TestDamagedSnapshotsAreNotInstalled(t *testing.T) {
	a := received(t)
	fs, snap := a.fs, a.snap
	n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
	if err != nil {
		t.Fatal(err)
	}
	a.place()
	names, err := fs.List("/data/snap-in/from-the-leader/data")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(names, func(name string) bool { return path.Ext(name) == ".sst" })
	if err = datadir.WriteFile(fs, "/data/snap-in/from-the-leader/data", names[i], []byte("junk")); err != nil {
		t.Fatal(err)
	}
	if err := raftnode.Install(n, snap); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("install: got %v, want %v", err, checkpoint.ErrInvalid)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	m := start(t, raftnode.Options{FS: fs, Dir: "/data"})
	if got := m.Store().Applied().Revision; got != 5 {
		t.Errorf("revision: got %d, want 5", got)
	}
}

// A crash at any write of an installation leaves the state before or the state after, and a member that starts.
func TestCrashesDuringAnInstallation(t *testing.T) {
	before, after, adopted := 0, 0, 0
	for round := range 4 {
		a := received(t)
		fs, snap, want := a.fs, a.snap, a.want
		tk := &taker{
			mem: fs, model: newModel(1, 0), gap: 1, max: 1000, rng: rand.New(rand.NewPCG(9, uint64(round))),
		}
		n, err := raftnode.Open(raftnode.Options{FS: errfs.Wrap(apartFS{FS: fs, mu: &tk.apart}, tk), Dir: "/data"})
		if err != nil {
			t.Fatal(err)
		}
		a.place()
		if err := raftnode.Install(n, snap); err != nil {
			t.Fatalf("install: %v", err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		for i, p := range tk.points {
			again, err := raftnode.Open(raftnode.Options{FS: p.fs, Dir: "/data"})
			if err != nil {
				t.Fatalf("crash point %d (%s survives): %v", i, p.loss, err)
			}
			switch got := again.Store().Applied(); {
			case fmt.Sprint(got.Index) == want:
				after++
				// The checksums of one of the old state would be taken for those of files of the same names.
				switch at := fmt.Sprint(again.Status().CheckpointIndex); at {
				case want:
					adopted++
				case "0":
				default:
					t.Errorf("crash point %d (%s survives): the checkpoint of the old state at %s is left", i, p.loss, at)
				}
			case got.Revision == 5:
				before++
			default:
				t.Errorf("crash point %d: state at index %d, revision %d", i, got.Index, got.Revision)
			}
			if err := again.Close(); err != nil {
				t.Errorf("crash point %d: %v", i, err)
			}
		}
	}
	t.Logf("%d crash points before the installation, %d after, %d of them with the snapshot as checkpoint", before, after, adopted)
	if before < 20 || after < 20 || adopted < 20 {
		t.Errorf("crash points on one side only")
	}
}
