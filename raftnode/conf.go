package raftnode

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
)

// confRetry is how often a change of members that has to wait for another is tried again.
const confRetry = 50 * time.Millisecond

// confWaits finds those who wait for changes of members.
type confWaits struct {
	proposer uint64

	mu      sync.Mutex // guards what follows
	next    uint64
	waiting map[uint64]*confWait
	// effective are changes in the batch being applied. Only the apply goroutine uses it.
	effective []uint64
	closed    error
}

// confWait is one change of members and the caller who waits for it.
type confWait struct {
	done chan struct{}
	err  error // written before done is closed
}

func newConfWaits(proposer, first uint64) *confWaits {
	return &confWaits{proposer: proposer, next: first, waiting: map[uint64]*confWait{}}
}

// add names a change.
func (c *confWaits) add() (handle uint64, w *confWait, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return 0, nil, c.closed
	}
	c.next++
	w = &confWait{done: make(chan struct{})}
	c.waiting[c.next] = w
	return c.next, w, nil
}

// context is what a change carries through the log, to be known again.
func (c *confWaits) context(handle uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.proposer), handle)
}

// finish ends the wait for one change.
func (c *confWaits) finish(handle uint64, err error) {
	c.mu.Lock()
	w := c.waiting[handle]
	delete(c.waiting, handle)
	c.mu.Unlock()
	if w != nil {
		w.err = err
		close(w.done)
	}
}

// note remembers a change of the batch that is being applied.
func (c *confWaits) note(context []byte) {
	if len(context) == 16 && binary.BigEndian.Uint64(context) == c.proposer {
		c.effective = append(c.effective, binary.BigEndian.Uint64(context[8:]))
	}
}

// applied ends the waits for the changes of the batch that was applied.
func (c *confWaits) applied() {
	for _, handle := range c.effective {
		c.finish(handle, nil)
	}
	c.effective = c.effective[:0]
}

// unknown ends every wait: what became of the changes has to be looked up.
func (c *confWaits) unknown(why error) {
	c.mu.Lock()
	var all []*confWait
	for handle, w := range c.waiting {
		delete(c.waiting, handle)
		all = append(all, w)
	}
	c.mu.Unlock()
	for _, w := range all {
		w.err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, why)
		close(w.done)
	}
}

func (c *confWaits) close(why error) {
	c.mu.Lock()
	c.closed = why
	c.mu.Unlock()
	c.unknown(why)
}

// changeConf replicates a change of members and waits until it is applied here. One that finds another in progress
// waits for its end, for no longer than two election time-outs.
func (n *Node) changeConf(ctx context.Context, change *raftpb.ConfChangeV2) error {
	patience := time.NewTimer(2 * n.electionTimeout())
	defer patience.Stop()
	for {
		err := n.proposeConf(ctx, change)
		if !errors.Is(err, ErrConfChangePending) {
			return err
		}
		retry := time.NewTimer(confRetry)
		select {
		case <-retry.C:
		case <-patience.C:
			retry.Stop()
			return err
		case <-ctx.Done():
			retry.Stop()
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

func (n *Node) electionTimeout() time.Duration { return time.Duration(n.o.ElectionTicks) * n.o.Tick }

func (n *Node) proposeConf(ctx context.Context, change *raftpb.ConfChangeV2) error {
	if err := n.mayPropose(); err != nil {
		return err
	}
	handle, w, err := n.confWaits.add()
	if err != nil {
		return err
	}
	n.mail.put(core.ChangeConf{Handle: handle, Change: &raftpb.ConfChangeV2{
		Transition: change.GetTransition().Enum(), Changes: change.GetChanges(), Context: n.confWaits.context(handle),
	}})
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		n.confWaits.finish(handle, ctx.Err())
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}

// single is a change of one member.
func single(typ raftpb.ConfChangeType, id uint64) *raftpb.ConfChangeV2 {
	return &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{{Type: typ.Enum(), NodeId: new(id)}}}
}

// confApplied takes note of a change of members in the batch that is being applied. It runs on the apply goroutine.
func (n *Node) confApplied(change *raftpb.ConfChangeV2, cs *raftpb.ConfState) {
	n.confWaits.note(change.GetContext())
	n.metrics.confChanges.Inc()
	n.confTouched = true
	n.removed = !isMember(cs, n.identity.MemberID)
}

// confPublished tells everybody about changes of members, after the batch with them is applied.
func (n *Node) confPublished(recordsChanged bool) {
	n.confWaits.applied()
	if n.removed {
		n.fail(ErrRemoved)
	}
	if n.confTouched || recordsChanged {
		n.membersChanged()
	}
	n.confTouched = false
}

// membersChanged has the members looked at again.
func (n *Node) membersChanged() { n.roster.ring() }
