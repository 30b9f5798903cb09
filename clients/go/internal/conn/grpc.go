package conn

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// passthrough begins the target of a connection whose address is taken as it is.
const passthrough = "passthrough:///"

// GRPC returns a Dial that connects by gRPC. Dialer may be nil.
func GRPC(
	dialer func(context.Context, string) (net.Conn, error), security credentials.TransportCredentials, options ...grpc.DialOption,
) Dial {
	if dialer == nil {
		dialer = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	return func(ctx context.Context, address string) (Transport, error) {
		heard := &heard{}
		dial := func(ctx context.Context, address string) (net.Conn, error) {
			c, err := dialer(ctx, address)
			if err != nil {
				heard.fail(dialCause(err))
			}
			return c, err
		}
		all := append([]grpc.DialOption{
			grpc.WithContextDialer(dial), grpc.WithTransportCredentials(&listeningTo{TransportCredentials: security, heard: heard}),
		}, options...)
		cc, err := grpc.NewClient(passthrough+address, all...)
		if err != nil {
			return nil, err
		}
		cc.Connect()
		for state := cc.GetState(); state != connectivity.Ready; state = cc.GetState() {
			failed := state == connectivity.TransientFailure
			if !failed && cc.WaitForStateChange(ctx, state) {
				continue
			}
			why := heard.why(!failed)
			_ = cc.Close()
			return nil, why
		}
		t := &grpcTransport{ClientConn: cc, heard: heard, broken: make(chan struct{})}
		go t.watch(context.WithoutCancel(ctx))
		return t, nil
	}
}

// grpcTransport is a gRPC connection that is never mended: what broke is replaced.
type grpcTransport struct {
	*grpc.ClientConn

	heard  *heard
	broken chan struct{}
}

// watch closes broken when the connection has been lost. Close makes it end, too.
func (t *grpcTransport) watch(ctx context.Context) {
	defer close(t.broken)
	t.WaitForStateChange(ctx, connectivity.Ready)
}

// Broken is closed when the connection broke.
func (t *grpcTransport) Broken() <-chan struct{} { return t.broken }

// Heard counts what was read.
func (t *grpcTransport) Heard() uint64 { return t.heard.reads.Load() }

// Ping makes a call that members answer at once, whatever they are busy with, and whoever asks.
func (t *grpcTransport) Ping(ctx context.Context) {
	_, _ = healthpb.NewHealthClient(t.ClientConn).Check(ctx, &healthpb.HealthCheckRequest{}) // What it says does not matter.
}

// Close ends the connection, and waits for its watcher.
func (t *grpcTransport) Close() error {
	err := t.ClientConn.Close()
	<-t.broken
	return err
}

// Streams is how many streams one connection carries.
func (*grpcTransport) Streams(context.Context) int { return LineStreamsMax }
