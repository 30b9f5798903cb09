package tenure

import (
	"context"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Read makes an API call that changes nothing and for which this package has no method. f makes the call with a
// generated client, on the connection that it is given. Read calls f again, on another member's connection if
// necessary, until it is answered or ctx ends. Keys are full keys: no namespace is added.
func (c *Client) Read(ctx context.Context, f func(ctx context.Context, member grpc.ClientConnInterface) error) error {
	return c.read(ctx, func(ctx context.Context, l *conn.Link) error { return f(ctx, l) })
}

// Change is like Read, for a call that changes something: f puts the options, or the idempotency key in them, into its
// request. However often the call is made, it is applied once, and always returns the same result.
func (c *Client) Change(
	ctx context.Context, f func(ctx context.Context, member grpc.ClientConnInterface, options *tenurev1.CallOptions) error,
) error {
	return c.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error { return f(ctx, l, o) })
}

// Streams returns a connection to one member, for streams that last and for which this package has no method. It waits for one until ctx ends.
// Streams on it end with the connection, and are not made again. Call release when they have ended.
func (c *Client) Streams(ctx context.Context) (member grpc.ClientConnInterface, release func(), err error) {
	l, err := c.link(ctx)
	if err != nil {
		return nil, nil, err
	}
	line, err := l.Line(ctx)
	if err != nil {
		l.Release()
		return nil, nil, fromRPC(err)
	}
	return line, func() { line.Release(); l.Release() }, nil
}
