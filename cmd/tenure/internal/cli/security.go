package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenure-io/tenure/server/certs"
)

// CAName is the name of the files of a CA that `tenure cert` made.
const CAName = "ca"

// The schemes of connection strings: without TLS, and with it.
const (
	schemePlain  = "tenure://"
	schemeSecure = "tenures://"
)

// security says whether commands use TLS, and how they and the members are sure of each other.
type security struct {
	Dialing certs.Dialing
	// scheme is the one that --endpoints began with; empty for none.
	scheme string
}

// Register declares the flags.
func (s *security) Register(flags *pflag.FlagSet) {
	d := &s.Dialing
	flags.StringVar(&d.CA, "ca-file", "", "CAs that members' certificates are verified with, PEM; commands then use TLS. With TLS, the default is the system's CAs")
	flags.StringVar(&d.Cert, "cert-file", "", "certificate to show to members, PEM; commands then use TLS")
	flags.StringVar(&d.Key, "key-file", "", "private key of --cert-file, PEM")
	flags.StringVar(&d.ServerName, "server-name", "", "name that members' certificates must have, instead of the host in --endpoints; commands then use TLS")
}

// on reports whether commands use TLS.
func (s *security) on() bool {
	return s.scheme == schemeSecure || s.Dialing != (certs.Dialing{})
}

// validate refuses settings that contradict each other.
func (s *security) validate() error {
	d := s.Dialing
	if (d.Cert == "") != (d.Key == "") {
		return UsageError("--cert-file and --key-file belong together; give both or neither")
	}
	if s.scheme == schemePlain && s.on() {
		return UsageError("--endpoints starts with tenure://, which means no TLS, but --ca-file, --cert-file or --server-name is set; use tenures://")
	}
	return nil
}

// config returns how TLS is spoken, with the files as they are now. There must be TLS.
func (s *security) config() (*tls.Config, error) { //nolint:forbidigo // It comes from certs, for the library.
	c, err := s.Dialing.Config()
	if err != nil {
		return nil, UsageError("%w", err)
	}
	return c, nil
}

// credentials returns what gRPC dials with, with the files as they are now.
func (s *security) credentials() (credentials.TransportCredentials, error) {
	if !s.on() {
		return insecure.NewCredentials(), nil
	}
	c, err := s.Dialing.Credentials()
	if err != nil {
		return nil, UsageError("%w", err)
	}
	return c, nil
}

// AtAgent returns the address of an agent, host:port, that a text names, and what gRPC dials it with, with the files as they are now: TLS if the
// text begins with tenures://, and none otherwise. That the members have TLS says nothing about an agent.
func (s *security) AtAgent(text string) (address string, security credentials.TransportCredentials, err error) {
	own := *s
	own.scheme = schemePlain
	address, _ = own.withoutScheme(text)
	if !isEndpoint(address) {
		return "", nil, UsageError("--agent: %s is not host:port, or tenures://host:port for TLS", Quoted(text))
	}
	if own.scheme == schemePlain {
		return address, insecure.NewCredentials(), nil
	}
	security, err = own.credentials()
	return address, security, err
}

// withoutScheme returns a list of endpoints without the scheme of a connection string, which it notes.
func (s *security) withoutScheme(list string) (endpoints string, isString bool) {
	for _, scheme := range []string{schemePlain, schemeSecure} {
		if rest, found := strings.CutPrefix(list, scheme); found {
			s.scheme = scheme
			return rest, true
		}
	}
	return list, false
}

// attempt is one attempt to connect, and notes why it failed.
type attempt struct {
	secured bool // Whether by TLS.

	mu    sync.Mutex // Guards cause.
	cause error
}

func (a *attempt) fail(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !errors.Is(a.cause, errHTTP) && !errors.Is(a.cause, errDemandsTLS) { // They explain what comes after them.
		a.cause = cause
	}
}

// why returns why the attempt failed: before its time was over, or because it was.
func (a *attempt) why(failed bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !failed || !errors.Is(a.cause, errNoAnswer):
	case a.secured:
		return errEndedTLS
	default:
		return errNotGRPC
	}
	return a.cause
}

// dial connects.
func (a *attempt) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		a.fail(err)
		return nil, err
	}
	return &firstRead{Conn: conn, attempt: a}, nil
}

// alertOfTLS begins what a server says that wants TLS and gets something else.
const alertOfTLS = "\x15\x03"

// firstRead is a connection that notes whether the first that comes over it is an answer of HTTP/1, or that it has to be TLS.
type firstRead struct {
	net.Conn

	attempt *attempt
	once    sync.Once
}

// Read reads.
func (r *firstRead) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if n > 0 {
		r.once.Do(func() {
			switch {
			case bytes.HasPrefix(p[:n], []byte("HTTP")):
				r.attempt.fail(errHTTP)
			case !r.attempt.secured && bytes.HasPrefix(p[:n], []byte(alertOfTLS)):
				r.attempt.fail(errDemandsTLS)
			}
		})
	}
	return n, err
}

// watched are credentials that note why a handshake fails.
type watched struct {
	credentials.TransportCredentials
	attempt *attempt
}

// ClientHandshake makes a handshake.
func (w watched) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil && ctx.Err() == nil {
		w.attempt.fail(&handshakeError{err: err})
	}
	if err == nil && w.attempt.secured {
		conn = &afterHandshake{Conn: conn, attempt: w.attempt}
	}
	return conn, info, err
}

// afterHandshake is a connection on which TLS was agreed on. Only now the other side says that it refuses the client's certificate.
type afterHandshake struct {
	net.Conn

	attempt *attempt
}

// Read reads.
func (c *afterHandshake) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if said, ok := errors.AsType[*net.OpError](err); ok && said.Op == "remote error" { // As crypto/tls calls an alert that came.
		c.attempt.fail(&handshakeError{err: err})
	}
	return n, err
}

// Clone copies the credentials.
func (w watched) Clone() credentials.TransportCredentials {
	return watched{TransportCredentials: w.TransportCredentials.Clone(), attempt: w.attempt}
}

// tlsFailed begins what is said of TLS that was not agreed on. The words are those of the client libraries.
const tlsFailed = "TLS failed: "

// handshakeError says that a member and this program did not agree on TLS.
type handshakeError struct{ err error }

// Error says why, and what to do where that is known. The words are those of the client libraries.
func (e *handshakeError) Error() string {
	if record := new(tls.RecordHeaderError); errors.As(e.err, record) {
		return "it has no TLS: use tenure://"
	}
	return tlsFailed + e.reason()
}

// reason says what is wrong with the member's certificate.
func (e *handshakeError) reason() string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](e.err); ok {
		return "its certificate is not signed by a trusted authority: set ca_file to the certificate of the one that signed it"
	}
	if _, ok := errors.AsType[x509.HostnameError](e.err); ok {
		return "its certificate is for another name: connect by a name that it has, or set server_name"
	}
	if said, ok := errors.AsType[*net.OpError](e.err); ok && said.Op == "remote error" && said.Err.Error() == "tls: certificate required" {
		return "it demands a client certificate: set cert_file and key_file"
	}
	return e.err.Error()
}

// Unwrap returns what TLS said.
func (e *handshakeError) Unwrap() error { return e.err }
