package rest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zaptest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
)

// fakeServices stands for the services, so that these tests are about REST alone. It keeps keys in a map and remembers
// the calls that reached it.
type fakeServices struct {
	tenurev1.UnimplementedSessionServiceServer
	tenurev1.UnimplementedKVServiceServer
	tenurev1.UnimplementedLockServiceServer
	tenurev1.UnimplementedWatchServiceServer
	tenurev1.UnimplementedElectionServiceServer
	tenurev1.UnimplementedClusterServiceServer

	mu    sync.Mutex // guards what follows
	keys  map[string]*tenurev1.KeyValue
	calls []fakeCall

	fail    func() error                                                          // if set, every unary call fails with it
	watch   func(*tenurev1.WatchRequest, tenurev1.WatchService_WatchServer) error // serves watches
	backup  func(tenurev1.ClusterService_BackupServer) error                      // nil: there is none
	acquire func(*tenurev1.AcquireLockRequest, tenurev1.LockService_AcquireLockServer) error
}

// fakeCall is a call that reached the services.
type fakeCall struct {
	method  string
	request proto.Message
	md      metadata.MD
	address string
}

// intercept remembers a unary call, and makes errors of the API into statuses.
func (f *fakeServices) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if m, ok := request.(proto.Message); ok {
		f.remember(ctx, info.FullMethod, m)
	}
	if f.fail != nil {
		return nil, f.fail()
	}
	_ = grpc.SetHeader(ctx, metadata.Pairs(gate.MetadataRequestID, "r-1", "hidden", "x"))
	answer, err := next(ctx, request)
	return answer, asStatus(err)
}

func (f *fakeServices) interceptStream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return asStatus(next(server, stream))
}

func (f *fakeServices) remember(ctx context.Context, method string, request proto.Message) {
	md, _ := metadata.FromIncomingContext(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fakeCall{method: method, request: proto.Clone(request), md: md, address: gate.Address(ctx)})
}

// asStatus maps errors as the interceptors do.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	if s, ok := status.FromError(err); ok {
		return s.Err()
	}
	s, _ := reason.Status(err, "r-1")
	return s.Err()
}

// last returns the last call; taken calls are forgotten.
func (f *fakeServices) take() []fakeCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fakeServices) Put(_ context.Context, r *tenurev1.PutRequest) (*tenurev1.PutResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	value := r.GetValue()
	if r.GetText() != "" {
		value = []byte(r.GetText())
	}
	f.keys[r.GetKey()] = &tenurev1.KeyValue{Key: r.GetKey(), Value: value, Flags: r.GetFlags(), ModRevision: 7}
	return &tenurev1.PutResponse{
		Header:   &tenurev1.ResponseHeader{Revision: 7},
		Acquired: r.GetAcquire() != "" && !strings.HasPrefix(r.GetAcquire(), "loser"),
		Kv:       &tenurev1.KeyValue{Key: r.GetKey(), Flags: r.GetFlags(), ModRevision: 7},
	}, nil
}

func (f *fakeServices) Get(_ context.Context, r *tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kv, ok := f.keys[r.GetKey()]
	if !ok {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND, "the key does not exist")
	}
	return &tenurev1.GetResponse{Header: &tenurev1.ResponseHeader{Revision: 9}, Kv: kv}, nil
}

func (f *fakeServices) Delete(_ context.Context, r *tenurev1.DeleteRequest) (*tenurev1.DeleteResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.keys[r.GetKey()]
	delete(f.keys, r.GetKey())
	return &tenurev1.DeleteResponse{Header: &tenurev1.ResponseHeader{Revision: 8}, Deleted: ok}, nil
}

func (f *fakeServices) List(context.Context, *tenurev1.ListRequest) (*tenurev1.ListResponse, error) {
	return &tenurev1.ListResponse{}, nil
}

func (f *fakeServices) CreateSession(context.Context, *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error) {
	return &tenurev1.CreateSessionResponse{SessionId: "s", Epoch: 1}, nil
}

func (f *fakeServices) DestroySession(context.Context, *tenurev1.DestroySessionRequest) (*tenurev1.DestroySessionResponse, error) {
	return &tenurev1.DestroySessionResponse{Destroyed: true}, nil
}

func (f *fakeServices) TryAcquireLock(context.Context, *tenurev1.TryAcquireLockRequest) (*tenurev1.TryAcquireLockResponse, error) {
	return &tenurev1.TryAcquireLockResponse{}, nil
}

func (f *fakeServices) ReleaseLock(context.Context, *tenurev1.ReleaseLockRequest) (*tenurev1.ReleaseLockResponse, error) {
	return &tenurev1.ReleaseLockResponse{}, nil
}

func (f *fakeServices) Watch(r *tenurev1.WatchRequest, stream tenurev1.WatchService_WatchServer) error {
	f.remember(stream.Context(), tenurev1.WatchService_Watch_FullMethodName, r)
	return f.watch(r, stream)
}

