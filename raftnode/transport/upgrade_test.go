package transport_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	raftpb "go.etcd.io/raft/v3/raftpb"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// handshakes are the connections that a member has dialed.
type handshakes struct {
	clear, secured atomic.Int64 // that are open
}

// client returns credentials that know of TLS as little as the peer is known to speak it.
func (h *handshakes) client(_ string, speaksTLS bool) grpccredentials.TransportCredentials {
	c := dialing{TransportCredentials: insecure.NewCredentials(), open: &h.clear, level: grpccredentials.NoSecurity}
	if speaksTLS {
		c.open, c.level = &h.secured, grpccredentials.PrivacyAndIntegrity
	}
	return c
}

type dialing struct {
	grpccredentials.TransportCredentials

	open  *atomic.Int64
	level grpccredentials.SecurityLevel
}

func (c dialing) Clone() grpccredentials.TransportCredentials { return c }

func (c dialing) ClientHandshake(_ context.Context, _ string, raw net.Conn) (net.Conn, grpccredentials.AuthInfo, error) {
	c.open.Add(1)
	return &counted{Conn: raw, end: sync.OnceFunc(func() { c.open.Add(-1) })}, level{grpccredentials.CommonAuthInfo{SecurityLevel: c.level}}, nil
}

type counted struct {
	net.Conn

	end func()
}

func (c *counted) Close() error {
	c.end()
	return c.Conn.Close()
}

type level struct{ grpccredentials.CommonAuthInfo }

func (level) AuthType() string { return "test" }

