package tenure

import (
	"context"
	"slices"
	"sync"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// ResumeSession takes over the session of a token that Session.Export or Session.Token made, in any of the client
// libraries. From then on the process that had the session gets ErrSessionSuperseded. Session.Holds returns what the
// session holds. Its places in queues are given up, unless KeepPlaces is given. If ResumeSession fails, the same client
// can try it again with the same token; for any other client, the session may already have been taken over.
func (c *Client) ResumeSession(ctx context.Context, token string, options ...SessionOption) (*Session, error) {
	o := sessionOptions{}
	for _, option := range options {
		option(&o)
	}
	s := newSession(c, &o)
	from, err := parseToken(token)
	if err != nil {
		s.end(CauseClosed)
		return nil, err
	}
	s.id, s.secret, s.epoch, s.lease.ttl = from.sessionID, from.secret, from.epoch, from.ttl
	failed := c.resumes.begin(s)
	if err := resume(ctx, s, from.handed); err != nil {
		failed(err)
		return nil, err
	}
	if !o.keepPlaces {
		for _, p := range s.places {
			s.custody.giveUp(ownName{key: c.space.full(p.Key), owner: p.Owner})
		}
		s.places = nil
	}
	return s, nil
}

// resume takes a session over, and returns when it is CONNECTED. It sends no request with a number: they would be used when it is tried again.
func resume(ctx context.Context, s *Session, handed bool) error {
	c := s.client
	sent := c.clock()
	answer, err := s.attaching.takeOver(ctx)
	if err == nil {
		s.epoch = answer.GetSession().GetEpoch()
		err = c.read(ctx, func(ctx context.Context, l *conn.Link) error { return s.attaching.pages(ctx, l, answer) })
	}
	if err != nil {
		s.end(CauseClosed)
		return underSession(err)
	}
	s.lockDelay = answer.GetSession().GetLockDelay().AsDuration()
	s.setTTL(answer.GetSession().GetTtl().AsDuration(), 0)
	if !handed {
		s.lease.believedAt = never // A process that is cut off believes for ever in what it has without TTL.
		if s.lease.ttl > 0 {
			s.lease.believedAt = c.clock() + s.lease.ttl
		}
	}
	s.custody.holdings.inherited = answer.GetHolds()
	for _, p := range answer.GetPlaces() {
		s.places = append(s.places, placeOf(c.space, p))
	}
	if err := c.care.add(s); err != nil {
		s.end(CauseClosed)
		return err
	}
	s.lease.safeUntil = sent // Only a renewal makes it safe.
	s.begin(false)
	if err := awaitConnected(ctx, s); err != nil {
		s.Detach()
		return err
	}
	return nil
}

// awaitConnected waits until a session is CONNECTED, or over.
func awaitConnected(ctx context.Context, s *Session) error {
	for {
		s.mu.Lock()
		state, changed := s.lease.state, s.changed
		s.mu.Unlock()
		switch state {
		case StateConnected:
			return nil
		case StateClosed:
			return s.over()
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return interrupted(ctx, false, nil)
		}
	}
}

// resumption is what a token is good for, once: the cluster gives a takeover again to the instance that made it only.
type resumption struct {
	sessionID string
	epoch     uint64 // Which it replaces.
}

// attempted is how a resume that failed was known to the cluster, and so has to be known when it is tried again.
type attempted struct {
	instance []byte
	attempts uint64
}

// resumes are the resumes that failed.
type resumes struct {
	mu     sync.Mutex // Guards what follows.
	failed map[resumption]attempted
}

// resumingMax is how many resumes that failed a client remembers. Of one that it forgot another attempt may find the session taken over.
const resumingMax = 1024

// begin lets a session be known to the cluster as in an attempt that failed before, if there was one; failed notes how this one
// failed.
func (r *resumes) begin(s *Session) (failed func(error)) {
	what := resumption{sessionID: s.id, epoch: s.epoch}
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, there := r.failed[what]; there {
		delete(r.failed, what) // An instance is in use once at a time.
		s.instance, s.attaching.attempts = before.instance, before.attempts
	}
	return func(err error) {
		if isAny(err, ErrSessionExpired, ErrSessionSuperseded, ErrAuth) {
			return // Another attempt would fail as well.
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.failed) >= resumingMax {
			clear(r.failed)
		}
		r.failed[what] = attempted{instance: s.instance, attempts: s.attaching.made()}
	}
}

// Holds returns the holds that a resumed session inherited, once this process can rely on them: immediately after
// Export, otherwise one TTL after the resume, when the previous process can no longer rely on them, and when the
// session is safe. Another call returns the same holds, without those that have ended. For a session without TTL that
// was not exported, inherited holds can never be relied on: the error wraps ErrLockLost.
func (s *Session) Holds(ctx context.Context) (helds []*Held, err error) {
	err = s.custody.whenBelieved(ctx, func() bool { return len(s.custody.holdings.inherited) > 0 }, func() { helds = s.custody.adoptAll() })
	return helds, err
}

// Place is a place in the queue of a lock.
type Place struct {
	Key   string
	Owner string
	Mode  Mode
	// Permits are those of a semaphore; Client.GetLock returns its limit.
	Permits uint32
}

func placeOf(names space, p *tenurev1.Place) Place {
	return Place{Key: names.own(p.GetKey()), Owner: p.GetOwner(), Mode: Mode(p.GetMode()), Permits: p.GetPermits()}
}

// KeepPlaces makes ResumeSession keep the session's places in queues. Session.Places returns them, and an acquire
// WithOwner takes one up in its position. If no acquire takes a place up, its lock may be granted without being used.
func KeepPlaces() SessionOption {
	return func(o *sessionOptions) { o.keepPlaces = true }
}

// Places returns the places in queues that a session had when it was resumed with KeepPlaces.
func (s *Session) Places() []Place { return slices.Clone(s.places) }
