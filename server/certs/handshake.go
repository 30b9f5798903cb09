package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenure-io/tenure/internal/share"
)

const (
	// handshakeTimeoutDefault is when a handshake must have ended.
	handshakeTimeoutDefault = 5 * time.Second
	// handshakesMaxDefault is how many may be under way on one listener.
	handshakesMaxDefault = 4096
	// lingerDefault is how long a connection whose handshake was refused stays open for the other side to hear why.
	lingerDefault = time.Second
)

// errNoRoom says that a caller has too many handshakes under way.
var errNoRoom = errors.New("too many handshakes in progress")

// errLeft says that a caller closed the connection and had said nothing, as those do who only look whether a port is open.
var errLeft = errors.New("closed without a word")

// errNoHTTP2 says that a caller did not offer HTTP/2, which gRPC speaks.
var errNoHTTP2 = errors.New("HTTP/2 was not agreed on")

// noCertificate is what crypto/tls says of a client that shows none although it has to; it has no type for that.
const noCertificate = "didn't provide a certificate"

// cause is why a handshake failed.
type cause int

const (
	causeTime        cause = iota // it did not end in time
	causeRoom                     // its caller had too many under way
	causeNotTLS                   // the other side does not speak TLS
	causeCertificate              // the other side's certificate is not valid, not that of a member, or missing
	causeRefused                  // the other side refused, most likely our certificate
	causeClosed                   // the other side closed the connection and had said nothing
	causeCut                      // the other side closed the connection in the middle of the handshake
	causeOther

	causes
)

// String names the cause, for a metric.
func (c cause) String() string {
	return [...]string{"time", "room", "not_tls", "certificate", "refused", "closed", "cut", "other"}[c]
}

// causeOf returns why a handshake failed.
func causeOf(err error) cause {
	var record tls.RecordHeaderError
	var verification *tls.CertificateVerificationError
	var op *net.OpError
	var timed interface{ Timeout() bool }
	switch {
	case errors.Is(err, errNoRoom):
		return causeRoom
	case errors.As(err, &record):
		return causeNotTLS
	case errors.Is(err, errLeft):
		return causeClosed
	case errors.As(err, &verification), errors.Is(err, ErrNotMember), errors.Is(err, ErrOtherMember), strings.Contains(err.Error(), noCertificate):
		return causeCertificate
	case errors.As(err, &timed) && timed.Timeout():
		return causeTime
	case isCut(err):
		return causeCut
	case errors.As(err, &op) && op.Op == "remote error": // as crypto/tls calls an alert that came
		return causeRefused
	default:
		return causeOther
	}
}

// isCut reports whether an error says that the other side closed the connection.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// ListenOptions say how those who connect to one listener are met.
type ListenOptions struct {
	// Name names the listener in logs.
	Name string
	// Auth says what is asked of those who connect; empty is AuthNone. Without a CA nothing is asked.
	Auth ClientAuth
	// Callers tells callers apart, who share the handshakes that may be under way.
	Callers share.Callers
	// HandshakesMax is how many there may be; 0 is 4 096.
	HandshakesMax int
	// Timeout is when a handshake must have ended; 0 is 5 s.
	Timeout time.Duration
	// Linger is how long a connection whose handshake was refused stays open for the other side to hear why, within Timeout; 0 is 1 s.
	// Until then it counts as a handshake under way.
	Linger time.Duration
	// Verify refuses a connection whose certificates are valid; nil refuses none.
	Verify func(tls.ConnectionState) error
	// Cleartext reports whether those are let in who come without TLS; nil lets nobody in. It is asked for each connection.
	Cleartext func() bool
	// Failed is told of handshakes that fail, with where they came from and why; nil is not told. It must not block. It is not told of
	// those who closed the connection and had said nothing.
	Failed func(address net.Addr, cause string)
	// Logger is told of handshakes that fail, at its debug level; nil logs nothing.
	Logger *zap.Logger
}

// Handshaker makes the handshakes of one listener. Any goroutine may use it.
type Handshaker struct {
	o         ListenOptions
	source    *Source
	room      *share.Pool
	made      atomic.Int64
	failed    [causes]atomic.Int64
	strangers strangers
}

