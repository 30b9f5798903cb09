package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// destroySession ends a session as an operator does, who does not know its secret and says why.
func (c *Cluster) destroySession(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, withinDefault)
	defer cancel()
	connection := c.Rig.Members[0].Dial()
	defer func() { _ = connection.Close() }()
	answer, err := tenurev1.NewSessionServiceClient(connection).DestroySession(ctx, &tenurev1.DestroySessionRequest{
		SessionId: id, Force: true, Reason: "a scenario",
	})
	if err == nil && !answer.GetDestroyed() {
		return fmt.Errorf("session %s had ended before", id)
	}
	return err
}

// awaitSessionEnd waits until the cluster says that a session ended. It asks a member itself, whatever clients are cut off from.
func (c *Cluster) awaitSessionEnd(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, withinDefault)
	defer cancel()
	connection := c.Rig.Members[0].Dial()
	defer func() { _ = connection.Close() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := tenurev1.NewSessionServiceClient(connection).GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: id})
		if err == nil && answer.GetSession().GetEnd() != nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("session %s has not ended: %w", id, errors.Join(err, ctx.Err()))
		}
	}
}

// moveNode gives a node of the catalog another address.
func (c *Cluster) moveNode(ctx context.Context, node, address string) error {
	ctx, cancel := context.WithTimeout(ctx, withinDefault)
	defer cancel()
	connection := c.Rig.Members[0].Dial()
	defer func() { _ = connection.Close() }()
	_, err := tenurev1.NewCatalogServiceClient(connection).RegisterNode(ctx, &tenurev1.RegisterNodeRequest{
		Node: &tenurev1.Node{Name: node, Address: address},
	})
	return err
}
