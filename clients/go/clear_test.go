package tenure_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// listener answers every call with an empty message, and counts those that show a token. It has no lines.
type listener struct {
	address string
	tokens  atomic.Int64
}

func listen(t *testing.T) *listener {
	t.Helper()
	at, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{address: at.Addr().String()}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if shown, _ := metadata.FromIncomingContext(stream.Context()); len(shown.Get("authorization")) > 0 {
			l.tokens.Add(1)
		}
		if method, _ := grpc.MethodFromServerStream(stream); method == tenurev1.LineService_Line_FullMethodName {
			return status.Error(codes.Unimplemented, "no lines")
		}
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return stream.SendMsg(&emptypb.Empty{})
	}))
	go func() { _ = server.Serve(at) }()
	t.Cleanup(server.Stop)
	return l
}

// TestTheTokenOfACallIsNotSentInClear makes calls that show a token which is not the client's: of the program, and of an interceptor.
func TestTheTokenOfACallIsNotSentInClear(t *testing.T) {
	showing := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer theirs")
	}
	calls := map[string]func(ctx context.Context, c *tenure.Client) error{
		"a read": func(ctx context.Context, c *tenure.Client) error {
			return c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) error {
				_, err := tenurev1.NewKVServiceClient(member).Get(ctx, &tenurev1.GetRequest{Key: "k"})
				return err
			})
		},
		"a change": func(ctx context.Context, c *tenure.Client) error {
			return c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, o *tenurev1.CallOptions) error {
				_, err := tenurev1.NewKVServiceClient(member).Put(ctx, &tenurev1.PutRequest{Key: "k", Options: o})
				return err
			})
		},
		"a call of the library": func(ctx context.Context, c *tenure.Client) error {
			_, err := c.KV().Delete(ctx, "k")
			return err
		},
		"a stream": func(ctx context.Context, c *tenure.Client) error {
			member, release, err := c.Streams(ctx)
			if err != nil {
				return err
			}
			defer release()
			watch, err := tenurev1.NewWatchServiceClient(member).Watch(ctx, &tenurev1.WatchRequest{})
			if err == nil {
				_, err = watch.Recv()
			}
			return err
		},
	}
	interceptors := tenure.WithDialOptions(
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, o ...grpc.CallOption) error {
			return invoker(showing(ctx), method, request, reply, cc, o...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			return streamer(showing(ctx), d, cc, method, o...)
		}),
	)
	tests := map[string]struct {
		target  string
		options []tenure.Option
		refused bool
	}{
		"another machine":            {target: "h1", refused: true},
		"another machine, told so":   {target: "tenure://h1?insecure=true"},
		"this machine":               {target: "127.0.0.1"},
		"another machine, by option": {target: "h1", options: []tenure.Option{tenure.WithInsecure()}},
	}
	for name, test := range tests {
		for what, call := range calls {
			for _, shows := range []string{"the call", "an interceptor"} {
				t.Run(name+"/"+what+"/"+shows, func(t *testing.T) {
					l := listen(t)
					ctx, options := t.Context(), append([]tenure.Option{tenure.WithFixedMembers(), l.dialer()}, test.options...)
					if shows == "the call" {
						ctx = showing(ctx)
					} else {
						options = append(options, interceptors)
					}
					c, err := tenure.Open(test.target, options...)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = c.Close() }()
					err = call(ctx, c)
					sent := l.tokens.Load()
					if !test.refused {
						if err != nil || sent == 0 {
							t.Errorf("got %v, and %d calls showed a token; want that it is sent", err, sent)
						}
						return
					}
					if sent != 0 {
						t.Errorf("%d calls showed a token in clear", sent)
					}
					if what == "a stream" { // Its error is that of gRPC.
						if status.Code(err) != codes.FailedPrecondition {
							t.Errorf("got %v, want FailedPrecondition", err)
						}
						return
					}
					told, ok := errors.AsType[*tenure.Error](err)
					if !ok || !errors.Is(err, tenure.ErrInvalidArgument) || told.Reason != "AUTH_UNSAFE" || told.Applied != tenure.AppliedNo ||
						!strings.Contains(err.Error(), "not sent to h1:7400 without TLS: use tenures://, or insecure=true") {
						t.Errorf("got %v, want that it is not sent, and what to do", err)
					}
				})
			}
		}
	}
}

// dialer connects to the listener, whatever the address is.
func (l *listener) dialer() tenure.Option {
	return tenure.WithDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", l.address)
	})
}
