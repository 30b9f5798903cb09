package main

import (
	"context"
	"errors"
	"sync"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// ownSession is a session that this program acts as, with the client that keeps it alive.
type ownSession struct {
	*tenure.Session

	client *tenure.Client
	// vigil tells people when the cluster stops answering, until stopVigil.
	vigil     *vigil
	stopVigil func()
}

// noDeadline is a deadline for those who wait for as long as it takes: without one the client gives up.
const noDeadline = 10 * 365 * 24 * time.Hour

// openOwn opens the session that a request describes before ctx ends, and keeps it alive. Close it.
func openOwn(ctx context.Context, e *environment, request *tenurev1.CreateSessionRequest) (*ownSession, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, noDeadline)
		defer cancel()
	}
	c, err := e.patientClient(ctx)
	if err != nil {
		return nil, err
	}
	options := []tenure.SessionOption{
		tenure.WithTTL(request.GetTtl().AsDuration()), tenure.WithName(request.GetName()),
		tenure.WithMetadata(request.GetMetadata()),
	}
	if delay := request.GetLockDelay(); delay != nil {
		options = append(options, tenure.WithLockDelay(delay.AsDuration()))
	}
	if request.GetBehavior() == tenurev1.SessionBehavior_SESSION_BEHAVIOR_DELETE {
		options = append(options, tenure.WithDeleteOnEnd())
	}
	if len(request.GetSecret()) == 0 {
		options = append(options, tenure.WithoutSecret())
	}
	s, err := c.OpenSession(ctx, options...)
	if err != nil {
		_ = c.Close() // There is nothing to tell.
		return nil, plainError(err)
	}
	own := &ownSession{Session: s, client: c}
	own.vigil, own.stopVigil = keepVigil(context.WithoutCancel(ctx), e, s)
	return own, nil
}

// tellEnd sends why the session ended to losses, which must have room, unless stop is called before; stop waits for that.
func (s *ownSession) tellEnd(ctx context.Context, losses chan<- error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-s.Done():
			losses <- s.ended()
		case <-ctx.Done():
		}
	})
	return func() {
		cancel()
		waiting.Wait()
	}
}

// ended tells why the session is over.
func (s *ownSession) ended() error { return sessionEnd(s.ID(), s.Err()) }

// sessionEnd returns the end of a session for people.
func sessionEnd(id string, err error) error {
	cause := "this program closed it"
	switch {
	case errors.Is(err, tenure.ErrSessionExpired):
		cause = "it expired or was destroyed"
	case errors.Is(err, tenure.ErrSessionSuperseded):
		cause = "another process took it over"
	case errors.Is(err, tenure.ErrAuth):
		cause = "its secret is wrong"
	}
	return &sessionEndedError{id: id, cause: cause}
}

// close ends the session, cleanly: its locks are free at once.
func (s *ownSession) close() error {
	s.stopVigil()
	return plainError(s.client.Close())
}
