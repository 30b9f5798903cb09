package main

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newSessionCommand returns `tenure session`.
func newSessionCommand(env *environment) *cobra.Command {
	return groupCommand("session", "Open, renew, inspect and end sessions",
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
func newSessionRenewCommand(env *environment) *cobra.Command {
	secret := &secretFlag{}
	cmd := &cobra.Command{
		Use:   "renew ID",
		Short: "Renew a session once",
		Example: `  tenure session renew "$ID"
  while tenure session renew "$ID"; do sleep 5; done`,
		Args: sessionIDArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return renewSession(ctx, env, c, secret, args[0])
			})
		},
	}
	secret.add(cmd.Flags())
	return cmd
}

// renewSession renews a session once; made twice it does the same, so it needs no key.
func renewSession(ctx context.Context, e *environment, c *tenure.Client, secret *secretFlag, id string) error {
	options, err := secret.options(ctx, e, c, id)
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
	if e.json() {
		return e.printDocument(answer)
	}
	return e.printf("Success! Session renewed: %s (TTL %s)\n", id, lengthOrNone(answer.GetSession().GetTtl()))
}

// newSessionDestroyCommand returns `tenure session destroy`.
func newSessionDestroyCommand(env *environment) *cobra.Command {
	secret := &secretFlag{}
	request := &tenurev1.DestroySessionRequest{}
	cmd := &cobra.Command{
		Use:   "destroy ID",
		Short: "End a session and release everything it holds",
		Long: `End a session and release everything it holds. Its locks become free after the session's lock-delay, or
immediately with --clean, which says that the work under them has finished. --force, with a --reason,
replaces the session's secret; the reason is kept.`,
		Example: `  tenure session destroy "$ID"
  tenure session destroy "$ID" --clean
  tenure session destroy "$ID" --force --reason "host is gone"`,
		Args: sessionIDArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.SessionId = args[0]
			return env.withClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return destroyAndPrint(ctx, env, c, secret, request)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&request.Clean, "clean", false, "free its locks immediately, without lock-delay")
	flags.BoolVar(&request.Force, "force", false, "end it without its secret; needs --reason")
	flags.StringVar(&request.Reason, "reason", "", "reason for the record")
	secret.add(flags)
	cmd.MarkFlagsRequiredTogether("force", "reason")
	return cmd
}

// destroyAndPrint ends a session.
func destroyAndPrint(
	ctx context.Context, e *environment, c *tenure.Client, secret *secretFlag, request *tenurev1.DestroySessionRequest,
) error {
	if !request.GetForce() {
		options, err := secret.options(ctx, e, c, request.GetSessionId())
		if err != nil {
			return err
		}
		request.Options = options
	}
	answer, err := destroySession(ctx, c, request)
	if err != nil {
		return err
	}
	switch {
	case e.json():
		return e.printDocument(answer)
	case !answer.GetDestroyed():
		return e.printf("Session had ended already: %s\n", request.GetSessionId())
	}
	return e.printf("Success! Session destroyed: %s\n", request.GetSessionId())
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
