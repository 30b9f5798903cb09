package raftnode_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
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

// forge gives a received snapshot another manifest, which names the same files.
func (a arrival) forge(t *testing.T, change func(*checkpoint.Manifest)) {
	t.Helper()
	m, err := checkpoint.ReadManifest(a.fs, "/data/snap-in/from-the-leader")
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	if err := checkpoint.WriteManifest(a.fs, "/data/snap-in/from-the-leader", m); err != nil {
		t.Fatal(err)
	}
	a.snap.Metadata.Index, a.snap.Metadata.Term = new(m.Index), new(m.Term)
}

// of gives the member a snapshot of another cluster.
func (a arrival) of(t *testing.T, other arrival) arrival {
	t.Helper()
	a.place = func() {
		other.place()
		copyDir(t, other.fs, "/data/snap-in/from-the-leader", a.fs, "/data/snap-in/from-the-leader")
	}
	return a
}

// forgeries are manifests that are not of the state whose files they name.
func forgeries() map[string]func(*checkpoint.Manifest) {
	return map[string]func(*checkpoint.Manifest){
		"another index":           func(m *checkpoint.Manifest) { m.Index++ },
		"another term":            func(m *checkpoint.Manifest) { m.Term++ },
		"other members":           func(m *checkpoint.Manifest) { m.ConfState = []byte{8, 1, 8, 7} },
		"another cluster version": func(m *checkpoint.Manifest) { m.ClusterVersion-- },
	}
}

// What is not as it was announced is found before the log forgets what the member has.
func TestASnapshotOfAnotherStateIsNotInstalled(t *testing.T) {
	changes := forgeries()
	changes["another cluster"] = func(*checkpoint.Manifest) {}
	for sentence, change := range changes {
		t.Run(sentence, func(t *testing.T) {
			a := received(t)
			if sentence == "another cluster" {
				a = a.of(t, received(t))
			}
			n, err := raftnode.Open(raftnode.Options{FS: a.fs, Dir: "/data"})
			if err != nil {
				t.Fatal(err)
			}
			a.place()
			a.forge(t, change)
			if err := raftnode.Install(n, a.snap); !errors.Is(err, raftnode.ErrSnapshotMismatch) {
				t.Errorf("install: got %v, want %v", err, raftnode.ErrSnapshotMismatch)
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			m := start(t, raftnode.Options{FS: a.fs, Dir: "/data"})
			if got := m.Store().Applied().Revision; got != 5 {
				t.Errorf("revision: got %d, want 5", got)
			}
		})
	}
}

// delivery sends a snapshot that lies in a directory, as a peer does, but for what is there already, and ends.
type delivery struct {
	requests []*peerv1.SendSnapshotRequest
}

func deliver(t *testing.T, fs vfs.FS, dir string, message *raftpb.Message) *delivery {
	t.Helper()
	raw, m, err := checkpoint.ReadManifestRaw(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	message.Snapshot = &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: new(m.Index), Term: new(m.Term)}}
	first, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	d := &delivery{requests: []*peerv1.SendSnapshotRequest{{Message: first, Manifest: raw}}}
	for _, f := range m.Files {
		data, err := datadir.ReadFile(fs, dir+"/data/"+f.Name)
		if err != nil {
			t.Fatal(err)
		}
		d.requests = append(d.requests, &peerv1.SendSnapshotRequest{File: f.Name, Data: data, Crc32C: f.CRC32C, Last: true})
	}
	return d
}

func (d *delivery) Recv() (*peerv1.SendSnapshotRequest, error) {
	if len(d.requests) == 0 {
		return nil, io.EOF
	}
	next := d.requests[0]
	d.requests = d.requests[1:]
	return next, nil
}

func (d *delivery) Send(answer *peerv1.SendSnapshotResponse) error {
	d.requests = slices.DeleteFunc(d.requests, func(r *peerv1.SendSnapshotRequest) bool {
		return slices.ContainsFunc(answer.GetHave(), func(have *peerv1.SnapshotFileProgress) bool { return have.GetFile() == r.GetFile() })
	})
	return nil
}

// A member refuses what a peer sends and is not what it says, goes on, and keeps nothing of it.
func TestASnapshotOfAnotherStateIsRefused(t *testing.T) {
	const peer = 7
	changes := forgeries()
	changes["no files"] = func(m *checkpoint.Manifest) { m.Files = nil }
	for _, sentence := range append(slices.Sorted(maps.Keys(changes)), "no term", "another sender") {
		t.Run(sentence, func(t *testing.T) {
			a := received(t)
			m := start(t, raftnode.Options{FS: a.fs, Dir: "/data"})
			a.place()
			if change := changes[sentence]; change != nil {
				a.forge(t, change)
			}
			message := &raftpb.Message{Type: raftpb.MsgSnap.Enum(), From: new(uint64(peer)), To: new(m.Status().MemberID), Term: new(m.Status().Term)}
			switch sentence {
			case "no term":
				message.Term = nil
			case "another sender":
				message.From = new(uint64(peer + 1))
			}
			d := deliver(t, a.fs, "/data/snap-in/from-the-leader", message)
			if err := a.fs.RemoveAll("/data/snap-in/from-the-leader"); err != nil {
				t.Fatal(err)
			}
			if err := m.ReceiveSnapshotOf(peer, d); !errors.Is(err, raftnode.ErrSnapshotMismatch) {
				t.Errorf("got %v, want %v", err, raftnode.ErrSnapshotMismatch)
			}
			if names, err := a.fs.List("/data/snap-in"); err != nil || len(names) > 0 {
				t.Errorf("left of the snapshot: %v, %v", names, err)
			}
			propose(t, m.Node, put("k", "v"))
			if err := m.stop(); err != nil {
				t.Fatal(err)
			}
			if got := start(t, raftnode.Options{FS: a.fs, Dir: "/data"}).Store().Applied().Revision; got != 6 {
				t.Errorf("revision: got %d, want 6", got)
			}
		})
	}
}
