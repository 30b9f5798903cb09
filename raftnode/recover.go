package raftnode

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/health"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/raftnode/transport"
	"github.com/tenure-io/tenure/storage"
)

// firstEntry is the synthetic entry that every first state machine contains.
var firstEntry = raftlog.EntryID{Index: 1, Term: 1}

// disk is everything a member has on disk, open.
type disk struct {
	dir      *datadir.Dir
	identity datadir.Identity
	started  bool // there is a state machine, of the epoch
	epoch    uint64
	rlog     *raftlog.Log
	store    *storage.Store
	snaps    *checkpoint.Catalogue
}

// openDir opens the data directory and says whose it is. A start is counted before anything else happens, if others have
// heard of the one before, so that they know an older copy of the directory.
func openDir(ctx context.Context, o Options) (_ *disk, err error) {
	d, known, err := identify(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if !known {
		if o.FirstStart != nil {
			if err = o.FirstStart(); err != nil {
				return nil, err
			}
		}
		d.identity = newIdentity(o)
	}
	if err = health.ReserveOf(o.Health, o.guard, d.dir).AwaitSpace(ctx, d.dir.Path(), o.Health.CheckEvery, o.Logger); err != nil {
		return nil, err
	}
	if !known || d.identity.Met {
		d.identity.Starts, d.identity.Met = transport.NextStarts(d.identity.Starts, randomUint64()), false
		if err = d.dir.WriteIdentity(d.identity); err != nil {
			return nil, err
		}
	}
	d.epoch, d.started, err = d.dir.Current()
	return d, err
}

// identify opens the data directory and reads whose it is, if that is known. It refuses one whose state differed.
func identify(o Options) (_ *disk, known bool, err error) {
	dir, err := datadir.Open(o.FS, o.Dir)
	if err != nil {
		return nil, false, err
	}
	d := &disk{dir: dir}
	if d.identity, known, err = dir.Identity(); err == nil {
		err = health.CheckDiffers(dir)
	}
	if err != nil {
		return nil, false, errors.Join(err, d.close())
	}
	return d, known, nil
}

// load opens what the directory holds in the order that makes every crash harmless: log, an installation that was
// interrupted, state machine. In a directory that has not started it begins them. What it opened is closed with d, also
// when it fails.
func (d *disk) load(o Options) error {
	if d.started {
		return d.restart(o)
	}
	return d.firstStart(o)
}

// newIdentity draws who a fresh directory belongs to. Members that begin a cluster together, or join one, learn later
// which it is.
func newIdentity(o Options) datadir.Identity {
	id := datadir.Identity{Incarnation: randomUint64()}
	if g := o.genesis; g != nil {
		id.ClusterID, id.MemberID = g.ClusterID, g.MemberID
		return id
	}
	if len(o.InitialCluster) == 0 && len(o.Join) == 0 {
		_, _ = rand.Read(id.ClusterID[:]) // never fails
	}
	for id.MemberID == 0 || raft.IsLocalMsgTarget(id.MemberID) {
		id.MemberID = randomUint64()
	}
	return id
}

func randomUint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// firstStart makes the first state and the log that continues it. CURRENT is written last: without it, everything is
// made again.
func (d *disk) firstStart(o Options) (err error) {
	if err = d.checkUnfinished(o); err != nil {
		return err
	}
	if err = d.dir.ResetFirstStart(); err != nil {
		return err
	}
	d.epoch = 1
	if d.store, err = d.openStore(o); err != nil {
		return err
	}
	if d.rlog, err = d.openLog(o); err != nil {
		return err
	}
	// A member that joins has nothing to begin with: the leader sends it a snapshot.
	if o.genesis == nil || !o.genesis.Empty {
		if err = d.bootstrap(o); err != nil {
			return err
		}
	}
	if d.snaps, err = checkpoint.OpenCatalogue(o.FS, d.dir.SnapPath()); err != nil {
		return err
	}
	if err := d.dir.Sync(); err != nil {
		return err
	}
	return d.dir.SetCurrent(d.epoch)
}

// bootstrap writes the first state, and the beginning of the log behind it.
func (d *disk) bootstrap(o Options) (err error) {
	first := storage.Genesis{ClusterID: d.identity.ClusterID}
	voters := []uint64{d.identity.MemberID}
	if g := o.genesis; g != nil {
		first.HistoryID, voters = g.HistoryID, g.Voters
	} else {
		_, _ = rand.Read(first.HistoryID[:]) // never fails
		// Nobody else is in this cluster, so nobody has to be asked. First members of a cluster of several may be of
		// different programs: there the leader raises the version when all can follow.
		_, first.ClusterVersion = storage.ClusterVersions()
	}
	if first.ConfState, err = core.MarshalConfState(&raftpb.ConfState{Voters: voters}); err != nil {
		return err
	}
	if err = d.store.Bootstrap(first); err != nil {
		return fmt.Errorf("bootstrap state machine: %w", err)
	}
	if err = d.rlog.Bootstrap(firstEntry); err != nil {
		return fmt.Errorf("bootstrap raft log: %w", err)
	}
	return nil
}

// checkUnfinished refuses to begin anew over a log that is in use: CURRENT is missing for another reason then.
func (d *disk) checkUnfinished(o Options) error {
	if _, err := o.FS.Stat(d.dir.LogPath()); err != nil {
		return nil //nolint:nilerr // Without a log there is nothing to lose.
	}
	rlog, err := d.openLog(o)
	if err != nil {
		return err
	}
	last, err := rlog.LastIndex()
	if err == nil && last > firstEntry.Index {
		err = fmt.Errorf("%w: CURRENT is missing, but the raft log holds entries up to %d", datadir.ErrDamaged, last)
	}
	return errors.Join(err, rlog.Close())
}

func (d *disk) restart(o Options) error { return advise(d.reopen(o)) }

func (d *disk) reopen(o Options) (err error) {
	if d.rlog, err = d.openLog(o); err != nil {
		return err
	}
	install, pending, err := d.rlog.PendingInstall()
	if err != nil {
		return err
	}
	if d.snaps, err = checkpoint.OpenCatalogue(o.FS, d.dir.SnapPath()); err != nil {
		return err
	}
	if pending {
		o.Logger.Info("finishing an interrupted snapshot", zap.Uint64("index", install.ID.Index))
		if err = d.swapState(install); err != nil {
			return err
		}
		if err = d.adoptSnapshot(install); err != nil {
			return err
		}
	}
	// Opened, a state machine that is missing would be made, empty.
	if _, err = o.FS.Stat(d.dir.StatePath(d.epoch)); err != nil {
		return fmt.Errorf("%w: the state machine that CURRENT names: %w", datadir.ErrDamaged, err)
	}
	if err = d.examine(install, pending); err != nil {
		return err
	}
	if d.store, err = d.openStore(o); err != nil {
		return err
	}
	if pending {
		if err = d.endInstall(install); err != nil {
			return err
		}
	}
	if err = d.forgetJoined(); err != nil {
		return err
	}
	return d.dir.RemoveOtherStates(d.epoch)
}

// forgetJoined forgets how the member was added once it has a state: its records of members are newer.
func (d *disk) forgetJoined() error {
	if d.store.Applied().Index == 0 {
		return nil
	}
	if raw, err := d.dir.Joined(); err == nil && raw == nil {
		return nil
	}
	return d.dir.RemoveJoined()
}

func (d *disk) openLog(o Options) (*raftlog.Log, error) {
	return raftlog.Open(raftlog.Options{
		FS: o.FS, Dir: d.dir.LogPath(), Logger: o.Logger, MemTableSize: o.logMemTableSize,
	})
}

func (d *disk) openStore(o Options) (*storage.Store, error) {
	dir := d.dir.StatePath(d.epoch)
	s, err := storage.Open(storage.Options{
		FS: o.FS, Dir: dir, Cache: o.Cache, OnStall: o.stalls.Begin, OnStallEnd: o.stalls.End,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return s, nil
}

// check compares log and state machine and returns the hard state to go on from. A member whose log lacks what was committed
// must not vote, as if it had it: it does not start.
func (d *disk) check() (*raftpb.HardState, error) {
	hs, last, err := d.ends()
	if err != nil {
		return nil, err
	}
	if applied := d.store.Applied().Index; hs.GetCommit() > last {
		return nil, fmt.Errorf("%w: it ends at %d, %d is committed, %d applied; the disk lost what it had synced: if another member "+
			"is left, remove this one with \"tenure member remove\" and let it join again from an empty directory; if none is, run "+
			"\"tenure recover --data-dir D --force-new-cluster\"", ErrLogLostTail, last, hs.GetCommit(), applied)
	}
	return hs, advise(d.witness().fits(d.store.Applied()))
}

// ends returns the hard state to go on from, and the last entry of the log. The stored commit index may be old, as it is never
// synced for itself: what is applied or cut was committed.
func (d *disk) ends() (hs *raftpb.HardState, last uint64, err error) {
	applied := d.store.Applied()
	if applied.ClusterID != d.identity.ClusterID && applied.Index > 0 {
		return nil, 0, d.witness().wrongCluster(applied, d.identity.ClusterID)
	}
	last, err = d.rlog.LastIndex()
	stored := d.rlog.HardState()
	return &raftpb.HardState{
		Term: new(stored.GetTerm()), Vote: new(stored.GetVote()),
		Commit: new(max(stored.GetCommit(), applied.Index, d.rlog.Truncated().Index)),
	}, last, err
}

// endsToRecover is check for a recovery: no quorum is left, so whatever this member has is the best there is. A log that ends
// before the state machine adds nothing to it. What was committed and is in neither is lost, up to the entry it returns.
func (d *disk) endsToRecover() (hs *raftpb.HardState, last, lost uint64, err error) {
	if hs, last, err = d.ends(); err != nil {
		return nil, 0, 0, err
	}
	if applied := d.store.Applied().Index; last < applied {
		last = applied
	} else if err = advise(d.witness().fits(d.store.Applied())); err != nil {
		return nil, 0, 0, err
	}
	if hs.GetCommit() > last {
		lost = hs.GetCommit()
		hs.Commit = new(last)
	}
	return hs, last, lost, nil
}

// close closes what is open, last opened first.
func (d *disk) close() error {
	var errs []error
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	if d.rlog != nil {
		errs = append(errs, d.rlog.Close())
	}
	return errors.Join(append(errs, d.dir.Close())...)
}

// raftStorage is what raft reads: the log, the members as of the applied index, and the newest checkpoint.
type raftStorage struct {
	*raftlog.Log
	hs       *raftpb.HardState
	members  *raftpb.ConfState
	snapshot func() (*raftpb.Snapshot, error)
}

// InitialState returns what raft starts from.
func (s *raftStorage) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	return s.hs, s.members, nil
}

// Snapshot returns the newest checkpoint, or that there is none yet. It never blocks.
func (s *raftStorage) Snapshot() (*raftpb.Snapshot, error) { return s.snapshot() }
