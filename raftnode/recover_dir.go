package raftnode

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/identity"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/storage"
)

var (
	// ErrNothingToRecover says that a directory holds no state from which a cluster could go on.
	ErrNothingToRecover = errors.New("the data directory holds no state")
	// ErrNotEmpty says that a directory is in use, so that nothing is restored into it.
	ErrNotEmpty = errors.New("the data directory is not empty")
	// ErrUnreadable says that the log holds an entry that this program cannot apply, and that nothing was changed.
	ErrUnreadable = errors.New("the log holds an entry that this program cannot apply")
)

// RecoverOptions says which directory becomes a new cluster, and how.
type RecoverOptions struct {
	// FS holds Dir; nil is the disk.
	FS vfs.FS
	// Dir is the data directory of a member that is stopped.
	Dir string
	// Logger takes what an operator should know; nil logs nothing.
	Logger *zap.Logger
	// EndSessions ends all sessions, as forced. Else they live on, with all they hold.
	EndSessions bool
	// FreezeMs is for how long grants are frozen; 0 is the longest TTL of a session, but at least a minute.
	FreezeMs int64
	// Reason is kept with the ends of sessions.
	Reason string
	// DropUnreadable leaves out entries of the log that this program cannot apply. Else they are an error.
	DropUnreadable bool
	// DryRun only finds out what there is. The directory stays as it is, to the last file and its time: what the work writes stays in memory, as much as
	// the end of the log that the state lacks.
	DryRun bool
}

// Recovery says what a recovered cluster has, or would have.
type Recovery struct {
	// MemberID is the member that is left, Dropped are those that are not.
	MemberID uint64
	Dropped  []uint64
	// ClusterID is the cluster's that was lost, NewClusterID that of the one that goes on; zero after a dry run.
	ClusterID, NewClusterID [16]byte
	// Index is the last entry that is taken over, Unconfirmed how many of them this member did not know to be committed:
	// some of them may never have been acknowledged to anybody.
	Index, Unconfirmed uint64
	// LostUpTo is the last entry that this member has acknowledged and its disk has lost; zero if nothing is known to be
	// lost. Another member is the better one to go on from.
	LostUpTo uint64
	// Revision is that of the state before, NewRevision the one it goes on with.
	Revision, NewRevision uint64
	// LastWrite is the wall clock of the newest command that this member has. What was acknowledged later is lost.
	LastWrite time.Time
	// Keys and Sessions count what there is.
	Keys, Sessions uint64
	// Unreadable are the entries that this program cannot apply. They were left out, or would be.
	Unreadable []UnreadableEntry
	// Finished tells that an earlier recovery was interrupted, and this one only finished it.
	Finished bool
}

// UnreadableEntry is an entry of the log that this program cannot apply.
type UnreadableEntry struct {
	// Index and Term are the entry's.
	Index, Term uint64
	// Cause is what is wrong with it.
	Cause error
}

// RecoverDir makes the data directory of a stopped member a cluster of one, for when the majority of its cluster is gone
// for good. What only the others had is lost. The cluster has a new id, so that none of the lost members can come back
// into it, and a new history. A crash leaves the directory as it was, or recovered, or says to do it again.
func RecoverDir(o RecoverOptions) (_ Recovery, err error) {
	fs := ownedFS(o.FS, o.Dir)
	if o.DryRun {
		fs = datadir.Aside(fs)
	}
	no := Options{FS: fs, Dir: o.Dir, Logger: o.Logger}
	no.setDefaults()
	d, err := openStopped(no)
	if err != nil {
		return Recovery{}, fmt.Errorf("recover %s: %w", o.Dir, err)
	}
	defer func() {
		if err = errors.Join(err, d.close()); err != nil {
			err = fmt.Errorf("recover %s: %w", o.Dir, err)
		}
	}()
	if a := d.store.Applied(); a.ClusterID != d.identity.ClusterID && d.witness().recovered(a) {
		return d.finishRecovery(o, a.ClusterID)
	}
	return d.recover(no, o)
}

