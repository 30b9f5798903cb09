package tenure

import (
	"cmp"
	"context"
	"slices"
	"strconv"

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
	s := c.newSession(&o)
	handed, err := s.parseToken(token)
	if err != nil {
		s.abort()
		return nil, err
	}
	failed := c.beginResume(s)
	if err := s.resume(ctx, handed); err != nil {
		failed(err)
		return nil, err
	}
	if !o.keepPlaces {
		for _, p := range s.places {
			s.giveUp(ownName{key: c.space.full(p.Key), owner: p.Owner})
		}
		s.places = nil
	}
	return s, nil
}

// resume takes the session over, and returns when it is CONNECTED. It sends no request with a number: they would be used when it is tried again.
func (s *Session) resume(ctx context.Context, handed bool) error {
	c := s.client
	sent := c.clock()
	answer, err := s.takeOver(ctx)
	if err == nil {
		s.epoch = answer.GetSession().GetEpoch()
		err = c.read(ctx, func(ctx context.Context, l *conn.Link) error { return s.morePages(ctx, l, answer) })
	}
	if err != nil {
		s.abort()
		return underSession(err)
	}
	s.lockDelay = answer.GetSession().GetLockDelay().AsDuration()
	s.setTTL(answer.GetSession().GetTtl().AsDuration(), 0)
	if !handed {
		s.believedAt = never // A process that is cut off believes for ever in what it has without TTL.
		if s.ttl > 0 {
			s.believedAt = c.clock() + s.ttl
		}
	}
	s.holdings.inherited = answer.GetHolds()
	for _, p := range answer.GetPlaces() {
		s.places = append(s.places, placeOf(c.space, p))
	}
	if err := c.add(s); err != nil {
		s.abort()
		return err
	}
	s.safeUntil = sent // Only a renewal makes it safe.
	s.begin(false)
	if err := s.awaitConnected(ctx); err != nil {
		s.Detach()
		return err
	}
	return nil
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

// resumingMax is how many resumes that failed a client remembers. Of one that it forgot another attempt may find the session taken over.
const resumingMax = 1024

// beginResume lets a session be known to the cluster as in an attempt that failed before, if there was one; failed notes how this one
// failed.
func (c *Client) beginResume(s *Session) (failed func(error)) {
	what := resumption{sessionID: s.id, epoch: s.epoch}
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, there := c.resuming[what]; there {
		delete(c.resuming, what) // An instance is in use once at a time.
		s.instance, s.attempts = before.instance, before.attempts
	}
	return func(err error) {
		if isAny(err, ErrSessionExpired, ErrSessionSuperseded, ErrAuth) {
			return // Another attempt would fail as well.
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.resuming) >= resumingMax {
			clear(c.resuming)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		c.resuming[what] = attempted{instance: s.instance, attempts: s.attempts}
	}
}

// takeOver raises the epoch.
func (s *Session) takeOver(ctx context.Context) (*tenurev1.AttachSessionResponse, error) {
	t := &takeover{session: s}
	err := s.client.retry(ctx, t.attempt, false)
	return t.answer, err
}

// takeover raises a session's epoch, in as many attempts as it takes.
type takeover struct {
	session *Session
	maybe   bool // Whether an attempt may have been applied.
	answer  *tenurev1.AttachSessionResponse
}

// attempt makes one attempt. An answer that was lost is found again: the same instance is then the session's user.
func (t *takeover) attempt(ctx context.Context, l *conn.Link) (err error) {
	s, service := t.session, tenurev1.NewSessionServiceClient(l)
	if t.maybe {
		t.answer, err = service.AttachSession(ctx, s.attachRequest(s.epoch+1))
		if reasonOf(err) != tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH ||
			infoOf(err).GetMetadata()["epoch"] != strconv.FormatUint(s.epoch, 10) {
			return err
		}
		t.maybe = false // It was not applied.
	}
	request := s.attachRequest(s.epoch)
	request.TakeOver = true
	t.answer, err = service.AttachSession(ctx, request)
	t.maybe = err != nil && infoOf(err).GetMetadata()["applied"] != string(AppliedNo)
	return err
}

// truth asks what the session has, all pages of it; what was granted after the answer's revision may be missing.
func (s *Session) truth(ctx context.Context, l *conn.Link) (*tenurev1.AttachSessionResponse, error) {
	answer, err := tenurev1.NewSessionServiceClient(l).AttachSession(ctx, s.attachRequest(s.epoch))
	if err != nil {
		return nil, err
	}
	return answer, s.morePages(ctx, l, answer)
}

// morePages adds the pages that are missing in an answer.
func (s *Session) morePages(ctx context.Context, l *conn.Link, answer *tenurev1.AttachSessionResponse) error {
	for answer.GetNextPageToken() != "" {
		request := s.attachRequest(s.epoch)
		request.PageToken = answer.GetNextPageToken()
		page, err := tenurev1.NewSessionServiceClient(l).AttachSession(ctx, request)
		if err != nil {
			return err
		}
		answer.Holds = append(answer.Holds, page.GetHolds()...)
		answer.Places = append(answer.Places, page.GetPlaces()...)
		answer.NextPageToken = page.GetNextPageToken()
	}
	return nil
}

// attachRequest asks for the truth about the session.
func (s *Session) attachRequest(epoch uint64) *tenurev1.AttachSessionRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts++
	request := &tenurev1.AttachSessionRequest{
		SessionId: s.id, Attempt: s.attempts, Options: &tenurev1.CallOptions{SessionSecret: s.secret, Epoch: epoch},
	}
	if !s.attached {
		request.InstanceId = s.instance
	}
	return request
}

// awaitConnected waits until the session is CONNECTED, or over.
func (s *Session) awaitConnected(ctx context.Context) error {
	for {
		s.mu.Lock()
		state, changed := s.state, s.changed
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

// Holds returns the holds that a resumed session inherited, once this process can rely on them: immediately after
// Export, otherwise one TTL after the resume, when the previous process can no longer rely on them, and when the
// session is safe. Another call returns the same holds, without those that have ended. For a session without TTL that
// was not exported, inherited holds can never be relied on: the error wraps ErrLockLost.
func (s *Session) Holds(ctx context.Context) (helds []*Held, err error) {
	err = s.whenBelieved(ctx, func() bool { return len(s.holdings.inherited) > 0 }, func() { helds = s.adoptAll() })
	return helds, err
}

// adoptAll makes Helds of what was inherited, and returns all that there are. Call it under mu.
func (s *Session) adoptAll() []*Held {
	for _, hold := range slices.Clone(s.holdings.inherited) {
		s.hold(hold)
	}
	helds := slices.DeleteFunc(s.holdings.helds(), func(h *Held) bool { return !h.inherited })
	slices.SortFunc(helds, func(a, b *Held) int {
		return cmp.Or(cmp.Compare(a.Token(), b.Token()), cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.owner, b.owner))
	})
	return helds
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
