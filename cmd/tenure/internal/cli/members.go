package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// connectPatience bounds one attempt to connect to one member.
const connectPatience = 3 * time.Second

// Members finds a member that answers, and keeps one connection to it, for the commands that run the cluster itself: they speak to the
// members that the flags name, also when these are no cluster. All else goes through the Go client. A caller to whom a member gave no good answer drops
// the connection; the next caller gets one to the next member.
type Members struct {
	endpoints []string
	security  credentials.TransportCredentials
	options   []grpc.DialOption

	// turn is held while connecting, so that everybody waits for one attempt. It comes before mu.
	turn chan struct{}

	mu      sync.Mutex // Guards what follows.
	current *Link
	next    int
	closed  bool
}

// Link is a connection to one member.
type Link struct {
	*grpc.ClientConn
	Endpoint string
}

// Cluster returns the service of the cluster at the member.
func (l *Link) Cluster() tenurev1.ClusterServiceClient { return tenurev1.NewClusterServiceClient(l) }

// NewMembers returns the members at some endpoints, host:port each. It connects when somebody asks for a link.
func NewMembers(endpoints []string, security credentials.TransportCredentials, userAgent string) (*Members, error) {
	if err := checkEndpoints(endpoints); err != nil {
		return nil, err
	}
	return &Members{
		endpoints: endpoints,
		security:  security,
		options:   []grpc.DialOption{grpc.WithUserAgent(userAgent)},
		turn:      make(chan struct{}, 1),
	}, nil
}

// portDefault is the port of an endpoint that names none.
const portDefault = "7400"

// memberEndpoints returns the addresses, host:port each, that --endpoints means: a list of hosts with or without a port, or a
// connection string of the client libraries. Its namespace and parameters are refused: commands take whole keys and have flags.
func (s *security) memberEndpoints(list []string) ([]string, error) {
	text, isString := s.withoutScheme(strings.TrimSpace(strings.Join(list, ",")))
	if isString {
		text = strings.TrimSuffix(text, "/")
		if at := strings.IndexAny(text, "/?"); at >= 0 {
			return nil, UsageError("--endpoints: commands do not support a namespace or parameters in a connection string; leave out %s", Quoted(text[at:]))
		}
	}
	endpoints := strings.Split(text, ",")
	for i, endpoint := range endpoints {
		endpoints[i] = withPort(strings.TrimSpace(endpoint))
	}
	return endpoints, checkEndpoints(endpoints)
}

// withPort adds the default port to a host that stands without one.
func withPort(endpoint string) string {
	host := endpoint
	switch {
	case strings.HasPrefix(endpoint, "[") && strings.HasSuffix(endpoint, "]"):
		host = endpoint[1 : len(endpoint)-1]
	case endpoint == "" || strings.Contains(endpoint, ":"):
		return endpoint
	}
	return net.JoinHostPort(host, portDefault)
}

// checkEndpoints refuses what is not host:port, or would be something else than a member in a connection string of the Go client: there
// a port is a number.
func checkEndpoints(endpoints []string) error {
	for _, endpoint := range endpoints {
		if !isEndpoint(endpoint) {
			return UsageError("--endpoints: %s is not host:port, with the port as a number from 1 to 65535", Quoted(endpoint))
		}
	}
	return nil
}

// isEndpoint reports whether a text is host:port.
func isEndpoint(text string) bool {
	host, port, err := net.SplitHostPort(text)
	number, errPort := strconv.ParseUint(port, 10, 16)
	return err == nil && errPort == nil && number != 0 && host != "" && !strings.ContainsAny(host, " @/?,")
}

// Link returns the connection in use, or connects to the members in turn until one answers. If none does it fails with an
// *UnreachableError, at once where trying again until ctx ends does not help.
func (m *Members) Link(ctx context.Context) (*Link, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	m.mu.Lock()
	current, first := m.current, m.next
	m.mu.Unlock()
	if current != nil {
		return current, nil
	}
	for {
		unreachable := &UnreachableError{}
		for i := range m.endpoints {
			at := (first + i) % len(m.endpoints)
			l, err := m.connect(ctx, m.endpoints[at])
			if err == nil {
				return l, m.use(l, at)
			}
			if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			unreachable.endpoints = append(unreachable.endpoints, m.endpoints[at])
			unreachable.causes = append(unreachable.causes, err)
		}
		if ctx.Err() != nil || !late(unreachable.causes) {
			return nil, unreachable
		}
	}
}

// use makes l the connection in use.
func (m *Members) use(l *Link, at int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		_ = l.Close()
		return errClosed
	}
	m.current, m.next = l, at
	return nil
}

// connect returns a connection over which a member answered.
func (m *Members) connect(ctx context.Context, endpoint string) (*Link, error) {
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	tried := &attempt{cause: errNoAnswer, secured: m.security.Info().SecurityProtocol == "tls"}
	options := append([]grpc.DialOption{
		grpc.WithContextDialer(tried.dial),
		grpc.WithTransportCredentials(watched{TransportCredentials: m.security, attempt: tried}),
	}, m.options...)
	conn, err := grpc.NewClient("passthrough:///"+endpoint, options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		failed := state == connectivity.TransientFailure
		if failed || !conn.WaitForStateChange(ctx, state) {
			_ = conn.Close()
			return nil, tried.why(failed)
		}
	}
	return &Link{ClientConn: conn, Endpoint: endpoint}, nil
}

// drop closes a connection that gave no good answer; the next link goes to the next member.
func (m *Members) drop(l *Link) {
	if l == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current == l {
		m.current = nil
		m.next = (m.next + 1) % len(m.endpoints)
	}
	_ = l.Close()
}

// Close closes the connection; no link is given after.
func (m *Members) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.current != nil {
		_ = m.current.Close()
		m.current = nil
	}
}
