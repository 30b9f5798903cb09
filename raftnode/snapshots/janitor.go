package snapshots

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/storage"
)

// JanitorOptions says what a janitor keeps small, and how. All of it is required.
type JanitorOptions struct {
	Logger *zap.Logger
	// Store returns the state machine, which may be another one at the next call.
	Store func() *storage.Store
	// StoreMu keeps the state machine from being replaced during a checkpoint of it.
	StoreMu   *sync.Mutex
	Log       *raftlog.Log
	Catalogue *checkpoint.Catalogue
	Inbox     *transfer.Inbox
	// Needed is up to where the log is needed by other members.
	Needed Needed
	// Free returns how many bytes of the disk are free, of which FreeMin shall stay.
	Free    func() uint64
	FreeMin uint64
	// CheckpointLogBytes, LogBytesMax, TailEntries and TailBytes are those of the member's options.
	CheckpointLogBytes, LogBytesMax uint64
	TailEntries, TailBytes          uint64
	// Fail stops the member. It does not block.
	Fail func(error)
	// Checkpoints counts those that were made, Truncations how often the log was cut.
	Checkpoints, Truncations prometheus.Counter
}

// Needed is up to where other members need the log.
type Needed interface {
	// Floor returns the index behind which members that listen need it; 0 for none.
	Floor() uint64
	// Seeding returns the index behind which those need it that a snapshot is on its way to; 0 for none.
	Seeding() uint64
}

// Janitor makes checkpoints and cuts the log, on a goroutine of its own.
type Janitor struct {
	o    JanitorOptions
	log  *zap.Logger
	wake chan struct{} // 1 slot
	// wanted is set when raft asked for a snapshot that does not exist.
	wanted chan struct{} // 1 slot
	next   uint64        // entries appended at which the size is looked at again; owned by the append goroutine
}

// janitorEntries is after how many entries the append goroutine has the log's size looked at.
const janitorEntries = 8

// NewJanitor returns the janitor of a member that starts.
func NewJanitor(o JanitorOptions) *Janitor {
	return &Janitor{o: o, log: o.Logger, wake: make(chan struct{}, 1), wanted: make(chan struct{}, 1)}
}

// Ring has the janitor look. It does not block.
func (j *Janitor) Ring() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Want asks for a checkpoint now.
func (j *Janitor) Want() {
	select {
	case j.wanted <- struct{}{}:
	default:
	}
}

// Appended is called by the append goroutine after each write.
func (j *Janitor) Appended() {
	if n := j.o.Log.Appended(); n >= j.next {
		j.next = n + janitorEntries
		if j.checkpointDue() {
			j.Ring()
		}
	}
}

// checkpointDue reports whether so much log lies behind the newest checkpoint that another one pays.
func (j *Janitor) checkpointDue() bool {
	from := uint64(0)
	if m := j.o.Catalogue.Newest(); m != nil {
		from = m.Index
	}
	return j.o.Log.SizeBytesFrom(from) >= j.o.CheckpointLogBytes
}

// Run works until ctx ends. An error stops the member: a disk that cannot link or delete files cannot be trusted with
// the log either.
func (j *Janitor) Run(ctx context.Context) {
	for {
		wanted := false
		select {
		case <-ctx.Done():
			return
		case <-j.o.Store().FlushEnded():
		case <-j.wake:
		case <-j.wanted:
			wanted = true
		}
		if err := j.work(wanted); err != nil {
			if errors.Is(err, storage.ErrClosed) {
				// A snapshot took the store's place meanwhile.
				continue
			}
			j.o.Fail(fmt.Errorf("keep the raft log small: %w", err))
			return
		}
	}
}

