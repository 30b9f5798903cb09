package raftnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/storage"
)

// SnapshotOptions says how members that fell behind are helped. The zero value is good.
type SnapshotOptions struct {
	// BytesPerSecond bounds how fast one snapshot is sent, so that it does not starve what else the network carries; 0 is
	// 64 MiB, below zero is no bound.
	BytesPerSecond int64
	// TailEntries and TailBytes bound how much log is kept behind a checkpoint, so that a member that was away for a
	// moment needs no snapshot; 0 is 10 000, and 16 MiB or a quarter of Options.CheckpointLogBytes if that is less.
	TailEntries, TailBytes uint64
	// OnInstalled is told of every snapshot that took the state machine's place, before anything is applied to it. Watches
	// and waits that look at what was applied have to look again. It must not block.
	OnInstalled func(storage.Applied)
}

const (
	snapshotBytesPerSecondDefault = 64 << 20
	tailEntriesDefault            = 10_000
	tailBytesDefault              = 16 << 20
	// snapshotRetry is how long a member waits after a transfer that failed, before raft may ask for it again.
	snapshotRetry = time.Second
	// roomPercent is how much room a snapshot needs to be received, in parts of what is missing of it.
	roomPercent = 105
)

func (o *SnapshotOptions) setDefaults(checkpointLogBytes uint64) {
	if o.BytesPerSecond == 0 {
		o.BytesPerSecond = snapshotBytesPerSecondDefault
	}
	if o.TailEntries == 0 {
		o.TailEntries = tailEntriesDefault
	}
	if o.TailBytes == 0 {
		o.TailBytes = min(tailBytesDefault, checkpointLogBytes/4)
	}
}

// SnapshotTransport is a Transport that carries snapshots too, on connections of their own.
type SnapshotTransport interface {
	// OpenSnapshot opens a stream to a member. It ends with ctx.
	OpenSnapshot(ctx context.Context, to uint64) (SnapshotStream, error)
}

// SnapshotStream is the sender's end of a snapshot's stream.
type SnapshotStream = transfer.Stream

// SnapshotSource is the receiver's end of a snapshot's stream.
type SnapshotSource interface {
	Recv() (*peerv1.SendSnapshotRequest, error)
	Send(m *peerv1.SendSnapshotResponse) error
}

// Errors of a snapshot that is refused; the sender tries again later.
var (
	// ErrSnapshotNotNeeded says that the receiver is not behind the snapshot.
	ErrSnapshotNotNeeded = errors.New("snapshot is older than the member's state")
	// ErrNoRoom says that the receiver's disk has no room for the snapshot.
	ErrNoRoom = errors.New("not enough disk space")
)

// couriers send snapshots, at most one to each member.
type couriers struct {
	n    *Node
	wake chan struct{} // 1 slot: something is due

	mu   sync.Mutex // guards what follows
	due  []*raftpb.Message
	away map[uint64]context.CancelCauseFunc
}

func newCouriers(n *Node) *couriers {
	return &couriers{n: n, wake: make(chan struct{}, 1), away: map[uint64]context.CancelCauseFunc{}}
}

// take picks the snapshots out of messages for peers, and has them sent. It runs on the loop and does not block.
func (c *couriers) take(msgs []*raftpb.Message) []*raftpb.Message {
	isSnapshot := func(m *raftpb.Message) bool { return m.GetType() == raftpb.MsgSnap }
	if !slices.ContainsFunc(msgs, isSnapshot) {
		return msgs
	}
	var rest []*raftpb.Message
	c.mu.Lock()
	for _, m := range msgs {
		if isSnapshot(m) {
			c.due = append(c.due, m)
		} else {
			rest = append(rest, m)
		}
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return rest
}

// run sends what is due until ctx ends, and returns when nobody is under way any more.
func (c *couriers) run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	for {
		select {
		case <-ctx.Done():
			c.recall(ErrStopped)
			return
		case <-c.wake:
		}
		c.mu.Lock()
		due := c.due
		c.due = nil
		c.mu.Unlock()
		for _, m := range due {
			c.start(ctx, &under, m)
		}
	}
}

