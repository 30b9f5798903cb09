package memnet

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

// errRefused says that nobody listens at an address.
var errRefused = errors.New("connection refused")

// Net is a network of members.
type Net struct {
	mu      sync.Mutex // Guards what follows.
	members map[string]*Member
}

// Member is what listens at one address. It is a grpc.ServiceRegistrar.
type Member struct {
	mu        sync.Mutex // Guards what follows.
	services  map[string]service
	refusing  bool
	silent    chan struct{} // Closed while messages pass; nil means that they do.
	conns     map[*connection]struct{}
	connected int
}

// service is an implementation with its description.
type service struct {
	description *grpc.ServiceDesc
	server      any
}

// New returns an empty network.
func New() *Net { return &Net{members: map[string]*Member{}} }

// Listen adds a member at an address.
func (n *Net) Listen(address string) *Member {
	m := &Member{services: map[string]service{}, conns: map[*connection]struct{}{}}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.members[address] = m
	return m
}

// RegisterService adds a service, for calls that come later.
func (m *Member) RegisterService(description *grpc.ServiceDesc, server any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.services[description.ServiceName] = service{description: description, server: server}
}

// Dial connects to a member.
func (n *Net) Dial(ctx context.Context, address string) (conn.Transport, error) {
	n.mu.Lock()
	m := n.members[address]
	n.mu.Unlock()
	if m == nil {
		return nil, errRefused
	}
	if err := m.pass(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refusing {
		return nil, errRefused
	}
	c := newConnection(m)
	m.conns[c] = struct{}{}
	m.connected++
	return c, nil
}

// Refuse cuts all connections, and refuses new ones until told otherwise.
func (m *Member) Refuse(refusing bool) {
	m.mu.Lock()
	m.refusing = refusing
	m.mu.Unlock()
	if refusing {
		m.Cut()
	}
}

// Cut breaks all connections; new ones may come.
func (m *Member) Cut() {
	m.mu.Lock()
	conns := m.conns
	m.conns = map[*connection]struct{}{}
	m.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

// Silence holds back every message to and from the member, and every new connection, until told otherwise.
func (m *Member) Silence(silent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case silent && m.silent == nil:
		m.silent = make(chan struct{})
	case !silent && m.silent != nil:
		close(m.silent)
		m.silent = nil
	}
}

// pass waits until messages pass.
func (m *Member) pass(ctx context.Context) error {
	for {
		m.mu.Lock()
		silent := m.silent
		m.mu.Unlock()
		if silent == nil {
			return nil
		}
		select {
		case <-silent:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Conns returns how many connections there are.
func (m *Member) Conns() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.conns)
}

// Connected returns how many connections there ever were.
func (m *Member) Connected() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.connected
}

func (m *Member) forget(c *connection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
}
