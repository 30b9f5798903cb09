package conn

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// Clear returns a Dial for connections without TLS. Over those to other machines it makes no call that shows a credential, whoever gave the call
// that: it fails before anything is sent.
func Clear(dial Dial) Dial {
	return func(ctx context.Context, address string) (Transport, error) {
		t, err := dial(ctx, address)
		if err != nil || Local(address) {
			return t, err
		}
		return &exposed{Transport: t, address: address}, nil
	}
}

// ClearOptions returns options of gRPC by which a connection without TLS does the same for credentials that a program's interceptors give to calls.
// They come after those of the program.
func ClearOptions() []grpc.DialOption {
	refusal := func(ctx context.Context, cc *grpc.ClientConn) error {
		address := strings.TrimPrefix(cc.Target(), passthrough)
		if Local(address) {
			return nil
		}
		return inClear(ctx, address)
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, args, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
		) error {
			if err := refusal(ctx, cc); err != nil {
				return err
			}
			return invoke(ctx, method, args, reply, cc, options...)
		}),
		grpc.WithChainStreamInterceptor(func(
			ctx context.Context, description *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			if err := refusal(ctx, cc); err != nil {
				return nil, err
			}
			return open(ctx, description, cc, method, options...)
		}),
	}
}

// exposed is a connection to another machine on whose way anybody can read.
type exposed struct {
	Transport

	address string
}

// Invoke makes a call.
func (e *exposed) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	if err := inClear(ctx, e.address); err != nil {
		return err
	}
	return e.Transport.Invoke(ctx, method, args, reply, options...)
}

// NewStream begins a stream.
func (e *exposed) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if err := inClear(ctx, e.address); err != nil {
		return nil, err
	}
	return e.Transport.NewStream(ctx, description, method, options...)
}

// Streams asks without a credential: calls that show one learn that they are refused.
func (e *exposed) Streams(ctx context.Context) int {
	if shows(ctx) {
		return LineStreamsMax
	}
	return e.Transport.Streams(ctx)
}

// inClear returns why a call is not made over a connection without TLS to another machine; nil: it shows no credential.
func inClear(ctx context.Context, address string) error {
	if !shows(ctx) {
		return nil
	}
	s := status.New(codes.FailedPrecondition,
		fmt.Sprintf("the token of the call is not sent to %s without TLS: use tenures://, or insecure=true if the network may read it", address))
	told, err := s.WithDetails(&errdetails.ErrorInfo{
		Reason:   errorinfo.Name(tenurev1.ErrorReason_ERROR_REASON_AUTH_UNSAFE),
		Metadata: map[string]string{"applied": "no", "address": address},
	})
	if err != nil {
		return s.Err()
	}
	return told.Err()
}
