package rig

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// datagramBytesMax is how long a datagram of gossip may be.
const datagramBytesMax = 64 << 10

// GossipNet passes on the gossip of nodes, and does faults to it. Each node listens at an address of its own and is reached through a link.
type GossipNet struct {
	t       testing.TB
	host    string       // where nodes listen
	ports   map[int]bool // that nodes have
	running sync.WaitGroup

	mu    sync.Mutex // Guards what follows.
	links []*GossipLink
	cut   map[string]bool // Addresses of nodes to and from which no datagram passes.
	lost  float64         // Share of the datagrams that get lost.
	drops int             // Datagrams that got lost.
}

// GossipLink is what others reach a node through.
type GossipLink struct {
	node   string // Where the node listens.
	stream *Proxy
	packet net.PacketConn
}

// NewGossipNet returns a net without nodes. It ends with the test.
func NewGossipNet(t testing.TB) *GossipNet {
	n := &GossipNet{t: t, host: "127.0.0.1", ports: map[int]bool{}, cut: map[string]bool{}}
	if net := loopbackNet(); net != "" {
		n.host = net + ".1"
	}
	t.Cleanup(func() {
		for _, l := range n.links {
			_ = l.packet.Close()
			l.stream.Close()
		}
		n.running.Wait()
	})
	return n
}

// Link returns the link of a node that is to be started with its Flags.
func (n *GossipNet) Link(ctx context.Context) *GossipLink {
	n.t.Helper()
	var err error
	for range 100 {
		var l *GossipLink
		if l, err = n.newLink(ctx); err != nil {
			continue // Another program has the same port for UDP.
		}
		n.mu.Lock()
		n.links = append(n.links, l)
		n.mu.Unlock()
		n.running.Go(func() { n.pass(l) })
		return l
	}
	n.t.Fatalf("make a link for gossip: %v", err)
	return nil
}

func (n *GossipNet) newLink(ctx context.Context) (*GossipLink, error) {
	stream, err := NewProxy(ctx)
	if err != nil {
		return nil, err
	}
	packet, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", stream.Address())
	if err != nil {
		stream.Close()
		return nil, err
	}
	node, err := n.free(ctx)
	if err != nil {
		stream.Close()
		_ = packet.Close()
		return nil, err
	}
	stream.SetTarget(node)
	return &GossipLink{node: node, stream: stream, packet: packet}, nil
}

// errTaken means that another node has a port.
var errTaken = errors.New("another node has the port")

// free returns an address where nothing listens, over TCP or UDP, with a port that kernels give to no program that asks for any.
func (n *GossipNet) free(ctx context.Context) (string, error) {
	port := portMin + rand.IntN(portMax-portMin+1) //nolint:gosec // Addresses need no secret.
	if n.ports[port] {
		return "", errTaken
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(n.host, strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	n.ports[port] = true
	defer func() { _ = listener.Close() }()
	packet, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", listener.Addr().String())
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), packet.Close()
}

// Flags are those of a member or an agent for gossip over the link.
func (l *GossipLink) Flags() []string {
	return []string{"--gossip", l.node, "--advertise-gossip", l.stream.Address()}
}

// pass passes on the datagrams to a node.
func (n *GossipNet) pass(l *GossipLink) {
	node, err := net.ResolveUDPAddr("udp", l.node)
	if err != nil {
		n.t.Error(err)
		return
	}
	data := make([]byte, datagramBytesMax)
	for {
		size, from, err := l.packet.ReadFrom(data)
		if err != nil {
			return
		}
		if n.loses(from.String(), l.node) {
			continue
		}
		_, _ = l.packet.WriteTo(data[:size], node) // What a node does not take is lost, as on any network.
	}
}

// loses reports whether a datagram gets lost.
func (n *GossipNet) loses(from, to string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	lost := n.cut[from] || n.cut[to] || rand.Float64() < n.lost //nolint:gosec // Spreads losses.
	if lost {
		n.drops++
	}
	return lost
}

// CutOff drops all gossip to and from a node until Heal. Meanwhile no node reaches another one over TCP, because who connects cannot be seen.
func (n *GossipNet) CutOff(l *GossipLink) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[l.node] = true
	for _, other := range n.links {
		other.stream.Refuse()
	}
}

// Lose drops a share of all datagrams until Heal.
func (n *GossipNet) Lose(share float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost = share
}

// Heal ends all faults, and returns how many datagrams got lost so far.
func (n *GossipNet) Heal() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost, n.cut = 0, map[string]bool{}
	for _, l := range n.links {
		l.stream.Heal()
	}
	return n.drops
}
