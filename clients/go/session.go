package tenure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// openPatience bounds the opening of a session for which the program set no deadline.
	openPatience = 30 * time.Second
	// secretBytes is the length of a session's secret.
	secretBytes = 32
	// instanceBytes is the length of what names a user of a session.
	instanceBytes = 16
	// textBytesMax is the longest name of a session, and the longest fact about it that this library fills in.
	textBytesMax = 256
	// renewEveryMax is how often a session is renewed at least, also one without TTL: then to see that it lives.
	renewEveryMax = 10 * time.Second
)

// Session is a claim to be alive, replicated in the cluster: see Client.OpenSession.
type Session struct {
	client    *Client
	id        string
	secret    []byte
	epoch     uint64
	instance  []byte // Which user of the session this is.
	lockDelay time.Duration
	every     time.Duration
	// attached says that it is somebody else's: it is kept alive and read here, without naming an instance.
	attached  bool
	places    []Place       // In queues, as found by a resume.
	onRenewed chan struct{} // Tells of a renewal; nil if nobody listens.

	poke      chan struct{} // Renews at once.
	watch     chan struct{} // The guard of the lease looks again.
	work      group         // Renewing, guarding, giving back.
	calls     calls
	attaching attaching

	life
	custody custody // Guarded by the life's mu, as are all of the session's Helds.

	closing     sync.Once
	closeResult error
}

// OpenSession opens a session and keeps it alive until it is closed, by this process or by the cluster. ctx limits only
// the opening. Without a deadline the opening takes at most 30 s, and then fails with ErrUnavailable. If this time ends
// first, the library destroys the session in the background, for a few seconds at most, in case it was opened.
func (c *Client) OpenSession(ctx context.Context, options ...SessionOption) (*Session, error) {
	o := sessionOptions{ttl: c.target.ttl, lockDelay: c.target.lockDelay, name: c.target.name}
	for _, option := range options {
		option(&o)
	}
	if o.ttl < 0 {
		return nil, invalid("the TTL %v is negative", o.ttl)
	}
	if o.gossip && len(o.checks) > 0 {
		return nil, invalid("WithChecks and WithDefaultCheck exclude each other")
	}
	s := newSession(c, &o)
	if !o.open {
		s.secret = randomBytes(secretBytes)
	}
	request := createRequest(s, &o)
	if err := sendable(request); err != nil {
		s.end(CauseClosed)
		return nil, err
	}
	opened := make(chan error, 1)
	if !c.openings.start(func(closing context.Context) {
		opening, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(closing, func() { cancel(ending{errClientClosed()}) })()
		if _, bounded := ctx.Deadline(); !bounded {
			defer time.AfterFunc(openPatience, func() { cancel(ending{errNobodyAnswers()}) }).Stop()
		}
		err := open(opening, s, request)
		opened <- err
		if e, ok := errors.AsType[*Error](err); ok && e.Applied != AppliedNo {
			undoOpening(c, request)
		}
	}) {
		opened <- errClientClosed()
	}
	if err := <-opened; err != nil {
		s.end(CauseClosed)
		return nil, err
	}
	s.begin(false)
	return s, nil
}

// open asks for the session, and puts it under the client's care.
func open(ctx context.Context, s *Session, request *tenurev1.CreateSessionRequest) error {
	answer, sent, err := create(ctx, s.client, request)
	if err != nil {
		return err
	}
	s.id, s.epoch = answer.GetSessionId(), answer.GetEpoch()
	s.lockDelay = answer.GetLockDelay().AsDuration()
	s.setTTL(answer.GetTtl().AsDuration(), answer.GetKeepaliveInterval().AsDuration())
	if err := s.client.care.add(s); err != nil {
		_ = s.destroy() // If nobody can be told, its TTL ends it.
		return err
	}
	s.renewed(sent, s.lease.ttl)
	return nil
}

// create makes a session. The same request makes it once, however often it is sent. Sent is when that was first: that attempt may be the one that
// made it. There may have been no connection for long before.
func create(ctx context.Context, c *Client, request *tenurev1.CreateSessionRequest) (
	answer *tenurev1.CreateSessionResponse, sent time.Duration, err error,
) {
	var once sync.Once
	err = c.retry(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		once.Do(func() { sent = c.clock() })
		answer, err = tenurev1.NewSessionServiceClient(l).CreateSession(ctx, request)
		return err
	}, kindOwn)
	return answer, sent, err
}

