package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newSessionKeepaliveCommand returns `tenure session keepalive`.
func newSessionKeepaliveCommand(env *environment) *cobra.Command {
	secret := &secretFlag{}
	cmd := &cobra.Command{
		Use:   "keepalive ID",
		Short: "Renew a session until Ctrl-C, or until it ends",
		Long: `Renew a session as often as its TTL needs, over whichever member answers, until Ctrl-C (exit code 0) or until the session has
ended (exit code 1). Each renewal is a line; with -o json a line of JSON.`,
		Example: `  tenure session keepalive "$ID"
  tenure session keepalive "$ID" >/dev/null &`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.keepAlive(cmd.Context(), secret, args[0])
		},
	}
	secret.add(cmd.Flags())
	return cmd
}

// keepAlive renews a session until ctx ends.
func (e *environment) keepAlive(ctx context.Context, secret *secretFlag, id string) error {
	m, err := e.connect()
	if err != nil {
		return err
	}
	defer m.close()
	session, err := e.adoptSession(ctx, m, secret, id)
	if err != nil {
		return err
	}
	k := newKeeper(m, newClock(), session, e.notef)
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.renewed = func(time.Duration) {
		if err := e.printRenewal(session, k.number); err != nil {
			select {
			case failed <- err:
			default:
			}
			cancel()
		}
	}
	if err := k.run(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// printRenewal prints one renewal.
func (e *environment) printRenewal(s *ownSession, number uint64) error {
	if e.json() {
		return e.printLine(&tenurev1.RenewalVerdict{SessionId: s.id, Number: number, Ttl: durationpb.New(s.ttl)})
	}
	return e.printf("Session renewed: %s (TTL %s)\n", s.id, lengthOrNone(durationpb.New(s.ttl)))
}

// adoptSession returns a live session that somebody else made.
func (e *environment) adoptSession(ctx context.Context, m *members, flag *secretFlag, id string) (*ownSession, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	secret, err := flag.secret(e)
	if err != nil {
		return nil, err
	}
	answer, err := m.getSession(ctx, id)
	if err != nil {
		return nil, err
	}
	s := answer.GetSession()
	if end := s.GetEnd(); end != nil {
		return nil, &sessionEndedError{id: s.GetSessionId(), cause: fmt.Sprintf("%s at %s",
			words(end.GetCause().String(), "SESSION_END_CAUSE_"), moment(end.GetTime()))}
	}
	ttl := s.GetTtl().AsDuration()
	return &ownSession{id: s.GetSessionId(), secret: secret, epoch: s.GetEpoch(), ttl: ttl, every: renewEvery(ttl, 0)}, nil
}
