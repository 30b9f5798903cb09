package conn

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
)

// sizeOfFirst is how many of a member's first bytes are kept, to tell what it speaks.
const sizeOfFirst = 5

// heard is what is known of one attempt to connect: why it failed, or how much came since.
type heard struct {
	reads atomic.Uint64 // How often something came, once TLS or none was agreed on.

	mu    sync.Mutex // Guards what follows.
	cause error      // Of dialing, or of TLS.
	first *listening // The connection, once TLS or none was agreed on.
}

func (h *heard) fail(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cause = cause
}

// why returns why the attempt failed. Late tells that its time was over.
func (h *heard) why(late bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.cause != nil:
		return h.cause
	case h.first != nil:
		return h.first.why()
	case late:
		return errLate
	default:
		return &CauseError{text: textOther}
	}
}

// listeningTo are credentials that note why TLS fails, and what is said first.
type listeningTo struct {
	credentials.TransportCredentials

	heard *heard
}

// Clone returns a copy.
func (l *listeningTo) Clone() credentials.TransportCredentials {
	return &listeningTo{TransportCredentials: l.TransportCredentials.Clone(), heard: l.heard}
}

// ClientHandshake agrees on TLS, or on none.
func (l *listeningTo) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c, info, err := l.TransportCredentials.ClientHandshake(ctx, authority, raw)
	switch {
	case err != nil && ctx.Err() == nil:
		l.heard.fail(handshakeCause(err))
	case err != nil:
		l.heard.fail(errLate)
	default: // With TLS 1.3 a member says only now that it refuses the client's certificate.
		first := &listening{Conn: c, reads: &l.heard.reads, secured: info.AuthType() != "insecure"}
		l.heard.mu.Lock()
		l.heard.first = first
		l.heard.mu.Unlock()
		c = first
	}
	return c, info, err
}

// listening is a connection that keeps the first bytes that come, and the first error.
type listening struct {
	net.Conn

	reads   *atomic.Uint64
	secured bool // Whether by TLS.

	mu    sync.Mutex // Guards what follows.
	first []byte
	err   error
}

// Read reads.
func (l *listening) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if n > 0 {
		l.reads.Add(1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if missing := sizeOfFirst - len(l.first); missing > 0 {
		l.first = append(l.first, b[:min(n, missing)]...)
	}
	if l.err == nil {
		l.err = err
	}
	return n, err
}

// why returns why who is at the other end is no member.
func (l *listening) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.secured {
		return securedCause(l.first, l.err)
	}
	return answerCause(l.first, l.err)
}
