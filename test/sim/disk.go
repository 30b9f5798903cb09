package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/storage"
)

const dataDir = "/data"

// logMemTableBytes is small, so that the log's write-ahead log is rotated and tables are written.
const logMemTableBytes = 256 << 10

// clusterID and historyID are those of every run.
var clusterID, historyID = [16]byte{1}, [16]byte{2}

// disk is what a life has open.
type disk struct {
	dir      *datadir.Dir
	identity datadir.Identity
	epoch    uint64
	log      *raftlog.Log
	store    *storage.Store
	snaps    *checkpoint.Catalogue
	inbox    *transfer.Inbox
	fs       vfs.FS
	failing  *failing
}

// apartFS keeps crash clones apart from three operations in which MemFS takes the lock that CrashClone waits for twice:
// Pebble's own goroutines run them.
type apartFS struct {
	vfs.FS
	mu *sync.RWMutex // held by a clone, shared by those operations
}

func (a apartFS) Link(from, to string) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.FS.Link(from, to)
}

func (a apartFS) Lock(name string) (io.Closer, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.FS.Lock(name)
}

func (a apartFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.FS.ReuseForWrite(from, to, category)
}

// openDisk opens the member's disk in the order in which raftnode does.
func (m *member) openDisk() (_ *disk, err error) {
	d := &disk{failing: &failing{}}
	d.fs = datadir.Ordered(datadir.NewGuard(errfs.Wrap(apartFS{FS: m.fs, mu: &m.apart}, d.failing)))
	if d.dir, err = datadir.Open(d.fs, dataDir); err != nil {
		return nil, err
	}
	id, known, err := d.dir.Identity()
	if err != nil {
		return nil, err
	}
	if !known {
		id = datadir.Identity{ClusterID: clusterID, MemberID: m.id, Incarnation: m.nextIncarnation()}
		if err = d.dir.WriteIdentity(id); err != nil {
			return nil, err
		}
	}
	d.identity = id
	epoch, started, err := d.dir.Current()
	if err != nil {
		return nil, err
	}
	d.epoch = epoch
	if started {
		err = d.restart(m)
	} else {
		err = d.firstStart(m)
	}
	if err != nil {
		return d, err
	}
	d.inbox, err = transfer.OpenInbox(d.fs, d.dir.SnapInPath(), d.snaps)
	return d, err
}

func (d *disk) openLog() (err error) {
	d.log, err = raftlog.Open(raftlog.Options{FS: d.fs, Dir: d.dir.LogPath(), MemTableSize: logMemTableBytes})
	return err
}

func (d *disk) openStore(m *member) (err error) {
	d.store, err = storage.Open(storage.Options{FS: d.fs, Dir: d.dir.StatePath(d.epoch), Cache: m.w.cache})
	return err
}

// firstStart makes the first state. Members of the first hour begin with the same one; those that join begin with
// nothing, and get a snapshot.
func (d *disk) firstStart(m *member) (err error) {
	if err = d.dir.ResetFirstStart(); err != nil {
		return err
	}
	d.epoch = 1
	if err = d.openStore(m); err != nil {
		return err
	}
	if err = d.openLog(); err != nil {
		return err
	}
	if m.founder {
		_, newest := storage.ClusterVersions()
		first := storage.Genesis{ClusterID: clusterID, HistoryID: historyID, ClusterVersion: newest}
		voters := &raftpb.ConfState{}
		for id := range m.w.plan.Members {
			voters.Voters = append(voters.Voters, uint64(id+1))
		}
		if first.ConfState, err = core.MarshalConfState(voters); err != nil {
			return err
		}
		if err = d.store.Bootstrap(first); err != nil {
			return err
		}
		if err = d.log.Bootstrap(raftlog.EntryID{Index: 1, Term: 1}); err != nil {
			return err
		}
	}
	if d.snaps, err = checkpoint.OpenCatalogue(d.fs, d.dir.SnapPath()); err != nil {
		return err
	}
	if err = errors.Join(d.fs.MkdirAll(d.dir.SnapInPath(), 0o700), d.dir.Sync()); err != nil {
		return err
	}
	return d.dir.SetCurrent(d.epoch)
}

