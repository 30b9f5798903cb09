package tenure

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

// Option changes how a client works.
type Option func(*clientOptions)

type clientOptions struct {
	tls       *tls.Config
	secured   securedBy
	grpc      []grpc.DialOption
	dialer    func(context.Context, string) (net.Conn, error)
	userAgent string
	clock     func() time.Duration
	fixed     bool
	// dial replaces gRPC in tests.
	dial conn.Dial
	seed uint64
	// alone makes each call by itself, in tests.
	alone bool
}

// WithTLS sets how connections are secured, where files do not suffice. It means TLS, of version 1.3 at least, and excludes WithCAFile,
// WithCertificateFiles and WithServerName.
func WithTLS(config *tls.Config) Option {
	return func(o *clientOptions) { o.tls = config }
}

// WithCAFile sets a file with the certificates of the authorities whom the client trusts, as PEM. It means TLS. Without it the system's roots are
// used. Like all files of TLS it is read for each new connection, so that it can be replaced while the program runs. It precedes the connection
// string's ca_file, which precedes TENURE_CA_FILE; the other options have the same order.
func WithCAFile(path string) Option {
	return func(o *clientOptions) { o.secured.files.CA = path }
}

// WithCertificateFiles sets files with the client's own certificate, and those that lead to its authority, and with its key, as PEM. It means TLS.
func WithCertificateFiles(certificate, key string) Option {
	return func(o *clientOptions) { o.secured.files.Cert, o.secured.files.Key = certificate, key }
}

// WithServerName sets the name that members' certificates must be for, where that is not the host that the client connects to. It means TLS.
func WithServerName(name string) Option {
	return func(o *clientOptions) { o.secured.files.ServerName = name }
}

// WithToken sets a token that says who calls. It is sent with each call, but without TLS only to this machine, unless WithInsecure is given.
func WithToken(token string) Option {
	return func(o *clientOptions) { o.secured.token = token }
}

// WithTokenFile is like WithToken, with the token in a file. The file is read again when what was read is 10 s old, and when a member refuses the
// token.
func WithTokenFile(path string) Option {
	return func(o *clientOptions) { o.secured.tokenFile = path }
}

// WithTokenSource is like WithTokenFile, with a function of the program in place of the file. It is called in a goroutine of its own, for all calls that
// need a token, and not concurrently. It must return when ctx ends, which is after 30 s or when the client is closed. While it takes long or fails, calls
// use the previous token, if there is one and members accept it.
func WithTokenSource(source func(ctx context.Context) (string, error)) Option {
	return func(o *clientOptions) { o.secured.source = source }
}

// WithInsecure lets the client send tokens to other machines without TLS, where everyone on the way can read them: its own, and those that the
// program or its interceptors put into the metadata of calls. Without it such a call fails with ErrInvalidArgument and the reason AUTH_UNSAFE.
func WithInsecure() Option {
	return func(o *clientOptions) { o.secured.clear = true }
}

// WithDialOptions adds options of gRPC, such as interceptors and handlers of statistics. They apply to every connection, after the library's own.
// So that they see each call, calls are then made one by one and not over a line, which takes more work. Credentials of gRPC are sent without TLS if
// they say that they may be.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(o *clientOptions) { o.grpc = append(o.grpc, options...) }
}

// WithDialer sets how connections are made, for example through a proxy. dial must return when ctx ends.
func WithDialer(dial func(ctx context.Context, address string) (net.Conn, error)) Option {
	return func(o *clientOptions) { o.dialer = dial }
}

// WithUserAgent sets the name of the program that members see.
func WithUserAgent(name string) Option {
	return func(o *clientOptions) { o.userAgent = name }
}

// WithFixedMembers makes the client use only the members of the connection string, in their order: it does not discover
// others. It is for tools that inspect one member, and for networks where clients reach members at other addresses than
// the members advertise.
func WithFixedMembers() Option {
	return func(o *clientOptions) { o.fixed = true }
}

// WithClock sets the clock by which leases are judged, for tests: the time since some moment, never decreasing. The
// default is the time since boot, including the time for which the machine sleeps.
func WithClock(clock func() time.Duration) Option {
	return func(o *clientOptions) { o.clock = clock }
}

// SessionOption configures a session.
type SessionOption func(*sessionOptions)

type sessionOptions struct {
	ttl       time.Duration
	lockDelay *time.Duration
	name      string
	metadata  map[string]string
	remove    bool
	node      string
	checks    []string
	gossip    bool // The default check of the node.
	onState   []func(StateChange)
	onRenewed func()
	open      bool
	// keepPlaces is for ResumeSession.
	keepPlaces bool
}

// WithTTL sets how long the session outlives its process. The cluster may grant another TTL: see Session.TTL. The
// default is the connection string's, or 15 s. The TTL of the connection string also determines how long the client
// tries to connect to one member before it tries another, so set a much shorter TTL there.
func WithTTL(ttl time.Duration) SessionOption {
	return func(o *sessionOptions) { o.ttl = ttl }
}

// WithLockDelay sets how long other sessions do not get a lock that this session lost by force, up to 60 s. The default
// is 15 s.
func WithLockDelay(delay time.Duration) SessionOption {
	return func(o *sessionOptions) { o.lockDelay = &delay }
}

// WithName sets the name that identifies the session to people. The default is user and host.
func WithName(name string) SessionOption {
	return func(o *sessionOptions) { o.name = name }
}

// WithMetadata adds informational facts to those that the library sets.
func WithMetadata(metadata map[string]string) SessionOption {
	return func(o *sessionOptions) { o.metadata = metadata }
}

// WithDeleteOnEnd deletes the keys of held locks when the session ends; without it they remain.
func WithDeleteOnEnd() SessionOption {
	return func(o *sessionOptions) { o.remove = true }
}

// WithNode binds the session to a node of the catalog: it ends when the node is deregistered. The default is the name of the host, if the catalog
// has such a node.
func WithNode(name string) SessionOption {
	return func(o *sessionOptions) { o.node = name }
}

// WithChecks binds the session to checks of its node, at most 16: it ends when one of them turns critical or is deregistered. Each must exist, or
// opening fails with ErrCheckNotFound or ErrNodeNotFound, and not be critical, or it fails with ErrCheckCritical. Without WithChecks and
// WithDefaultCheck, no check ends the session.
func WithChecks(ids ...string) SessionOption {
	return func(o *sessionOptions) { o.checks = append(o.checks, ids...) }
}

// WithDefaultCheck binds the session to the check liveness of its node, which turns critical when the machine dies. Without such a check it is bound
// to the node alone. It excludes WithChecks.
func WithDefaultCheck() SessionOption {
	return func(o *sessionOptions) { o.gossip = true }
}

// WithStateListener is like Session.OnState, but from the start: the listener also sees CONNECTING.
func WithStateListener(listener func(StateChange)) SessionOption {
	return func(o *sessionOptions) { o.onState = append(o.onState, listener) }
}
