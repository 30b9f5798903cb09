package fake

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/port"
)

// Patience bounds every wait of a test, and each call of a client in it. It is generous: machines are loaded.
const Patience = time.Minute

// Member answers as a test tells it; what it is not told is UNIMPLEMENTED.
type Member struct {
	tenurev1.UnimplementedKVServiceServer
	tenurev1.UnimplementedSessionServiceServer
	tenurev1.UnimplementedLockServiceServer
	tenurev1.UnimplementedWatchServiceServer
	tenurev1.UnimplementedElectionServiceServer
	tenurev1.UnimplementedClusterServiceServer
	tenurev1.UnimplementedAuthServiceServer
	tenurev1.UnimplementedQueryServiceServer

	OnGet     func(*tenurev1.GetRequest) (*tenurev1.GetResponse, error)
	OnList    func(*tenurev1.ListRequest) (*tenurev1.ListResponse, error)
	OnCreate  func(context.Context, *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error)
	OnGetLock func(context.Context, *tenurev1.GetLockRequest) (*tenurev1.GetLockResponse, error)
	OnCheck   func(*tenurev1.CheckSequencerRequest) (*tenurev1.CheckSequencerResponse, error)
	OnStatus  func() (*tenurev1.GetStatusResponse, error)
	OnWatch   func(*tenurev1.WatchRequest, grpc.ServerStreamingServer[tenurev1.WatchResponse]) error
	OnObserve func(*tenurev1.ObserveRequest, grpc.ServerStreamingServer[tenurev1.ObserveResponse]) error
}

// Get answers with OnGet.
func (f *Member) Get(_ context.Context, r *tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
	return f.OnGet(r)
}

// List answers with OnList.
func (f *Member) List(_ context.Context, r *tenurev1.ListRequest) (*tenurev1.ListResponse, error) {
	return f.OnList(r)
}

// CreateSession answers with OnCreate.
func (f *Member) CreateSession(ctx context.Context, r *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error) {
	return f.OnCreate(ctx, r)
}

// GetLock answers with OnGetLock.
func (f *Member) GetLock(ctx context.Context, r *tenurev1.GetLockRequest) (*tenurev1.GetLockResponse, error) {
	return f.OnGetLock(ctx, r)
}

// CheckSequencer answers with OnCheck.
func (f *Member) CheckSequencer(
	_ context.Context, r *tenurev1.CheckSequencerRequest,
) (*tenurev1.CheckSequencerResponse, error) {
	return f.OnCheck(r)
}

// GetStatus answers with OnStatus.
func (f *Member) GetStatus(context.Context, *tenurev1.GetStatusRequest) (*tenurev1.GetStatusResponse, error) {
	if f.OnStatus == nil {
		return nil, status.Error(codes.Unimplemented, "method GetStatus not implemented")
	}
	return f.OnStatus()
}

// Watch answers with OnWatch.
func (f *Member) Watch(r *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
	return f.OnWatch(r, s)
}

// Observe answers with OnObserve.
func (f *Member) Observe(r *tenurev1.ObserveRequest, s grpc.ServerStreamingServer[tenurev1.ObserveResponse]) error {
	return f.OnObserve(r, s)
}

// Serve serves the member and returns its endpoint.
func (f *Member) Serve(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return f.ServeOn(t, listener, options...)
}

// ServeOn is serve with a listener of the caller's.
func (f *Member) ServeOn(t *testing.T, listener net.Listener, options ...grpc.ServerOption) string {
	t.Helper()
	server := grpc.NewServer(options...)
	tenurev1.RegisterKVServiceServer(server, f)
	tenurev1.RegisterSessionServiceServer(server, f)
	tenurev1.RegisterLockServiceServer(server, f)
	tenurev1.RegisterWatchServiceServer(server, f)
	tenurev1.RegisterElectionServiceServer(server, f)
	tenurev1.RegisterClusterServiceServer(server, f)
	tenurev1.RegisterAuthServiceServer(server, f)
	tenurev1.RegisterQueryServiceServer(server, f)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// ClosedEndpoint returns an endpoint where nobody listens.
func ClosedEndpoint(t *testing.T) string {
	t.Helper()
	kept, err := port.Keep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() }) // Nothing hangs on it any more.
	return kept.Address()
}

// DeafEndpoint returns an endpoint that takes connections and says nothing.
func DeafEndpoint(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // Nobody ever took a connection from it.
	return listener.Addr().String()
}

// EnvironmentAt returns an environment whose members are at endpoints, and what is printed.
func EnvironmentAt(endpoints ...string) (env *cli.Environment, out *bytes.Buffer) {
	out = &bytes.Buffer{}
	return &cli.Environment{
		Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Getenv: func(string) (string, bool) { return "", false },
		Endpoints: endpoints, Output: cli.OutputText, Timeout: Patience, Version: "test",
	}, out
}

// ClientAt returns a client of members at endpoints, closed at the test's end.
func ClientAt(t *testing.T, endpoints ...string) *tenure.Client {
	t.Helper()
	env, _ := EnvironmentAt(endpoints...)
	c, err := env.PatientClient(t.Context(), tenure.WithFixedMembers())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Refusal returns an error as a member makes it.
func Refusal(code codes.Code, reason, applied string) error {
	s, err := status.New(code, "refused").WithDetails(&errdetails.ErrorInfo{
		Domain: "tenure.io", Reason: reason, Metadata: map[string]string{"applied": applied},
	})
	if err != nil {
		return err
	}
	return s.Err()
}