func (j *Janitor) work(wanted bool) error {
	if wanted || j.checkpointDue() {
		if err := j.make(); err != nil {
			return err
		}
	}
	if err := j.CutLog(); err != nil {
		return err
	}
	if err := j.cleanStaged(); err != nil {
		return err
	}
	durable, err := j.o.Store().DurableApplied()
	if err != nil {
		return err
	}
	// What is kept for other members is no reason to flush.
	if j.o.Log.SizeBytesFrom(durable) > j.o.LogBytesMax {
		return j.o.Store().AsyncFlush()
	}
	return nil
}

// make brings the applied state to files of its own.
func (j *Janitor) make() error {
	j.o.StoreMu.Lock()
	defer j.o.StoreMu.Unlock()
	made, err := j.o.Catalogue.Make(func(dir string) (*checkpoint.Manifest, error) {
		a, err := j.o.Store().Checkpoint(dir)
		if err != nil {
			return nil, err
		}
		return &checkpoint.Manifest{
			Index: a.Index, Term: a.Term, ConfState: a.ConfState, ClusterVersion: a.ClusterVersion,
		}, nil
	})
	if err != nil {
		return err
	}
	j.o.Checkpoints.Inc()
	j.log.Debug("made checkpoint", zap.Uint64("index", made.Manifest.Index),
		zap.Int64("size_bytes", made.Manifest.SizeBytes()))
	return nil
}

// CutLog forgets the entries that nobody needs: those that are durable in the state machine and in a checkpoint, from
// which a member that fell behind can start. A tail stays for members that were away for a moment.
func (j *Janitor) CutLog() error {
	store := j.o.Store()
	to, err := store.DurableApplied()
	if err != nil {
		return err
	}
	m := j.o.Catalogue.Newest()
	if m == nil {
		return nil
	}
	to = min(to, j.keptBehind(m.Index))
	first, err := j.o.Log.FirstIndex()
	if err != nil || to < first {
		return err
	}
	if err := j.o.Log.TruncatePrefix(to); err != nil {
		return fmt.Errorf("cut raft log: %w", err)
	}
	j.o.Truncations.Inc()
	j.log.Debug("cut raft log", zap.Uint64("index", to))
	return nil
}

// keptBehind returns the index up to which the log may be cut when a checkpoint at index exists.
func (j *Janitor) keptBehind(index uint64) uint64 {
	to := max(index-min(index, j.o.TailEntries), j.o.Log.IndexBehind(index, j.o.TailBytes))
	// Members that listen go on from where they are, within reason.
	if floor := j.o.Needed.Floor(); floor != 0 {
		to = min(to, max(floor, j.o.Log.IndexBehind(math.MaxUint64, j.o.LogBytesMax)))
	}
	// If those that a snapshot is on its way to could not go on behind it, it would have been sent for nothing.
	if seeding := j.o.Needed.Seeding(); seeding != 0 && j.o.Log.SizeBytesFrom(seeding) <= j.logRoom() {
		to = min(to, seeding)
	}
	return to
}

// logRoom returns how large the log may grow for a member that a snapshot is on its way to: as much as stays free, so that
// the disk does not get too full by it, and never less than for others.
func (j *Janitor) logRoom() uint64 {
	free := j.o.Free()
	return max(j.o.LogBytesMax, free-min(free, j.o.FreeMin))
}

// Checkpoint makes a checkpoint now and cuts the log behind it.
func (j *Janitor) Checkpoint() error {
	if err := j.make(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	j.Ring()
	return nil
}

// Snapshot tells raft about the newest checkpoint. It runs on the loop and does no I/O.
func (j *Janitor) Snapshot() (*raftpb.Snapshot, error) {
	m := j.o.Catalogue.Newest()
	if m == nil || !m.Serves(j.o.Log.Truncated().Index, j.o.Store().Applied().ConfState) {
		j.Want()
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return snapshotOf(m)
}

// cleanStaged removes received snapshots that raft did not want, or has no use for any more.
func (j *Janitor) cleanStaged() error {
	j.o.StoreMu.Lock()
	defer j.o.StoreMu.Unlock()
	return j.o.Inbox.Clean(j.o.Store().Applied().Index)
}
