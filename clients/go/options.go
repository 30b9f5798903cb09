package tenure

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

// Option changes how a client works.
type Option func(*clientOptions)

type clientOptions struct {
	tls       *tls.Config
	dialer    func(context.Context, string) (net.Conn, error)
	userAgent string
	clock     func() time.Duration
	fixed     bool
	// dial replaces gRPC in tests.
	dial conn.Dial
	seed uint64
}

// WithTLS sets how connections are secured; the connection string must start with tenures://.
func WithTLS(config *tls.Config) Option {
	return func(o *clientOptions) { o.tls = config }
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

// WithStateListener is like Session.OnState, but from the start: the listener also sees CONNECTING.
func WithStateListener(listener func(StateChange)) SessionOption {
	return func(o *sessionOptions) { o.onState = append(o.onState, listener) }
}
