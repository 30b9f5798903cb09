package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/auth"
	"github.com/tenure-io/tenure/storage/backup"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/machine"
	"github.com/tenure-io/tenure/storage/members"
	"github.com/tenure-io/tenure/storage/nodes"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// restoreBatchBytes is how many bytes of rows Restore writes at once.
	restoreBatchBytes = 4 << 20
	// restoreStepMax is how many sessions, or locks, Restore looks at before it writes what became of them.
	restoreStepMax = 4096
	// freezeMsMin is the shortest freeze that follows a restore by itself.
	freezeMsMin = 60_000
	// revisionJump is by how much a restore moves the revision at least.
	revisionJump = 1 << 40
	// revisionsPerSecond is how many revisions a restore leaves room for each second since the Unix epoch, so that two
	// restores of one backup do not meet.
	revisionsPerSecond = 1 << 20
	// clockAheadSeconds is by how much, about half a year, the clock of the old cluster's leader may be ahead of the one that is restored by.
	clockAheadSeconds = 1 << 24
	// restoreSeconds is for how many seconds, about two years from so long before it was made on, restores of one backup are kept apart in their order;
	// and what a restore moves the revision for them at most, so that revisions stay numbers that also a double holds.
	restoreSeconds = 1 << 26
)

// RestoreOptions says what a restored cluster is.
type RestoreOptions struct {
	// ClusterID and HistoryID are drawn at random; they must not be those of the backup.
	ClusterID, HistoryID [16]byte
	// ConfState is opaque: the first members, as raftnode marshals them.
	ConfState []byte
	// UnixSeconds is the time now: revisions go on above what it stands for.
	UnixSeconds int64
	// FreezeMs is for how long grants are frozen, as counted by the leader; zero is the longest TTL of a session in the
	// backup, but at least a minute. Less than zero is no freeze.
	FreezeMs int64
	// KeepSessions leaves sessions alive, with all they hold. Else all end, as forced, with their lock-delays.
	KeepSessions bool
	// Reason is kept with the ends of sessions; there is a text for an empty one.
	Reason string
	// DropTokens leaves out all tokens. Policies, bindings, providers and the mode are restored.
	DropTokens bool
}

// Restore makes the first state of a new cluster, as of index 1 and term 1, from a backup, in a directory that is empty or
// missing. Its revision is max(backup's + 2^40 + (2^24 + seconds since the backup) × 2^20, Unix seconds × 2^20), so that tokens never come back, also
// of another restore of the same backup in an earlier second, up to a year and a half after the backup was made; nothing of the old history is
// kept. If it fails, the directory is gone. A crash leaves something that must not be used: the caller notes that Restore has returned. Equal
// options and backups give equal states.
func Restore(o Options, backup io.Reader, r RestoreOptions) (err error) {
	if r.ClusterID == [16]byte{} || r.HistoryID == [16]byte{} {
		return errors.New("restore: cluster id and history id must be given")
	}
	s, err := Open(o)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	clean := false // Whether what is there is ours.
	defer func() {
		err = errors.Join(err, s.Close())
		if err != nil && clean {
			err = errors.Join(err, s.fs.RemoveAll(o.Dir))
		}
		if err != nil {
			err = fmt.Errorf("restore: %w", err)
		}
	}()
	bytes, err := countBytes(table.NewOverlay(s.db, 0))
	if err != nil {
		return err
	}
	if s.Applied().Index != 0 || bytes != 0 {
		return ErrBootstrapped
	}
	clean = true
	info, state, err := s.load(backup)
	if err != nil {
		return err
	}
	if r.ClusterID == info.ClusterID || r.HistoryID == info.HistoryID {
		return errors.New("cluster id and history id must be new")
	}
	state.Index, state.Term, state.Checksum = 1, 1, 0
	state.HistoryBytes = 0
	state.StoreBytes = info.RowBytes
	h := newHistory{
		historyID: r.HistoryID, clusterID: r.ClusterID, confState: r.ConfState, unixSeconds: r.UnixSeconds,
		freezeMs: freezeOf(r.FreezeMs, info.LongestTTLMs), endSessions: !r.KeepSessions, trimmed: true, dropTokens: r.DropTokens,
		reason: cmp.Or(r.Reason, "restored from a backup"),
	}
	return s.begin(state, h)
}

// freezeOf returns how long grants are frozen: as asked, or by the longest TTL.
func freezeOf(askedMs, longestTTLMs int64) int64 {
	if askedMs != 0 {
		return askedMs
	}
	return max(longestTTLMs, freezeMsMin)
}

