package service

import (
	"context"
	"sync"
	"time"

	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal"
	"github.com/tenure-io/tenure/server/watch"
)

// currency proves to watches that this member shows all that is committed. All who ask while a proof is under way share the
// next one, so however many watches there are, one is under way at a time.
type currency struct {
	node leader.Node
	news chan struct{} // one slot: somebody asks

	mu     sync.Mutex // guards what follows
	next   *watch.Proof
	closed bool
}

func newCurrency(node leader.Node) *currency {
	return &currency{node: node, news: make(chan struct{}, 1)}
}

// prove begins a proof, or joins one that has not begun.
func (c *currency) prove() *watch.Proof {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		p := &watch.Proof{Done: make(chan struct{}), Err: reason.ErrStopping}
		close(p.Done)
		return p
	}
	if c.next == nil {
		c.next = &watch.Proof{Done: make(chan struct{})}
		select {
		case c.news <- struct{}{}:
		default:
		}
	}
	return c.next
}

// run proves until ctx ends.
func (c *currency) run(ctx context.Context) {
	for {
		select {
		case <-c.news:
			c.round(ctx, c.take(false))
		case <-ctx.Done():
			if p := c.take(true); p != nil {
				p.Err = reason.ErrStopping
				close(p.Done)
			}
			return
		}
	}
}

// take removes the proof that has not begun; nil if there is none.
func (c *currency) take(closing bool) *watch.Proof {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.next
	c.next, c.closed = nil, c.closed || closing
	return p
}

// round makes one proof.
func (c *currency) round(ctx context.Context, p *watch.Proof) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, renewal.ProofTimeout)
	defer cancel()
	p.At = time.Now()
	p.Err = c.node.ReadIndex(ctx)
	p.Revision = c.node.Store().Applied().Revision
	close(p.Done)
}
