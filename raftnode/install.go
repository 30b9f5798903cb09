package raftnode

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/raftnode/snapshots"
	"github.com/tenure-io/tenure/storage"
)

// prepareInstall checks a received snapshot, and the state in it, and makes its files durable. Nothing is changed yet.
func (d *disk) prepareInstall(s *raftpb.Snapshot) (raftlog.Install, error) {
	in := raftlog.Install{
		ID:    raftlog.EntryID{Index: s.GetMetadata().GetIndex(), Term: s.GetMetadata().GetTerm()},
		Epoch: d.epoch + 1,
		Name:  string(s.GetData()),
	}
	m, err := checkpoint.Verify(d.dir.FS(), d.receivedPath(in))
	if err != nil {
		return in, err
	}
	if m.Index != in.ID.Index || m.Term != in.ID.Term {
		return in, fmt.Errorf("%w: index %d term %d, announced as index %d term %d",
			ErrSnapshotMismatch, m.Index, m.Term, in.ID.Index, in.ID.Term)
	}
	if err := snapshots.Examine(d.dir.FS(), d.receivedPath(in), m, d.identity.ClusterID); err != nil {
		return in, err
	}
	if err := datadir.SyncDir(d.dir.FS(), d.dir.SnapInPath()); err != nil {
		return in, err
	}
	return in, d.dir.Sync()
}

func (d *disk) receivedPath(in raftlog.Install) string {
	return d.dir.FS().PathJoin(d.dir.SnapInPath(), in.Name)
}

// recordInstall is the point of no return: the log begins behind the snapshot and remembers to install it.
func (d *disk) recordInstall(in raftlog.Install, hs *raftpb.HardState) error {
	b := d.rlog.NewBatch()
	if err := b.Reset(in); err != nil {
		return err
	}
	if err := b.SetHardState(hs); err != nil {
		return err
	}
	return b.Commit(true)
}

// swapState makes the snapshot's files the state machine in use. Done again after a crash it finds what is left to do.
func (d *disk) swapState(in raftlog.Install) error {
	if d.epoch == in.Epoch {
		return nil
	}
	fs := d.dir.FS()
	from, to := checkpoint.DataPath(fs, d.receivedPath(in)), d.dir.StatePath(in.Epoch)
	_, err := fs.Stat(from)
	switch {
	case err == nil:
		if err = fs.RemoveAll(to); err != nil {
			return fmt.Errorf("install snapshot: %w", err)
		}
		if err = fs.Rename(from, to); err != nil {
			return fmt.Errorf("install snapshot: %w", err)
		}
		// The new place first: a crash between the two may leave both, never none.
		if err = d.dir.Sync(); err != nil {
			return err
		}
		if err = datadir.SyncDir(fs, d.receivedPath(in)); err != nil {
			return err
		}
	case errors.Is(err, os.ErrNotExist):
		if _, err = fs.Stat(to); err != nil {
			return fmt.Errorf("%w: neither received nor installed: %w", ErrSnapshotMismatch, err)
		}
	default:
		return fmt.Errorf("install snapshot: %w", err)
	}
	if err := d.dir.SetCurrent(in.Epoch); err != nil {
		return err
	}
	d.epoch = in.Epoch
	return nil
}

// adoptSnapshot makes the snapshot in use the newest checkpoint, in place of those of the state before: they must not lend
// their checksums to its files. It comes before the state machine is opened, which may remove some of them.
func (d *disk) adoptSnapshot(in raftlog.Install) error {
	return d.snaps.Adopt(d.receivedPath(in), d.dir.StatePath(d.epoch))
}

// endInstall checks the state machine that was installed and forgets the installation.
func (d *disk) endInstall(in raftlog.Install) error {
	if err := isInstalled(in, d.store.Applied()); err != nil {
		return err
	}
	if err := d.rlog.EndInstall(); err != nil {
		return err
	}
	return d.dir.FS().RemoveAll(d.receivedPath(in))
}

// isInstalled reports whether a state machine is the one that was announced.
func isInstalled(in raftlog.Install, a storage.Applied) error {
	if a.Index != in.ID.Index || a.Term != in.ID.Term {
		return fmt.Errorf("%w: its state is at index %d term %d, announced as index %d term %d",
			ErrSnapshotMismatch, a.Index, a.Term, in.ID.Index, in.ID.Term)
	}
	return nil
}

// installer puts a state machine that was received in the place of the one in use.
type installer struct {
	n *Node
	// storeMu keeps the state machine from being replaced during a checkpoint of it.
	storeMu sync.Mutex
	// installing is held while a snapshot is installed, and while another one is taken up. It comes before storeMu.
	installing sync.Mutex
	// replaced has a value after the state machine was replaced.
	replaced chan struct{}
}

// install runs on the append goroutine. Apply work is finished first; raft gives none until this is answered.
func (i *installer) install(s *raftpb.Snapshot, hs *raftpb.HardState) error {
	// Another one that comes now is taken up afterwards, so that it finds here what it has in common with this one.
	i.installing.Lock()
	defer i.installing.Unlock()
	in, err := i.n.disk.prepareInstall(s)
	if err != nil {
		return err
	}
	i.n.applyQ.waitIdle()
	if err := i.n.stopping(); err != nil {
		return err
	}
	if err := i.n.disk.recordInstall(in, hs); err != nil {
		return err
	}
	oldEpoch := i.n.disk.epoch
	if err := i.n.disk.swapState(in); err != nil {
		return err
	}
	if err := i.replace(in, oldEpoch); err != nil {
		return err
	}
	i.n.log.Info("installed snapshot", zap.Uint64("index", in.ID.Index), zap.Uint64("term", in.ID.Term))
	return nil
}

// replace opens the installed state machine in place of the old one, which is closed and removed once its readers
// are gone.
func (i *installer) replace(in raftlog.Install, oldEpoch uint64) error {
	i.storeMu.Lock()
	defer i.storeMu.Unlock()
	if err := i.n.disk.adoptSnapshot(in); err != nil {
		return err
	}
	next, err := i.n.disk.openStore(i.n.o)
	if err != nil {
		return err
	}
	old := i.n.disk.store
	i.n.disk.store = next
	i.n.store.Store(next)
	select {
	case i.replaced <- struct{}{}:
	default: // Whoever looks finds the newest.
	}
	i.n.applying.applies.Skipped()
	if err := i.n.disk.endInstall(in); err != nil {
		return err
	}
	i.retire(old, oldEpoch)
	i.n.metrics.snapshotsInstalled.Inc()
	i.n.self.MembersChanged()
	i.n.seed()
	if i.n.o.Snapshots.OnInstalled != nil {
		i.n.o.Snapshots.OnInstalled(next.Applied())
	}
	i.n.janitor.Ring()
	return nil
}

// retireGrace is how long a state machine that was replaced can still be read by those who asked for it before.
const retireGrace = time.Second

// retire closes a state machine that was replaced, once its readers are gone, and removes it.
func (i *installer) retire(old *storage.Store, epoch uint64) {
	i.n.background.Go(func() {
		grace := time.NewTimer(retireGrace)
		defer grace.Stop()
		select {
		case <-grace.C:
		case <-i.n.done:
		}
		err := errors.Join(old.Close(), i.n.dir.FS().RemoveAll(i.n.dir.StatePath(epoch)))
		if err != nil {
			i.n.log.Warn("remove replaced state machine", zap.Error(err))
		}
	})
}
