package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

// doubts checks heartbeats that promise this member more than its log holds. Either its disk lost what it has acknowledged,
// and the leader says the same to whoever asks; or somebody else has sent the heartbeat. So the others are asked first: a
// heartbeat alone stops nobody.
type doubts struct {
	n    *Self
	told chan uint64 // 1 slot: the commit index of such a heartbeat
}

func newDoubts(n *Self) *doubts { return &doubts{n: n, told: make(chan uint64, 1)} }

// hear returns what may be believed of a heartbeat: nothing, if it promises more than the log holds. It runs on the loop.
func (d *doubts) hear(m *raftpb.Message) *raftpb.Message {
	last, err := d.n.m.Log.LastIndex()
	if err != nil || m.GetCommit() <= last {
		return m
	}
	switch {
	case d.n.wire != nil:
		select {
		case d.told <- m.GetCommit():
		default: // One question answers for all.
		}
	case d.n.m.Doubted != nil:
		d.n.m.Doubted(m.GetCommit())
	default: // There is nobody to ask.
		d.stop(mend{Index: m.GetCommit(), Term: m.GetTerm()}, last)
		return m
	}
	return unpromising(m)
}

// run asks the other members, at most once in an election timeout.
func (d *doubts) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case commit := <-d.told:
			d.check(ctx, commit)
		}
		wait := time.NewTimer(d.n.o.ElectionTimeout)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
	}
}

// check asks the others once.
func (d *doubts) check(ctx context.Context, commit uint64) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	d.judge(commit, d.n.askWitnesses(ctx))
}

// judge stops this member if another one knows that it has acknowledged more than its log holds. Started again it mends.
func (d *doubts) judge(commit uint64, all []*peerv1.Witness) {
	found := mend{}
	for _, w := range all {
		if !farAhead(d.n.m.Log.HardState().GetTerm(), w.GetTerm()) {
			found = found.and(mend{Index: w.GetIndex(), IndexTerm: w.GetIndexTerm(), Term: w.GetTerm()})
		}
	}
	last, err := d.n.m.Log.LastIndex()
	if err != nil {
		return
	}
	if found.lacking(d.n.m.Log) {
		d.stop(found, last)
		return
	}
	d.n.log.Warn("ignored a heartbeat: it says that this member acknowledged entries that it does not have, and no other member says so",
		zap.Uint64("named_index", commit), zap.Uint64("last_index", last))
}

// stop ends this member, whose disk lost what it has acknowledged. The next start may find nobody who tells it.
func (d *doubts) stop(lost mend, last uint64) {
	err := d.n.mending.remember(lost)
	d.n.m.Fail(errors.Join(fmt.Errorf("%w: it ends at %d, but this member acknowledged entries up to %d, which are committed: start the "+
		"member again, and it fetches them", ErrLogLostTail, last, lost.Index), err))
}
