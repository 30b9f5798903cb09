package transport_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// ending are credentials whose connections are valid until the test ends that.
type ending struct {
	grpccredentials.TransportCredentials

	made, open atomic.Int64

	mu   sync.Mutex // guards ends
	ends []context.CancelFunc
}

func (e *ending) Clone() grpccredentials.TransportCredentials { return e }

func (e *ending) ClientHandshake(_ context.Context, _ string, raw net.Conn) (net.Conn, grpccredentials.AuthInfo, error) {
	valid, end := context.WithCancel(context.Background())
	e.mu.Lock()
	e.ends = append(e.ends, end)
	e.mu.Unlock()
	e.made.Add(1)
	e.open.Add(1)
	return &counted{Conn: raw, end: sync.OnceFunc(func() { e.open.Add(-1) })}, lasting{valid: valid}, nil
}

// end ends what was valid until now.
func (e *ending) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, end := range e.ends {
		end()
	}
	e.ends = nil
}

type lasting struct {
	level

	valid context.Context
}

func (l lasting) Valid() context.Context { return l.valid }

// slow answers a relayed call when the test says so.
type slow struct {
	peerv1.UnimplementedRelayServiceServer

	came, answer chan struct{}
}

func (s slow) Propose(context.Context, *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
	close(s.came)
	<-s.answer
	return &peerv1.ProposeResponse{}, nil
}

// When the certificate of a peer is no longer valid, messages and new calls go over another connection at once, and a call that is under way ends on the
// one that it has.
func TestConnectionsWhoseCertificateIsNoLongerValidAreReplaced(t *testing.T) {
	dialed := &ending{TransportCredentials: insecure.NewCredentials()}
	t.Cleanup(dialed.end)
	call := slow{came: make(chan struct{}), answer: make(chan struct{})}
	a := start(t, 1, transport.Options{Security: &transport.Security{
		Server: insecure.NewCredentials(), Client: func(string, bool) grpccredentials.TransportCredentials { return dialed },
		Proves: func(grpccredentials.AuthInfo, string) error { return nil },
	}})
	b := start(t, 2, transport.Options{Services: []func(grpc.ServiceRegistrar){
		func(r grpc.ServiceRegistrar) { peerv1.RegisterRelayServiceServer(r, call) },
	}})
	answer := sync.OnceFunc(func() { close(call.answer) })
	t.Cleanup(answer)
	meet(a, b)
	a.awaitConnected(2)
	conn, err := a.Conn(2)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, failed := peerv1.NewRelayServiceClient(conn).Propose(t.Context(), &peerv1.ProposeRequest{})
		ended <- failed
	}()
	<-call.came
	if made := dialed.made.Load(); made != 2 {
		t.Errorf("connections at first: got %d, want one for messages and one for calls", made)
	}

	dialed.end()
	a.await("another connection for messages", func() bool { return dialed.made.Load() == 3 && a.connected(2) })
	if conn, err = a.Conn(2); err == nil {
		_, err = peerv1.NewPeerServiceClient(conn).Compare(t.Context(), &peerv1.CompareRequest{})
	}
	if err != nil {
		t.Error(err)
	}
	if made, open := dialed.made.Load(), dialed.open.Load(); made != 4 || open != 3 {
		t.Errorf("connections in the end: got %d made and %d open, want 4 and 3, as the call goes on", made, open)
	}
	answer()
	if err := <-ended; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
}
