package main

import (
	"context"
	"net"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// fakeMember answers as a test tells it; what it is not told is UNIMPLEMENTED.
type fakeMember struct {
	tenurev1.UnimplementedKVServiceServer
	tenurev1.UnimplementedSessionServiceServer
	tenurev1.UnimplementedLockServiceServer
	tenurev1.UnimplementedWatchServiceServer

	get       func(*tenurev1.GetRequest) (*tenurev1.GetResponse, error)
	list      func(*tenurev1.ListRequest) (*tenurev1.ListResponse, error)
	put       func(*tenurev1.PutRequest) (*tenurev1.PutResponse, error)
	acquire   func(*tenurev1.AcquireLockRequest, grpc.ServerStreamingServer[tenurev1.AcquireLockResponse]) error
	keepAlive func(grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]) error
	check     func(*tenurev1.CheckSequencerRequest) (*tenurev1.CheckSequencerResponse, error)
	watch     func(*tenurev1.WatchRequest, grpc.ServerStreamingServer[tenurev1.WatchResponse]) error
}

func (f *fakeMember) Get(_ context.Context, r *tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
	return f.get(r)
}

func (f *fakeMember) List(_ context.Context, r *tenurev1.ListRequest) (*tenurev1.ListResponse, error) {
	return f.list(r)
}

func (f *fakeMember) Put(_ context.Context, r *tenurev1.PutRequest) (*tenurev1.PutResponse, error) {
	return f.put(r)
}

func (f *fakeMember) AcquireLock(
	r *tenurev1.AcquireLockRequest, s grpc.ServerStreamingServer[tenurev1.AcquireLockResponse],
) error {
	return f.acquire(r, s)
}

func (f *fakeMember) CheckSequencer(
	_ context.Context, r *tenurev1.CheckSequencerRequest,
) (*tenurev1.CheckSequencerResponse, error) {
	return f.check(r)
}

func (f *fakeMember) KeepAlive(s grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]) error {
	return f.keepAlive(s)
}

func (f *fakeMember) Watch(r *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
	return f.watch(r, s)
}

// serve serves the member and returns its endpoint.
func (f *fakeMember) serve(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	tenurev1.RegisterKVServiceServer(server, f)
	tenurev1.RegisterSessionServiceServer(server, f)
	tenurev1.RegisterLockServiceServer(server, f)
	tenurev1.RegisterWatchServiceServer(server, f)
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

// closedEndpoint returns an endpoint where nobody listens.
func closedEndpoint(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // Only the address matters.
	return listener.Addr().String()
}

// membersAt returns members at endpoints, closed at the test's end.
func membersAt(t *testing.T, endpoints ...string) *members {
	t.Helper()
	m, err := newMembers(endpoints, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	return m
}

// refusal returns an error as a member makes it.
func refusal(code codes.Code, reason, applied string) error {
	s, err := status.New(code, "refused").WithDetails(&errdetails.ErrorInfo{
		Domain: "tenure.io", Reason: reason, Metadata: map[string]string{"applied": applied},
	})
	if err != nil {
		return err
	}
	return s.Err()
}
