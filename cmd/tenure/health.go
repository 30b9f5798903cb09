package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/server/certs"
)

// newHealthCommand returns `tenure health`.
func newHealthCommand(env *environment) *cobra.Command {
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
func health(ctx context.Context, env *environment) error {
	env.endpoints = env.endpoints[:1]
	if d := &env.security.dialing; d.ServerName == "" && d.Cert != "" {
		name, err := certs.NameIn(d.Cert)
		if err != nil {
			return usageError("--cert-file: %w", err)
		}
		d.ServerName = name
	}
	return env.withMembers(ctx, func(ctx context.Context, m *members) error {
		l, err := m.link(ctx)
		if err != nil {
			return err
		}
		answer, err := healthpb.NewHealthClient(l).Check(ctx, &healthpb.HealthCheckRequest{})
		if status.Code(err) == codes.Unimplemented {
			return &strangerError{endpoint: l.endpoint, err: err}
		}
		if err != nil {
			return err
		}
		state := answer.GetStatus()
		if env.output == outputJSON {
			_, err = fmt.Fprintf(env.stdout, "{\"status\": %q}\n", state)
		} else {
			_, err = fmt.Fprintln(env.stdout, state)
		}
		if err == nil && state != healthpb.HealthCheckResponse_SERVING {
			return silentExit(exitRefused)
		}
		return err
	})
}