// ownedFS returns the file system for work on a data directory by somebody else than its member; nil is the disk.
func ownedFS(fs vfs.FS, dir string) vfs.FS {
	if fs == nil {
		fs = vfs.Default
	}
	return datadir.Owned(fs, dir)
}

// openStopped opens the data directory of a member that does not run.
func openStopped(o Options) (_ *disk, err error) {
	if _, err = o.FS.Stat(o.Dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNothingToRecover, err)
	}
	d, known, err := identify(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.epoch, d.started, err = d.dir.Current(); err != nil {
		return nil, err
	}
	if !known || !d.started {
		return nil, ErrNothingToRecover
	}
	if err = d.restart(o); err != nil {
		return nil, err
	}
	if d.store.Applied().Index == 0 {
		return nil, d.witness().lacksState()
	}
	return d, nil
}

// finishRecovery does what is left after the state was replaced.
func (d *disk) finishRecovery(o RecoverOptions, clusterID [16]byte) (Recovery, error) {
	a := d.store.Applied()
	r := Recovery{
		MemberID: d.identity.MemberID, ClusterID: d.identity.ClusterID, NewClusterID: clusterID, Index: a.Index,
		Revision: a.Revision, NewRevision: a.Revision, Keys: a.Keys, Sessions: a.Sessions,
		LastWrite: time.UnixMilli(a.WallTimeMs), Finished: true,
	}
	if o.DryRun {
		return r, nil
	}
	return r, d.becomeCluster(clusterID)
}

// becomeCluster forgets what the directory knew of the old cluster.
func (d *disk) becomeCluster(clusterID [16]byte) error {
	d.identity.ClusterID = clusterID
	return errors.Join(d.dir.RemoveGenesis(), d.dir.RemoveJoined(), d.dir.WriteMend(nil), d.dir.WriteIdentity(d.identity))
}

func (d *disk) recover(no Options, o RecoverOptions) (Recovery, error) {
	hs, last, gone, err := d.endsToRecover()
	if err != nil {
		return Recovery{}, err
	}
	in := raftlog.Install{
		ID: raftlog.EntryID{Index: last, Term: max(hs.GetTerm(), d.store.Applied().Term)}, Epoch: d.epoch + 1, Name: "recovered",
	}
	copied := storage.Options{FS: no.FS, Dir: d.dir.StatePath(in.Epoch)}
	a, unreadable, err := d.copyState(copied, last)
	if err != nil {
		return Recovery{}, err
	}
	if len(unreadable) > 0 && !o.DryRun && !o.DropUnreadable {
		e := unreadable[0]
		return Recovery{}, errors.Join(fmt.Errorf("%w: entry %d of term %d: %w", ErrUnreadable, e.Index, e.Term, e.Cause),
			d.dir.FS().RemoveAll(copied.Dir))
	}
	lost, err := identity.Lost(d.dir, d.rlog)
	if err != nil {
		return Recovery{}, err
	}
	r := Recovery{
		LostUpTo: max(lost, gone), Unreadable: unreadable,
		MemberID: d.identity.MemberID, ClusterID: d.identity.ClusterID, Index: last, Unconfirmed: last - hs.GetCommit(),
		Revision: a.Revision, Keys: a.Keys, Sessions: a.Sessions, LastWrite: time.UnixMilli(a.WallTimeMs),
	}
	cs, err := core.UnmarshalConfState(a.ConfState)
	if err != nil {
		return r, err
	}
	r.Dropped = without(membersOf(cs), r.MemberID)
	if o.DryRun {
		return r, d.dir.FS().RemoveAll(copied.Dir)
	}
	after, err := d.recoverCopy(no, o, copied, in)
	if err != nil {
		return r, err
	}
	r.NewClusterID, r.NewRevision = after.ClusterID, after.Revision
	r.Keys, r.Sessions, r.LastWrite = after.Keys, after.Sessions, time.UnixMilli(after.WallTimeMs)
	// From here on a restart finishes it, but for the directory's own identity.
	if err = d.recordInstall(in, stateOfRecovered(in, hs)); err != nil {
		return r, err
	}
	// One after the other: what is left undone has to be found by the next start.
	discard := func() error { return transfer.Discard(d.dir.FS(), d.dir.SnapInPath()) }
	for _, step := range []func() error{discard, d.snaps.Forget, func() error { return d.swapState(in) }, d.rlog.EndInstall} {
		if err = step(); err != nil {
			return r, err
		}
	}
	return r, d.becomeCluster(after.ClusterID)
}

