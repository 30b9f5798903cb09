package tenure

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/tenure-io/tenure/clients/go/internal/clock"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	"github.com/tenure-io/tenure/clients/go/internal/line"
	"github.com/tenure-io/tenure/clients/go/internal/secure"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Times of a client.
const (
	// closePatience bounds how long Close tries to tell the cluster.
	closePatience = 5 * time.Second
	// pingEvery and pingPatience find a connection on which nothing comes back.
	pingEvery    = 10 * time.Second
	pingPatience = 5 * time.Second
)

// messageBytesMax is more than any message of a member.
const messageBytesMax = 4 << 20

// Client communicates with a cluster over one connection to a member, and over as many more to the same member as waits
// and watches need: see Open.
type Client struct {
	cluster // How it makes calls.

	target  *target
	space   space
	clock   func() time.Duration
	program string
	fixed   bool          // Whether it stays with the members of the connection string.
	token   *secure.Token // Nil for none.
	// renewers keep all sessions alive.
	renewers renewers

	care    care
	resumes resumes

	takebacks takebacks

	openings group // Sessions that are being opened, and sessions and registrations that are undone because their callers gave up.
	endings  group // Sessions that the cluster ended, which nobody may ever close.
	streams  group // Caches and service lists.
	running  group // The pool.
}

// Open returns a client for a connection string such as "tenure://h1:7400,h2:7400/namespace?ttl=15s", or
// "localhost:7400". The client starts with the named members and discovers the others. It adds the namespace to the
// front of every key, and removes it from results. Open does not wait for a member; the first call does.
func Open(target string, options ...Option) (*Client, error) {
	t, err := parseTarget(target)
	if err != nil {
		return nil, err
	}
	o := clientOptions{clock: clock.New(), userAgent: "tenure-go"}
	for _, option := range options {
		option(&o)
	}
	secured, err := newSecurity(context.Background(), t, o.tls, o.secured)
	if err != nil {
		return nil, err
	}
	return newClient(t, &o, secured), nil
}

// newClient returns a client.
func newClient(t *target, o *clientOptions, secured *security) *Client {
	c := &Client{
		target: t, space: newSpace(t.namespace), clock: o.clock, program: o.userAgent, fixed: o.fixed, token: secured.token,
		resumes: resumes{failed: map[resumption]attempted{}},
	}
	poolOptions := conn.Options{Members: t.members, TTL: cmp.Or(t.ttl, ttlDefault), Fixed: o.fixed, Dial: o.dial, List: listMembers}
	if o.dial == nil {
		options := grpcOptions(o)
		if len(o.grpc) > 0 && secured.guards() { // Interceptors may give a call a token.
			options = append(options, conn.ClearOptions()...)
		}
		poolOptions.Dial = conn.GRPC(o.dialer, secured.credentials, options...)
	}
	if len(o.grpc) == 0 && !o.alone { // Else the program's interceptors see each call.
		poolOptions.Dial = line.Over(poolOptions.Dial)
	}
	poolOptions.Dial = secured.bearing(poolOptions.Dial)
	if !o.fixed { // Else what the one answers is what the program wants to know.
		poolOptions.Dial = conn.OnlyMembers(poolOptions.Dial)
	}
	if o.seed != 0 {
		poolOptions.Rand = mathrand.New(mathrand.NewPCG(o.seed, o.seed)) //nolint:gosec // For tests.
	}
	c.pool = conn.New(poolOptions)
	c.running.start(c.pool.Run)
	return c
}

// grpcOptions returns how gRPC connects.
func grpcOptions(o *clientOptions) []grpc.DialOption {
	return append([]grpc.DialOption{
		grpc.WithUserAgent(o.userAgent),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery, Timeout: pingPatience}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytesMax)),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	}, o.grpc...)
}

// errUnreachable is the error of a call for which no member can be reached.
func errUnreachable(e *UnreachableError) error {
	kind := ErrUnavailable
	if e.TLS() {
		kind = ErrTLSFailed
	}
	return &Error{Kind: kind, Applied: AppliedNo, Message: e.Error(), cause: e}
}

// Close closes the client's sessions, registrations, watches and connections, and waits for everything that the client
// started, except for the program's own functions, which can call Close themselves. It ends sessions in the cluster, so
// that their locks become free immediately, and deregisters services; for that it waits a few seconds at most. The errors
// of sessions and registrations are joined.
func (c *Client) Close() error {
	sessions, registrations := c.care.close()
	errs := make([]error, len(sessions)+len(registrations))
	var closing sync.WaitGroup
	for i, s := range sessions {
		closing.Go(func() { errs[i] = s.Close() })
	}
	for i, r := range registrations {
		closing.Go(func() { errs[len(sessions)+i] = r.Close() })
	}
	closing.Wait()
	c.openings.stop()
	c.endings.stop()
	c.streams.stop()
	c.running.stop()
	if c.token != nil {
		c.token.Close()
	}
	return errors.Join(errs...)
}

func errClientClosed() error { return &Error{Kind: ErrClientClosed, Applied: AppliedNo} }

// Namespace returns the namespace of the connection string.
func (c *Client) Namespace() string { return c.target.namespace }

// Members returns the addresses of the members as the client knows them, and the one it is connected to, if any.
func (c *Client) Members() (all []string, connectedTo string) { return c.pool.Members() }

// KV returns the keys of the cluster, for calls without a session.
func (c *Client) KV() *KV { return &KV{space: c.space, caller: c} }

// listMembers asks for the addresses of all members that vote, and of the leader if that is another member.
func listMembers(ctx context.Context, l *conn.Link) (conn.Members, error) {
	answer, err := tenurev1.NewClusterServiceClient(l).ListMembers(ctx, &tenurev1.ListMembersRequest{})
	if err != nil {
		return conn.Members{}, err
	}
	var list conn.Members
	known := true
	for _, m := range answer.GetMembers() {
		if m.GetLeader() && m.GetId() != answer.GetHeader().GetMemberId() {
			list.Leader = m.GetClientAddress()
		}
		if m.GetLearner() {
			continue
		}
		known = known && m.GetClientAddress() != ""
		list.Addresses = append(list.Addresses, m.GetClientAddress())
	}
	if !known {
		list.Addresses = nil
	}
	return list, nil
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // It never fails; see crypto/rand.
	return b
}
