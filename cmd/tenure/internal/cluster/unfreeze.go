package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NewUnfreezeCommand returns `tenure unfreeze`.
func NewUnfreezeCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.EndFreezeRequest{}
	cmd := &cobra.Command{
		Use:   "unfreeze --reason TEXT",
		Short: "End the freeze of lock grants after a restore early",
		Long: `Allow grants of locks before the freeze after a restore or a recovery has elapsed. During the freeze no
lock is granted, so that earlier holders have time to notice that they lost their locks. It ends
automatically. Use this command only if no process can still rely on an earlier lock. Waiters get their
locks immediately. The reason is logged.`,
		Example: `  tenure status
  tenure unfreeze --reason 'all clients were stopped before the restore'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if request.GetReason() == "" {
				return cli.UsageError("--reason is missing: say why no process can still rely on an earlier lock")
			}
			return env.WithMembers(cmd.Context(), func(ctx context.Context, m *cli.Members) error {
				return endFreeze(ctx, env, m, request)
			})
		},
	}
	cmd.Flags().StringVar(&request.Reason, "reason", "", "reason for the record; required")
	return cmd
}

// endFreeze ends the freeze.
func endFreeze(ctx context.Context, e *cli.Environment, m *cli.Members, request *tenurev1.EndFreezeRequest) error {
	var answer *tenurev1.EndFreezeResponse
	err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
		answer, err = l.Cluster().EndFreeze(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		if err := e.PrintDocument(answer); err != nil {
			return err
		}
	}
	switch {
	case !answer.GetEnded():
		return cli.RefusedError("Nothing is frozen: locks are granted")
	case e.JSON():
		return nil
	}
	return e.Printf("Success! Locks are granted again.\n")
}
