package raftnode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/health"
	"github.com/tenure-io/tenure/raftnode/identity"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/raftnode/snapshots"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/raftnode/turn"
	"github.com/tenure-io/tenure/storage"
)

// Node is one member. Open makes it, Run runs it to its end.
type Node struct {
	o         Options
	log       *zap.Logger
	disk      *disk
	dir       *datadir.Dir
	identity  datadir.Identity
	rlog      *raftlog.Log
	snaps     *checkpoint.Catalogue
	store     atomic.Pointer[storage.Store]
	installer *installer

	core      *core.Core // owned by the loop goroutine
	loop      *loop
	mail      *mailbox
	appendQ   *workQueue
	appending *appendWorker
	applyQ    *workQueue
	applying  *applyWorker
	proposals *envelope.Queue
	// revocations are what may take rights away. They are queued in bursts.
	revocations *envelope.Bursts
	readers     *turn.Readers
	view        turn.View
	peers       membership.Peers
	tasks       *leaderTasks
	janitor     *snapshots.Janitor
	couriers    *snapshots.Couriers
	receiver    *snapshots.Receiver
	health      *health.Watch
	inbox       *transfer.Inbox
	self        *identity.Self
	wire        *identity.Wire // nil without peers
	seeded      chan struct{}  // closed when there is a state
	seed        func()         // closes it
	metrics     *metrics
	hide        func() // unregisters the metrics

	confs       *membership.ConfChanges
	changes     *membership.Changes
	confApplies chan confChange // from the apply goroutine to the loop
	background  sync.WaitGroup  // goroutines that outlive their cause, ended before Run returns

	begun    time.Time    // when the clock of core.Gone began
	syncTime atomic.Int64 // of writes of the log, in nanoseconds, an average in which older ones count less and less

	state   atomic.Int32
	cancel  atomic.Pointer[context.CancelFunc]
	failure atomic.Pointer[error]
	done    chan struct{} // closed when the loop ended
}

// The states of a Node.
const (
	nodeOpened int32 = iota
	nodeRan
	nodeClosed
)

// confChange asks the loop to make a change of members effective.
type confChange struct {
	change *raftpb.ConfChangeV2
	answer chan *raftpb.ConfState
}

// ErrUsed says that Run or Close was called before.
var ErrUsed = errors.New("node was run or closed before")

// Open is OpenContext without an end to waiting.
func Open(o Options) (*Node, error) { return OpenContext(context.Background(), o) }

// OpenContext recovers what is in the data directory, or begins or joins a cluster with an empty one, as the options say.
// To begin one of several members, or to join one, it waits for others until ctx ends. The node does nothing until Run;
// one that is never run is given back by Close.
func OpenContext(ctx context.Context, o Options) (*Node, error) {
	o.setDefaults()
	n, err := open(ctx, o)
	if err != nil {
		if o.PeerListener != nil {
			_ = o.PeerListener.Close() // It may be closed already.
		}
		return nil, fmt.Errorf("open %s: %w", o.Dir, err)
	}
	return n, nil
}

func open(ctx context.Context, o Options) (_ *Node, err error) {
	if o.PeerListener == nil && (len(o.InitialCluster) > 0 || len(o.Join) > 0) {
		return nil, ErrNoPeers
	}
	d, err := openDir(ctx, o)
	if err != nil {
		return nil, err
	}
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	w, err := identity.Open(ctx, o.self(), d.dir, d.identity, give)
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close(), d.close())
		}
	}()
	if err != nil {
		return nil, err
	}
	switch {
	case w != nil:
		var g *identity.Genesis
		if g, d.identity, err = w.Begin(ctx, d.identity, d.started); g != nil {
			o.genesis = g
		}
	case o.genesis == nil && !d.started:
		err = identity.BeginAlone(d.dir, d.identity)
	}
	if err != nil {
		return nil, err
	}
	if err = d.load(o); err != nil {
		return nil, err
	}
	n, err := newNode(o, d, w)
	if err != nil {
		return nil, err
	}
	if err = n.self.Greet(ctx); err != nil {
		return nil, err
	}
	if err = n.start(); err != nil {
		return nil, err
	}
	n.self.Attach()
	return n, nil
}

