package tenure

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	"github.com/tenure-io/tenure/clients/go/internal/secure"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// Patience of calls.
const (
	// attemptPatience is how long an attempt may be without answer before another one is made.
	attemptPatience = 5 * time.Second
	// leaderlessPatience is how long a member may know no leader before another one is asked.
	leaderlessPatience = 2 * time.Second
)

// attempt makes a call once. It must do the same when it is made again.
type attempt func(ctx context.Context, l *conn.Link) error

// caller makes calls: for a client or under a session.
type caller interface {
	// read makes a call that changes nothing.
	read(ctx context.Context, f attempt) error
	// change makes a call that is applied once; f puts the options into its request.
	change(ctx context.Context, f func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error) error
}

// cluster makes calls on whichever member answers.
type cluster struct{ pool *conn.Pool }

var _ caller = (*cluster)(nil)

// link returns a connection to a member, waiting for one until ctx ends. That certificates do not verify from the first, and so no member can be
// reached, is an ErrTLSFailed.
func (c *cluster) link(ctx context.Context) (*conn.Link, error) {
	l, err := c.pool.Get(ctx)
	if unreachable, ok := errors.AsType[*UnreachableError](err); ok && ctx.Err() == nil {
		return nil, errUnreachable(unreachable)
	}
	return l, err
}

// read makes a call that changes nothing.
func (c *cluster) read(ctx context.Context, f attempt) error { return c.retry(ctx, f, kindRead) }

// change makes a call that is applied once, by an idempotency key.
func (c *cluster) change(
	ctx context.Context, f func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error,
) error {
	key := randomBytes(16)
	return c.retry(ctx, func(ctx context.Context, l *conn.Link) error {
		return f(ctx, l, &tenurev1.CallOptions{IdempotencyKey: key})
	}, kindChange)
}

// callKind says what a call does, and so where its attempts are made.
type callKind int

const (
	// kindRead changes nothing.
	kindRead callKind = iota
	// kindChange is applied once, however often it is made: it goes to the leader where that can be reached, and else to the client's own member.
	kindChange
	// kindOwn changes something, on the client's own member.
	kindOwn
)

// linkFor returns a connection for an attempt. A change whose attempt at the leader failed goes on at the client's own member, which finds the leader.
func (c *cluster) linkFor(ctx context.Context, kind callKind, failed bool) (*conn.Link, error) {
	if kind == kindChange && !failed {
		if l := c.pool.Leader(); l != nil {
			return l, nil
		}
	}
	return c.link(ctx)
}

// retry makes attempts, on one member after another, until one is answered or ctx ends. If ctx has ended before, it makes none.
func (c *cluster) retry(ctx context.Context, f attempt, kind callKind) error {
	if ctx.Err() != nil {
		return interrupted(ctx, false, nil)
	}
	pauses := &backoff.Backoff{}
	r := retrying{reading: kind == kindRead}
	for {
		l, err := c.linkFor(ctx, kind, r.last != nil)
		if err != nil {
			if errors.Is(err, conn.ErrClosed) {
				return r.doubt(errClientClosed())
			}
			if errors.Is(err, ErrTLSFailed) {
				return r.doubt(err)
			}
			return interrupted(ctx, r.sent, err)
		}
		err = r.once(ctx, l, f)
		l.Release()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && again(err):
			return interrupted(ctx, r.sent, r.last)
		case !again(err):
			return r.doubt(fromRPC(err))
		}
		if !pauses.Wait(ctx) {
			return interrupted(ctx, r.sent, r.last)
		}
	}
}

// retrying is what is known of the attempts of a call.
type retrying struct {
	reading    bool
	sent       bool // Whether an attempt may have been applied.
	last       error
	leaderless time.Time
}

