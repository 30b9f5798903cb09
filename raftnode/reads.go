package raftnode

import (
	"context"
	"fmt"
	"sync"

	"github.com/tenure-io/tenure/raftnode/core"
)

// readBatch is callers who share one proof.
type readBatch struct {
	done chan struct{}
	// term and err are written before done is closed.
	term uint64
	err  error
}

// readers gathers callers between two turns of the loop. Those who come later share the next batch.
type readers struct {
	mu       sync.Mutex // guards what follows
	plain    *readBatch // gathering; nil when nobody came
	leader   *readBatch // gathering, for ReadIndexLeader
	inFlight map[uint64]*readBatch
	next     uint64
	closed   error
}

func newReaders() *readers { return &readers{inFlight: map[uint64]*readBatch{}} }

// join adds a caller; first reports whether the loop has to be woken.
func (r *readers) join(leader bool) (b *readBatch, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed != nil {
		return nil, false, r.closed
	}
	slot := &r.plain
	if leader {
		slot = &r.leader
	}
	if *slot == nil {
		*slot = &readBatch{done: make(chan struct{})}
		first = true
	}
	return *slot, first, nil
}

// take turns what gathered into events.
func (r *readers) take(dst []core.Event) []core.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, slot := range []**readBatch{&r.plain, &r.leader} {
		if *slot == nil {
			continue
		}
		r.next++
		r.inFlight[r.next] = *slot
		dst = append(dst, core.Read{Handle: r.next, Leader: slot == &r.leader})
		*slot = nil
	}
	return dst
}

func (r *readers) finish(d core.ReadDone, err error) {
	r.mu.Lock()
	b := r.inFlight[d.Handle]
	delete(r.inFlight, d.Handle)
	r.mu.Unlock()
	if b != nil {
		b.finish(d.Term, err)
	}
}

func (r *readers) close(err error) {
	r.mu.Lock()
	if r.closed == nil {
		r.closed = err
	}
	var all []*readBatch
	for _, b := range r.inFlight {
		all = append(all, b)
	}
	clear(r.inFlight)
	for _, slot := range []**readBatch{&r.plain, &r.leader} {
		if *slot != nil {
			all = append(all, *slot)
			*slot = nil
		}
	}
	r.mu.Unlock()
	for _, b := range all {
		b.finish(0, err)
	}
}

func (b *readBatch) finish(term uint64, err error) {
	b.term, b.err = term, err
	close(b.done)
}

// ReadIndex returns once this member has applied everything that was committed when the call came. Any member may be
// asked. Errors: ErrNoLeader after three election time-outs without a leader, ErrDiskHangs, ErrStopped, ctx's.
func (n *Node) ReadIndex(ctx context.Context) error {
	_, err := n.read(ctx, false)
	return err
}

// ReadIndexLeader does what ReadIndex does, and fails with ErrNotLeader unless this member led, in the term it returns,
// in a proof that began after the call.
func (n *Node) ReadIndexLeader(ctx context.Context) (uint64, error) { return n.read(ctx, true) }

func (n *Node) read(ctx context.Context, leader bool) (uint64, error) {
	b, first, err := n.readers.join(leader)
	if err != nil {
		return 0, err
	}
	if first {
		n.mail.ring()
	}
	n.metrics.reads.Inc()
	select {
	case <-b.done:
		return b.term, b.err
	case <-ctx.Done():
		if n.view.lead().Leader == 0 {
			return 0, fmt.Errorf("%w: %w", ErrNoLeader, ctx.Err())
		}
		return 0, ctx.Err()
	}
}
