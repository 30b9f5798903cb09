package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// wholeMember is a running member, as its clients see it.
type wholeMember struct {
	conn     *grpc.ClientConn
	sessions tenurev1.SessionServiceClient
	kv       tenurev1.KVServiceClient
	locks    tenurev1.LockServiceClient
	watches  tenurev1.WatchServiceClient
	url      string
	client   *http.Client
}

// newWholeMember runs a member on disk, on free ports, until the test ends.
func newWholeMember(t *testing.T) *wholeMember {
	t.Helper()
	s, err := server.New(server.Config{
		DataDir: t.TempDir(), ListenAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0", Logger: zaptest.NewLogger(t),
		Tick: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatalf("make server: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop := func() {
		cancel()
		if failed := <-ended; failed != nil {
			t.Errorf("server ended with %v", failed)
		}
	}
	select {
	case <-s.Ready():
	case failed := <-ended:
		cancel()
		t.Fatalf("server does not start: %v", failed)
	case <-time.After(30 * time.Second):
		stop()
		t.Fatal("server is not ready")
	}
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	m := &wholeMember{
		conn:     conn,
		sessions: tenurev1.NewSessionServiceClient(conn),
		kv:       tenurev1.NewKVServiceClient(conn),
		locks:    tenurev1.NewLockServiceClient(conn),
		watches:  tenurev1.NewWatchServiceClient(conn),
		url:      "http://" + s.Addresses().HTTP,
		client:   &http.Client{Transport: &http.Transport{}},
	}
	t.Cleanup(func() {
		m.client.CloseIdleConnections()
		_ = conn.Close()
		stop()
	})
	return m
}

// do sends a request over REST and returns status and body.
func (m *wholeMember) do(t *testing.T, method, target, body string, headers ...string) (int, []byte) {
	t.Helper()
	var content io.Reader = strings.NewReader(body)
	if len(body) > 1<<20 {
		content = struct{ io.Reader }{content} // of unknown length, so it goes out chunked
	}
	request, err := http.NewRequestWithContext(t.Context(), method, m.url+target, content)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	resp, err := m.client.Do(request)
	if err != nil {
		t.Fatalf("%s %.100s: %v", method, target, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %.100s: %v", method, target, err)
	}
	return resp.StatusCode, text
}

// session opens a session and returns its id.
func (m *wholeMember) session(t *testing.T, r *tenurev1.CreateSessionRequest) string {
	t.Helper()
	created, err := m.sessions.CreateSession(t.Context(), r)
	if err != nil {
		t.Fatalf("create session: %v", err)
	}
	return created.GetSessionId()
}

// wireBytes sends bytes as they are, where a message belongs.
type wireBytes struct{ encoding.Codec }

// Marshal returns the bytes.
func (wireBytes) Marshal(v any) ([]byte, error) {
	text, ok := v.(*[]byte)
	if !ok {
		return nil, errors.New("not bytes")
	}
	return *text, nil
}

// Unmarshal ignores the answer.
func (wireBytes) Unmarshal([]byte, any) error { return nil }

// Name is that of the codec it stands for.
func (wireBytes) Name() string { return "proto" }

// bytesTo calls a method with bytes in the place of a message.
func (m *wholeMember) bytesTo(ctx context.Context, method string, request []byte) error {
	return m.conn.Invoke(ctx, method, &request, &[]byte{}, grpc.ForceCodec(wireBytes{}))
}

// first returns the error that a watch begins with.
func (m *wholeMember) first(ctx context.Context, r *tenurev1.WatchRequest) error {
	stream, err := m.watches.Watch(ctx, r)
	if err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}
