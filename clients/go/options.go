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

// WithTLS sets how connections are secured; the connection string must begin with tenures://.
func WithTLS(config *tls.Config) Option {
	return func(o *clientOptions) { o.tls = config }
}

// WithDialer sets how connections are made, say through a proxy. It must return when ctx ends.
func WithDialer(dial func(ctx context.Context, address string) (net.Conn, error)) Option {
	return func(o *clientOptions) { o.dialer = dial }
}

// WithUserAgent sets how the program calls itself towards members.
func WithUserAgent(name string) Option {
	return func(o *clientOptions) { o.userAgent = name }
}

// WithFixedMembers keeps the client with the members of the connection string, tried in their order: it does not learn of others, and
// does not move to them. It is for tools that look at one member, and where members can be reached at other addresses than they tell.
func WithFixedMembers() Option {
	return func(o *clientOptions) { o.fixed = true }
}

// WithClock sets the clock by which leases are judged, for tests: the time since some moment, never going back. The default
// is the time since boot, which runs also while the machine sleeps.
func WithClock(clock func() time.Duration) Option {
	return func(o *clientOptions) { o.clock = clock }
}

// SessionOption says what a session is like.
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

// WithTTL sets how long the session outlives its process; the cluster may grant another TTL: see Session.TTL. The default is
// the connection string's, or 15 s. That one also says how long a member may take to be connected to before another is tried, so a much shorter TTL
// is better said there.
func WithTTL(ttl time.Duration) SessionOption {
	return func(o *sessionOptions) { o.ttl = ttl }
}

// WithLockDelay sets how long a lock lost by force stays closed to others, up to 60 s. The default is 15 s.
func WithLockDelay(delay time.Duration) SessionOption {
	return func(o *sessionOptions) { o.lockDelay = &delay }
}

// WithName sets the name by which people find the holder of a lock. The default is user and host.
func WithName(name string) SessionOption {
	return func(o *sessionOptions) { o.name = name }
}

// WithMetadata adds facts for people, beside those that the library fills in.
func WithMetadata(metadata map[string]string) SessionOption {
	return func(o *sessionOptions) { o.metadata = metadata }
}

// WithDeleteOnEnd makes the session's end delete the keys that it holds; else they stay.
func WithDeleteOnEnd() SessionOption {
	return func(o *sessionOptions) { o.remove = true }
}

// WithStateListener is Session.OnState from the very beginning: the listener also sees CONNECTING.
func WithStateListener(listener func(StateChange)) SessionOption {
	return func(o *sessionOptions) { o.onState = append(o.onState, listener) }
}
