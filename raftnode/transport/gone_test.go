package transport_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// dialer counts.
type dialer struct {
	mu    sync.Mutex // guards what follows
	dials int
}

func (d *dialer) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dials++
	return conn, err
}

// accepting is a listener whose connections the test can cut.
type accepting struct {
	net.Listener
	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func (a *accepting) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if err == nil {
		a.mu.Lock()
		a.conns = append(a.conns, conn)
		a.mu.Unlock()
	}
	return conn, err
}

// cut ends all connections as a process does that is killed.
func (a *accepting) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, conn := range a.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	a.conns = nil
}

// A peer is gone when its connection is cut and nothing listens any more.
func TestAPeerWhoseProcessEndedIsGone(t *testing.T) {
	listener := listen(t)
	var gone atomic.Uint64
	a := start(t, 1, transport.Options{Gone: func(member uint64) { gone.Store(member) }})
	b := start(t, 2, transport.Options{Listener: listener})
	meet(a, b)
	a.awaitConnected(2)
	b.killed.Store(true)
	_ = listener.Close()
	listener.cut()
	a.await("gone", func() bool { return gone.Load() == 2 })
}

// A connection that is cut says nothing about a process that answers, or that nobody can ask.
func TestAPeerThatAnswersIsNotGone(t *testing.T) {
	listener := listen(t)
	d := &dialer{}
	var gone atomic.Uint64
	a := start(t, 1, transport.Options{Dial: d.dial, Gone: func(member uint64) { gone.Store(member) }})
	b := start(t, 2, transport.Options{Listener: listener})
	meet(a, b)
	for range 3 {
		a.awaitConnected(2)
		listener.cut()
		a.await("lost", func() bool { return !a.connected(2) })
	}
	a.awaitConnected(2)
	if gone.Load() != 0 {
		t.Errorf("member %d is gone", gone.Load())
	}
}

// greeting accepts the streams of a peer, as a member would.
type greeting struct {
	peerv1.UnimplementedPeerServiceServer
}

func (greeting) Exchange(stream peerv1.PeerService_ExchangeServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if err := stream.Send(&peerv1.ExchangeResponse{}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

// A peer that says GOAWAY before it ends, as a proxy does, is not gone, though nothing listens after it.
func TestAPeerThatSaysGoodbyeIsNotGone(t *testing.T) {
	listener := listen(t).Listener
	server := grpc.NewServer()
	peerv1.RegisterPeerServiceServer(server, greeting{})
	go func() { _ = server.Serve(leaving{listener}) }()
	t.Cleanup(server.Stop)
	d := &dialer{}
	var gone atomic.Uint64
	a := start(t, 1, transport.Options{Dial: d.dial, Gone: func(member uint64) { gone.Store(member) }})
	a.SetPeers([]transport.Peer{{ID: 2, Name: "b", Starts: 7, Address: listener.Addr().String()}}, nil)
	a.awaitConnected(2)
	dials := d.count()
	server.GracefulStop() // The streams end with the connection, which ends after GOAWAY.
	a.await("tried again", func() bool { return d.count() > dials+2 })
	if gone.Load() != 0 {
		t.Errorf("member %d is gone", gone.Load())
	}
}

// leaving is a listener whose connections end as soon as they have sent GOAWAY.
type leaving struct{ net.Listener }

func (l leaving) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		return leavingConn{tcp}, err
	}
	return conn, err
}

type leavingConn struct{ *net.TCPConn }

// Write writes whole frames, as the server does.
func (c leavingConn) Write(b []byte) (int, error) {
	const header, goaway = 9, 7
	n, err := c.TCPConn.Write(b)
	for rest := b; len(rest) >= header; {
		if rest[3] == goaway {
			_ = c.CloseWrite()
		}
		rest = rest[min(len(rest), header+int(rest[0])<<16+int(rest[1])<<8+int(rest[2])):]
	}
	return n, err
}

func (d *dialer) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dials
}

func listen(t *testing.T) *accepting {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &accepting{Listener: l}
}
