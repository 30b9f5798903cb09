package raftnode

import (
	"errors"
	"fmt"
	"os"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/storage"
)

// prepareInstall checks a received snapshot and makes its files durable. Nothing is changed yet.
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
	a := d.store.Applied()
	if a.Index != in.ID.Index || a.Term != in.ID.Term {
		return fmt.Errorf("%w: its state is at index %d term %d, announced as index %d term %d",
			ErrSnapshotMismatch, a.Index, a.Term, in.ID.Index, in.ID.Term)
	}
	if err := d.rlog.EndInstall(); err != nil {
		return err
	}
	return d.dir.FS().RemoveAll(d.receivedPath(in))
}

// installSnapshot runs on the append goroutine. Apply work is finished first; raft gives none until this is answered.
func (n *Node) installSnapshot(s *raftpb.Snapshot, hs *raftpb.HardState) error {
	// Another one that comes now is taken up afterwards, so that it finds here what it has in common with this one.
	n.installing.Lock()
	defer n.installing.Unlock()
	in, err := n.disk.prepareInstall(s)
	if err != nil {
		return err
	}
	n.applyQ.waitIdle()
	if err := n.stopping(); err != nil {
		return err
	}
	if err := n.disk.recordInstall(in, hs); err != nil {
		return err
	}
	oldEpoch := n.disk.epoch
	if err := n.disk.swapState(in); err != nil {
		return err
	}
	if err := n.replaceStore(in, oldEpoch); err != nil {
		return err
	}
	n.log.Info("installed snapshot", zap.Uint64("index", in.ID.Index), zap.Uint64("term", in.ID.Term))
	return nil
}

// replaceStore opens the installed state machine in place of the old one, which is closed and removed once its readers
// are gone.
func (n *Node) replaceStore(in raftlog.Install, oldEpoch uint64) error {
	n.storeMu.Lock()
	defer n.storeMu.Unlock()
	if err := n.disk.adoptSnapshot(in); err != nil {
		return err
	}
	next, err := n.disk.openStore(n.o)
	if err != nil {
		return err
	}
	old := n.disk.store
	n.disk.store = next
	n.store.Store(next)
	n.proposals.Skipped()
	n.confs.Unknown(errors.New("a snapshot was installed"))
	if err := n.disk.endInstall(in); err != nil {
		return err
	}
	n.retire(old, oldEpoch)
	n.metrics.snapshotsInstalled.Inc()
	n.self.MembersChanged()
	n.seed()
	if n.o.Snapshots.OnInstalled != nil {
		n.o.Snapshots.OnInstalled(next.Applied())
	}
	n.janitor.Ring()
	return nil
}

// retireGrace is how long a state machine that was replaced can still be read by those who asked for it before.
const retireGrace = time.Second

// retire closes a state machine that was replaced, once its readers are gone, and removes it.
func (n *Node) retire(old *storage.Store, epoch uint64) {
	n.background.Go(func() {
		grace := time.NewTimer(retireGrace)
		defer grace.Stop()
		select {
		case <-grace.C:
		case <-n.done:
		}
		err := errors.Join(old.Close(), n.dir.FS().RemoveAll(n.dir.StatePath(epoch)))
		if err != nil {
			n.log.Warn("remove replaced state machine", zap.Error(err))
		}
	})
}