// A peer that was met without TLS, as it spoke none before it was restarted, is met with TLS once it says that it does; and its connections
// for calls are replaced.
func TestAPeerThatBeginsToSpeakTLSIsMetAgain(t *testing.T) {
	var dialed handshakes
	security := func(h *handshakes) *transport.Security {
		return &transport.Security{
			Server: insecure.NewCredentials(), Client: h.client,
			Proves: func(grpccredentials.AuthInfo, string) error { return nil },
		}
	}
	a, b := start(t, 1, transport.Options{Security: security(&dialed)}), start(t, 2, transport.Options{Security: security(&handshakes{})})
	meet(a, b)
	call := func() {
		t.Helper()
		conn, err := a.Conn(2)
		if err == nil {
			_, err = peerv1.NewPeerServiceClient(conn).Compare(t.Context(), &peerv1.CompareRequest{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a.awaitConnected(2)
	call()
	if without, with := dialed.clear.Load(), dialed.secured.Load(); without != 2 || with != 0 {
		t.Fatalf("open at first: %d without and %d with TLS, want 2 and 0", without, with)
	}

	// Restarted with TLS it is met again before it introduces itself, which it does where it connects.
	b.stop()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", b.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	introduces := make(chan struct{})
	again := start(t, 2, transport.Options{
		Listener: listener, Security: security(&handshakes{}),
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			select {
			case <-introduces:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	})
	again.self.Member = &storev1.Member{
		Id: 2, Incarnation: b.self.Member.GetIncarnation(), Starts: transport.NextStarts(b.self.Member.GetStarts(), 9), Name: name(2),
		PeerAddress: listener.Addr().String(), PeerSecurity: storev1.ListenerSecurity_LISTENER_SECURITY_TLS_OR_CLEARTEXT,
	}
	again.SetSelf(again.self)
	again.SetPeers([]transport.Peer{a.peer()}, nil)
	again.await("to be met", func() bool {
		a.Send([]*raftpb.Message{message(raftpb.MsgHeartbeat, 1, 2, 7)})
		return len(again.received) > 0
	})
	call()
	if without, with := dialed.clear.Load(), dialed.secured.Load(); without != 2 || with != 0 {
		t.Errorf("open before it introduced itself: %d without and %d with TLS, want 2 and 0", without, with)
	}
	close(introduces)
	a.await("a connection with TLS", func() bool { return dialed.secured.Load() == 1 && a.connected(2) })
	call()
	// The one for calls stays for those that are under way.
	a.await("the end of the one without that carries messages", func() bool { return dialed.clear.Load() == 1 })
	if secured := dialed.secured.Load(); secured != 2 {
		t.Errorf("open at last: %d with TLS, want 2", secured)
	}
}

// The connection for snapshots that was made without TLS to a peer that speaks it ends with the last snapshot on it, and soon without one.
func TestTheConnectionForSnapshotsWithoutTLSEndsWithTheLastOfThem(t *testing.T) {
	for what, goesOn := range map[string]bool{"a snapshot is under way": true, "none is": false} {
		t.Run(what, func(t *testing.T) {
			var dialed handshakes
			a := start(t, 1, transport.Options{Security: &transport.Security{
				Server: insecure.NewCredentials(), Client: dialed.client,
				Proves: func(grpccredentials.AuthInfo, string) error { return nil },
			}})
			b := start(t, 2, transport.Options{})
			meet(a, b)
			a.awaitConnected(2)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// Any stream will do that the peer does not end by itself.
			conn, err := a.SnapshotConn(2)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := peerv1.NewPeerServiceClient(conn).Exchange(ctx)
			if err == nil {
				err = stream.Send(&peerv1.ExchangeRequest{})
			}
			if err == nil {
				_, err = stream.Recv()
			}
			if err != nil {
				t.Fatal(err)
			}
			if !goesOn {
				cancel()
				_, _ = stream.Recv()
			}
			speaks := b.peer()
			speaks.SpeaksTLS = true
			a.SetPeers([]transport.Peer{speaks}, nil)
			a.await("a connection with TLS", func() bool { return dialed.secured.Load() == 1 && a.connected(2) })
			if goesOn {
				if without := dialed.clear.Load(); without != 1 {
					t.Errorf("without TLS are %d while a snapshot is under way, want its connection only", without)
				}
				cancel()
			}
			a.await("the end of all without TLS", func() bool { return dialed.clear.Load() == 0 })
		})
	}
}

// A snapshot may begin on the connection that its sender got just before there was a reason for another.
func TestASnapshotBeginsOnTheConnectionThatItGot(t *testing.T) {
	a, b := start(t, 1, transport.Options{Security: &transport.Security{
		Server: insecure.NewCredentials(), Client: new(handshakes).client,
		Proves: func(grpccredentials.AuthInfo, string) error { return nil },
	}}), start(t, 2, transport.Options{})
	meet(a, b)
	a.awaitConnected(2)
	conn, err := a.SnapshotConn(2)
	if err != nil {
		t.Fatal(err)
	}
	speaks := b.peer()
	speaks.SpeaksTLS = true
	a.SetPeers([]transport.Peer{speaks}, nil)
	if _, err = peerv1.NewPeerServiceClient(conn).Exchange(t.Context()); err != nil {
		t.Errorf("after there was a reason for another connection: %v", err)
	}
}

// A member that is known to speak TLS is also asked who it is with TLS, and so is one that is asked to have a member added: that has a token.
func TestAPeerThatSpeaksTLSIsAskedWithTLS(t *testing.T) {
	var dialed handshakes
	var with, without atomic.Int64
	a := start(t, 1, transport.Options{Security: &transport.Security{
		Server: insecure.NewCredentials(),
		Client: func(name string, speaksTLS bool) grpccredentials.TransportCredentials {
			switch {
			case name != "": // It carries messages.
			case speaksTLS:
				with.Add(1)
			default:
				without.Add(1)
			}
			return dialed.client(name, speaksTLS)
		},
		Proves: func(grpccredentials.AuthInfo, string) error { return nil },
	}})
	b, c := start(t, 2, transport.Options{}), start(t, 3, transport.Options{})
	speaks := b.peer()
	speaks.SpeaksTLS = true
	a.SetPeers([]transport.Peer{speaks, c.peer()}, nil)
	for _, e := range []*end{b, c} {
		if _, err := a.Probe(t.Context(), e.peer().Address, &peerv1.ProbeRequest{}); err != nil {
			t.Fatal(err)
		}
		_, _ = a.Join(t.Context(), e.peer().Address, &peerv1.JoinRequest{}) // It is refused.
	}
	if with.Load() != 2 || without.Load() != 2 {
		t.Errorf("got %d with TLS and %d without, want two of each", with.Load(), without.Load())
	}
}
