package tenure

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Election is the election at a key, for a session. The leader is the holder of the key's exclusive lock, and the
// leader's value is the key's value.
type Election struct {
	session *Session
	key     string
}

// Election returns the election at a key.
func (s *Session) Election(key string) *Election { return &Election{session: s, key: key} }

// Campaign waits for leadership, and returns when it leads or ctx ends. The value identifies the leader to others.
func (e *Election) Campaign(ctx context.Context, value []byte, options ...LockOption) (*Leadership, error) {
	held, err := e.session.Lock(e.key, slices.Concat(options, []LockOption{WithValue(value)})...).Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &Leadership{Held: held}, nil
}

// Run campaigns, calls lead while leading, and repeats this until ctx or the session ends or lead fails. The context of
// lead ends when leadership may be lost; lead should then return, and its result is ignored. If lead resigns, or
// returns nil while it still leads, Run campaigns again.
func (e *Election) Run(
	ctx context.Context, value []byte, lead func(ctx context.Context, l *Leadership) error, options ...LockOption,
) error {
	pauses := &backoff.Backoff{}
	for {
		l, err := e.Campaign(ctx, value, options...)
		if err != nil {
			if ctx.Err() != nil || e.session.Err() != nil || !passes(err) {
				return err
			}
			if !pauses.Wait(ctx) {
				return interrupted(ctx, false, err)
			}
			continue
		}
		pauses.Reset()
		ended, err := l.run(ctx, lead)
		switch {
		case ctx.Err() != nil:
			return interrupted(ctx, false, nil)
		case e.session.Err() != nil:
			return e.session.over()
		case ended == EndReleased && isAny(err, context.Canceled, ErrReleased):
			// It resigned, and was told to stop by that.
		case err != nil && (ended == EndNone || ended == EndReleased):
			return err
		}
	}
}

// run calls lead, and resigns however that ends. It returns how leadership had ended before, and what lead returned.
func (l *Leadership) run(ctx context.Context, lead func(ctx context.Context, l *Leadership) error) (ended EndCause, err error) {
	defer func() { _ = l.Close() }() // A loss changes nothing any more, and a release that fails goes on behind.
	work, cancel := l.Context(ctx)
	defer cancel()
	err = lead(work, l)
	return l.Cause(), err
}

// passes tells whether an error of a campaign may pass while the session lives.
func passes(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrLockLost) ||
		errors.Is(err, ErrWaitEnded)
}

// Leadership is the hold of an election's leader.
type Leadership struct{ *Held }

// Proclaim changes the leader's value; ErrStaleToken if another candidate now leads.
func (l *Leadership) Proclaim(ctx context.Context, value []byte) error {
	return l.session.calls.change(ctx, func(ctx context.Context, link *conn.Link, o *tenurev1.CallOptions) error {
		_, err := tenurev1.NewElectionServiceClient(link).Proclaim(ctx, &tenurev1.ProclaimRequest{
			Key: l.sequencer.GetKey(), Sequencer: l.sequencer,
			Content: &tenurev1.ProclaimRequest_Value{Value: value}, Options: o,
		})
		return err
	})
}

// Resign gives up leadership to the next candidate.
func (l *Leadership) Resign(ctx context.Context) error { return l.Release(ctx) }

