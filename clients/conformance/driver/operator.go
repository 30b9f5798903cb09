package driver

import (
	"context"
	"fmt"

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
