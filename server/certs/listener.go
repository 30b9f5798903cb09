package certs

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Listener returns a listener whose connections have made their handshakes: each makes it on a goroutine of its own, so that
// a silent one holds up nobody. Close ends those under way, and waits for them. A nil Handshaker is without TLS, and leaves the listener as it is.
func (h *Handshaker) Listener(inner net.Listener) net.Listener {
	if h == nil {
		return inner
	}
	return listen(inner, h.handshake)
}

// Patient returns a listener for a gRPC server with Credentials, whose connections have begun their handshakes: what a server keeps of a
// connection that was accepted is much more than what is kept here of one that says nothing. Close ends those that have not begun, and
// waits for them. A nil Handshaker is without TLS, and leaves the listener as it is, as it does one that is not there.
func (h *Handshaker) Patient(inner net.Listener) net.Listener {
	if h == nil || inner == nil {
		return inner
	}
	return listen(inner, h.await)
}

// listen returns a listener that prepares each connection on a goroutine of its own, until ctx ends.
func listen(inner net.Listener, prepare func(ctx context.Context, raw net.Conn) (net.Conn, error)) net.Listener {
	l := &listener{Listener: inner, prepare: prepare, ready: make(chan accepted)}
	l.life, l.end = context.WithCancel(context.Background())
	l.running.Go(l.run)
	return l
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

type listener struct {
	net.Listener
	prepare func(ctx context.Context, raw net.Conn) (net.Conn, error)
	ready   chan accepted
	life    context.Context //nolint:containedctx // It is the listener's own: a net.Listener is given none.
	end     context.CancelFunc
	running sync.WaitGroup
}

// run accepts connections until the listener is closed.
func (l *listener) run() {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			if !l.hand(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue // Whoever accepts decides how long it waits.
		}
		l.running.Go(func() {
			conn, err := l.prepare(l.life, raw)
			switch {
			case err != nil:
				_ = raw.Close()
			case !l.hand(accepted{conn: conn}):
				_ = conn.Close()
			}
		})
	}
}

// hand gives something to whoever accepts; it reports false if the listener was closed before.
func (l *listener) hand(a accepted) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.life.Done():
		return false
	}
}

// Accept returns the next connection that is prepared.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.life.Done():
		return nil, net.ErrClosed
	}
}

// Close closes the listener.
func (l *listener) Close() error {
	l.end()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}
