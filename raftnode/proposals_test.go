package raftnode

import (
	"context"
	"errors"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/health"
)

// A caller who gives up learns whether the command was proposed.
func TestCallersWhoGiveUp(t *testing.T) {
	n := &Node{health: &health.Watch{}, proposals: envelope.New(7, 1, 1<<20), mail: newMailbox()}
	n.view.Show(core.Leadership{Term: 1, Leader: 7, Role: core.RoleLeader}, 0)
	cmd := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}}}

	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		_, err := n.Propose(ctx, cmd)
		result <- err
	}()
	<-n.mail.wake
	cancel()
	err := <-result
	if got := n.proposals.Take(1, nil); len(got) != 0 {
		t.Errorf("a command taken back is proposed: %v", got)
	}
	if !errors.Is(err, ErrNotProposed) || !errors.Is(err, context.Canceled) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("before it was proposed: got %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		_, err := n.Propose(ctx, cmd)
		result <- err
	}()
	<-n.mail.wake
	if got := n.proposals.Take(1, nil); len(got) != 1 {
		t.Fatalf("entries: got %d, want 1", len(got))
	}
	cancel()
	if err := <-result; !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("after it was proposed: got %v", err)
	}
}