// doubt says of an error that tells of the last attempt only what is known of all: one before may have been applied. What
// the state machine decides it decides for all of them, so that is left as it is. Everything else, such as that the caller's
// right is gone by now, comes before anybody looks for what became of the attempts before.
func (r *retrying) doubt(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !r.sent || e.Applied != AppliedNo {
		return err
	}
	if decided(errorinfo.Reason(e.cause)) {
		return err
	}
	return e.with(AppliedUnknown)
}

// decided reports whether a change that is refused for a reason is refused by the state machine, which then remembers that for all attempts. Reasons
// that a member or an agent may also give by itself are not among them, nor those that the state machine does not remember: that the store or the
// window is full.
func decided(reason tenurev1.ErrorReason) bool {
	switch reason {
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED: // Of these it says itself what is known of an earlier attempt.
		return true
	case tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND,
		tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS, tenurev1.ErrorReason_ERROR_REASON_FROZEN,
		tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD, tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAYED,
		tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_HELD, tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH,
		tenurev1.ErrorReason_ERROR_REASON_FENCING_TOKEN_STALE, tenurev1.ErrorReason_ERROR_REASON_CANDIDATE_NOT_FOUND:
		return true
	case tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND, tenurev1.ErrorReason_ERROR_REASON_CHECK_CRITICAL,
		tenurev1.ErrorReason_ERROR_REASON_NODE_ID_CONFLICT, tenurev1.ErrorReason_ERROR_REASON_QUERY_NOT_FOUND,
		tenurev1.ErrorReason_ERROR_REASON_QUERY_NAME_TAKEN:
		return true
	default:
		return false
	}
}

// once makes one attempt, and gives the link up if it is to blame.
func (r *retrying) once(ctx context.Context, l *conn.Link, f attempt) error {
	before := l.Answers()
	attempting, cancel := context.WithTimeout(ctx, attemptPatience)
	l.Owe()
	err := f(attempting, l)
	l.Settle()
	timedOut := attempting.Err() != nil && ctx.Err() == nil
	cancel()
	if err == nil || !again(err) {
		l.Answered()
		return err
	}
	if ctx.Err() == nil { // Else it says what the caller knows.
		r.last = err
	}
	info := errorinfo.Of(err)
	r.sent = r.sent || !r.reading && info.GetMetadata()["applied"] != string(AppliedNo)
	switch {
	case errors.Is(err, secure.ErrLate):
		// The member is not to blame.
	case timedOut && l.Answers() == before, errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_STOPPING:
		l.Fail()
	case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
		errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER:
		if l.Direct() {
			l.Fail() // It leads no more.
			break
		}
		r.noLeader(l)
	default:
		r.leaderless = time.Time{}
	}
	return err
}

// noLeader gives a member some time to find a leader, and then asks another.
func (r *retrying) noLeader(l *conn.Link) {
	switch now := time.Now(); {
	case r.leaderless.IsZero():
		r.leaderless = now
	case now.Sub(r.leaderless) > leaderlessPatience:
		r.leaderless = time.Time{}
		l.Fail()
	}
}

// errMoved ends what is under way on a connection that another one replaces.
var errMoved = errors.New("moved to another member")

// onLink returns a context for a stream on a link: it ends when the stream should move to another link. Call end after.
func onLink(ctx context.Context, l *conn.Link) (inner context.Context, end func()) {
	return untilBroken(ctx, l, l.Retired())
}

// whileLinked is onLink for a stream that stays on its link, also when the client moves on.
func whileLinked(ctx context.Context, l *conn.Link) (inner context.Context, end func()) {
	return untilBroken(ctx, l, nil)
}

// untilBroken returns a context that ends when a link breaks, or something makes its streams move. Call end after.
func untilBroken(ctx context.Context, l *conn.Link, moves <-chan struct{}) (inner context.Context, end func()) {
	inner, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-moves:
			cancel(errMoved)
		case <-l.Broken():
			cancel(status.Error(codes.Unavailable, "the connection broke"))
		case <-inner.Done():
		}
	}()
	return inner, func() { cancel(nil); <-ended }
}