func (d *disk) restart(m *member) (err error) {
	if err = d.openLog(); err != nil {
		return err
	}
	install, pending, err := d.log.PendingInstall()
	if err != nil {
		return err
	}
	if d.snaps, err = checkpoint.OpenCatalogue(d.fs, d.dir.SnapPath()); err != nil {
		return err
	}
	if pending {
		m.w.floors.InstallsFinished++
		if err = d.swapState(install); err != nil {
			return err
		}
		if err = d.adopt(install); err != nil {
			return err
		}
	}
	if err = d.openStore(m); err != nil {
		return err
	}
	if pending {
		if err = d.endInstall(install); err != nil {
			return err
		}
	}
	return d.dir.RemoveOtherStates(d.epoch)
}

// hardState compares log and state machine and returns what raft goes on from.
func (d *disk) hardState() (*raftpb.HardState, error) {
	applied, cut := d.store.Applied(), d.log.Truncated()
	last, err := d.log.LastIndex()
	if err != nil {
		return nil, err
	}
	stored := d.log.HardState()
	hs := &raftpb.HardState{
		Term: new(stored.GetTerm()), Vote: new(stored.GetVote()),
		Commit: new(max(stored.GetCommit(), applied.Index, cut.Index)),
	}
	if hs.GetCommit() > last {
		return nil, fmt.Errorf("the log ends at %d, %d is committed, %d applied", last, stored.GetCommit(), applied.Index)
	}
	if applied.Index < cut.Index {
		return nil, fmt.Errorf("the log begins at %d, the state ends at %d", cut.Index+1, applied.Index)
	}
	term, err := d.log.Term(applied.Index)
	if err == nil && term != applied.Term {
		err = fmt.Errorf("entry %d has term %d in the log, %d in the state", applied.Index, term, applied.Term)
	}
	return hs, err
}

func (d *disk) receivedPath(in raftlog.Install) string {
	return d.fs.PathJoin(d.dir.SnapInPath(), in.Name)
}

// swapState makes received files the state in use. Done again after a crash it finds what is left to do.
func (d *disk) swapState(in raftlog.Install) error {
	if d.epoch == in.Epoch {
		return nil
	}
	from, to := checkpoint.DataPath(d.fs, d.receivedPath(in)), d.dir.StatePath(in.Epoch)
	_, err := d.fs.Stat(from)
	switch {
	case err == nil:
		if err = d.fs.RemoveAll(to); err != nil {
			return err
		}
		if err = d.fs.Rename(from, to); err != nil {
			return err
		}
		if err = errors.Join(d.dir.Sync(), datadir.SyncDir(d.fs, d.receivedPath(in))); err != nil {
			return err
		}
	case errors.Is(err, os.ErrNotExist):
		if _, err = d.fs.Stat(to); err != nil {
			return fmt.Errorf("snapshot neither received nor installed: %w", err)
		}
	default:
		return err
	}
	if err := d.dir.SetCurrent(in.Epoch); err != nil {
		return err
	}
	d.epoch = in.Epoch
	return nil
}

// adopt makes the snapshot in use the newest checkpoint.
func (d *disk) adopt(in raftlog.Install) error {
	return d.snaps.Adopt(d.receivedPath(in), d.dir.StatePath(d.epoch))
}

func (d *disk) endInstall(in raftlog.Install) error {
	if a := d.store.Applied(); a.Index != in.ID.Index || a.Term != in.ID.Term {
		return fmt.Errorf("snapshot is at index %d term %d, announced as %d, %d", a.Index, a.Term, in.ID.Index, in.ID.Term)
	}
	if err := d.log.EndInstall(); err != nil {
		return err
	}
	return d.fs.RemoveAll(d.receivedPath(in))
}

// close closes what is open. Errors mean nothing here: the disk is one that a crash left behind.
func (d *disk) close() {
	if d.inbox != nil {
		_ = d.inbox.Close()
	}
	if d.store != nil {
		_ = d.store.Close()
	}
	if d.log != nil {
		_ = d.log.Close()
	}
	_ = d.dir.Close()
}