// stateOfRecovered is what raft goes on from where hs was what it had last. In the term of its vote it does not vote again.
func stateOfRecovered(in raftlog.Install, hs *raftpb.HardState) *raftpb.HardState {
	vote := uint64(0)
	if in.ID.Term == hs.GetTerm() {
		vote = hs.GetVote()
	}
	return &raftpb.HardState{Term: new(in.ID.Term), Vote: new(vote), Commit: new(in.ID.Index)}
}

// copyState copies the state machine and applies to the copy all that the log has. It takes the whole log: what this
// member has, but does not know to be committed, may have been acknowledged by those that are lost.
func (d *disk) copyState(to storage.Options, last uint64) (storage.Applied, []UnreadableEntry, error) {
	if err := d.dir.FS().RemoveAll(to.Dir); err != nil {
		return storage.Applied{}, nil, err
	}
	if _, err := d.store.Checkpoint(to.Dir); err != nil {
		return storage.Applied{}, nil, err
	}
	return d.applyRest(to, last)
}

// recoverCopy makes the copy the first state of the new cluster.
func (d *disk) recoverCopy(
	no Options, o RecoverOptions, so storage.Options, in raftlog.Install,
) (a storage.Applied, err error) {
	record, err := d.ownRecord()
	if err != nil {
		return a, err
	}
	ro := storage.RecoverOptions{
		Index: in.ID.Index, Term: in.ID.Term, UnixSeconds: time.Now().Unix(), FreezeMs: o.FreezeMs,
		Reason: o.Reason, EndSessions: o.EndSessions, Member: record,
	}
	_, _ = rand.Read(ro.ClusterID[:]) // never fails
	_, _ = rand.Read(ro.HistoryID[:]) // never fails
	if ro.ConfState, err = core.MarshalConfState(&raftpb.ConfState{Voters: []uint64{d.identity.MemberID}}); err != nil {
		return a, err
	}
	if err = storage.Recover(so, ro); err != nil {
		return a, err
	}
	s, err := storage.Open(so)
	if err != nil {
		return a, err
	}
	a = s.Applied()
	no.Logger.Info("recovered the state", zap.Uint64("index", a.Index), zap.Uint64("revision", a.Revision))
	return a, errors.Join(s.Close(), d.dir.Sync())
}

// membersOf returns all members of a configuration, in order.
func membersOf(cs *raftpb.ConfState) []uint64 {
	members := slices.Concat(cs.GetVoters(), cs.GetVotersOutgoing(), cs.GetLearners(), cs.GetLearnersNext())
	slices.Sort(members)
	return slices.Compact(members)
}

// ownRecord returns what is recorded of the member that is left.
func (d *disk) ownRecord() (*storev1.Member, error) {
	r := d.store.NewReader()
	all, err := r.Members()
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.GetId() == d.identity.MemberID {
			m.Learner, m.StayLearner = false, false
			return m, nil
		}
	}
	// It says more of itself when it runs.
	return &storev1.Member{
		Id: d.identity.MemberID, Incarnation: d.identity.Incarnation, Name: fmt.Sprintf("member-%x", d.identity.MemberID),
	}, nil
}

// RestoreDirOptions says where a backup is restored to, and how.
type RestoreDirOptions struct {
	// FS holds Dir; nil is the disk.
	FS vfs.FS
	// Dir is the data directory, which must be empty or missing.
	Dir string
	// FreezeMs is for how long grants are frozen; 0 is the longest TTL of a session in the backup, but at least a minute,
	// less than zero is no freeze.
	FreezeMs int64
	// KeepSessions leaves sessions alive, with all they hold. Else all end, as forced.
	KeepSessions bool
	// Reason is kept with the ends of sessions.
	Reason string
	// DropTokens leaves out all access tokens. Policies, bindings, providers and the mode are restored.
	DropTokens bool
}