// undoOpening destroys a session that may have been made for nobody. Asked the same again, the cluster tells which one it is.
func undoOpening(c *Client, request *tenurev1.CreateSessionRequest) {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if answer, _, err := create(ctx, c, request); err == nil {
		made := &Session{client: c, id: answer.GetSessionId(), secret: request.GetSecret(), epoch: answer.GetEpoch()}
		_ = made.destroy() // If nobody can be told, its TTL ends it.
	}
}

// errNobodyAnswers ends the opening of a session without a deadline.
func errNobodyAnswers() error {
	return &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: fmt.Sprintf("no member answered within %v", openPatience)}
}

// newSession returns a session that is CONNECTING.
func newSession(c *Client, o *sessionOptions) *Session {
	s := &Session{
		client: c, instance: randomBytes(instanceBytes), poke: make(chan struct{}, 1), watch: make(chan struct{}, 1),
	}
	s.life = life{session: s, changed: make(chan struct{}), done: make(chan struct{})}
	s.calls = calls{session: s, window: newWindow(), open: map[int]context.CancelCauseFunc{}}
	s.attaching = attaching{session: s}
	s.custody = custody{session: s, holdings: newHoldings(), claims: map[*claim]struct{}{}}
	if o.onRenewed != nil {
		s.onRenewed = make(chan struct{}, 1)
		go tellRenewed(s, o.onRenewed)
	}
	for _, f := range o.onState {
		s.listeners.add(f, StateChange{State: StateConnecting})
	}
	return s
}

// tellRenewed calls f after renewals, until the session is over. Nothing waits for it, as for a listener.
func tellRenewed(s *Session, f func()) {
	for {
		select {
		case <-s.onRenewed:
			f()
		case <-s.done:
			return
		}
	}
}

// setTTL takes the TTL that was granted.
func (s *Session) setTTL(ttl, advised time.Duration) {
	s.lease.ttl, s.every = ttl, renewEveryMax
	if ttl > 0 {
		s.every = min(ttl/3, renewEveryMax)
	}
	if advised > 0 {
		s.every = min(s.every, advised)
	}
}

// begin starts renewing and guarding. Attach tells whether to ask for the truth first.
func (s *Session) begin(attach bool) {
	s.work.start(func(ctx context.Context) { keepAlive(ctx, s, attach) })
	if s.lease.ttl > 0 {
		s.work.start(func(ctx context.Context) { guard(ctx, s) })
	}
}

// createRequest describes a session and its process.
func createRequest(s *Session, o *sessionOptions) *tenurev1.CreateSessionRequest {
	host, _ := os.Hostname() // Without a name of its own the machine has none here either.
	who := ""
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	metadata := map[string]string{
		"host":     clip(host),
		"pid":      strconv.Itoa(os.Getpid()),
		"program":  clip(filepath.Base(os.Args[0])),
		"user":     clip(who),
		"language": runtime.Version(),
		"version":  clip(s.client.program),
	}
	maps.Copy(metadata, o.metadata)
	name := o.name
	if name == "" {
		name = clip(who + "@" + host)
	}
	request := &tenurev1.CreateSessionRequest{
		Name: name, Node: clip(host), Metadata: metadata,
		Ttl: durationpb.New(o.ttl), Secret: s.secret, InstanceId: s.instance,
		Options: &tenurev1.CallOptions{IdempotencyKey: randomBytes(16)},
		// None, unless asked: its TTL bounds the session, and a false alarm about its machine must not end what it holds.
		Checks: &tenurev1.SessionChecks{NodeChecks: o.checks},
	}
	if o.gossip {
		request.Checks = nil // The default of the cluster.
	}
	if o.node != "" {
		request.Node = o.node
	}
	if o.lockDelay != nil {
		request.LockDelay = durationpb.New(*o.lockDelay)
	}
	if o.remove {
		request.Behavior = tenurev1.SessionBehavior_SESSION_BEHAVIOR_DELETE
	}
	return request
}