func (c *couriers) start(ctx context.Context, under *sync.WaitGroup, m *raftpb.Message) {
	n, to := c.n, m.GetTo()
	c.mu.Lock()
	_, busy := c.away[to]
	if busy {
		c.mu.Unlock()
		// The one under way was announced in an earlier term; it ends soon.
		n.ReportSnapshot(to, false)
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.away[to] = cancel
	c.mu.Unlock()
	under.Go(func() {
		defer cancel(nil)
		err := c.carry(ctx, cancel, m)
		c.mu.Lock()
		delete(c.away, to)
		c.mu.Unlock()
		if err != nil {
			n.metrics.snapshotsFailed.Inc()
			n.log.Warn("sending a snapshot failed", zap.Uint64("to", to), zap.Error(err))
			retry := time.NewTimer(snapshotRetry)
			defer retry.Stop()
			select {
			case <-retry.C:
			case <-ctx.Done():
			}
		}
		n.ReportSnapshot(to, err == nil)
	})
}

// recall ends every transfer: this member does not lead any more, or stops.
func (c *couriers) recall(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.away {
		cancel(why)
	}
}

// sending counts the transfers under way.
func (c *couriers) sending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.away)
}

// carry sends the newest checkpoint, which may be newer than what raft announced.
func (c *couriers) carry(ctx context.Context, cancel context.CancelCauseFunc, m *raftpb.Message) (err error) {
	n := c.n
	carrier, ok := n.o.Transport.(SnapshotTransport)
	if !ok {
		return errors.New("transport carries no snapshots")
	}
	held := n.snaps.Hold()
	if held == nil {
		n.janitor.want()
		return errors.New("there is no checkpoint yet")
	}
	defer func() { err = errors.Join(err, n.releaseCheckpoint(held)) }()
	message, err := announce(m, held.Manifest)
	if err != nil {
		return err
	}
	if !core.IsMember(message.GetSnapshot().GetMetadata().GetConfState(), m.GetTo()) {
		n.janitor.want()
		return errors.New("the newest checkpoint does not know the member yet")
	}
	raw, err := proto.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	begin, sent := time.Now(), int64(0)
	stream, err := carrier.OpenSnapshot(ctx, m.GetTo())
	if err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	err = transfer.Send(ctx, cancel, stream, transfer.Source{
		FS: n.dir.FS(), Dir: held.Path(), Message: raw, BytesPerSecond: n.o.Snapshots.BytesPerSecond,
		Sent: func(bytes int) {
			sent += int64(bytes)
			n.metrics.snapshotBytesSent.Add(float64(bytes))
		},
		Begun: func(present int64) {
			n.log.Info("sends a snapshot", zap.Uint64("to", m.GetTo()), zap.Uint64("index", held.Manifest.Index),
				zap.Int64("size_bytes", held.Manifest.SizeBytes()), zap.Int64("present_bytes", present))
		},
	})
	if err == nil {
		n.log.Info("sent a snapshot", zap.Uint64("to", m.GetTo()), zap.Uint64("index", held.Manifest.Index),
			zap.Int64("sent_bytes", sent), zap.Duration("took", time.Since(begin)))
		n.metrics.snapshotsSent.Inc()
		n.metrics.snapshotSeconds.Observe(time.Since(begin).Seconds())
	}
	return err
}

// releaseCheckpoint gives a checkpoint back. One that cannot be removed is a failed disk, which stops the member by
// itself.
func (n *Node) releaseCheckpoint(held *checkpoint.Checkpoint) error { return n.snaps.Release(held) }

// announce makes the message that announces a checkpoint.
func announce(m *raftpb.Message, manifest *checkpoint.Manifest) (*raftpb.Message, error) {
	s, err := snapshotOf(manifest)
	if err != nil {
		return nil, err
	}
	return &raftpb.Message{
		Type: raftpb.MsgSnap.Enum(), To: new(m.GetTo()), From: new(m.GetFrom()), Term: new(m.GetTerm()), Snapshot: s,
	}, nil
}

// snapshotOf is what raft knows of a checkpoint.
func snapshotOf(m *checkpoint.Manifest) (*raftpb.Snapshot, error) {
	members, err := core.UnmarshalConfState(m.ConfState)
	if err != nil {
		return nil, err
	}
	return &raftpb.Snapshot{
		Data: []byte(m.Name()),
		Metadata: &raftpb.SnapshotMetadata{
			ConfState: members, Index: new(m.Index), Term: new(m.Term),
		},
	}, nil
}