// ResignTo gives up leadership to a waiting candidate, identified by session and owner, ahead of all others. If it is
// not waiting, leadership does not change, and the error is ErrCandidateNotFound. If leadership was lost before, it is
// ErrLockLost. Until the outcome is known Safe returns false, because the candidate may already lead. The contexts of
// Context end when leadership was given up, or if that remains unknown.
func (l *Leadership) ResignTo(ctx context.Context, sessionID, owner string) error {
	if err := sendable(&tenurev1.ResignRequest{ToSessionId: sessionID, ToOwner: owner}); err != nil {
		return err
	}
	s := l.session
	s.mu.Lock()
	s.look()
	err := l.errLocked()
	l.doubts++
	s.mu.Unlock()
	led := true
	if err == nil {
		led, err = l.resignTo(ctx, sessionID, owner)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.doubts--
	if !led { // Nobody had heard of it here.
		s.custody.end(l.Held, EndTakenAway)
		return l.errLocked()
	}
	if l.cause != EndNone || err != nil && AppliedOf(err) == AppliedNo {
		return err
	}
	// It is given up, or nobody knows: then it is not believed, and given back.
	if err != nil {
		s.custody.holdings.leave(l.name())
		s.custody.giveBack(l.Held)
	}
	l.released = make(chan struct{})
	close(l.released)
	s.custody.end(l.Held, EndReleased)
	return err
}

// resignTo tells the cluster, and reports whether there was anything to give up, as far as is known.
func (l *Leadership) resignTo(ctx context.Context, sessionID, owner string) (led bool, err error) {
	s := l.session
	led = true
	doubt := false // An attempt may have given it up.
	err = s.calls.change(ctx, func(ctx context.Context, link *conn.Link, o *tenurev1.CallOptions) error {
		o.Owner = l.owner
		response, failed := tenurev1.NewElectionServiceClient(link).Resign(ctx, &tenurev1.ResignRequest{
			Key: l.sequencer.GetKey(), SessionId: s.id, LockIndex: l.sequencer.GetLockIndex(), ToSessionId: sessionID,
			ToOwner: owner, Options: o,
		})
		led = failed != nil || response.GetResigned() || doubt
		doubt = doubt || mayBeApplied(failed)
		return failed
	})
	return led, err
}

// Leader describes the leader of an election.
type Leader struct {
	HoldInfo
	// Value is the value that the leader published.
	Value []byte
	// Since is the wall-clock time of the election, informational only.
	Since time.Time
	// Candidates is the number of waiting candidates.
	Candidates int
}

func leaderOf(l *tenurev1.Leader) *Leader {
	if l == nil {
		return nil
	}
	return &Leader{
		HoldInfo: holdInfo(l.GetHold()), Value: l.GetValue(), Since: l.GetSince().AsTime(), Candidates: int(l.GetCandidates()),
	}
}

// GetLeader returns the leader of the election at a key; nil if there is none.
func (c *Client) GetLeader(ctx context.Context, key string) (*Leader, error) {
	full, err := c.space.fullKey(key)
	if err != nil {
		return nil, err
	}
	var answer *tenurev1.GetLeaderResponse
	err = c.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewElectionServiceClient(l).GetLeader(ctx, &tenurev1.GetLeaderRequest{Key: full})
		return err
	})
	if err != nil {
		return nil, err
	}
	return leaderOf(answer.GetLeader()), nil
}

// Observation describes the leader from some moment on.
type Observation struct {
	// Leader is nil if there is no leader.
	Leader *Leader
	// Revision that it shows.
	Revision uint64
	// Gap says that changes before this one may have been missed.
	Gap bool
	// Message is the answer as received, with fields that are not copied here.
	Message *tenurev1.ObserveResponse
}

