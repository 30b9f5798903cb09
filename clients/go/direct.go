package tenure

import (
	"context"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Read makes a call of the API that changes nothing, and for which this package has no method: f makes it with a generated client, on
// the connection that it is given. It is made again, on another member's connection if that helps, until it is answered or ctx ends. Keys
// are those of the cluster: no namespace is put on.
func (c *Client) Read(ctx context.Context, f func(ctx context.Context, member grpc.ClientConnInterface) error) error {
	return c.read(ctx, func(ctx context.Context, l *conn.Link) error { return f(ctx, l) })
}

// Change is Read for a call that changes something: f puts the options, or the idempotency key in them, into its request. However often
// it is made, it is applied once, and returns its one true result.
func (c *Client) Change(
	ctx context.Context, f func(ctx context.Context, member grpc.ClientConnInterface, options *tenurev1.CallOptions) error,
) error {
	return c.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error { return f(ctx, l, o) })
}
