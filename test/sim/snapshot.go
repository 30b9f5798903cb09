package sim

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
)

// raftStorage is what raft reads.
type raftStorage struct {
	*raftlog.Log
	r       *life
	hs      *raftpb.HardState
	members *raftpb.ConfState
}

// InitialState returns what raft starts from.
func (s *raftStorage) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	return s.hs, s.members, nil
}

// Snapshot tells raft about the newest checkpoint, or has one made.
func (s *raftStorage) Snapshot() (*raftpb.Snapshot, error) {
	m := s.r.snaps.Newest()
	if m == nil || !m.Serves(s.Truncated().Index, s.r.store.Applied().ConfState) {
		s.r.after(time.Millisecond, keeping{s.r}.makeCheckpoint)
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	members, err := core.UnmarshalConfState(m.ConfState)
	if err != nil {
		return nil, err
	}
	return &raftpb.Snapshot{
		Data:     []byte(m.Name()),
		Metadata: &raftpb.SnapshotMetadata{ConfState: members, Index: new(m.Index), Term: new(m.Term)},
	}, nil
}

// keeping makes checkpoints of a life, and takes those of others in its state's place.
type keeping struct{ *life }

// makeCheckpoint brings the applied state to files and cuts the log behind them.
func (r keeping) makeCheckpoint() {
	if r.store.Applied().Index <= 1 {
		return
	}
	var made *checkpoint.Checkpoint
	if !r.diskWork("checkpoint", func() (err error) {
		made, err = r.snaps.Make(func(dir string) (*checkpoint.Manifest, error) {
			a, failed := r.store.Checkpoint(dir)
			if failed != nil {
				return nil, failed
			}
			return &checkpoint.Manifest{Index: a.Index, Term: a.Term, ConfState: a.ConfState, ClusterVersion: a.ClusterVersion}, nil
		})
		return err
	}) {
		return
	}
	r.w.note("checkpoint", r.m.id, made.Manifest.Index)
	r.w.floors.Checkpoints++
	r.unflushed = 0
	r.diskWork("remove received snapshots", func() error { return r.inbox.Clean(r.store.Applied().Index) })
	r.cutLog(made.Manifest.Index)
}

// cutLog forgets entries that are durable in the state and in a checkpoint.
func (r keeping) cutLog(made uint64) {
	to, err := r.store.DurableApplied()
	to = min(to, made)
	first, ferr := r.log.FirstIndex()
	if err = errors.Join(err, ferr); err != nil {
		r.w.violated("disk", "member %d: cut log: %v", r.m.id, err)
	} else if to >= first && r.diskWork("cut log", func() error { return r.log.TruncatePrefix(to) }) {
		r.w.floors.LogCuts++
	}
}

// sendSnapshot carries a checkpoint's files to another member, and then the message that announced them.
func (w *World) sendSnapshot(r *life, to *member, m *raftpb.Message) {
	peer := m.GetTo()
	report := func(ok bool) {
		r.soon(func(r *life) { r.post(core.SnapshotSent{ID: peer, OK: ok}) })
	}
	held := r.snaps.Hold()
	if held == nil || to == nil || string(m.GetSnapshot().GetData()) != held.Name {
		if held != nil {
			_ = r.snaps.Release(held)
		}
		w.after(10*time.Millisecond, func() { report(false) })
		return
	}
	var raw []byte
	var files [][]byte
	if !r.diskWork("read checkpoint", func() (err error) {
		if raw, _, err = checkpoint.ReadManifestRaw(r.fs, held.Path()); err == nil {
			files, err = readCheckpoint(r.disk, held.Manifest)
		}
		return errors.Join(err, r.snaps.Release(held))
	}) {
		return
	}
	w.note("send snapshot", r.m.id, peer, held.Manifest.Index)
	c, manifest := cloneMessage(m), held.Manifest
	from := r.sender()
	w.after(w.net.delay()+between(w.net.dice, 5*time.Millisecond, 300*time.Millisecond), func() {
		if w.net.lost(from.id, peer) || !to.up() {
			report(false)
			return
		}
		if manifest.Index <= to.life.store.Applied().Index {
			to.receive(from, c) // Raft answers how far the member is.
			report(false)
			return
		}
		name := ""
		if !to.life.diskWork("receive snapshot", func() (err error) {
			name, err = keeping{to.life}.receiveSnapshot(raw, manifest, files)
			return err
		}) || name == "" {
			report(false)
			return
		}
		c.Snapshot.Data = []byte(name)
		to.receive(from, c)
		report(true)
	})
}

// receiveSnapshot brings a snapshot to the member's inbox, as much of it as is not there, and returns its name in it. The plan
// may let the stream break somewhere in its bytes; the name is empty then. It is empty, too, if a file that was there is
// not what it should be: the next stream brings that one.
//
// The dice fall the same way however many files there are: Pebble's own goroutines decide when tables become one, so two runs
// of a seed may have different files of the same state.
func (r keeping) receiveSnapshot(raw []byte, m *checkpoint.Manifest, files [][]byte) (string, error) {
	r.w.floors.Streams++
	dice := r.w.dice(fmt.Sprintf("stream %d", r.w.floors.Streams))
	breaks := !r.w.quiet && dice.Float64() < r.w.plan.BrokenStreams
	share, crashes := dice.Float64(), dice.IntN(2) == 0
	reception, err := r.inbox.Begin(raw)
	if err != nil {
		return "", err
	}
	have, left := map[string]int{}, 0
	for _, f := range reception.Have {
		have[f.GetFile()] = int(f.GetSizeBytes())
		r.w.floors.FilesReused++
	}
	for i, f := range m.Files {
		left += len(files[i]) - have[f.Name]
	}
	if breaks {
		left = int(share * float64(left))
	}
	for i, f := range m.Files {
		data := files[i][have[f.Name]:]
		cut := len(data) > left
		if cut {
			data = data[:left]
		}
		left -= len(data)
		if len(data) > 0 || len(files[i]) == 0 {
			if err = reception.Chunk(&peerv1.SendSnapshotRequest{
				File: f.Name, Offset: uint64(have[f.Name]), Data: slices.Clone(data), Last: !cut,
				Crc32C: crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)),
			}); err != nil {
				return "", err
			}
		}
		if cut {
			break
		}
	}
	if breaks {
		r.w.floors.StreamsBroken++
		if crashes {
			r.w.crashNow(r.life)
		}
		return "", nil
	}
	name, err := reception.Finish()
	if errors.Is(err, checkpoint.ErrInvalid) {
		return "", nil
	}
	return name, err
}