// load writes the rows of a backup. None of them counts before the applied record is written.
func (s *Store) load(file io.Reader) (BackupInfo, Applied, error) {
	batch := s.db.NewBatch()
	flush := func() error {
		err := batch.Commit(pebble.NoSync)
		err = errors.Join(err, batch.Close())
		batch = s.db.NewBatch()
		return err
	}
	info, state, err := backup.Read(file, func(row, value []byte) error {
		if err := batch.Set(row, value, nil); err != nil || batch.Len() < restoreBatchBytes {
			return err
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return info, state, errors.Join(err, batch.Close(), s.background.get())
}

// newHistory says how a line of revisions begins that does not continue another.
type newHistory struct {
	historyID   [16]byte
	clusterID   [16]byte
	confState   []byte
	unixSeconds int64
	freezeMs    int64
	endSessions bool
	dropTokens  bool
	reason      string
	trimmed     bool // no event of the old line is on disk
	members     *memberChange
}

// firstRevision returns where the revisions of a new history begin. The time now is not enough: a state that was restored or recovered before may
// have revisions that are ahead of it. Nor is a jump from there, which would bring each restore of one backup to the same place. So the jump grows by
// the time since the last command. Where the two clocks cannot both be right, it grows by the time now as far as it fits.
func firstRevision(state Applied, unixSeconds int64) uint64 {
	passed := unixSeconds - state.WallTimeMs/1000 + clockAheadSeconds
	if passed < 0 || passed >= restoreSeconds {
		passed = unixSeconds & (restoreSeconds - 1)
	}
	return max(state.Revision+revisionJump+uint64(passed)*revisionsPerSecond, uint64(max(unixSeconds, 0))*revisionsPerSecond)
}

// begin makes a state the first of a new line of revisions, ends sessions as asked, and flushes.
func (s *Store) begin(state Applied, h newHistory) error {
	state.HistoryID, state.ClusterID, state.ConfState = h.historyID, h.clusterID, h.confState
	state.Revision = firstRevision(state, h.unixSeconds)
	state.CompactedRevision = state.Revision
	if h.trimmed {
		state.TrimmedRevision = state.Revision
	}
	auth.Forgo(&state)
	w := machine.NewWork(table.NewOverlay(s.db, state.StoreBytes), state)
	rows := w.Overlay()
	if h.freezeMs > 0 {
		value, err := layout.Encode(&storev1.FreezeRecord{
			FormatVersion: layout.RecordFormat, FreezeMs: h.freezeMs, BeginRevision: state.Revision,
		})
		if err != nil {
			return err
		}
		rows.Set([]byte{layout.RowFreeze}, value)
	} else {
		rows.Remove([]byte{layout.RowFreeze})
	}
	if err := members.DropTokens(rows); err != nil {
		return err
	}
	if h.dropTokens {
		if err := auth.DropTokens(rows); err != nil {
			return err
		}
	}
	if h.members != nil {
		if err := h.members.write(rows, state); err != nil {
			return err
		}
	}
	if err := nodes.DoubtLiveness(rows, w.Applied().Revision); err != nil {
		return err
	}
	w.Seal()
	if h.endSessions {
		var err error
		if w, err = s.endAll(w, h); err != nil {
			return err
		}
	}
	if h.trimmed {
		var err error
		if w, err = s.forgetIdleLocks(w); err != nil {
			return err
		}
	}
	state = w.Applied()
	if err := s.commit(w.Overlay(), state); err != nil {
		return err
	}
	s.publish(state, state.Checksum)
	return s.flush()
}

// next commits what w has done, but not its account, and goes on with an empty overlay, so that memory stays bounded.
func (s *Store) next(w *machine.Work) (*machine.Work, error) {
	state := w.Applied()
	if err := s.commitRows(w.Overlay()); err != nil {
		return nil, err
	}
	return machine.NewWork(table.NewOverlay(s.db, state.StoreBytes), state), nil
}

// endAll ends all sessions, a command's worth at a time.
func (s *Store) endAll(w *machine.Work, h newHistory) (*machine.Work, error) {
	from := []byte{layout.RowSession}
	for {
		var ids []SessionID
		err := w.Overlay().Scan(from, []byte{layout.RowSession + 1}, func(row, _ []byte) (bool, error) {
			id, ok := layout.CutSessionRow(row)
			if !ok {
				return false, fmt.Errorf("%w: session row", ErrCorrupt)
			}
			ids = append(ids, id)
			return len(ids) < restoreStepMax, nil
		})
		if err != nil || len(ids) == 0 {
			return w, err
		}
		left, err := w.EndRestored(ids, h.reason, h.unixSeconds*1000)
		if err != nil {
			return nil, err
		}
		from = append(layout.SessionRow(layout.RowSession, ids[len(ids)-1]), 0)
		if len(left) > 0 {
			from = append([]byte{layout.RowSession}, left[0]...)
		}
		if w, err = s.next(w); err != nil {
			return nil, err
		}
	}
}

// forgetIdleLocks forgets locks with nothing left, whose last change is of the old history: no event of it comes to be
// compacted any more.
func (s *Store) forgetIdleLocks(w *machine.Work) (*machine.Work, error) {
	compacted := w.Applied().CompactedRevision
	from := []byte{layout.RowLock}
	for {
		var idle [][]byte
		seen := 0
		err := w.Overlay().Scan(from, []byte{layout.RowLock + 1}, func(row, value []byte) (bool, error) {
			h := &storev1.LockHead{}
			if err := layout.Decode(value, h); err != nil {
				return false, fmt.Errorf("lock: %w", err)
			}
			if records.IsIdle(h) && h.GetModRevision() <= compacted {
				idle = append(idle, slices.Clone(row))
			}
			from = append(slices.Clone(row), 0)
			seen++
			return seen < restoreStepMax, nil
		})
		if err != nil {
			return nil, err
		}
		for _, row := range idle {
			n, ok := layout.CutNameRow(row)
			if !ok {
				return nil, fmt.Errorf("%w: lock row", ErrCorrupt)
			}
			_, exists, getErr := w.Overlay().Get(layout.NameRow(layout.RowKey, n))
			if getErr != nil {
				return nil, getErr
			}
			if !exists {
				w.Overlay().Remove(row)
			}
		}
		w.Seal()
		if w, err = s.next(w); err != nil || seen < restoreStepMax {
			return w, err
		}
	}
}
