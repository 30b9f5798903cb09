package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newSessionKeepaliveCommand returns `tenure session keepalive`.
func newSessionKeepaliveCommand(env *environment) *cobra.Command {
	secret := &secretFlag{}
	cmd := &cobra.Command{
		Use:   "keepalive ID",
		Short: "Renew a session until Ctrl-C, or until it ends",
		Long: `Renew a session as often as its TTL requires, through any member, until Ctrl-C (exit code 0) or until
the session has ended (exit code 1). Print a line for each renewal; with -o json, a JSON object.`,
		Example: `  tenure session keepalive "$ID"
  tenure session keepalive "$ID" >/dev/null &`,
		Args: sessionIDArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return keepSessionAlive(cmd.Context(), env, secret, args[0])
		},
	}
	secret.add(cmd.Flags())
	return cmd
}

// keepSessionAlive renews a session until ctx ends.
func keepSessionAlive(ctx context.Context, e *environment, flag *secretFlag, id string) error {
	secret, err := flag.secret(e)
	if err != nil {
		return err
	}
	// Whether it lives, and how it ended, is asked first: what ended has nothing to renew.
	if err = demandLive(ctx, e, id); err != nil {
		return err
	}
	c, err := e.client(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // It has no session any more.
	renewals := make(chan struct{}, 1)
	opening, cancel := context.WithTimeout(ctx, e.timeout)
	s, err := c.AttachSession(opening, id, secret, tenure.WithRenewedFunc(func() {
		select {
		case renewals <- struct{}{}:
		default: // It is printed already that it is renewed.
		}
	}))
	cancel()
	if err != nil {
		return sessionRefusal(id, err)
	}
	defer s.Detach() // The session lives on without this program.
	_, stopVigil := keepVigil(ctx, e, s)
	defer stopVigil()
	for number := uint64(1); ; number++ {
		select {
		case <-ctx.Done():
			return nil
		case <-s.Done():
			return sessionEnd(s.ID(), s.Err())
		case <-renewals:
			if err := printRenewal(e, s, number); err != nil {
				return err
			}
		}
	}
}

// sessionRefusal returns why a session cannot be renewed.
func sessionRefusal(id string, err error) error {
	if errors.Is(err, tenure.ErrSessionExpired) || errors.Is(err, tenure.ErrSessionSuperseded) || errors.Is(err, tenure.ErrAuth) {
		return sessionEnd(id, err)
	}
	return plainError(err)
}

// printRenewal prints one renewal.
func printRenewal(e *environment, s *tenure.Session, number uint64) error {
	if e.json() {
		return e.printLine(&tenurev1.RenewalVerdict{SessionId: s.ID(), Number: number, Ttl: durationpb.New(s.TTL())})
	}
	return e.printf("Session renewed: %s (TTL %s)\n", s.ID(), lengthOrNone(durationpb.New(s.TTL())))
}

// demandLive returns an error that tells how a session ended, if it did.
func demandLive(ctx context.Context, e *environment, id string) error {
	return e.withClient(ctx, func(ctx context.Context, c *tenure.Client) error {
		answer, err := getSession(ctx, c, id)
		if err != nil {
			return err
		}
		if end := answer.GetSession().GetEnd(); end != nil {
			return &sessionEndedError{id: answer.GetSession().GetSessionId(), cause: fmt.Sprintf("%s at %s",
				words(end.GetCause().String(), "SESSION_END_CAUSE_"), moment(end.GetTime()))}
		}
		return nil
	})
}
