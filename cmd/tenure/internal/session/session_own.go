package session

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Own is a session that this program acts as, with the client that keeps it alive.
type Own struct {
	*tenure.Session

	Client *tenure.Client
	// Vigil tells people when the cluster stops answering, until stopVigil.
	Vigil     *process.Vigil
	stopVigil func()
}

// noDeadline is a deadline for those who wait for as long as it takes: without one the client gives up.
const noDeadline = 10 * 365 * 24 * time.Hour

// OpenOwn opens the session that a request describes before ctx ends, and keeps it alive. Close it.
func OpenOwn(ctx context.Context, e *cli.Environment, request *tenurev1.CreateSessionRequest) (*Own, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, noDeadline)
		defer cancel()
	}
	c, err := e.PatientClient(ctx)
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
		return nil, cli.PlainError(err)
	}
	own := &Own{Session: s, Client: c}
	own.Vigil, own.stopVigil = process.KeepVigil(context.WithoutCancel(ctx), e, s)
	return own, nil
}

// OpenOwnUntilSignal is OpenOwn, which a signal that asks the program to end ends, too: the error has the signal's exit code. If the opening takes
// longer than one call may, late is called, once.
func OpenOwnUntilSignal(
	ctx context.Context, e *cli.Environment, request *tenurev1.CreateSessionRequest, signals <-chan os.Signal, late func(),
) (*Own, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		session *Own
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		session, err := OpenOwn(ctx, e, request)
		done <- outcome{session, err}
	}()
	oneCall := time.NewTimer(e.Timeout)
	defer oneCall.Stop()
	for {
		select {
		case o := <-done:
			return o.session, o.err
		case s := <-signals:
			if !process.Ends(s) {
				continue
			}
			cancel()
			if o := <-done; o.err == nil {
				// It holds nothing yet; if nobody can be told, its TTL ends it.
				_ = o.session.Close() // The end of ctx must not keep the session alive.
			}
			return nil, cli.SilentExit(process.SignalExitCode(s))
		case <-oneCall.C:
			late()
		}
	}
}

// TellEnd sends why the session ended to losses, which must have room, unless stop is called before; stop waits for that.
func (s *Own) TellEnd(ctx context.Context, losses chan<- error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-s.Done():
			losses <- s.Ended()
		case <-ctx.Done():
		}
	})
	return func() {
		cancel()
		waiting.Wait()
	}
}

// Ended tells why the session is over.
func (s *Own) Ended() error { return End(s.ID(), s.Err()) }

// End returns the end of a session for people.
func End(id string, err error) error {
	cause := "this program closed it"
	switch {
	case errors.Is(err, tenure.ErrSessionExpired):
		cause = "it expired or was destroyed"
	case errors.Is(err, tenure.ErrSessionSuperseded):
		cause = "another process took it over"
	case errors.Is(err, tenure.ErrAuth):
		cause = "its secret is wrong"
	}
	return &cli.SessionEndedError{ID: id, Cause: cause}
}

// Close ends the session, cleanly: its locks are free at once.
func (s *Own) Close() error {
	s.stopVigil()
	return cli.PlainError(s.Client.Close())
}
