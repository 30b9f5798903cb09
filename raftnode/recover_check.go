package raftnode

import (
	"errors"
	"fmt"

	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/storage"
)

// rejoin is what to do with a member whose data directory is damaged.
const rejoin = `if another member is left, remove this one with "tenure member remove" and let it join again from an empty ` +
	`directory; if none is, restore a backup`

// advise adds what to do to an error of damage.
func advise(err error) error {
	if errors.Is(err, datadir.ErrDamaged) || errors.Is(err, raftlog.ErrCorrupt) || errors.Is(err, storage.ErrCorrupt) {
		return fmt.Errorf("%w; %s", err, rejoin)
	}
	return err
}

// examine looks at the state machine before it is opened, and writes nothing: what is damaged may look like an older state,
// and Pebble would remove all that an older one does not have. It is the one that is installed, or one that the log continues.
func (d *disk) examine(install raftlog.Install, pending bool) error {
	a, err := storage.ReadApplied(d.dir.FS(), d.dir.StatePath(d.epoch))
	if err != nil && !errors.Is(err, storage.ErrNotBootstrapped) {
		return err
	}
	if pending {
		return isInstalled(install, a)
	}
	if a.Index > 0 && a.ClusterID != d.identity.ClusterID {
		return nil // What comes next says which it is, or finishes a recovery.
	}
	return d.fits(a)
}

// fits reports whether the log continues a state, unless it ends before it.
func (d *disk) fits(a storage.Applied) error {
	cut := d.rlog.Truncated()
	if a.Index < cut.Index {
		path := d.dir.StatePath(d.epoch)
		if a.Index == 0 {
			return fmt.Errorf("%w: %s holds no state, though the raft log begins at %d%s", datadir.ErrDamaged, path, cut.Index+1, d.left())
		}
		return fmt.Errorf("%w: %s: %w: it begins at %d, the state machine ends at %d%s",
			datadir.ErrDamaged, path, ErrLogCutPastState, cut.Index+1, a.Index, d.left())
	}
	if last, err := d.rlog.LastIndex(); err != nil || a.Index > last {
		return err
	}
	term, err := d.rlog.Term(a.Index)
	if err != nil {
		return fmt.Errorf("term of the applied entry: %w", err)
	}
	if term != a.Term {
		return fmt.Errorf("%w: entry %d has term %d in the log, %d in the state machine", raftlog.ErrCorrupt, a.Index, term, a.Term)
	}
	return nil
}

// left names the newest checkpoint: it may be all that there is of a damaged state.
func (d *disk) left() string {
	newest := d.snaps.Newest()
	if newest == nil {
		return ""
	}
	return fmt.Sprintf(" (%s has a checkpoint of it up to entry %d)", d.dir.SnapPath(), newest.Index)
}

// lacksState says why there is no state: a member that waits for its first snapshot has nothing else either.
func (d *disk) lacksState() error {
	last, err := d.rlog.LastIndex()
	if err != nil {
		return err
	}
	if last == 0 && d.snaps.Newest() == nil {
		return fmt.Errorf("%w: it was waiting for its first snapshot", ErrNothingToRecover)
	}
	return advise(fmt.Errorf("%w: %s holds no state, though the raft log ends at %d%s",
		datadir.ErrDamaged, d.dir.StatePath(d.epoch), last, d.left()))
}

// recovered reports whether log and state machine are as a recovery leaves them: the log is empty, and begins behind the state.
func (d *disk) recovered() bool {
	a := d.store.Applied()
	last, err := d.rlog.LastIndex()
	return err == nil && last == a.Index && d.rlog.Truncated() == raftlog.EntryID{Index: a.Index, Term: a.Term}
}

// wrongCluster says that the state machine is another cluster's than the directory.
func (d *disk) wrongCluster() error {
	err := fmt.Errorf("%w: %x, the directory says %x", ErrWrongCluster, d.store.Applied().ClusterID, d.identity.ClusterID)
	if d.recovered() {
		return fmt.Errorf("%w: %w", ErrRecoveryInterrupted, err)
	}
	return err
}
