package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// changing is a client that shows the certificate that it has at the time of a handshake.
type changing struct {
	config        *tls.Config
	pair          atomic.Pointer[tls.Certificate]
	dials, closes atomic.Int64 // of its connections
}

// dial connects, and counts.
func (c *changing) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		c.dials.Add(1)
	}
	return &closing{Conn: conn, closes: &c.closes}, err
}

// closing is a connection of a client whose end is counted.
type closing struct {
	net.Conn
	once   sync.Once
	closes *atomic.Int64
}

func (c *closing) Close() error {
	c.once.Do(func() { c.closes.Add(1) })
	return c.Conn.Close()
}

func newChanging(t *testing.T, a *authority, name string) *changing {
	t.Helper()
	config, err := a.dialing("").Config()
	if err != nil {
		t.Fatal(err)
	}
	c := &changing{config: config}
	c.take(t, a, name)
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.pair.Load(), nil }
	return c
}

// take has the client show another certificate from now on.
func (c *changing) take(t *testing.T, a *authority, name string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.path(name+".crt"), a.path(name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	c.pair.Store(&pair)
}

// grpc connects over gRPC.
func (c *changing) grpc(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(c.config.Clone())), grpc.WithContextDialer(c.dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// http returns a client of a version of HTTP.
func (c *changing) http(t *testing.T, version int) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: c.config.Clone(), ForceAttemptHTTP2: version == 2,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return c.dial(ctx, address) },
	}
	transport.TLSClientConfig.NextProtos = nil
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// twoCAs is a member that accepts clients and members with certificates of two CAs, until it is told to forget one.
type twoCAs struct {
	*member
	t        *testing.T
	old, new *authority
	reload   chan os.Signal
}

func startWithTwoCAs(t *testing.T) *twoCAs {
	t.Helper()
	c := &twoCAs{t: t, old: newAuthority(t), new: newAuthority(t), reload: make(chan os.Signal)}
	c.new.member("a", 0)
	c.old.client("c")
	c.new.client("c")
	both := bytes.Join([][]byte{c.file(c.old.path("ca.crt")), c.file(c.new.path("ca.crt"))}, nil)
	c.write(c.new.path("clients.crt"), both)
	c.member = startMember(t, c.new.secure("a"), func(config *server.Config) {
		config.Name = "a"
		c.new.securePeers(config)
		config.TLS.ClientCAFile, config.TLS.PeerCAFile, config.TLS.Reload = c.new.path("clients.crt"), c.new.path("clients.crt"), c.reload
	})
	return c
}

func (c *twoCAs) file(path string) []byte {
	c.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	return data
}

