package transport

import (
	"context"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// connKind tells the connections to a peer apart that callers use.
type connKind int

const (
	connRelay connKind = iota
	connSnapshot
	connKinds
)

// callConn is a connection for calls.
type callConn struct {
	*grpc.ClientConn
	p       *peer
	kind    connKind
	streams int // that are open on it; guarded by the peer's mu
}

// NewStream opens a stream. A connection for snapshots that was set aside is closed with the last one.
func (c *callConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	c.p.mu.Lock()
	c.streams++
	c.p.mu.Unlock()
	return c.ClientConn.NewStream(ctx, desc, method, append(slices.Clone(opts), grpc.OnFinish(func(error) {
		c.p.mu.Lock()
		defer c.p.mu.Unlock()
		if c.streams--; c.streams == 0 && c.kind == connSnapshot {
			c.p.closeBefore(c)
		}
	}))...)
}

// dial returns a connection to the address of a peer, where the member of its name must be, or any if it is empty. Host names are resolved
// anew each time it connects.
func (t *Transport) dial(at Peer, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	address := at.Address
	return grpc.NewClient("passthrough:///"+address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(t.o.Security.dials(at)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return t.o.Dial(ctx, address) }),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithInitialWindowSize(streamWindowBytes),
		grpc.WithInitialConnWindowSize(connWindowBytes),
		grpc.WithMaxHeaderListSize(headerBytesMax),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerBytesMax), grpc.MaxCallSendMsgSize(answerBytesMax)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: backoffMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: t.o.BackoffMax},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
	}, more...)...)
}

// dialPeer returns a connection on which every call names both ends.
func (t *Transport) dialPeer(id uint64, at Peer, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	name := func(ctx context.Context) context.Context {
		return metadata.NewOutgoingContext(ctx, t.present().credentials(ctx, id))
	}
	return t.dial(at, append(more,
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			return FromStatus(invoke(name(ctx), method, req, reply, cc, opts...))
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			open grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			return open(name(ctx), desc, cc, method, opts...)
		}),
	)...)
}
