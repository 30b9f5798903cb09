package raftnode

import (
	"context"
	"errors"
	"fmt"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
)

// appendLoop does append work. What gathers during one write is the next batch.
func (n *Node) appendLoop() {
	var work []*raftpb.Message
	for {
		var ok bool
		if work, ok = n.appendQ.take(work); !ok {
			return
		}
		begin := time.Now()
		done, err := n.appender.Append(work)
		clear(work)
		if err != nil {
			if !errors.Is(err, ErrStopped) {
				n.fail(fmt.Errorf("append to the raft log: %w", err))
			}
			n.appendQ.close()
			return
		}
		n.observeAppend(done, time.Since(begin))
		n.answerAppend(done)
		n.janitor.Appended()
	}
}

// answerAppend sends what had to wait for the disk.
func (n *Node) answerAppend(done core.Appended) {
	var own, peers []*raftpb.Message
	for _, m := range done.Responses {
		if m.GetTo() == n.identity.MemberID {
			own = append(own, m)
		} else {
			peers = append(peers, m)
		}
	}
	if len(peers) > 0 {
		n.o.Transport.Send(peers)
	}
	done.Responses = own
	n.mail.put(core.AppendDone{Done: done})
}

func (n *Node) observeAppend(done core.Appended, took time.Duration) {
	if done.Count > 0 {
		n.metrics.entries.Add(float64(done.Count))
		n.metrics.batchEntries.Observe(float64(done.Count))
		n.metrics.batchBytes.Observe(float64(done.Bytes))
	}
	if done.Synced {
		n.metrics.syncs.Observe(took.Seconds())
	}
}

// applyLoop does apply work: many entries, one write.
func (n *Node) applyLoop() {
	var work []*raftpb.Message
	term := n.Store().Applied().Term
	for {
		var ok bool
		if work, ok = n.applyQ.take(work); !ok {
			return
		}
		for rest := work; len(rest) > 0; {
			begin := time.Now()
			done, err := n.applier.Apply(rest)
			if err != nil {
				if !errors.Is(err, ErrStopped) {
					n.fail(err)
				}
				n.applyQ.close()
				return
			}
			n.metrics.applies.Observe(time.Since(begin).Seconds())
			n.metrics.applyEntries.Observe(float64(done.Entries))
			n.publish(done, term)
			term = max(term, done.Term)
			rest = rest[done.Messages:]
		}
		clear(work)
	}
}

// publish tells everybody what was applied: first those who watch, then those who proposed, then raft.
func (n *Node) publish(done core.Applied, termBefore uint64) {
	if done.Entries > 0 && n.o.OnApplied != nil {
		n.o.OnApplied(done.Outcome)
	}
	n.proposals.Applied(done.Outcome.Entries)
	touched, removed := n.confs.Applied()
	if removed {
		n.fail(ErrRemoved)
	}
	if touched || done.Outcome.MembersChanged {
		n.self.MembersChanged()
	}
	if done.Term > termBefore {
		n.proposals.Outrun(done.Term, n.explain(ErrNotLeader))
		n.confs.Unknown(n.explain(ErrNotLeader))
	}
	done.Outcome.Entries, done.Outcome.Events = nil, nil
	n.mail.put(core.ApplyDone{Done: done})
}

// watchDisk stops the member when a write failed that nobody waited for.
func (n *Node) watchDisk(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-n.o.guard.Failed():
		n.fail(fmt.Errorf("write to the data directory: %w", n.o.guard.Err()))
	case <-n.rlog.Failed():
		n.fail(fmt.Errorf("raft log: %w", n.rlog.Err()))
	}
}