func (f *fakeServices) AcquireLock(r *tenurev1.AcquireLockRequest, stream tenurev1.LockService_AcquireLockServer) error {
	f.remember(stream.Context(), tenurev1.LockService_AcquireLock_FullMethodName, r)
	return f.acquire(r, stream)
}

// Backup sends what the test sends.
func (f *fakeServices) Backup(r *tenurev1.BackupRequest, stream tenurev1.ClusterService_BackupServer) error {
	if f.backup == nil {
		return f.UnimplementedClusterServiceServer.Backup(r, stream)
	}
	return f.backup(stream)
}

// restRig is REST over fake services on a listener of its own.
type restRig struct {
	*fakeServices
	address string
	handler http.Handler
	stop    func() // stops the HTTP listener and waits for it
}

// restBytesMax is the limit of bodies in these tests.
const restBytesMax = 64 << 10

func newRESTRig(t *testing.T, change ...func(*Options)) *restRig {
	t.Helper()
	rig := &restRig{fakeServices: &fakeServices{keys: map[string]*tenurev1.KeyValue{}}}
	log := zaptest.NewLogger(t)

	inside := bufconn.Listen(1 << 20)
	services := grpc.NewServer(grpc.UnaryInterceptor(rig.intercept), grpc.StreamInterceptor(rig.interceptStream))
	tenurev1.RegisterSessionServiceServer(services, rig)
	tenurev1.RegisterKVServiceServer(services, rig)
	tenurev1.RegisterLockServiceServer(services, rig)
	tenurev1.RegisterWatchServiceServer(services, rig)
	tenurev1.RegisterElectionServiceServer(services, rig)
	tenurev1.RegisterClusterServiceServer(services, rig)
	served := make(chan error, 1)
	go func() { served <- services.Serve(inside) }()
	conn, err := grpc.NewClient("passthrough:inside", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return inside.DialContext(ctx) }))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}

	options := Options{
		Conn:            conn,
		Ready:           func(context.Context) []ReadyCheck { return []ReadyCheck{{Name: "leader"}, {Name: "store"}} },
		Gatherer:        prometheus.NewRegistry(),
		Version:         "1.2.3",
		RequestBytesMax: restBytesMax,
		Log:             log,
	}
	for _, f := range change {
		f(&options)
	}
	handler, err := New(options)
	if err != nil {
		t.Fatalf("make handler: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	rig.address, rig.handler = listener.Addr().String(), handler
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, handler, stopGrace, log) }()
	rig.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("HTTP listener ended with %v", err)
		}
	})
	t.Cleanup(func() {
		rig.stop()
		_ = conn.Close()
		services.Stop()
		if err := <-served; err != nil {
			t.Errorf("services ended with %v", err)
		}
	})
	return rig
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
	error  restError // of an error
}

// send writes a request as it is, with the target untouched, and reads the answer. A body goes out with its length, or
// chunked if the headers say so.
func (r *restRig) send(t *testing.T, method, target string, headers []string, body string) answer {
	t.Helper()
	resp := r.open(t, method, target, headers, body)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: read answer: %v", method, target, err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, body: string(text)}
	if a.status >= http.StatusBadRequest && strings.HasPrefix(resp.Header.Get("Content-Type"), contentTypeJSON) && method != http.MethodHead {
		var wrapped struct {
			Error restError `json:"error"`
		}
		if err := json.Unmarshal(text, &wrapped); err != nil {
			t.Fatalf("%s %s: error %q is not JSON: %v", method, target, text, err)
		}
		a.error = wrapped.Error
	}
	return a
}

// open is send without reading the body. The connection closes with the test.
func (r *restRig) open(t *testing.T, method, target string, headers []string, body string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\n", method, target)
	hasHost, chunked := false, false
	for _, h := range headers {
		hasHost = hasHost || strings.HasPrefix(h, "Host:")
		chunked = chunked || strings.HasPrefix(h, "Transfer-Encoding:")
		text.WriteString(h + "\r\n")
	}
	if !hasHost {
		text.WriteString("Host: localhost\r\n")
	}
	text.WriteString("Connection: close\r\n")
	switch {
	case chunked:
		fmt.Fprintf(&text, "\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case body != "":
		fmt.Fprintf(&text, "Content-Length: %d\r\n\r\n%s", len(body), body)
	default:
		text.WriteString("\r\n")
	}
	go func() { _, _ = io.WriteString(conn, text.String()) }() // the server may answer before it has read all
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{resp.Body, conn}
	return resp
}

// unavailable is what a call gets whose server is gone.
func unavailable() error { return status.Error(codes.Unavailable, "gone") }

// asked returns the request of the one call that reached the services.
func asked[M any](t *testing.T, rig *restRig) M {
	t.Helper()
	calls := rig.take()
	if len(calls) != 1 {
		t.Fatalf("%d calls reached the services, want one", len(calls))
	}
	request, ok := calls[0].request.(M)
	if !ok {
		t.Fatalf("services got a %T", calls[0].request)
	}
	return request
}
