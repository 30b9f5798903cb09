package service

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/storage"
)

// provingNode answers ReadIndex as the test says.
type provingNode struct {
	leader.Node
	store   *storage.Store
	answers chan error

	mu    sync.Mutex // guards reads
	reads int
}

func (n *provingNode) Store() *storage.Store { return n.store }

func (n *provingNode) ReadIndex(ctx context.Context) error {
	n.mu.Lock()
	n.reads++
	n.mu.Unlock()
	select {
	case err := <-n.answers:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestProofsOfBeingCurrentAreShared asks often, and while a proof is under way: a proof that began before the question
// proves nothing to who asked later.
func TestProofsOfBeingCurrentAreShared(t *testing.T) {
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	node := &provingNode{store: store, answers: make(chan error)}
	c := newCurrency(node)
	first := c.prove()
	if c.prove() != first {
		t.Error("two questions before a proof began got two proofs, want one")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.run(ctx)
	}()
	node.answers <- raftnode.ErrNoLeader
	<-first.Done
	if !errors.Is(first.Err, raftnode.ErrNoLeader) {
		t.Errorf("got %v, want that a member that is cut off proves nothing", first.Err)
	}
	second := c.prove()
	node.answers <- nil
	<-second.Done
	if second == first || second.Err != nil {
		t.Errorf("got %v, want a proof of its own", second.Err)
	}
	last := c.prove()
	stop()
	<-ended
	<-last.Done
	if last.Err == nil || c.prove().Err == nil {
		t.Error("a member that stops proves that it is current")
	}
	node.mu.Lock()
	defer node.mu.Unlock()
	if node.reads < 2 || node.reads > 3 {
		t.Errorf("got %d proofs, want one for each round", node.reads)
	}
}