// AwaitState waits until the member has a state to show: one that joins has none before its leader has sent it one.
func (n *Node) AwaitState(ctx context.Context) error {
	select {
	case <-n.seeded:
		return nil
	case <-n.done:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newNode(o Options, d *disk, w *identity.Wire) (*Node, error) {
	if _, err := d.check(); err != nil {
		return nil, err
	}
	inbox, err := transfer.OpenInbox(d.dir.FS(), d.dir.SnapInPath(), d.snaps)
	if err != nil {
		return nil, err
	}
	n := &Node{
		o: o, log: o.Logger, disk: d, inbox: inbox, dir: d.dir, identity: d.identity, rlog: d.rlog, snaps: d.snaps,
		mail: newMailbox(), appendQ: newWorkQueue(), applyQ: newWorkQueue(),
		proposals:   envelope.New(d.identity.MemberID, randomUint64(), o.PendingBytesMax),
		readers:     turn.NewReaders(),
		confApplies: make(chan confChange),
		done:        make(chan struct{}),
		metrics:     newMetrics(),
		begun:       time.Now(),
	}
	n.revocations = envelope.NewBursts(n.proposals, n.mail.ring)
	n.installer = &installer{n: n, replaced: make(chan struct{}, 1)}
	n.store.Store(d.store)
	n.seeded = make(chan struct{})
	n.seed = sync.OnceFunc(func() { close(n.seeded) })
	if d.store.Applied().Index > 0 {
		n.seed()
	}
	changeMembers(n)
	watchHealth(n)
	n.tasks = newLeaderTasks(n)
	if w != nil {
		n.wire = w
		n.o.Transport = w
	}
	if n.o.Transport == nil {
		n.o.Transport = noPeers{n: n}
	}
	carrySnapshots(n)
	if err := meetOthers(n); err != nil {
		return nil, err
	}
	if w != nil || o.ForPeers != 0 {
		n.o.LeaderTasks = append(slices.Clone(o.LeaderTasks), n.self.Record)
	}
	n.o.LeaderTasks = append(slices.Clone(n.o.LeaderTasks), n.changes.Reconcile, n.health.Lead)
	return n, nil
}

// changeMembers makes what changes the cluster's members.
func changeMembers(n *Node) {
	n.confs = membership.NewConfChanges(membership.ConfOptions{
		Member: n.identity.MemberID, First: randomUint64(), Patience: 2 * n.o.electionTimeout(),
		MayPropose: n.view.MayPropose, Post: n.mail.put,
	})
	n.changes = membership.NewChanges(membership.Options{
		Consensus: n, Member: n.identity.MemberID, Logger: n.log, Tick: n.o.Tick, ElectionTicks: n.o.ElectionTicks,
		ManualPromotion: n.o.Membership.ManualPromotion, VersionMax: n.o.versionMax,
		Confs: n.confs, Peers: &n.peers,
		Connected: func(id uint64) bool {
			ways := n.self.Ways()
			return ways == nil || ways[id].Connected // Without a transport of its own nothing is known.
		},
		View: n.view.Both, MayPropose: n.view.MayPropose, Explain: n.view.Explain, Post: n.mail.put, Done: n.done,
	})
}

// watchHealth makes what watches over the member and the others.
func watchHealth(n *Node) {
	n.health = health.New(n.o.Health, health.Member{
		ID: n.identity.MemberID, Logger: n.log, Store: n.Store, Members: n.changes, Conn: n.PeerConn,
		Dir: n.dir, Guard: n.o.guard, Stalls: n.o.stalls, HangAfter: n.o.hangAfter(), Fail: n.fail,
		Compared: n.metrics.comparisons, Differ: n.metrics.checksumsDiffer,
	})
}

// carrySnapshots makes what makes checkpoints, and sends and receives them.
func carrySnapshots(n *Node) {
	n.janitor = snapshots.NewJanitor(snapshots.JanitorOptions{
		Logger: n.log, Store: n.Store, StoreMu: &n.installer.storeMu, Log: n.rlog, Catalogue: n.snaps, Inbox: n.inbox,
		Needed: &n.peers, Free: n.health.Free, FreeMin: n.o.Health.DiskFreeMin,
		CheckpointLogBytes: n.o.CheckpointLogBytes, LogBytesMax: n.o.LogBytesMax,
		TailEntries: n.o.Snapshots.TailEntries, TailBytes: n.o.Snapshots.TailBytes,
		Fail: n.fail, Checkpoints: n.metrics.checkpoints, Truncations: n.metrics.truncations,
	})
	carrier, _ := n.o.Transport.(SnapshotTransport) // Without one nothing is sent.
	n.couriers = snapshots.NewCouriers(snapshots.CourierOptions{
		Logger: n.log, FS: n.dir.FS(), Catalogue: n.snaps, Transport: carrier, BytesPerSecond: n.o.Snapshots.BytesPerSecond,
		Checkpoints: n.janitor, Report: n.ReportSnapshot,
		Sent: n.metrics.snapshotsSent, Failed: n.metrics.snapshotsFailed, Bytes: n.metrics.snapshotBytesSent,
		Seconds: n.metrics.snapshotSeconds,
	})
	n.receiver = snapshots.NewReceiver(snapshots.ReceiverOptions{
		Member: n.identity.MemberID, Cluster: n.identity.ClusterID, Logger: n.log, Store: n.Store, Dir: n.dir, Inbox: n.inbox,
		Installing: &n.installer.installing,
		Refuse:     func(from, term uint64) bool { return n.self.Refuse(from, term) }, Stopping: n.stopping, Post: n.mail.put,
		Received: n.metrics.snapshotsReceived, Bytes: n.metrics.snapshotBytesReceived, Reused: n.metrics.snapshotBytesReused,
	})
}

// meetOthers makes what knows who the member is, and who the others are.
func meetOthers(n *Node) (err error) {
	n.self, err = identity.New(n.o.self(), identity.Member{
		Identity: n.identity, Dir: n.dir, Log: n.rlog, Wire: n.wire, Consensus: n, Changes: n.changes,
		Receiver: n.receiver, Reseed: n.couriers.Reseed, Health: n.health,
		Lead:    n.view.Lead,
		Receive: n.Receive, Unreachable: n.ReportUnreachable, Gone: n.ReportGone, Fail: n.fail, Background: &n.background,
		TermJumps: n.metrics.termJumps, StartsRefused: n.metrics.startsRefused,
	})
	return err
}

// start makes raft of what the disk holds, once nothing is written to the log any more but by raft.
func (n *Node) start() error {
	hs, err := n.disk.check()
	if err != nil {
		return err
	}
	applied := n.Store().Applied()
	members, err := core.UnmarshalConfState(applied.ConfState)
	if err != nil {
		return err
	}
	cfg := turn.Timed(n.o.Tick, n.o.ElectionTicks)
	cfg.ID, cfg.Applied, cfg.ReadSeed = n.identity.MemberID, applied.Index, randomUint64()
	cfg.Storage = &raftStorage{Log: n.rlog, hs: hs, members: members, snapshot: n.janitor.Snapshot}
	cfg.Logger = raftLogger{log: n.log}
	if n.core, err = core.New(cfg); err != nil {
		return err
	}
	n.loop = newLoop(n)
	n.appending = &appendWorker{
		member: n.identity.MemberID, queue: n.appendQ,
		appender: core.NewAppender(core.AppenderOptions{Log: n.rlog, Install: n.installer.install}),
		send:     n.o.Transport.Send, post: n.mail.put, appended: n.janitor.Appended, fail: n.fail, metrics: n.metrics,
		syncTime: &n.syncTime,
	}
	n.applying = &applyWorker{n: n, queue: n.applyQ, applies: turn.Applies{
		Proposals: n.proposals, Confs: n.confs, View: &n.view, Term: applied.Term, Watch: n.o.OnApplied,
		MembersChanged: n.self.MembersChanged, Removed: func() { n.fail(ErrRemoved) }, Post: n.mail.put,
	}}
	n.applying.applier = core.NewApplier(core.ApplierOptions{
		State:      func() core.StateMachine { return n.Store() },
		ConfChange: n.applying.confChange,
	})
	n.metrics.gauges(n)
	if n.hide, err = n.metrics.register(n.o.Registerer); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}

// Store returns the state machine for reads. It changes when a snapshot is installed: callers ask for it each time.
func (n *Node) Store() *storage.Store { return n.store.Load() }

// Receive takes a message from a peer. It does not block, and keeps the message.
func (n *Node) Receive(m *raftpb.Message) {
	if n.self.Hear(m) {
		n.mail.put(core.Receive{Message: m})
	}
}

// ReportUnreachable says that messages to a peer were lost.
func (n *Node) ReportUnreachable(id uint64) { n.mail.put(core.Unreachable{ID: id}) }

// ReportGone says that the process of another member has ended.
func (n *Node) ReportGone(id uint64) {
	gone := core.Gone{ID: id, At: n.now(), Sync: time.Duration(n.syncTime.Load())}
	for peer, way := range n.self.Ways() {
		if peer != id {
			gone.RoundTrip = max(gone.RoundTrip, way.RoundTrip)
		}
	}
	n.mail.put(gone)
}

// now is the time on the clock of core.Gone.
func (n *Node) now() time.Duration { return time.Since(n.begun) }

// ReportSnapshot says how sending a snapshot to a peer ended; it is due for every one.
func (n *Node) ReportSnapshot(id uint64, ok bool) { n.mail.put(core.SnapshotSent{ID: id, OK: ok}) }

// noPeers drops everything: a member without transport has no peers to reach.
type noPeers struct{ n *Node }

// Send reports every addressee unreachable.
func (t noPeers) Send(msgs []*raftpb.Message) {
	seen := map[uint64]bool{}
	for _, m := range msgs {
		if !seen[m.GetTo()] {
			seen[m.GetTo()] = true
			t.n.ReportUnreachable(m.GetTo())
		}
	}
}

// Run runs the member until ctx ends or the disk fails. It returns nil after ctx ended, and only after everything it
// started has ended, the state machine is flushed and the data directory is given back.
func (n *Node) Run(ctx context.Context) error {
	if !n.state.CompareAndSwap(nodeOpened, nodeRan) {
		return ErrUsed
	}
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.cancel.Store(&cancel)
	if n.failure.Load() != nil {
		// It failed before there was anything to cancel.
		cancel()
	}

	// The storage goroutines end by their queues, after the loop that feeds them.
	var storageWork, others sync.WaitGroup
	storageWork.Go(n.appending.run)
	storageWork.Go(n.applying.run)
	others.Go(func() { n.janitor.Run(runCtx) })
	others.Go(func() { n.tasks.run(runCtx) })
	others.Go(func() { watchDisk(runCtx, n) })
	others.Go(func() { n.couriers.Run(runCtx) })
	others.Go(func() { n.health.WatchSpace(runCtx) })
	others.Go(func() { n.health.Compare(runCtx) })
	others.Go(func() { n.self.Run(runCtx) })

	n.loop.run(runCtx)

	close(n.done)
	n.readers.Close(ErrStopped)
	n.appendQ.close()
	n.applyQ.close()
	// Work that is being done is finished, so that those who wait for it get their results.
	storageWork.Wait()
	n.proposals.Close(ErrStopped)
	n.confs.Close(ErrStopped)
	others.Wait()
	// Calls of peers end before what they start is waited for.
	wireErr := n.wire.Close()
	n.background.Wait()
	if p := n.failure.Load(); p != nil {
		// Closing a disk that failed adds nothing to the reason.
		_ = n.closeDisk(false)
		return *p
	}
	return errors.Join(wireErr, n.closeDisk(true))
}

// closeDisk flushes the state machine, so that the next start is short, and closes everything.
func (n *Node) closeDisk(flush bool) error {
	n.hide()
	var err error
	if flush {
		if err = n.disk.store.Flush(); err != nil {
			err = fmt.Errorf("flush state machine: %w", err)
		}
	}
	n.state.Store(nodeClosed)
	return errors.Join(err, n.inbox.Close(), n.disk.close())
}

// Close gives back a node that was never run.
func (n *Node) Close() error {
	if !n.state.CompareAndSwap(nodeOpened, nodeClosed) {
		return ErrUsed
	}
	n.proposals.Close(ErrStopped)
	n.readers.Close(ErrStopped)
	wireErr := n.wire.Close()
	n.hide()
	return errors.Join(wireErr, n.disk.close())
}

// fail stops the member. The first reason is the one Run returns.
func (n *Node) fail(err error) {
	if !n.failure.CompareAndSwap(nil, &err) {
		return
	}
	n.log.Error("member stops", zap.Error(err))
	if cancel := n.cancel.Load(); cancel != nil {
		(*cancel)()
	}
}

// stopping returns ErrStopped once the loop has ended.
func (n *Node) stopping() error {
	select {
	case <-n.done:
		return ErrStopped
	default:
		return nil
	}
}
