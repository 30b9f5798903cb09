package snapshots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/storage"
)

// Options says how members that fell behind are helped. The zero value is good.
type Options struct {
	// BytesPerSecond bounds how fast one snapshot is sent, so that it does not starve what else the network carries; 0 is
	// 64 MiB, below zero is no bound.
	BytesPerSecond int64
	// TailEntries and TailBytes bound how much log is kept behind a checkpoint, so that a member that was away for a
	// moment needs no snapshot; 0 is 10 000, and 16 MiB or a quarter of the CheckpointLogBytes of the member if that is less.
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
)

// SetDefaults sets what is zero to what it stands for.
func (o *Options) SetDefaults(checkpointLogBytes uint64) {
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

// Transport is a Transport that carries snapshots too, on connections of their own.
type Transport interface {
	// OpenSnapshot opens a stream to a member. It ends with ctx.
	OpenSnapshot(ctx context.Context, to uint64) (Stream, error)
}

// Stream is the sender's end of a snapshot's stream.
type Stream = transfer.Stream

// CourierOptions says what snapshots are sent of, and how. All of it is required.
type CourierOptions struct {
	Logger *zap.Logger
	// FS holds the checkpoints of the catalogue.
	FS        vfs.FS
	Catalogue *checkpoint.Catalogue
	// Transport carries snapshots; nil if there is none that does.
	Transport Transport
	// BytesPerSecond bounds how fast one snapshot is sent; below zero is no bound.
	BytesPerSecond int64
	// Checkpoints makes the checkpoints that there are none of yet.
	Checkpoints *Janitor
	// Report says how sending a snapshot to a member ended. It does not block.
	Report func(to uint64, ok bool)
	// Sent and Failed count snapshots, Bytes what was sent of them, Seconds how long one took.
	Sent, Failed, Bytes prometheus.Counter
	Seconds             prometheus.Histogram
}

// Couriers send snapshots, at most one to each member.
type Couriers struct {
	o    CourierOptions
	log  *zap.Logger
	wake chan struct{} // 1 slot: something is due

	mu   sync.Mutex // guards what follows
	due  []*raftpb.Message
	away map[uint64]context.CancelCauseFunc
}

// NewCouriers returns the couriers of a member that starts.
func NewCouriers(o CourierOptions) *Couriers {
	return &Couriers{o: o, log: o.Logger, wake: make(chan struct{}, 1), away: map[uint64]context.CancelCauseFunc{}}
}

// Take picks the snapshots out of messages for peers, and has them sent. It runs on the loop and does not block.
func (c *Couriers) Take(msgs []*raftpb.Message) []*raftpb.Message {
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

// Run sends what is due until ctx ends, and returns when nobody is under way any more.
func (c *Couriers) Run(ctx context.Context) {
	var under sync.WaitGroup
	defer under.Wait()
	for {
		select {
		case <-ctx.Done():
			c.Recall(core.ErrStopped)
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

func (c *Couriers) start(ctx context.Context, under *sync.WaitGroup, m *raftpb.Message) {
	to := m.GetTo()
	c.mu.Lock()
	_, busy := c.away[to]
	if busy {
		c.mu.Unlock()
		// The one under way was announced in an earlier term; it ends soon.
		c.o.Report(to, false)
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
			c.o.Failed.Inc()
			c.log.Warn("sending a snapshot failed", zap.Uint64("to", to), zap.Error(err))
			retry := time.NewTimer(snapshotRetry)
			defer retry.Stop()
			select {
			case <-retry.C:
			case <-ctx.Done():
			}
		}
		c.o.Report(to, err == nil)
	})
}

// busy reports whether a snapshot is due to a member, or on its way.
func (c *Couriers) busy(to uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, away := c.away[to]
	return away || slices.ContainsFunc(c.due, func(m *raftpb.Message) bool { return m.GetTo() == to })
}

// Recall ends every transfer: this member does not lead any more, or stops.
func (c *Couriers) Recall(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.away {
		cancel(why)
	}
}

// Sending counts the transfers under way.
func (c *Couriers) Sending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.away)
}

// carry sends the newest checkpoint, which may be newer than what raft announced.
func (c *Couriers) carry(ctx context.Context, cancel context.CancelCauseFunc, m *raftpb.Message) (err error) {
	if c.o.Transport == nil {
		return errors.New("transport carries no snapshots")
	}
	held := c.o.Catalogue.Hold()
	if held == nil {
		c.o.Checkpoints.Want()
		return errors.New("there is no checkpoint yet")
	}
	// A checkpoint that cannot be removed is a failed disk, which stops the member by itself.
	defer func() { err = errors.Join(err, c.o.Catalogue.Release(held)) }()
	message, err := announce(m, held.Manifest)
	if err != nil {
		return err
	}
	if !core.IsMember(message.GetSnapshot().GetMetadata().GetConfState(), m.GetTo()) {
		c.o.Checkpoints.Want()
		return errors.New("the newest checkpoint does not know the member yet")
	}
	raw, err := proto.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	begin, sent := time.Now(), int64(0)
	stream, err := c.o.Transport.OpenSnapshot(ctx, m.GetTo())
	if err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	err = transfer.Send(ctx, cancel, stream, transfer.Source{
		FS: c.o.FS, Dir: held.Path(), Message: raw, BytesPerSecond: c.o.BytesPerSecond,
		Sent: func(bytes int) {
			sent += int64(bytes)
			c.o.Bytes.Add(float64(bytes))
		},
		Begun: func(present int64) {
			c.log.Info("sends a snapshot", zap.Uint64("to", m.GetTo()), zap.Uint64("index", held.Manifest.Index),
				zap.Int64("size_bytes", held.Manifest.SizeBytes()), zap.Int64("present_bytes", present))
		},
	})
	if err == nil {
		c.log.Info("sent a snapshot", zap.Uint64("to", m.GetTo()), zap.Uint64("index", held.Manifest.Index),
			zap.Int64("sent_bytes", sent), zap.Duration("took", time.Since(begin)))
		c.o.Sent.Inc()
		c.o.Seconds.Observe(time.Since(begin).Seconds())
	}
	return err
}

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

// Reseed sends a member a snapshot of which raft does not know, in a term in which this member leads. It reaches an index at
// least; while the state does not, or another snapshot is on its way to the member, nothing is sent.
func (c *Couriers) Reseed(message *raftpb.Message, index uint64) error {
	if c.busy(message.GetTo()) {
		return nil // It asks again.
	}
	if m := c.o.Catalogue.Newest(); m == nil || m.Index < index {
		if c.o.Checkpoints.o.Store().Applied().Index < index {
			return nil // It asks again.
		}
		if err := c.o.Checkpoints.make(); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	c.log.Info("re-seeds a member that lost the end of its log", zap.Uint64("member_id", message.GetTo()))
	c.Take([]*raftpb.Message{message})
	return nil
}