// Restored is what RestoreDir made.
type Restored struct {
	storage.Applied

	// Bootstrapped says that the cluster of the backup had a first access token.
	Bootstrapped bool
	// Tokens is the number of access tokens that were restored.
	Tokens uint64
	// Bindings give rights without a token; by name.
	Bindings []Binding
}

// Binding gives rights to callers without a token of the cluster.
type Binding struct {
	// Name is that of the binding.
	Name string
	// Principal is the caller, or the beginning of several; empty: callers without a credential.
	Principal string
}

// RestoreDir makes a data directory of a backup: the first member of a new cluster, which others then join. What is
// there of a restore that failed or crashed is refused by Open and by RestoreDir.
func RestoreDir(o RestoreDirOptions, backup io.Reader) (a Restored, err error) {
	no := Options{FS: ownedFS(o.FS, o.Dir), Dir: o.Dir}
	no.setDefaults()
	dir, err := datadir.Open(no.FS, o.Dir)
	if errors.Is(err, datadir.ErrNotDataDir) {
		err = fmt.Errorf("%w: %w", ErrNotEmpty, err)
	}
	if err != nil {
		return a, fmt.Errorf("restore to %s: %w", o.Dir, err)
	}
	d := &disk{dir: dir, epoch: 1}
	defer func() {
		if err = errors.Join(err, d.close()); err != nil {
			err = fmt.Errorf("restore to %s: %w", o.Dir, err)
		}
	}()
	_, known, err := dir.Identity()
	if err != nil {
		return a, err
	}
	if known {
		return a, ErrNotEmpty
	}
	d.identity = newIdentity(no)
	return d.restore(no, o, backup)
}

func (d *disk) restore(no Options, o RestoreDirOptions, backup io.Reader) (a Restored, err error) {
	ro := storage.RestoreOptions{
		ClusterID: d.identity.ClusterID, UnixSeconds: time.Now().Unix(), FreezeMs: o.FreezeMs,
		KeepSessions: o.KeepSessions, Reason: o.Reason, DropTokens: o.DropTokens,
	}
	_, _ = rand.Read(ro.HistoryID[:]) // never fails
	if ro.ConfState, err = core.MarshalConfState(&raftpb.ConfState{Voters: []uint64{d.identity.MemberID}}); err != nil {
		return a, err
	}
	if err = storage.Restore(storage.Options{FS: no.FS, Dir: d.dir.StatePath(d.epoch)}, backup, ro); err != nil {
		return a, err
	}
	if d.store, err = d.openStore(no); err != nil {
		return a, err
	}
	if d.rlog, err = d.openLog(no); err != nil {
		return a, err
	}
	if err = d.rlog.Bootstrap(firstEntry); err != nil {
		return a, err
	}
	if d.snaps, err = checkpoint.OpenCatalogue(no.FS, d.dir.SnapPath()); err != nil {
		return a, err
	}
	if err = errors.Join(d.dir.Sync(), d.dir.SetCurrent(d.epoch)); err != nil {
		return a, err
	}
	if a, err = restored(d.store); err != nil {
		return a, err
	}
	// The identity comes last: a directory without one that holds anything is refused.
	return a, d.dir.WriteIdentity(d.identity)
}

// restored returns what a restore made.
func restored(s *storage.Store) (a Restored, err error) {
	a.Applied = s.Applied()
	r := s.NewReader()
	defer func() { err = errors.Join(err, r.Close()) }()
	head, err := r.AuthHead()
	if err != nil || head == nil {
		return a, err
	}
	a.Bootstrapped, a.Tokens = true, head.GetTokens()
	bindings, err := r.Bindings("", int(head.GetBindings())+1)
	for _, b := range bindings {
		a.Bindings = append(a.Bindings, Binding{Name: b.GetName(), Principal: b.GetPrincipal()})
	}
	return a, err
}
