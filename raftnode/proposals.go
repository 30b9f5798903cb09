package raftnode

import (
	"context"
	"errors"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/storage"
)

// CommandBytesMax is how many bytes a command may have, with all that a member adds to what its client asked for.
const CommandBytesMax = envelope.CommandBytesMax

// Propose replicates a command, waits until it is applied here, and returns what it returned. A broken rule of the
// state machine is in the Result, not an error. The Result is shared: the caller does not change it.
//
// An error that is not ErrOutcomeUnknown means that the command was not applied and never will be. When ctx ends, the
// error is ctx's together with ErrNotProposed or ErrOutcomeUnknown.
func (n *Node) Propose(ctx context.Context, cmd *storev1.Command) (*storev1.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProposed, err)
	}
	if err := n.view.MayPropose(); err != nil {
		return nil, err
	}
	if err := n.health.Refuses(cmd); err != nil {
		return nil, err
	}
	data, err := storage.EncodeCommand(cmd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommandUnknown, err)
	}
	p, err := n.add(cmd, data)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.Done():
		return p.Result()
	case <-ctx.Done():
	}
	if p.Cancel() {
		return nil, fmt.Errorf("%w: %w", ErrNotProposed, ctx.Err())
	}
	select {
	case <-p.Done():
		return p.Result()
	default:
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}

// takesAway reports whether a change of rights may take one away, as far as this member knows.
func (n *Node) takesAway(change *storev1.ChangeAuth) bool {
	if change == nil {
		return false
	}
	store := n.store.Load()
	s := store.NewReader()
	takes, err := s.TakesAway(change, store.Rights.Now().Mode)
	return errors.Join(err, s.Close()) != nil || takes
}

// add queues a command. Those that take rights away make every change under way be decided about again, so they come in bursts. What seems to take
// none may take some by the time when it is applied, as the state is another one then.
func (n *Node) add(cmd *storev1.Command, data []byte) (*envelope.Proposal, error) {
	if n.takesAway(cmd.GetChangeAuth()) {
		// Revocations of tokens do not deny each other, but what comes before them in their entry does.
		_, first := cmd.GetChangeAuth().GetChange().(*storev1.ChangeAuth_RevokeToken)
		return n.revocations.Add(data, first)
	}
	queue := n.proposals.Add
	if storage.MayTakeAway(cmd.GetChangeAuth()) {
		queue = n.proposals.AddTaking
	}
	p, err := queue(data)
	if err == nil {
		n.mail.ring()
	}
	return p, err
}
