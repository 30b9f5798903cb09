package raftnode

import (
	"context"
	"fmt"
)

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
	b, first, err := n.readers.Join(leader)
	if err != nil {
		return 0, err
	}
	if first {
		n.mail.ring()
	}
	n.metrics.reads.Inc()
	select {
	case <-b.Done():
		return b.Proof()
	case <-ctx.Done():
		if n.view.Lead().Leader == 0 {
			return 0, fmt.Errorf("%w: %w", ErrNoLeader, ctx.Err())
		}
		return 0, ctx.Err()
	}
}
