package gate

import (
	"errors"
	"net"
	"sync"

	"github.com/tenure-io/tenure/internal/share"
)

// Files are descriptors, as connections are: what the store needs is kept back.
const (
	// storeFiles is what the store, the log and their snapshots have open at most.
	storeFiles = 4096
	// connectionsMaxDefault bounds connections where there are descriptors for more.
	connectionsMaxDefault = 64 << 10
	// peerConnectionsShare is which part of the connections other members get.
	peerConnectionsShare = 8
)

// ConnectionsFor returns how many connections a process of so many descriptors can have. One of few keeps half for its store.
func ConnectionsFor(files uint64) int {
	if files == 0 {
		return connectionsMaxDefault
	}
	return int(min(files-min(files/2, storeFiles), connectionsMaxDefault))
}

// Listener takes connections that callers have a share for, and closes the others at once.
type Listener struct {
	net.Listener
	Callers share.Callers
	Pool    *share.Pool
}

// Accept returns the next connection that is within its caller's share.
func (l Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		caller := l.Callers.Of(conn.RemoteAddr())
		if l.Pool.Take(caller, 1) {
			boundUnsent(conn)
			return &sharedConn{Conn: conn, give: sync.OnceFunc(func() { l.Pool.Give(caller, 1) })}, nil
		}
		_ = conn.Close() // It said nothing yet.
	}
}

// sharedConn is a connection that takes from a share until it is closed.
type sharedConn struct {
	net.Conn
	give func()
}

// CloseWrite ends what is sent, and leaves open what is received.
func (c *sharedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close closes the connection.
func (c *sharedConn) Close() error {
	defer c.give()
	return c.Conn.Close()
}