// Observe returns the leader of the election at a key, and then each change, until ctx ends or the loop is left. An
// error is the last of the sequence. Of the options only OnBreak is taken.
func (c *Client) Observe(ctx context.Context, key string, options ...WatchOption) iter.Seq2[*Observation, error] {
	return func(yield func(*Observation, error) bool) {
		w := &watchOptions{space: c.space, request: &tenurev1.WatchRequest{}}
		for _, option := range options {
			option(w)
		}
		full, err := c.space.fullKey(key)
		o := &observer{client: c, key: full, yield: yield, breaks: breaks{tell: w.onBreak}}
		if err == nil {
			err = o.run(ctx)
		}
		if !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// Who observes may hear nothing for long, so the member is asked now and then whether what it tells is still true: probeEvery, and after
// a failure probeAgain, until probesMax failed in a row.
const (
	probeEvery = 5 * time.Second
	probeAgain = time.Second
	probesMax  = 3
)

// observer follows an election from member to member, and tells each change once.
type observer struct {
	client *Client
	key    string
	yield  func(*Observation, error) bool
	breaks breaks

	told     bool
	token    uint64 // Of the leader told last.
	value    string
	revision uint64
}

func (o *observer) run(ctx context.Context) error {
	pauses := &backoff.Backoff{}
	for {
		err := o.once(ctx, pauses.Reset)
		switch {
		case errors.Is(err, errLeft):
			return err
		case ctx.Err() != nil:
			return interrupted(ctx, false, nil)
		case errors.Is(err, conn.ErrClosed):
			return errClientClosed()
		case errors.Is(err, errMoved):
			continue
		case !mends(err):
			return fromRPC(err)
		}
		o.breaks.begin(err)
		if !pauses.Wait(ctx) {
			return interrupted(ctx, false, err)
		}
	}
}

// once reads one stream until it breaks.
func (o *observer) once(ctx context.Context, good func()) error {
	l, err := o.client.link(ctx)
	if err != nil {
		return err
	}
	defer l.Release()
	line, err := l.Line(ctx)
	if err != nil {
		return err
	}
	defer line.Release()
	linked, end := onLink(ctx, l)
	defer end()
	reading, stop := o.probing(linked, l)
	defer stop()
	stream, err := tenurev1.NewElectionServiceClient(line).Observe(reading, &tenurev1.ObserveRequest{Key: o.key})
	for first := true; err == nil; first = false {
		var answer *tenurev1.ObserveResponse
		if answer, err = stream.Recv(); err != nil {
			break
		}
		l.Answered()
		good()
		o.breaks.end()
		// What the first answer after a break tells may not be all that happened.
		if !o.tell(answer, answer.GetGap() || first && o.told) {
			return errLeft
		}
	}
	switch cause := context.Cause(reading); {
	case errors.Is(cause, errSilent):
		l.Fail()
		return errSilent
	case errors.Is(err, io.EOF):
		return errStreamEnded
	case cause != nil:
		return cause
	}
	return err
}

// probing returns a context for a stream that may say nothing for long: it ends, with errSilent, when the member does not know
// what is true any more. Call stop after.
func (o *observer) probing(ctx context.Context, l *conn.Link) (inner context.Context, stop func()) {
	inner, cancel := context.WithCancelCause(ctx)
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		cancel(o.probe(inner, l))
	}()
	return inner, func() { cancel(nil); <-probed }
}

// probe asks the member now and then for a linearizable answer, until ctx ends or there is none for a while: a member without a leader
// is there, and knows nothing new.
func (o *observer) probe(ctx context.Context, l *conn.Link) error {
	for failures := 0; failures < probesMax; {
		pause := probeEvery
		if failures > 0 {
			pause = probeAgain
		}
		if !backoff.Pause(ctx, pause) {
			return nil
		}
		asking, cancel := context.WithTimeout(ctx, attemptPatience)
		_, err := tenurev1.NewElectionServiceClient(l).GetLeader(asking, &tenurev1.GetLeaderRequest{Key: o.key})
		cancel()
		if err != nil && again(err) && status.Code(err) != codes.ResourceExhausted {
			failures++
		} else {
			failures = 0
		}
	}
	return errSilent
}

// tell yields an answer, unless that is what was told last, or older: another member may lag.
func (o *observer) tell(answer *tenurev1.ObserveResponse, gap bool) bool {
	token := answer.GetLeader().GetHold().GetSequencer().GetFencingToken()
	value := string(answer.GetLeader().GetValue())
	revision := answer.GetHeader().GetRevision()
	if o.told && (token == o.token && value == o.value || revision < o.revision) {
		return true
	}
	o.told, o.token, o.value, o.revision = true, token, value, revision
	return o.yield(&Observation{Leader: leaderOf(answer.GetLeader()), Revision: revision, Gap: gap, Message: answer}, nil)
}
