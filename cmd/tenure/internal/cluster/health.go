package cluster

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/server/certs"
)

// NewHealthCommand returns `tenure health`.
func NewHealthCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Check whether a member can serve",
		Long: `Check whether a member can serve: it knows a leader and has caught up. The check is that of the gRPC health
service, for probes that run on the member's machine or in its container.

Exit codes: 0 it serves, 1 it does not, 3 it does not answer. Only the first of --endpoints is asked.

If the member uses TLS, give the command the member's own --cert-file, --key-file and, with --ca-file, its
CA. Without --server-name, the member must then have the first DNS name of that certificate, so it can be
asked at 127.0.0.1.`,
		Example: `  tenure health
  tenure health --endpoints 127.0.0.1:7400 --timeout 2s
  tenure health --ca-file ca.crt --cert-file a.crt --key-file a.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return health(cmd.Context(), env) },
	}
}

// health asks one member.
func health(ctx context.Context, env *cli.Environment) error {
	env.Endpoints = env.Endpoints[:1]
	if d := &env.Security.Dialing; d.ServerName == "" && d.Cert != "" {
		name, err := certs.NameIn(d.Cert)
		if err != nil {
			return cli.UsageError("--cert-file: %w", err)
		}
		d.ServerName = name
	}
	return env.WithMembers(ctx, func(ctx context.Context, m *cli.Members) error {
		l, err := m.Link(ctx)
		if err != nil {
			return err
		}
		answer, err := healthpb.NewHealthClient(l).Check(ctx, &healthpb.HealthCheckRequest{})
		if status.Code(err) == codes.Unimplemented {
			return &cli.StrangerError{Endpoint: l.Endpoint, Err: err}
		}
		if err != nil {
			return err
		}
		state := answer.GetStatus()
		if env.Output == cli.OutputJSON {
			_, err = fmt.Fprintf(env.Stdout, "{\"status\": %q}\n", state)
		} else {
			_, err = fmt.Fprintln(env.Stdout, state)
		}
		if err == nil && state != healthpb.HealthCheckResponse_SERVING {
			return cli.SilentExit(cli.ExitRefused)
		}
		return err
	})
}
