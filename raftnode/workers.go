package raftnode

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/turn"
)

// syncTimeShare is how much a write counts in the average time of writes: one part of so many.
const syncTimeShare = 8

// appendWorker writes to the log, on a goroutine of its own.
type appendWorker struct {
	member   uint64
	queue    *workQueue
	appender *core.Appender
	send     func(msgs []*raftpb.Message)
	post     func(ev ...core.Event)
	appended func() // has the log's size looked at
	fail     func(error)
	metrics  *metrics
	syncTime *atomic.Int64
}

// run does append work. What gathers during one write is the next batch.
func (w *appendWorker) run() {
	var work []*raftpb.Message
	for {
		var ok bool
		if work, ok = w.queue.take(work); !ok {
			return
		}
		begin := time.Now()
		done, err := w.appender.Append(work)
		clear(work)
		if err != nil {
			if !errors.Is(err, ErrStopped) {
				w.fail(fmt.Errorf("append to the raft log: %w", err))
			}
			w.queue.close()
			return
		}
		w.observe(done, time.Since(begin))
		turn.Written(w.member, done, w.send, w.post)
		w.appended()
	}
}

func (w *appendWorker) observe(done core.Appended, took time.Duration) {
	if done.Count > 0 {
		w.metrics.entries.Add(float64(done.Count))
		w.metrics.batchEntries.Observe(float64(done.Count))
		w.metrics.batchBytes.Observe(float64(done.Bytes))
	}
	if done.Synced {
		w.metrics.syncs.Observe(took.Seconds())
		was := w.syncTime.Load() // Only this goroutine writes it.
		w.syncTime.Store(was + (int64(took)-was)/syncTimeShare)
	}
}

// applyWorker applies to the state machine, on a goroutine of its own.
type applyWorker struct {
	n       *Node
	queue   *workQueue
	applier *core.Applier
	applies turn.Applies
}

// run does apply work: many entries, one write.
func (w *applyWorker) run() {
	var work []*raftpb.Message
	for {
		var ok bool
		if work, ok = w.queue.take(work); !ok {
			return
		}
		for rest := work; len(rest) > 0; {
			begin := time.Now()
			done, err := w.applier.Apply(rest)
			if err != nil {
				if !errors.Is(err, ErrStopped) {
					w.n.fail(err)
				}
				w.queue.close()
				return
			}
			w.n.metrics.applies.Observe(time.Since(begin).Seconds())
			w.n.metrics.applyEntries.Observe(float64(done.Entries))
			w.applies.Publish(done)
			rest = rest[done.Messages:]
		}
		clear(work)
	}
}

// confChange has the loop make a change of members effective. It runs on the apply goroutine.
func (w *applyWorker) confChange(change *raftpb.ConfChangeV2) (*raftpb.ConfState, error) {
	c := confChange{change: change, answer: make(chan *raftpb.ConfState, 1)}
	select {
	case w.n.confApplies <- c:
		cs := <-c.answer
		w.n.confs.Note(change, cs)
		w.n.metrics.confChanges.Inc()
		return cs, nil
	case <-w.n.done:
		return nil, ErrStopped
	}
}

// watchDisk stops the member when a write failed that nobody waited for, or anybody found damage.
func watchDisk(ctx context.Context, n *Node) {
	for {
		store := n.Store()
		select {
		case <-ctx.Done():
			return
		case <-n.installer.replaced:
			continue
		case <-n.o.guard.Failed():
		case <-n.rlog.Failed():
		case <-store.Failed():
		}
		// A failed write is why others fail, too.
		switch {
		case n.o.guard.Err() != nil:
			n.fail(fmt.Errorf("write to the data directory: %w", n.o.guard.Err()))
		case n.rlog.Err() != nil:
			n.fail(n.rlog.Err())
		case store == n.Store():
			n.fail(advise(fmt.Errorf("state machine: %w", store.Err())))
		default:
			continue // It was replaced meanwhile, and nobody needs it any more.
		}
		return
	}
}