// clip cuts text to what a name may have, at the end of a character.
func clip(text string) string {
	if len(text) > textBytesMax {
		text = text[:textBytesMax]
	}
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// ID returns the session's id, a UUID.
func (s *Session) ID() string { return s.id }

// Secret returns the secret that is required to act as the session; nil for a session without a secret.
func (s *Session) Secret() []byte { return s.secret }

// TTL returns the granted TTL; zero: the session does not expire.
func (s *Session) TTL() time.Duration { return s.lease.ttl }

// LockDelay returns how long other sessions do not get a lock that this session lost by force.
func (s *Session) LockDelay() time.Duration { return s.lockDelay }

// Epoch returns the session's epoch, which starts at 1 and increases with each takeover.
func (s *Session) Epoch() uint64 { return s.epoch }

// State returns the session's state, as this process knows it, and, if it is closed, why.
func (s *Session) State() (State, Cause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.lease.state, s.lease.cause
}

// Refusal returns why the cluster refuses to renew the session, which is that a right is gone or that the credential is not
// accepted; nil if the last attempt was not refused so. The session stays as it is until its TTL ends, and continues if the right
// comes back before.
func (s *Session) Refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// OnState calls f with the current state, and then with each change, in order and one at a time, from a goroutine of
// the library. f can take its time and call any method, such as Close, because the library does not wait for f. stop
// does not wait either: a call that is starting or running continues, and is the last. If the session has already
// ended, f is called once, before OnState returns.
func (s *Session) OnState(f func(StateChange)) (stop func()) {
	s.mu.Lock()
	present := StateChange{State: s.lease.state, Cause: s.lease.cause}
	if present.State == StateClosed {
		s.mu.Unlock()
		f(present)
		return func() {}
	}
	defer s.mu.Unlock()
	return s.listeners.add(f, present)
}

// Done is closed when the session has ended; Err returns why.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns nil while the session has not ended, and then ErrSessionExpired, ErrSessionSuperseded, ErrAuth or
// ErrSessionClosed.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.state != StateClosed {
		return nil
	}
	return s.lease.cause.err()
}

// Safe reports whether the session is certainly live, so that its locks are held.
func (s *Session) Safe() bool { return s.SafeFor() > 0 }

// SafeFor returns how long the session is certainly live even if no further renewal is acknowledged.
func (s *Session) SafeFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.look()
	return s.lease.safeFor(now)
}

// KV returns the keys of the cluster, for calls under the session: they are applied exactly once, and can write
// ephemeral keys.
func (s *Session) KV() *KV { return &KV{space: s.client.space, caller: &s.calls, session: s} }

// Client returns the client that opened the session.
func (s *Session) Client() *Client { return s.client }

// Close ends the session and releases everything it holds, immediately and without lock-delay. It waits a few seconds
// at most for the cluster; if that fails, the session ends by its TTL. A session from AttachSession is not ended. Close
// waits for everything that the session started, except for the program's own functions, which can call Close
// themselves; a listener may be called with CLOSED after Close has returned. Closing again does nothing.
func (s *Session) Close() error {
	s.closing.Do(func() {
		ended := s.end(CauseClosed)
		s.client.care.release(s)
		if ended && !s.attached {
			s.closeResult = s.destroy()
		}
	})
	return s.closeResult
}

// destroy tells the cluster that the session is over, for a few seconds at most.
func (s *Session) destroy() error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	// What was inherited may still be believed by another process: then lock-delay protects.
	clean := s.lease.inherits(s.client.clock())
	err := s.client.retry(ctx, func(ctx context.Context, l *conn.Link) error {
		_, err := tenurev1.NewSessionServiceClient(l).DestroySession(ctx, &tenurev1.DestroySessionRequest{
			SessionId: s.id, Clean: clean, Options: &tenurev1.CallOptions{SessionSecret: s.secret, Epoch: s.epoch},
		})
		return err
	}, kindOwn)
	if isAny(err, ErrSessionNotFound, ErrSessionExpired) {
		return nil
	}
	return err
}
