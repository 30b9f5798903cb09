package membership

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
)

// confRetry is how often a change of members that has to wait for another is tried again.
const confRetry = 50 * time.Millisecond

// ConfOptions says what replicates changes of members.
type ConfOptions struct {
	// Member is this one's id, and names it as the proposer.
	Member uint64
	// First is the handle before the first one.
	First uint64
	// Patience is how long a change waits for the end of another.
	Patience time.Duration
	// MayPropose returns why nothing can be proposed here now, nil if it can.
	MayPropose func() error
	// Post gives an event to the loop. It does not block.
	Post func(ev ...core.Event)
}

// ConfChanges replicates changes of members, and finds those who wait for them.
type ConfChanges struct {
	o ConfOptions

	mu      sync.Mutex // guards what follows
	next    uint64
	waiting map[uint64]*confWait
	// effective are changes in the batch being applied. Only the apply goroutine uses it.
	effective []uint64
	// touched and removed are of that batch and belong to the apply goroutine, too.
	touched, removed bool
	closed           error
}

// confWait is one change of members and the caller who waits for it.
type confWait struct {
	done chan struct{}
	err  error // written before done is closed
}

// NewConfChanges returns the changes of a member that starts.
func NewConfChanges(o ConfOptions) *ConfChanges {
	return &ConfChanges{o: o, next: o.First, waiting: map[uint64]*confWait{}}
}

// add names a change.
func (c *ConfChanges) add() (handle uint64, w *confWait, err error) {
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
func (c *ConfChanges) context(handle uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, c.o.Member), handle)
}

// Finish ends the wait for one change.
func (c *ConfChanges) Finish(handle uint64, err error) {
	c.mu.Lock()
	w := c.waiting[handle]
	delete(c.waiting, handle)
	c.mu.Unlock()
	if w != nil {
		w.err = err
		close(w.done)
	}
}

// Note remembers a change of the batch that is being applied, after which the members are as given. It runs on the apply
// goroutine.
func (c *ConfChanges) Note(change *raftpb.ConfChangeV2, cs *raftpb.ConfState) {
	if context := change.GetContext(); len(context) == 16 && binary.BigEndian.Uint64(context) == c.o.Member {
		c.effective = append(c.effective, binary.BigEndian.Uint64(context[8:]))
	}
	c.touched = true
	c.removed = !core.IsMember(cs, c.o.Member)
}

// Applied ends the waits for the changes of the batch that was applied. It reports whether there were any, and whether this
// member is none any more. It runs on the apply goroutine.
func (c *ConfChanges) Applied() (touched, removed bool) {
	for _, handle := range c.effective {
		c.Finish(handle, nil)
	}
	c.effective = c.effective[:0]
	touched, c.touched = c.touched, false
	return touched, c.removed
}

// Unknown ends every wait: what became of the changes has to be looked up.
func (c *ConfChanges) Unknown(why error) {
	c.mu.Lock()
	var all []*confWait
	for handle, w := range c.waiting {
		delete(c.waiting, handle)
		all = append(all, w)
	}
	c.mu.Unlock()
	for _, w := range all {
		w.err = fmt.Errorf("%w: %w", envelope.ErrOutcomeUnknown, why)
		close(w.done)
	}
}

// Close ends every wait, and takes no more changes.
func (c *ConfChanges) Close(why error) {
	c.mu.Lock()
	c.closed = why
	c.mu.Unlock()
	c.Unknown(why)
}

// Change replicates a change of members and waits until it is applied here. One that finds another in progress waits for
// its end, for no longer than the patience. So does one that has a guard and finds rights unsettled.
func (c *ConfChanges) Change(ctx context.Context, guard core.Guard, change *raftpb.ConfChangeV2) error {
	return c.patiently(ctx, func() error { return c.propose(ctx, guard, change) })
}

// Transfer asks raft to hand leadership to another member, and waits until that is asked for: not for what becomes of it. It waits as Change does.
func (c *ConfChanges) Transfer(ctx context.Context, guard core.Guard, to uint64) error {
	return c.patiently(ctx, func() error {
		handle, w, err := c.add()
		if err != nil {
			return err
		}
		c.o.Post(core.Transfer{Handle: handle, To: to, Guard: guard})
		return c.await(ctx, handle, w)
	})
}

// TransferAgain asks raft once more for what Transfer asked for, and waits for nothing: where rights were taken away since, raft is not asked. It does not heed this
// before it has given the last attempt up, an election time-out after that began.
func (c *ConfChanges) TransferAgain(guard core.Guard, to uint64) {
	c.o.Post(core.Transfer{To: to, Guard: guard})
}

// patiently tries what may have to wait for another change.
func (c *ConfChanges) patiently(ctx context.Context, try func() error) error {
	patience := time.NewTimer(c.o.Patience)
	defer patience.Stop()
	for {
		err := try()
		if !errors.Is(err, core.ErrConfChangePending) && !errors.Is(err, ErrRightsUnsettled) {
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

// Propose gives a change to the loop, and does not wait for what becomes of it.
func (c *ConfChanges) Propose(change *raftpb.ConfChangeV2) error {
	_, _, err := c.begin(core.Guard{}, change)
	return err
}

// begin gives a change to the loop.
func (c *ConfChanges) begin(guard core.Guard, change *raftpb.ConfChangeV2) (handle uint64, w *confWait, err error) {
	if err = c.o.MayPropose(); err != nil {
		return 0, nil, err
	}
	if handle, w, err = c.add(); err != nil {
		return 0, nil, err
	}
	c.o.Post(core.ChangeConf{Handle: handle, Guard: guard, Change: &raftpb.ConfChangeV2{
		Transition: change.GetTransition().Enum(), Changes: change.GetChanges(), Context: c.context(handle),
	}})
	return handle, w, nil
}

func (c *ConfChanges) propose(ctx context.Context, guard core.Guard, change *raftpb.ConfChangeV2) error {
	handle, w, err := c.begin(guard, change)
	if err != nil {
		return err
	}
	return c.await(ctx, handle, w)
}

// await waits for what becomes of a change.
func (c *ConfChanges) await(ctx context.Context, handle uint64, w *confWait) error {
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		c.Finish(handle, ctx.Err())
		return fmt.Errorf("%w: %w", envelope.ErrOutcomeUnknown, ctx.Err())
	}
}

// single is a change of one member.
func single(typ raftpb.ConfChangeType, id uint64) *raftpb.ConfChangeV2 {
	return &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{{Type: typ.Enum(), NodeId: new(id)}}}
}