// readCheckpoint reads the files of a checkpoint.
func readCheckpoint(d *disk, m *checkpoint.Manifest) ([][]byte, error) {
	files := make([][]byte, len(m.Files))
	data := checkpoint.DataPath(d.fs, d.fs.PathJoin(d.dir.SnapPath(), m.Name()))
	for i, f := range m.Files {
		file, err := d.fs.Open(d.fs.PathJoin(data, f.Name))
		if err != nil {
			return nil, err
		}
		files[i], err = io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// errCrashed says that the member crashed in the middle of something.
var errCrashed = errors.New("crashed")

// install replaces log and state by a received snapshot, step by step as raftnode does. The plan may let the member
// crash between two steps.
func (r keeping) install(s *raftpb.Snapshot, hs *raftpb.HardState) error {
	in := raftlog.Install{
		ID:    raftlog.EntryID{Index: s.GetMetadata().GetIndex(), Term: s.GetMetadata().GetTerm()},
		Epoch: r.epoch + 1,
		Name:  string(s.GetData()),
	}
	if _, err := checkpoint.Verify(r.fs, r.receivedPath(in)); err != nil {
		return err
	}
	if err := errors.Join(datadir.SyncDir(r.fs, r.dir.SnapInPath()), r.dir.Sync()); err != nil {
		return err
	}
	applying(r).applyAll()
	steps := []func() error{
		func() error { return r.recordInstall(in, hs) },
		func() error { return r.swapState(in) },
		func() error { return r.replaceStore(in) },
	}
	r.w.note("install", r.m.id, in.ID.Index)
	r.w.floors.Installs++
	for _, step := range steps {
		if r.w.plan.InstallCrashes > 0 && !r.w.quiet && r.dice.Float64() < r.w.plan.InstallCrashes {
			r.w.floors.InstallCrashes++
			return errCrashed
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (r keeping) recordInstall(in raftlog.Install, hs *raftpb.HardState) error {
	b := r.log.NewBatch()
	if err := errors.Join(b.Reset(in), b.SetHardState(hs)); err != nil {
		return err
	}
	return b.Commit(true)
}

func (r keeping) replaceStore(in raftlog.Install) error {
	if err := r.adopt(in); err != nil {
		return err
	}
	old := r.store
	if err := r.openStore(r.m); err != nil {
		return err
	}
	r.applies.Skipped()
	r.sweep()
	r.self.MembersChanged()
	if err := r.endInstall(in); err != nil {
		return err
	}
	if err := errors.Join(old.Close(), r.dir.RemoveOtherStates(r.epoch)); err != nil {
		return err
	}
	r.w.truth.sum(r.m.id, r.store.Applied())
	r.reached()
	return nil
}
