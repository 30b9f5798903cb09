package raftnode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/storage"
)

// Node is one member. Open makes it, Run runs it to its end.
type Node struct {
	o        Options
	log      *zap.Logger
	disk     *disk
	dir      *datadir.Dir
	identity datadir.Identity
	rlog     *raftlog.Log
	snaps    *checkpoint.Catalogue
	store    atomic.Pointer[storage.Store]
	// storeMu keeps the state machine from being replaced during a checkpoint of it.
	storeMu sync.Mutex

	core      *core.Core // owned by the loop goroutine
	appender  *core.Appender
	applier   *core.Applier
	mail      *mailbox
	appendQ   *workQueue
	applyQ    *workQueue
	proposals *envelope.Queue
	readers   *readers
	view      atomic.Pointer[view]
	peers     peerWatch
	tasks     *leaderTasks
	janitor   *janitor
	couriers  *couriers
	inbox     *transfer.Inbox
	staged    atomic.Pointer[stagedSnapshot] // the last snapshot that raft was told of
	metrics   *metrics
	hide      func() // unregisters the metrics

	confChanges chan confChange // from the apply goroutine to the loop
	background  sync.WaitGroup  // goroutines that outlive their cause, ended before Run returns

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

// Open recovers what is in the data directory, or begins a cluster of one member in an empty one. The node does nothing
// until Run; one that is never run is given back by Close.
func Open(o Options) (*Node, error) {
	o.setDefaults()
	d, err := openDisk(o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Dir, err)
	}
	n, err := newNode(o, d)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", o.Dir, err), d.close())
	}
	return n, nil
}

func newNode(o Options, d *disk) (*Node, error) {
	hs, err := d.check()
	if err != nil {
		return nil, err
	}
	applied := d.store.Applied()
	members, err := core.UnmarshalConfState(applied.ConfState)
	if err != nil {
		return nil, err
	}
	n := &Node{
		o: o, log: o.Logger, disk: d, dir: d.dir, identity: d.identity, rlog: d.rlog, snaps: d.snaps,
		mail: newMailbox(), appendQ: newWorkQueue(), applyQ: newWorkQueue(),
		proposals:   envelope.New(d.identity.MemberID, randomUint64(), o.PendingBytesMax),
		readers:     newReaders(),
		confChanges: make(chan confChange),
		done:        make(chan struct{}),
	}
	n.store.Store(d.store)
	n.janitor = newJanitor(n)
	n.couriers = newCouriers(n)
	n.inbox = transfer.NewInbox(d.dir.FS(), d.dir.SnapInPath())
	n.tasks = newLeaderTasks(n)
	n.core, err = core.New(core.Config{
		ID:             d.identity.MemberID,
		Storage:        &raftStorage{Log: d.rlog, hs: hs, members: members, snapshot: n.snapshot},
		Applied:        applied.Index,
		Logger:         raftLogger{log: o.Logger},
		ElectionTicks:  o.ElectionTicks,
		ReadRetryTicks: int(max(1, readRetry/o.Tick)),
		ReadSeed:       randomUint64(),
	})
	if err != nil {
		return nil, err
	}
	n.view.Store(&view{lead: n.core.Leadership(), commit: n.core.Commit()})
	n.appender = core.NewAppender(core.AppenderOptions{Log: d.rlog, Install: n.installSnapshot, Faults: o.faults})
	n.applier = core.NewApplier(core.ApplierOptions{
		State:      func() core.StateMachine { return n.Store() },
		ConfChange: n.applyConfChange,
	})
	n.metrics = newMetrics(n)
	if n.hide, err = n.metrics.register(o.Registerer); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if o.Transport == nil {
		n.o.Transport = noPeers{n: n}
	}
	return n, nil
}

// Store returns the state machine for reads. It changes when a snapshot is installed: callers ask for it each time.
func (n *Node) Store() *storage.Store { return n.store.Load() }

// Receive takes a message from a peer. It does not block, and keeps the message.
func (n *Node) Receive(m *raftpb.Message) { n.mail.put(core.Receive{Message: m}) }

// ReportUnreachable says that messages to a peer were lost.
func (n *Node) ReportUnreachable(id uint64) { n.mail.put(core.Unreachable{ID: id}) }

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

	// The storage goroutines end by their queues, after the loop that feeds them.
	var storageWork, others sync.WaitGroup
	storageWork.Go(n.appendLoop)
	storageWork.Go(n.applyLoop)
	others.Go(func() { n.janitor.run(runCtx) })
	others.Go(func() { n.tasks.run(runCtx) })
	others.Go(func() { n.watchDisk(runCtx) })

	n.loop(runCtx)

	close(n.done)
	n.couriers.recall(ErrStopped)
	n.readers.close(ErrStopped)
	n.appendQ.close()
	n.applyQ.close()
	// Work that is being done is finished, so that those who wait for it get their results.
	storageWork.Wait()
	n.proposals.Close(ErrStopped)
	others.Wait()
	n.background.Wait()
	if p := n.failure.Load(); p != nil {
		// Closing a disk that failed adds nothing to the reason.
		_ = n.closeDisk(false)
		return *p
	}
	return n.closeDisk(true)
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
	n.readers.close(ErrStopped)
	n.hide()
	return n.disk.close()
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
