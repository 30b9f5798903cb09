package conn

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// OnlyMembers returns a Dial whose connections end when who answers does not know the services of a member, as on a port for peers. The calls that
// found out fail with UNAVAILABLE, as those on any connection that breaks: another member may answer them. A service that an older member does not
// know fails with UNIMPLEMENTED, as it came, once the member has answered something else.
func OnlyMembers(dial Dial) Dial {
	return func(ctx context.Context, address string) (Transport, error) {
		t, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		return &memberTransport{Transport: t, address: address}, nil
	}
}

// memberTransport is a connection to what may be a member.
type memberTransport struct {
	Transport

	address  string
	answered atomic.Bool // Whether it has answered as a member does.
	refused  atomic.Bool
}

// Invoke makes a call.
func (t *memberTransport) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	return t.judge(t.Transport.Invoke(ctx, method, args, reply, options...))
}

// NewStream begins a stream.
func (t *memberTransport) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := t.Transport.NewStream(ctx, description, method, options...)
	if err != nil {
		return nil, t.judge(err)
	}
	return &memberStream{ClientStream: s, transport: t}, nil
}

// memberStream is a stream of a memberTransport.
type memberStream struct {
	grpc.ClientStream

	transport *memberTransport
}

// RecvMsg receives a message.
func (s *memberStream) RecvMsg(message any) error {
	return s.transport.judge(s.ClientStream.RecvMsg(message))
}

// judge returns the error of a call as its caller should see it, and ends the connection if it is none to a member.
func (t *memberTransport) judge(err error) error {
	switch {
	case err == nil:
		t.answered.Store(true)
	case t.refused.Load(), !t.answered.Load() && unknownService(err): // What ends with the connection was answered by nobody else either.
		if !t.refused.Swap(true) {
			_ = t.Close() // What matters is that it is not used any more.
		}
		return unapplied(codes.Unavailable, fmt.Sprintf("%s (%v)", t.address, errNoAPI))
	}
	return err
}

// unknownService reports whether a gRPC server has no such service.
func unknownService(err error) bool {
	return status.Code(err) == codes.Unimplemented && strings.HasPrefix(status.Convert(err).Message(), "unknown service ")
}
