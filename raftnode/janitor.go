package raftnode

import (
	"context"
	"errors"
	"fmt"
	"math"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/storage"
)

// janitor makes checkpoints and cuts the log, on a goroutine of its own.
type janitor struct {
	n    *Node
	wake chan struct{} // 1 slot
	// wanted is set when raft asked for a snapshot that does not exist.
	wanted chan struct{} // 1 slot
	next   uint64        // entries appended at which the size is looked at again; owned by the append goroutine
}

// janitorEntries is after how many entries the append goroutine has the log's size looked at.
const janitorEntries = 8

func newJanitor(n *Node) *janitor {
	return &janitor{n: n, wake: make(chan struct{}, 1), wanted: make(chan struct{}, 1)}
}

func (j *janitor) ring() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// want asks for a checkpoint now.
func (j *janitor) want() {
	select {
	case j.wanted <- struct{}{}:
	default:
	}
}

// appended is called by the append goroutine after each write.
func (j *janitor) appended() {
	if n := j.n.rlog.Appended(); n >= j.next {
		j.next = n + janitorEntries
		if j.checkpointDue() {
			j.ring()
		}
	}
}

// checkpointDue reports whether so much log lies behind the newest checkpoint that another one pays.
func (j *janitor) checkpointDue() bool {
	from := uint64(0)
	if m := j.n.snaps.Newest(); m != nil {
		from = m.Index
	}
	return j.n.rlog.SizeBytesFrom(from) >= j.n.o.CheckpointLogBytes
}

// run works until ctx ends. An error stops the member: a disk that cannot link or delete files cannot be trusted with
// the log either.
func (j *janitor) run(ctx context.Context) {
	for {
		wanted := false
		select {
		case <-ctx.Done():
			return
		case <-j.n.Store().FlushEnded():
		case <-j.wake:
		case <-j.wanted:
			wanted = true
		}
		if err := j.work(wanted); err != nil {
			if errors.Is(err, storage.ErrClosed) {
				// A snapshot took the store's place meanwhile.
				continue
			}
			j.n.fail(fmt.Errorf("keep the raft log small: %w", err))
			return
		}
	}
}

func (j *janitor) work(wanted bool) error {
	n := j.n
	if wanted || j.checkpointDue() {
		if err := n.makeCheckpoint(); err != nil {
			return err
		}
	}
	if err := n.cutLog(); err != nil {
		return err
	}
	if err := n.cleanStaged(); err != nil {
		return err
	}
	durable, err := n.Store().DurableApplied()
	if err != nil {
		return err
	}
	// What is kept for other members is no reason to flush.
	if n.rlog.SizeBytesFrom(durable) > n.o.LogBytesMax {
		return n.Store().AsyncFlush()
	}
	return nil
}

// makeCheckpoint brings the applied state to files of its own.
func (n *Node) makeCheckpoint() error {
	n.storeMu.Lock()
	defer n.storeMu.Unlock()
	made, err := n.snaps.Make(func(dir string) (*checkpoint.Manifest, error) {
		a, err := n.Store().Checkpoint(dir)
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
	n.metrics.checkpoints.Inc()
	n.log.Debug("made checkpoint", zap.Uint64("index", made.Manifest.Index),
		zap.Int64("size_bytes", made.Manifest.SizeBytes()))
	return nil
}

// cutLog forgets the entries that nobody needs: those that are durable in the state machine and in a checkpoint, from
// which a member that fell behind can start. A tail stays for members that were away for a moment.
func (n *Node) cutLog() error {
	store := n.Store()
	to, err := store.DurableApplied()
	if err != nil {
		return err
	}
	m := n.snaps.Newest()
	if m == nil {
		return nil
	}
	to = min(to, n.keptBehind(m.Index))
	first, err := n.rlog.FirstIndex()
	if err != nil || to < first {
		return err
	}
	if err := n.rlog.TruncatePrefix(to); err != nil {
		return fmt.Errorf("cut raft log: %w", err)
	}
	n.metrics.truncations.Inc()
	n.log.Debug("cut raft log", zap.Uint64("index", to))
	return nil
}

// keptBehind returns the index up to which the log may be cut when a checkpoint at index exists.
func (n *Node) keptBehind(index uint64) uint64 {
	o := n.o.Snapshots
	to := max(index-min(index, o.TailEntries), n.rlog.IndexBehind(index, o.TailBytes))
	// Members that listen go on from where they are, within reason.
	if floor := n.peers.Floor(); floor != 0 {
		to = min(to, max(floor, n.rlog.IndexBehind(math.MaxUint64, n.o.LogBytesMax)))
	}
	// If those that a snapshot is on its way to could not go on behind it, it would have been sent for nothing.
	if seeding := n.peers.Seeding(); seeding != 0 && n.rlog.SizeBytesFrom(seeding) <= n.logRoom() {
		to = min(to, seeding)
	}
	return to
}

// logRoom returns how large the log may grow for a member that a snapshot is on its way to: as much as stays free, so that
// the disk does not get too full by it, and never less than for others.
func (n *Node) logRoom() uint64 {
	free := n.health.Free()
	return max(n.o.LogBytesMax, free-min(free, n.o.Health.DiskFreeMin))
}

// Checkpoint makes a checkpoint now and cuts the log behind it.
func (n *Node) Checkpoint() error {
	if err := n.makeCheckpoint(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	n.janitor.ring()
	return nil
}

// snapshot tells raft about the newest checkpoint. It runs on the loop and does no I/O.
func (n *Node) snapshot() (*raftpb.Snapshot, error) {
	m := n.snaps.Newest()
	if m == nil || !m.Serves(n.rlog.Truncated().Index, n.Store().Applied().ConfState) {
		n.janitor.want()
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return snapshotOf(m)
}
