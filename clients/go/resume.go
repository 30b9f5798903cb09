package tenure

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// ResumeSession takes over the session of a token, made by Session.Export or Session.Token of any of the languages' clients. From
// then on the process that had it gets ErrSessionSuperseded. What the session holds is had by Session.Holds. Where it queues it leaves, for nobody
// waits there any more, unless KeepPlaces says otherwise.
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
	sent := c.clock()
	answer, err := s.takeOver(ctx)
	if err == nil {
		s.epoch = answer.GetSession().GetEpoch()
		err = c.read(ctx, func(ctx context.Context, l *conn.Link) error { return s.morePages(ctx, l, answer) })
	}
	if err != nil {
		s.abort()
		return nil, underSession(err)
	}
	s.lockDelay = answer.GetSession().GetLockDelay().AsDuration()
	s.setTTL(answer.GetSession().GetTtl().AsDuration(), 0)
	if !handed {
		s.believedAt = c.clock() + s.ttl
	}
	s.inherited = answer.GetHolds()
	for _, p := range answer.GetPlaces() {
		s.places = append(s.places, placeOf(c.space, p))
	}
	if err := c.add(s); err != nil {
		s.abort()
		return nil, err
	}
	s.safeUntil = sent // Only a renewal makes it safe.
	s.begin(false)
	if !o.keepPlaces {
		for _, p := range s.places {
			s.abandon(ownName{key: c.space.full(p.Key), owner: p.Owner}, 0)
		}
		s.places = nil
	}
	if err := s.awaitConnected(ctx); err != nil {
		s.Detach() // Whoever has the token may try again.
		return nil, err
	}
	return s, nil
}

// takeOver raises the epoch. An answer that was lost is found again: the same instance is then the session's user.
func (s *Session) takeOver(ctx context.Context) (answer *tenurev1.AttachSessionResponse, err error) {
	pauses := &backoff.Backoff{}
	maybe := false
	for {
		err = s.client.attemptOnce(ctx, func(ctx context.Context, l *conn.Link) (err error) {
			request := s.attachRequest(s.epoch)
			request.TakeOver = true
			if maybe {
				request = s.attachRequest(s.epoch + 1)
			}
			answer, err = tenurev1.NewSessionServiceClient(l).AttachSession(ctx, request)
			return err
		})
		switch {
		case err == nil:
			return answer, nil
		case maybe && reasonOf(err) == tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH &&
			infoOf(err).GetMetadata()["epoch"] == strconv.FormatUint(s.epoch, 10):
			maybe = false // It was not applied.
			continue
		case ctx.Err() != nil:
			return nil, interrupted(ctx, maybe, err)
		case !again(err):
			return nil, fromRPC(err)
		}
		maybe = maybe || infoOf(err).GetMetadata()["applied"] != string(AppliedNo)
		if !pauses.Wait(ctx) {
			return nil, interrupted(ctx, maybe, err)
		}
	}
}

// attemptOnce makes one attempt on whatever link there is.
func (c *Client) attemptOnce(ctx context.Context, f attempt) error {
	l, err := c.pool.Get(ctx)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	defer l.Release()
	r := retrying{}
	return r.once(ctx, l, f)
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
	if !s.anonymous {
		request.InstanceId = s.client.instance
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

// Holds returns what a resumed session inherited, once that can be believed: at once after Export, else one TTL after the
// resume, when the process that had it cannot believe it any more, and when the session is safe. Another call returns the same again, without
// what ended meanwhile.
func (s *Session) Holds(ctx context.Context) ([]*Held, error) {
	if !s.awaitBelieved(ctx) {
		return nil, s.whyNot(ctx)
	}
	for {
		s.mu.Lock()
		s.lookAtLease()
		state, changed := s.state, s.changed
		if state == StateConnected || state == StateSuspended {
			defer s.mu.Unlock()
			return s.adoptAll(), nil
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.done:
			return nil, s.over()
		case <-ctx.Done():
			return nil, s.whyNot(ctx)
		}
	}
}

// whyNot returns why a wait for the session ended.
func (s *Session) whyNot(ctx context.Context) error {
	if s.Err() != nil {
		return s.over()
	}
	return interrupted(ctx, false, nil)
}

// adoptAll makes Helds of what was inherited, and returns all that there are. Call it under mu.
func (s *Session) adoptAll() []*Held {
	for _, hold := range s.inherited {
		s.hold(hold).inherited = true
	}
	s.inherited = nil
	var helds []*Held
	for h := range s.helds {
		if h.inherited {
			helds = append(helds, h)
		}
	}
	slices.SortFunc(helds, func(a, b *Held) int {
		return cmp.Compare(a.sequencer.GetFencingToken(), b.sequencer.GetFencingToken())
	})
	return helds
}

// isInherited tells whether a hold is one that was taken over, and not yet made a Held.
func (s *Session) isInherited(hold *tenurev1.Hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.inherited, func(other *tenurev1.Hold) bool {
		return sameHold(other.GetSequencer(), hold.GetSequencer())
	})
}

// dropInherited forgets a hold that was taken over, and tells whether it was one. Call it under mu.
func (s *Session) dropInherited(q *tenurev1.Sequencer) bool {
	before := len(s.inherited)
	s.inherited = slices.DeleteFunc(s.inherited, func(hold *tenurev1.Hold) bool { return sameHold(hold.GetSequencer(), q) })
	return len(s.inherited) < before
}

// Place is a place in the queue of a lock.
type Place struct {
	Key   string
	Owner string
	Mode  Mode
	// Permits are those of a semaphore, whose limit Client.GetLock tells.
	Permits uint32
}

func placeOf(names space, p *tenurev1.Place) Place {
	return Place{Key: names.own(p.GetKey()), Owner: p.GetOwner(), Mode: Mode(p.GetMode()), Permits: p.GetPermits()}
}

// KeepPlaces makes ResumeSession keep the places in queues that the session has. Session.Places tells them, and an acquire WithOwner takes one
// up where it stands. A place that nobody takes up may be granted to nobody.
func KeepPlaces() SessionOption {
	return func(o *sessionOptions) { o.keepPlaces = true }
}

// Places returns where a session that was resumed with KeepPlaces queued then.
func (s *Session) Places() []Place { return slices.Clone(s.places) }

// awaitBelieved waits until what was inherited can be believed, and tells whether that came before ctx or the session ended.
func (s *Session) awaitBelieved(ctx context.Context) bool {
	for {
		left := s.believedAt - s.client.clock()
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, lookEvery))
		select {
		case <-timer.C:
		case <-s.done:
			timer.Stop()
			return false
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}