// Handshaker returns what makes the handshakes of a listener with the certificates of a source.
func (s *Source) Handshaker(o ListenOptions) *Handshaker {
	if o.HandshakesMax == 0 {
		o.HandshakesMax = handshakesMaxDefault
	}
	if o.Timeout == 0 {
		o.Timeout = handshakeTimeoutDefault
	}
	if o.Linger == 0 {
		o.Linger = lingerDefault
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	return &Handshaker{o: o, source: s, room: share.NewPool(int64(o.HandshakesMax)), strangers: strangers{now: s.o.Now}}
}

// config returns the configuration of the listener.
func (h *Handshaker) config(protocols ...string) *tls.Config {
	return h.source.listening(h.o.Auth, h.o.Verify, protocols...)
}

// meet makes the handshake of a connection, which ends in time, if its caller has room for it. Without an error and without TLS the
// connection came without, and may.
func (h *Handshaker) meet(raw net.Conn, protocols []string, handshake func(*tls.Conn) error) (*tls.Conn, *trusted, net.Conn, error) {
	caller := h.o.Callers.Of(raw.RemoteAddr())
	if !h.room.Take(caller, 1) {
		h.fail(raw, errNoRoom)
		return nil, nil, nil, errNoRoom
	}
	defer h.room.Give(caller, 1)
	begun := &opening{Conn: raw, ends: time.Now().Add(h.o.Timeout)}
	err := raw.SetDeadline(begun.ends)
	cleartext := false
	if err == nil {
		cleartext, err = h.clear(begun)
	}
	if cleartext {
		return nil, nil, h.strangers.enter(begun), nil
	}
	if err == nil {
		err = begun.record()
	}
	if err != nil {
		return nil, nil, nil, h.refuse(begun, err)
	}
	below := h.source.trust(begun, x509.ExtKeyUsageClientAuth)
	conn := tls.Server(below, h.config(protocols...))
	if err = handshake(conn); err != nil {
		return nil, nil, nil, h.refuse(begun, err)
	}
	h.made.Add(1)
	return conn, below, nil, nil
}

// await waits until a connection has begun its handshake, in time, if its caller has room for it.
func (h *Handshaker) await(ctx context.Context, raw net.Conn) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	caller := h.o.Callers.Of(raw.RemoteAddr())
	if !h.room.Take(caller, 1) {
		h.fail(raw, errNoRoom)
		return nil, errNoRoom
	}
	defer h.room.Give(caller, 1)
	begun := &opening{Conn: raw, ends: time.Now().Add(h.o.Timeout)}
	err := raw.SetDeadline(begun.ends)
	if err == nil {
		err = begun.record()
	}
	if err != nil {
		return nil, h.refuse(begun, err)
	}
	return begun, nil
}

// refuse ends a handshake that failed, and returns why.
func (h *Handshaker) refuse(begun *opening, err error) error {
	if isCut(err) && !begun.heard {
		err = errLeft
	}
	h.fail(begun.Conn, err)
	h.turnAway(begun, err)
	return err
}

// fail notes that a handshake failed.
func (h *Handshaker) fail(raw net.Conn, err error) {
	c := causeOf(err)
	h.failed[c].Add(1)
	if h.o.Failed != nil && c != causeClosed {
		h.o.Failed(raw.RemoteAddr(), c.String())
	}
	h.o.Logger.Debug("handshake failed", zap.String("listener", h.o.Name), zap.Stringer("cause", c),
		zap.Stringer("address", raw.RemoteAddr()), zap.Error(err))
}

// Credentials returns what a gRPC server accepts connections with. A nil Handshaker is without TLS.
func (h *Handshaker) Credentials() credentials.TransportCredentials {
	if h == nil {
		return insecure.NewCredentials()
	}
	return serverCredentials{TransportCredentials: credentials.NewTLS(h.config(protoHTTP2)), h: h}
}

// serverCredentials are credentials whose handshakes are bounded.
type serverCredentials struct {
	credentials.TransportCredentials
	h *Handshaker
}

// ServerHandshake makes a handshake. gRPC closes the connection if it fails, and takes the deadline away once the client has
// said what it must after it.
func (c serverCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, below, plain, err := c.h.meet(raw, []string{protoHTTP2}, (*tls.Conn).Handshake)
	if err != nil {
		return nil, nil, err
	}
	if err := raw.SetDeadline(time.Now().Add(c.h.o.Timeout)); err != nil {
		return nil, nil, err
	}
	if plain != nil {
		return plain, inClear(), nil
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != protoHTTP2 {
		return nil, nil, errNoHTTP2
	}
	below.made(state)
	return conn, infoOf(state, below), nil
}

// Clone copies the credentials.
func (c serverCredentials) Clone() credentials.TransportCredentials {
	return serverCredentials{TransportCredentials: c.TransportCredentials.Clone(), h: c.h}
}

// handshake makes a handshake of HTTP. When ctx ends, it fails and the connection is closed.
func (h *Handshaker) handshake(ctx context.Context, raw net.Conn) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	conn, below, plain, err := h.meet(raw, []string{protoHTTP2, protoHTTP1}, func(c *tls.Conn) error { return c.HandshakeContext(ctx) })
	if err != nil {
		return nil, err
	}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	if plain != nil {
		return plain, nil
	}
	below.made(conn.ConnectionState())
	return conn, nil
}
