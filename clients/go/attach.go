package tenure

import (
	"context"
	"errors"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// UnreachableError says that no member could be connected to.
type UnreachableError = conn.UnreachableError

// Connect returns when a member was connected to. Unlike other calls it does not wait until ctx ends: it fails, with an
// *UnreachableError, when every member was tried in vain.
func (c *Client) Connect(ctx context.Context) error {
	members, _ := c.pool.Members()
	for range len(members) + 1 {
		l, err := c.pool.GetNow(ctx)
		switch {
		case errors.Is(err, conn.ErrClosed):
			return errClientClosed()
		case err != nil:
			return &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: err.Error(), cause: err}
		}
		refused := c.greet(ctx, l)
		l.Release()
		if !refused {
			return nil
		}
	}
	err := c.pool.Unreachable()
	return &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: err.Error(), cause: err}
}

// greet makes the first call on a link, and reports whether who answers is no member.
func (c *Client) greet(ctx context.Context, l *conn.Link) bool {
	if c.fixed {
		return false // Whoever asked for just that member sees what it answers.
	}
	ctx, cancel := context.WithTimeout(ctx, attemptPatience)
	defer cancel()
	_, _ = tenurev1.NewClusterServiceClient(l).GetStatus(ctx, &tenurev1.GetStatusRequest{}) // Every other answer will do.
	return c.pool.Refused(l)
}

// WithoutSecret makes a session that anybody may act as who knows its id: for shells and scripts. Else the library sets a secret.
func WithoutSecret() SessionOption {
	return func(o *sessionOptions) { o.open = true }
}

// WithRenewedFunc calls f after a renewal that the cluster acknowledged, one call at a time, from a goroutine of the library's. While f runs, the
// renewals that follow are one call.
func WithRenewedFunc(f func()) SessionOption {
	return func(o *sessionOptions) { o.onRenewed = f }
}

// Secret returns the secret that is needed to act as the session; nothing if it is an open one.
func (s *Session) Secret() []byte { return s.secret }

// AttachSession keeps a session alive that was opened elsewhere, such as an open one of a script, and reads under it. It remains its owner's:
// acquires, campaigns and writes under it are refused with ErrInvalidArgument, for the cluster tells retries by numbers that only one process can
// count, and so is Export. Close and Client.Close leave it as it is. The secret is empty for an open session. To take a session away from
// another process there is ResumeSession.
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
	s := c.newSession(&o)
	s.id, s.secret, s.epoch, s.attached = info.ID, secret, info.Epoch, true
	s.lockDelay = info.Message.GetLockDelay().AsDuration()
	s.setTTL(info.Message.GetTtl().AsDuration(), 0)
	if err := c.add(s); err != nil {
		s.abort()
		return nil, err
	}
	s.begin(false)
	if err := s.awaitConnected(ctx); err != nil {
		s.Detach()
		return nil, err
	}
	return s, nil
}

// errAttached refuses what only a session's owner may do.
func (s *Session) errAttached() error {
	return invalid("session %s was attached to: only its owner may do this", s.id)
}

// Detach stops using the session without ending it, and waits for what the session started, as Close does. What it holds here ends; in the cluster it
// holds on until its TTL runs out, or somebody else goes on with it.
func (s *Session) Detach() {
	s.leaveQueues()
	s.end(CauseExported)
	s.leaveClient()
}
