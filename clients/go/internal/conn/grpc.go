package conn

import (
	"context"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

// errNoAnswer says that who took the connection does not speak as a member does.
var errNoAnswer = errors.New("no answer")

// lateError says that a member did not answer in time: the next attempt may find it less busy.
type lateError struct{}

// Error says the same as errNoAnswer: from afar the two look alike.
func (lateError) Error() string { return errNoAnswer.Error() }

// Timeout reports that time alone was missing, as a net.Error does.
func (lateError) Timeout() bool { return true }

// GRPC returns a Dial that connects by gRPC. The options must carry credentials; dialer may be nil.
func GRPC(dialer func(context.Context, string) (net.Conn, error), options ...grpc.DialOption) Dial {
	if dialer == nil {
		dialer = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	return func(ctx context.Context, address string) (Transport, error) {
		var mu sync.Mutex // Guards cause.
		cause := errNoAnswer
		dial := func(ctx context.Context, address string) (net.Conn, error) {
			c, err := dialer(ctx, address)
			if err != nil {
				mu.Lock()
				cause = err
				mu.Unlock()
			}
			return c, err
		}
		all := append([]grpc.DialOption{grpc.WithContextDialer(dial)}, options...)
		cc, err := grpc.NewClient("passthrough:///"+address, all...)
		if err != nil {
			return nil, err
		}
		cc.Connect()
		for state := cc.GetState(); state != connectivity.Ready; state = cc.GetState() {
			failed := state == connectivity.TransientFailure
			if !failed && cc.WaitForStateChange(ctx, state) {
				continue
			}
			_ = cc.Close()
			mu.Lock()
			defer mu.Unlock()
			if !failed && errors.Is(cause, errNoAnswer) {
				return nil, lateError{}
			}
			return nil, cause
		}
		t := &grpcTransport{ClientConn: cc, broken: make(chan struct{})}
		go t.watch(context.WithoutCancel(ctx))
		return t, nil
	}
}

// grpcTransport is a gRPC connection that is never mended: what broke is replaced.
type grpcTransport struct {
	*grpc.ClientConn

	broken chan struct{}
}

// watch closes broken when the connection has been lost. Close makes it end, too.
func (t *grpcTransport) watch(ctx context.Context) {
	defer close(t.broken)
	t.WaitForStateChange(ctx, connectivity.Ready)
}

// Broken is closed when the connection broke.
func (t *grpcTransport) Broken() <-chan struct{} { return t.broken }

// Close ends the connection, and waits for its watcher.
func (t *grpcTransport) Close() error {
	err := t.ClientConn.Close()
	<-t.broken
	return err
}
