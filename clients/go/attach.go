package tenure

import (
	"context"
	"errors"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// UnreachableError says that the client could not connect to any member.
type UnreachableError = conn.UnreachableError

// Connect returns when the client is connected to a member. Unlike other calls it does not wait until ctx ends: it
// fails with an *UnreachableError once every member was tried without success.
func (c *Client) Connect(ctx context.Context) error {
	members, _ := c.pool.Members()
	for range len(members) + 1 {
		l, err := c.pool.GetNow(ctx)
		switch {
		case errors.Is(err, conn.ErrClosed):
			return errClientClosed()
		case err != nil:
			if unreachable, ok := errors.AsType[*UnreachableError](err); ok {
				return errUnreachable(unreachable)
			}
			return &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: err.Error(), cause: err}
		}
		refused := !c.fixed && greet(ctx, c.pool, l) // Whoever asked for just that member sees what it answers.
		l.Release()
		if !refused {
			return nil
		}
	}
	err := c.pool.Unreachable()
	return &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: err.Error(), cause: err}
}

// greet makes the first call on a link, and reports whether who answers is no member.
func greet(ctx context.Context, pool *conn.Pool, l *conn.Link) bool {
	ctx, cancel := context.WithTimeout(ctx, attemptPatience)
	defer cancel()
	_, _ = tenurev1.NewClusterServiceClient(l).GetStatus(ctx, &tenurev1.GetStatusRequest{}) // Every other answer will do.
	return pool.Refused(l)
}

// WithoutSecret opens a session without a secret, for shells and scripts: anyone who knows its id can use it. By
// default, the library sets a secret.
func WithoutSecret() SessionOption {
	return func(o *sessionOptions) { o.open = true }
}

// WithRenewedFunc calls f after an acknowledged renewal, one call at a time, from a goroutine of the library. Renewals
// that happen while f runs result in one further call.
func WithRenewedFunc(f func()) SessionOption {
	return func(o *sessionOptions) { o.onRenewed = f }
}

// AttachSession keeps alive a session that was opened elsewhere, for example by a script, and can read under it. It
// does not own the session: acquires, campaigns, writes and Export are refused with ErrInvalidArgument, because the
// cluster recognizes retries by numbers that only one process can assign. Close and Client.Close do not end the
// session. For a session without a secret, secret is empty. To take a session away from another process, use
// ResumeSession.
func (c *Client) AttachSession(ctx context.Context, id string, secret []byte, options ...SessionOption) (*Session, error) {
	o := sessionOptions{}
	for _, option := range options {
		option(&o)
	}
	info, err := c.LookUpSession(ctx, id)
	if err != nil {
		return nil, underSession(err)
	}
	if !info.Live {
		return nil, &Error{Kind: ErrSessionExpired, Applied: AppliedNo, Message: id + ": " + info.EndCause}
	}
	s := newSession(c, &o)
	s.id, s.secret, s.epoch, s.attached = info.ID, secret, info.Epoch, true
	s.lockDelay = info.Message.GetLockDelay().AsDuration()
	s.setTTL(info.Message.GetTtl().AsDuration(), 0)
	if err := c.care.add(s); err != nil {
		s.end(CauseClosed)
		return nil, err
	}
	s.begin(false)
	if err := awaitConnected(ctx, s); err != nil {
		s.Detach()
		return nil, err
	}
	return s, nil
}

// errAttached refuses what only a session's owner may do.
func errAttached(sessionID string) error {
	return invalid("session %s was attached to: only its owner may do this", sessionID)
}

// Detach stops using the session without ending it, and waits for what the session started, as Close does. Its Helds
// end; in the cluster the session lives until its TTL has elapsed, or until another process resumes it.
func (s *Session) Detach() {
	s.custody.leaveQueues()
	s.end(CauseExported)
	s.client.care.release(s)
}
