package certs

import (
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

const (
	// hostsMax is how many hosts are remembered that came without TLS. The others are remembered as one, without a name.
	hostsMax = 256
	// rememberFor is how long one is remembered after its last connection ended.
	rememberFor = time.Hour
)

// Cleartext is what is known of a connection that came without TLS and was let in.
type Cleartext struct{ credentials.CommonAuthInfo }

// AuthType names it.
func (Cleartext) AuthType() string { return "cleartext" }

// inClear is what is known of such a connection.
func inClear() Cleartext {
	return Cleartext{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}
}

// strangers are those who came to a listener without TLS, by host.
type strangers struct {
	now func() time.Time

	mu   sync.Mutex // guards what follows
	all  map[string]*stranger
	came int64
}

// stranger is one of them.
type stranger struct {
	open int
	last time.Time
}

// enter counts a connection, and returns it as one that counts until it is closed.
func (s *strangers) enter(conn *opening) net.Conn {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		host = conn.RemoteAddr().String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came++
	if s.all == nil {
		s.all = map[string]*stranger{}
	}
	if s.all[host] == nil && len(s.all) >= hostsMax {
		maps.DeleteFunc(s.all, func(_ string, one *stranger) bool { return one.open == 0 && s.now().Sub(one.last) > rememberFor })
	}
	if s.all[host] == nil && len(s.all) >= hostsMax {
		host = ""
	}
	one := s.all[host]
	if one == nil {
		one = &stranger{}
		s.all[host] = one
	}
	one.open++
	one.last = s.now()
	return &clearConn{opening: conn, leave: sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.open--
		one.last = s.now()
	})}
}

// clearConn is a connection without TLS.
type clearConn struct {
	*opening
	leave func()
}

// Close closes the connection.
func (c *clearConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// counts returns how many connections without TLS came, and how many of them are open.
func (s *strangers) counts() (came int64, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		open += one.open
	}
	return s.came, open
}

// hosts returns those who have a connection without TLS, or had one within the last hour, by name. Those beyond what is remembered
// are one without a name, the first.
func (s *strangers) hosts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var hosts []string
	for host, one := range s.all {
		if one.open > 0 || s.now().Sub(one.last) <= rememberFor {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// Strangers returns the hosts that use this listener without TLS, or did within the last hour. An empty one stands for those beyond what is
// remembered.
func (h *Handshaker) Strangers() []string { return h.strangers.hosts() }

// clear reports whether a connection comes without TLS and is accepted so. It waits for its first byte.
func (h *Handshaker) clear(conn *opening) (bool, error) {
	if h.o.Cleartext == nil || !h.o.Cleartext() {
		return false, nil
	}
	err := conn.begin()
	return err == nil && !conn.speaksTLS(), err
}
