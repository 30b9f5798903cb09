package session

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// NewCommand returns `tenure session`.
func NewCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("session", "Open, renew, inspect and end sessions",
		`  tenure session create --ttl 30s
  tenure session list
  tenure session create --name worker -- ./worker.sh`,
		newSessionCreateCommand(env), newSessionListCommand(env), newSessionInfoCommand(env),
		newSessionRenewCommand(env), newSessionKeepaliveCommand(env), newSessionDestroyCommand(env))
}

// getSession reads a session, live or ended, with all that it has.
func getSession(ctx context.Context, c *tenure.Client, id string) (*tenurev1.GetSessionResponse, error) {
	request := &tenurev1.GetSessionRequest{SessionId: id}
	var all *tenurev1.GetSessionResponse
	for {
		var page *tenurev1.GetSessionResponse
		err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
			page, err = tenurev1.NewSessionServiceClient(member).GetSession(ctx, request)
			return err
		})
		if err != nil {
			return nil, err
		}
		request.PageToken, page.NextPageToken = page.GetNextPageToken(), ""
		if all == nil {
			all = page
		} else {
			all.Holds, all.Places = append(all.Holds, page.GetHolds()...), append(all.Places, page.GetPlaces()...)
		}
		if request.GetPageToken() == "" {
			return all, nil
		}
	}
}

// newSessionRenewCommand returns `tenure session renew`.
func newSessionRenewCommand(env *cli.Environment) *cobra.Command {
	secret := &cli.SecretFlag{}
	cmd := &cobra.Command{
		Use:   "renew ID",
		Short: "Renew a session once",
		Example: `  tenure session renew "$ID"
  while tenure session renew "$ID"; do sleep 5; done`,
		Args: cli.SessionIDArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return renewSession(ctx, env, c, secret, args[0])
			})
		},
	}
	secret.Add(cmd.Flags())
	return cmd
}

// renewSession renews a session once; made twice it does the same, so it needs no key.
func renewSession(ctx context.Context, e *cli.Environment, c *tenure.Client, secret *cli.SecretFlag, id string) error {
	options, err := secret.Options(ctx, e, c, id)
	if err != nil {
		return err
	}
	var answer *tenurev1.RenewSessionResponse
	err = c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, _ *tenurev1.CallOptions) (err error) {
		answer, err = tenurev1.NewSessionServiceClient(member).RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: id, Options: options})
		return err
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	return e.Printf("Success! Session renewed: %s (TTL %s)\n", id, cli.LengthOrNone(answer.GetSession().GetTtl()))
}

// newSessionDestroyCommand returns `tenure session destroy`.
func newSessionDestroyCommand(env *cli.Environment) *cobra.Command {
	secret := &cli.SecretFlag{}
	request := &tenurev1.DestroySessionRequest{}
	cmd := &cobra.Command{
		Use:   "destroy ID",
		Short: "End a session and release everything it holds",
		Long: `End a session and release everything it holds. Its locks become free after the session's lock-delay, or
immediately with --clean, which says that the work under them has finished. --force ends a session without
its secret; it needs a --reason, which is kept.`,
		Example: `  tenure session destroy "$ID"
  tenure session destroy "$ID" --clean
  tenure session destroy "$ID" --force --reason "host is gone"`,
		Args: cli.SessionIDArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.SessionId = args[0]
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return destroyAndPrint(ctx, env, c, secret, request)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&request.Clean, "clean", false, "free its locks immediately, without lock-delay")
	flags.BoolVar(&request.Force, "force", false, "end it without its secret; needs --reason")
	flags.StringVar(&request.Reason, "reason", "", "reason for the record")
	secret.Add(flags)
	cmd.MarkFlagsRequiredTogether("force", "reason")
	return cmd
}

// destroyAndPrint ends a session.
func destroyAndPrint(
	ctx context.Context, e *cli.Environment, c *tenure.Client, secret *cli.SecretFlag, request *tenurev1.DestroySessionRequest,
) error {
	if !request.GetForce() {
		options, err := secret.Options(ctx, e, c, request.GetSessionId())
		if err != nil {
			return err
		}
		request.Options = options
	}
	answer, err := destroySession(ctx, c, request)
	if err != nil {
		return withForce(err)
	}
	switch {
	case e.JSON():
		return e.PrintDocument(answer)
	case !answer.GetDestroyed():
		return e.Printf("Session had ended already: %s\n", request.GetSessionId())
	}
	return e.Printf("Success! Session destroyed: %s\n", request.GetSessionId())
}

// withForce adds to the refusal of a caller without the session's secret how an operator ends the session.
func withForce(err error) error {
	if errorinfo.Reason(cli.PlainError(err)) != tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG {
		return err
	}
	return cli.RefusedError("%w; an operator ends it with --force --reason TEXT, or takes only a lock from it: `tenure lock break KEY --reason TEXT`",
		cli.Explain(0, cli.PlainError(err)))
}

// destroySession ends a session; made twice it does the same, so it needs no key.
func destroySession(
	ctx context.Context, c *tenure.Client, request *tenurev1.DestroySessionRequest,
) (answer *tenurev1.DestroySessionResponse, err error) {
	err = c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, _ *tenurev1.CallOptions) (err error) {
		answer, err = tenurev1.NewSessionServiceClient(member).DestroySession(ctx, request)
		return err
	})
	return answer, err
}
