package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newSessionKeepaliveCommand returns `tenure session keepalive`.
func newSessionKeepaliveCommand(env *cli.Environment) *cobra.Command {
	secret := &cli.SecretFlag{}
	cmd := &cobra.Command{
		Use:   "keepalive ID",
		Short: "Renew a session until Ctrl-C, or until it ends",
		Long: `Renew a session as often as its TTL requires, through any member, until Ctrl-C (exit code 0) or until
the session has ended (exit code 1). Print a line for each renewal; with -o json, a JSON object.`,
		Example: `  tenure session keepalive "$ID"
  tenure session keepalive "$ID" >/dev/null &`,
		Args: cli.SessionIDArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return keepSessionAlive(cmd.Context(), env, secret, args[0])
		},
	}
	secret.Add(cmd.Flags())
	return cmd
}

// keepSessionAlive renews a session until ctx ends.
func keepSessionAlive(ctx context.Context, e *cli.Environment, flag *cli.SecretFlag, id string) error {
	secret, err := flag.Secret(e)
	if err != nil {
		return err
	}
	// Whether it lives, and how it ended, is asked first: what ended has nothing to renew.
	if err = demandLive(ctx, e, id); err != nil {
		return err
	}
	c, err := e.Client(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // It has no session any more.
	renewals := make(chan struct{}, 1)
	opening, cancel := context.WithTimeout(ctx, e.Timeout)
	s, err := c.AttachSession(opening, id, secret, tenure.WithRenewedFunc(func() {
		select {
		case renewals <- struct{}{}:
		default: // It is printed already that it is renewed.
		}
	}))
	cancel()
	if err != nil {
		return sessionRefusal(id, len(secret) > 0, err)
	}
	defer s.Detach() // The session lives on without this program.
	_, stopVigil := process.KeepVigil(ctx, e, s)
	defer stopVigil()
	for number := uint64(1); ; number++ {
		select {
		case <-ctx.Done():
			return nil
		case <-s.Done():
			return End(s.ID(), s.Err())
		case <-renewals:
			if err := printRenewal(e, s, number); err != nil {
				return err
			}
		}
	}
}

// sessionRefusal returns why a session cannot be renewed. A caller without the right secret, or without the right to renew, hears that:
// the session goes on for others.
func sessionRefusal(id string, given bool, err error) error {
	if errors.Is(err, tenure.ErrSessionExpired) || errors.Is(err, tenure.ErrSessionSuperseded) {
		return End(id, err)
	}
	if e, ok := errors.AsType[*tenure.Error](err); ok && e.Reason == "SESSION_SECRET_WRONG" {
		return cli.SecretWrongError(given)
	}
	return cli.PlainError(err)
}

// printRenewal prints one renewal.
func printRenewal(e *cli.Environment, s *tenure.Session, number uint64) error {
	if e.JSON() {
		return e.PrintLine(&tenurev1.RenewalVerdict{SessionId: s.ID(), Number: number, Ttl: durationpb.New(s.TTL())})
	}
	return e.Printf("Session renewed: %s (TTL %s)\n", s.ID(), cli.LengthOrNone(durationpb.New(s.TTL())))
}

// demandLive returns an error that tells how a session ended, if it did.
func demandLive(ctx context.Context, e *cli.Environment, id string) error {
	return e.WithClient(ctx, func(ctx context.Context, c *tenure.Client) error {
		answer, err := getSession(ctx, c, id)
		if err != nil {
			return err
		}
		if end := answer.GetSession().GetEnd(); end != nil {
			return &cli.SessionEndedError{ID: answer.GetSession().GetSessionId(), Cause: fmt.Sprintf("%s at %s",
				cli.Words(end.GetCause().String(), "SESSION_END_CAUSE_"), cli.Moment(end.GetTime()))}
		}
		return nil
	})
}
