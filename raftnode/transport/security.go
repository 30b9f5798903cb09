package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpcpeer "google.golang.org/grpc/peer"
)

// Security says how members are sure of each other.
type Security struct {
	// Server accepts connections of members, and of nobody else.
	Server credentials.TransportCredentials
	// Client connects to the member of a name, and to nobody else; without a name to any member. Without TLS it connects at most to one that
	// is not known to speak it.
	Client func(name string, speaksTLS bool) credentials.TransportCredentials
	// Proves returns an error unless whoever is at the other end of a connection is the member of a name.
	Proves func(info credentials.AuthInfo, name string) error
	// Refused is told of calls that are refused because of who makes them: where it came from, and the reason as it is on the wire. It
	// must not block; nil is not told.
	Refused func(address net.Addr, reason string)
}

// tell tells of a call that is refused because of who makes it.
func (s *Security) tell(ctx context.Context, err error) {
	if s == nil || s.Refused == nil {
		return
	}
	for _, about := range []error{ErrNotProven, ErrRemoved, ErrJoinToken} {
		if from, ok := grpcpeer.FromContext(ctx); ok && errors.Is(err, about) {
			s.Refused(from.Addr, reasonOf(about))
			return
		}
	}
}

// dials returns what a peer is dialed with.
func (s *Security) dials(at Peer) credentials.TransportCredentials {
	if s == nil {
		return insecure.NewCredentials()
	}
	return s.Client(at.Name, at.SpeaksTLS)
}

// tells has a connection to a peer tell when what that has shown is no longer valid.
func (s *Security) tells(at Peer, outlived func()) grpc.DialOption {
	return grpc.WithTransportCredentials(outliving{TransportCredentials: s.dials(at), outlived: outlived})
}

// withoutTLS reports whether a stream goes over a connection that is not secured.
func withoutTLS(stream grpc.ClientStream) bool {
	to, ok := grpcpeer.FromContext(stream.Context())
	if !ok {
		return false
	}
	info, ok := to.AuthInfo.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	})
	return ok && info.GetCommonAuthInfo().SecurityLevel == credentials.NoSecurity
}

// lasting is what is known of a connection as long as what its other side has shown is valid. The context ends then, and the connection soon after.
type lasting interface{ Valid() context.Context }

// outliving are credentials that tell when what the other side has shown is no longer valid.
type outliving struct {
	credentials.TransportCredentials
	outlived func()
}

// ClientHandshake makes a handshake.
func (o outliving) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := o.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if valid, ok := info.(lasting); ok && err == nil {
		context.AfterFunc(valid.Valid(), o.outlived) //nolint:contextcheck // It is the connection's life.
	}
	return conn, info, err
}

// Clone copies the credentials.
func (o outliving) Clone() credentials.TransportCredentials {
	return outliving{TransportCredentials: o.TransportCredentials.Clone(), outlived: o.outlived}
}

// pinning are credentials whose connections are each for one member.
type pinning struct {
	credentials.TransportCredentials
}

// ServerHandshake makes a handshake.
func (p pinning) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := p.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	return conn, &pin{AuthInfo: info}, nil
}

// Clone copies the credentials.
func (p pinning) Clone() credentials.TransportCredentials {
	return pinning{TransportCredentials: p.TransportCredentials.Clone()}
}

// pin is what is known of a connection: how it was secured, and whose it is since its first call.
type pin struct {
	credentials.AuthInfo

	mu     sync.Mutex // guards what follows
	taken  bool
	member uint64
	name   string
}

// take makes a connection that of a member with a name, unless it is another's.
func (p *pin) take(member uint64, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken && (p.member != member || p.name != name) {
		return fmt.Errorf("%w: the connection is that of member %x (%q), not %x (%q)", ErrNotProven, p.member, p.name, member, name)
	}
	p.taken, p.member, p.name = true, member, name
	return nil
}

// prove refuses a call whose connection is not that of the member of a name. Without security all are believed.
func (t *Transport) prove(ctx context.Context, name string) (*pin, error) {
	if t.o.Security == nil {
		return nil, nil //nolint:nilnil // There is nothing to pin.
	}
	from, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return nil, fmt.Errorf("%w: nothing is known of the connection", ErrNotProven)
	}
	p, ok := from.AuthInfo.(*pin)
	if !ok {
		return nil, fmt.Errorf("%w: nothing is known of the connection", ErrNotProven)
	}
	if err := t.o.Security.Proves(p.AuthInfo, name); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProven, err)
	}
	return p, nil
}

// proveCaller refuses a caller that does not prove its name, and makes the connection its own.
func (t *Transport) proveCaller(ctx context.Context, c caller) error {
	p, err := t.prove(ctx, c.name)
	if p == nil || err != nil {
		return err
	}
	return p.take(c.from, c.name)
}

// proveAnswer refuses what a member says of itself that it does not prove: its name, and the id that has another name here.
func (t *Transport) proveAnswer(info credentials.AuthInfo, id uint64, name string) error {
	if t.o.Security == nil {
		return nil
	}
	t.mu.RLock()
	if p := t.peers[id]; p != nil && p.recorded != "" {
		name = p.recorded
	}
	t.mu.RUnlock()
	if err := t.o.Security.Proves(info, name); err != nil {
		return fmt.Errorf("%w: %w", ErrNotProven, err)
	}
	return nil
}