func (c *twoCAs) write(path string, data []byte) {
	c.t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// forget has the member accept certificates of the new CA only.
func (c *twoCAs) forget() {
	c.t.Helper()
	c.write(c.new.path("clients.crt"), c.file(c.new.path("ca.crt")))
	c.reload <- os.Interrupt // Whatever it is.
}

// dialer returns a client that trusts the member, and shows the certificate of a CA.
func (c *twoCAs) dialer(shows *authority) *changing {
	c.t.Helper()
	client := newChanging(c.t, c.new, "c")
	client.take(c.t, shows, "c")
	return client
}

// TestAConnectionWhoseCAIsForgottenIsReplaced removes a CA while clients use connections that were made with its certificates, and have others
// by now. No call of theirs fails, and each of them is on another connection in the end.
func TestAConnectionWhoseCAIsForgottenIsReplaced(t *testing.T) {
	c := startWithTwoCAs(t)
	clients := map[string]func(*changing) (call func() error){
		"gRPC": func(client *changing) func() error {
			kv := tenurev1.NewKVServiceClient(client.grpc(t, c.at.GRPC))
			return func() error {
				_, err := kv.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")})
				return err
			}
		},
		"HTTP/1.1": func(client *changing) func() error { return c.gets(client.http(t, 1)) },
		"HTTP/2":   func(client *changing) func() error { return c.gets(client.http(t, 2)) },
	}
	replaced := map[string]func() bool{}
	for name, start := range clients {
		client := c.dialer(c.old)
		call := start(client)
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		client.take(t, c.new, "c")
		replaced[name] = func() bool {
			if err := call(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return client.dials.Load() == 2 && client.closes.Load() == 1
		}
	}
	c.forget()
	for name, done := range replaced {
		await(t, "another connection carries the calls over "+name, done)
	}
}

// gets returns a call that reads a key over HTTP.
func (c *twoCAs) gets(client *http.Client) func() error {
	return func() error {
		answer, err := client.Get("https://" + c.at.HTTP + "/readyz")
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		return err
	}
}

// TestStreamsEndWhenTheirCAIsForgotten has streams on connections with a certificate that is no longer valid. They end with a reason by which
// clients continue elsewhere; with that certificate nobody comes in again. Connections of others stay.
func TestStreamsEndWhenTheirCAIsForgotten(t *testing.T) {
	c := startWithTwoCAs(t)
	gone, stays := c.dialer(c.old), c.dialer(c.new)
	watch := func(client *changing) grpc.ServerStreamingClient[tenurev1.WatchResponse] {
		t.Helper()
		stream, err := tenurev1.NewWatchServiceClient(client.grpc(t, c.at.GRPC)).Watch(t.Context(), &tenurev1.WatchRequest{Keys: []string{"k"}})
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	ending, staying := watch(gone), watch(stays)
	line, err := tenurev1.NewLineServiceClient(gone.grpc(t, c.at.GRPC)).Line(t.Context())
	if err == nil {
		_, err = line.Recv() // limits
	}
	if err != nil {
		t.Fatal(err)
	}
	// One waits for a lock, and would leave its place if it went away.
	locks := tenurev1.NewLockServiceClient(stays.grpc(t, c.at.GRPC))
	sessions := tenurev1.NewSessionServiceClient(stays.grpc(t, c.at.GRPC))
	var ids []string
	for range 2 {
		created, failed := sessions.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
		if failed != nil {
			t.Fatal(failed)
		}
		ids = append(ids, created.GetSessionId())
	}
	if _, err = locks.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "lock", SessionId: ids[0]}); err != nil {
		t.Fatal(err)
	}
	waiting, err := tenurev1.NewLockServiceClient(gone.grpc(t, c.at.GRPC)).AcquireLock(t.Context(), &tenurev1.AcquireLockRequest{
		Key: "lock", SessionId: ids[1], LeaveOnDisconnect: new(true),
	})
	if err == nil {
		_, err = waiting.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.forget()
	ends := func(name string, err error) {
		t.Helper()
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no longer valid; connect again") {
			t.Errorf("%s ended with %v, want that it is to connect again", name, err)
		}
	}
	for err == nil {
		_, err = ending.Recv()
	}
	ends("the watch", err)
	for err = nil; err == nil; {
		_, err = waiting.Recv()
	}
	ends("the wait", err)
	if lock, failed := locks.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: "lock"}); failed != nil || lock.GetLock().GetWaiters() != 1 {
		t.Errorf("got %v, %v; want that the wait has kept its place", lock, failed)
	}
	drained := false
	for err = nil; err == nil; {
		var message *tenurev1.LineResponse
		message, err = line.Recv()
		drained = drained || message.GetDrain() != nil
	}
	ends("the line", err)
	if !drained {
		t.Error("the line ended without having said that it takes no more calls")
	}
	if _, err = tenurev1.NewKVServiceClient(gone.grpc(t, c.at.GRPC)).Get(t.Context(), &tenurev1.GetRequest{Key: "k"}); err == nil {
		t.Error("a client with the certificate of the forgotten CA is served")
	}
	if _, err = tenurev1.NewKVServiceClient(stays.grpc(t, c.at.GRPC)).Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	for {
		message, err := staying.Recv()
		if err != nil {
			t.Fatalf("the watch of another client ended: %v", err)
		}
		if len(message.GetEvents().GetEvents()) > 0 {
			return
		}
	}
}