// ReceiveSnapshot takes a snapshot that a peer sends and hands it to raft, which installs it unless it is not needed any
// more. An error ends the stream; what was received stays, and the next attempt goes on from there.
func (n *Node) ReceiveSnapshot(s SnapshotSource) error {
	if err := n.stopping(); err != nil {
		return err
	}
	first, err := s.Recv()
	if err != nil {
		return brokenOff(err)
	}
	message := &raftpb.Message{}
	if err = proto.Unmarshal(first.GetMessage(), message); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshotMismatch, err)
	}
	manifest, err := checkpoint.DecodeManifest(first.GetManifest())
	if err != nil {
		return err
	}
	err = n.checkSnapshot(message, manifest)
	needed := !errors.Is(err, ErrSnapshotNotNeeded)
	if needed && err != nil {
		return err
	}
	if n.jumps.refuse(message.GetFrom(), max(message.GetTerm(), manifest.Term)) {
		return fmt.Errorf("%w: of term %d", ErrSnapshotMismatch, message.GetTerm())
	}
	if !needed {
		// The leader does not know how far this member is, or it would not offer it this. Raft answers with it.
		n.mail.put(core.Receive{Message: message})
		return err
	}
	r, err := n.beginReception(message, manifest, first.GetManifest())
	if err != nil {
		return err
	}
	if err = s.Send(&peerv1.SendSnapshotResponse{Have: r.Have}); err != nil {
		return fmt.Errorf("answer the sender: %w", err)
	}
	n.log.Info("receives a snapshot", zap.Uint64("from", message.GetFrom()), zap.Uint64("index", manifest.Index),
		zap.Int64("size_bytes", manifest.SizeBytes()), zap.Int64("missing_bytes", r.MissingBytes),
		zap.Int64("reused_bytes", r.ReusedBytes))
	if err = n.receiveChunks(r, s); err != nil {
		return err
	}
	name, err := r.Finish()
	if err != nil {
		return err
	}
	n.metrics.snapshotsReceived.Inc()
	if message.Snapshot, err = snapshotOf(manifest); err != nil {
		return err
	}
	message.Snapshot.Data = []byte(name)
	n.mail.put(core.Receive{Message: message})
	if err := s.Send(&peerv1.SendSnapshotResponse{Stored: true}); err != nil {
		return fmt.Errorf("answer the sender: %w", err)
	}
	return nil
}

// beginReception takes up a snapshot that is needed and has room, once no other one is being installed.
func (n *Node) beginReception(
	message *raftpb.Message, m *checkpoint.Manifest, raw []byte,
) (*transfer.Reception, error) {
	n.installing.Lock()
	defer n.installing.Unlock()
	if err := n.checkSnapshot(message, m); err != nil {
		return nil, err // The one that was installed meanwhile may be as new.
	}
	r, err := n.inbox.Begin(raw)
	if err != nil {
		return nil, err
	}
	n.metrics.snapshotBytesReused.Add(float64(r.ReusedBytes))
	usage, err := n.dir.FS().GetDiskUsage(n.dir.Path())
	if need := uint64(r.MissingBytes) / 100 * roomPercent; err == nil && usage.AvailBytes < need {
		return nil, fmt.Errorf("%w: the snapshot needs %d bytes, %d are free", ErrNoRoom, need, usage.AvailBytes)
	}
	return r, nil
}

func (n *Node) receiveChunks(r *transfer.Reception, s SnapshotSource) error {
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return brokenOff(err)
		}
		if err := n.stopping(); err != nil {
			return err
		}
		if err := r.Chunk(m); err != nil {
			return err
		}
		n.metrics.snapshotBytesReceived.Add(float64(len(m.GetData())))
	}
}

// checkSnapshot refuses what would not be installed.
func (n *Node) checkSnapshot(message *raftpb.Message, m *checkpoint.Manifest) error {
	meta := message.GetSnapshot().GetMetadata()
	if message.GetType() != raftpb.MsgSnap || message.GetTo() != n.identity.MemberID ||
		meta.GetIndex() != m.Index || meta.GetTerm() != m.Term {
		return fmt.Errorf("%w: announced as %v to %x, index %d term %d; its manifest says index %d term %d",
			ErrSnapshotMismatch, message.GetType(), message.GetTo(), meta.GetIndex(), meta.GetTerm(), m.Index, m.Term)
	}
	if applied := n.Store().Applied().Index; m.Index <= applied {
		return fmt.Errorf("%w: at index %d, applied %d", ErrSnapshotNotNeeded, m.Index, applied)
	}
	if _, newest := storage.ClusterVersions(); m.ClusterVersion > newest {
		return fmt.Errorf("%w: cluster version %d, this program knows up to %d",
			storage.ErrUnknownFormat, m.ClusterVersion, newest)
	}
	return nil
}

// cleanStaged removes received snapshots that raft did not want, or has no use for any more.
func (n *Node) cleanStaged() error {
	n.storeMu.Lock()
	defer n.storeMu.Unlock()
	return n.inbox.Clean(n.Store().Applied().Index)
}
