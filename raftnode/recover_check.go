package raftnode

import (
	"errors"
	"fmt"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/storage"
)

// rejoin is what to do with a member whose data directory is damaged.
const rejoin = `if another member is left, remove this one with "tenure member remove" and let it join again from an empty ` +
	`directory; if none is, restore a backup with "tenure restore"`

// advise adds what to do to an error of damage.
func advise(err error) error {
	if errors.Is(err, datadir.ErrDamaged) || errors.Is(err, raftlog.ErrCorrupt) || errors.Is(err, storage.ErrCorrupt) {
		return fmt.Errorf("%w; %s", err, rejoin)
	}
	return err
}

// witness is what log and checkpoints say about the state machine beside them.
type witness struct {
	rlog             *raftlog.Log
	snaps            *checkpoint.Catalogue
	state, snapsPath string
}

func (d *disk) witness() witness {
	return witness{rlog: d.rlog, snaps: d.snaps, state: d.dir.StatePath(d.epoch), snapsPath: d.dir.SnapPath()}
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
	return d.witness().fits(a)
}

// fits reports whether the log continues a state, unless it ends before it.
func (w witness) fits(a storage.Applied) error {
	cut := w.rlog.Truncated()
	if a.Index < cut.Index {
		if a.Index == 0 {
			return fmt.Errorf("%w: %s holds no state, though the raft log starts at %d%s", datadir.ErrDamaged, w.state, cut.Index+1, w.left())
		}
		return fmt.Errorf("%w: %s: %w: it starts at %d, the state machine ends at %d%s",
			datadir.ErrDamaged, w.state, ErrLogCutPastState, cut.Index+1, a.Index, w.left())
	}
	if last, err := w.rlog.LastIndex(); err != nil || a.Index > last {
		return err
	}
	term, err := w.rlog.Term(a.Index)
	if err != nil {
		return fmt.Errorf("term of the applied entry: %w", err)
	}
	if term != a.Term {
		return fmt.Errorf("%w: entry %d has term %d in the log, %d in the state machine", raftlog.ErrCorrupt, a.Index, term, a.Term)
	}
	return nil
}

// left names the newest checkpoint: it may be all that there is of a damaged state.
func (w witness) left() string {
	newest := w.snaps.Newest()
	if newest == nil {
		return ""
	}
	return fmt.Sprintf(" (%s has a checkpoint of it up to entry %d)", w.snapsPath, newest.Index)
}

// lacksState says why there is no state: a member that waits for its first snapshot has nothing else either.
func (w witness) lacksState() error {
	last, err := w.rlog.LastIndex()
	if err != nil {
		return err
	}
	if last == 0 && w.snaps.Newest() == nil {
		return fmt.Errorf("%w: it was waiting for its first snapshot", ErrNothingToRecover)
	}
	return advise(fmt.Errorf("%w: %s holds no state, though the raft log ends at %d%s",
		datadir.ErrDamaged, w.state, last, w.left()))
}

// recovered reports whether log and state machine are as a recovery leaves them: the log is empty, and begins behind the state.
func (w witness) recovered(a storage.Applied) bool {
	last, err := w.rlog.LastIndex()
	return err == nil && last == a.Index && w.rlog.Truncated() == raftlog.EntryID{Index: a.Index, Term: a.Term}
}

// wrongCluster says that the state machine is another cluster's than the directory.
func (w witness) wrongCluster(a storage.Applied, known [16]byte) error {
	err := fmt.Errorf("%w: %x, the directory says %x", ErrWrongCluster, a.ClusterID, known)
	if w.recovered(a) {
		return fmt.Errorf("%w: %w", ErrRecoveryInterrupted, err)
	}
	return err
}
