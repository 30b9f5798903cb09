package main

import (
	"context"

	"github.com/spf13/cobra"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newUnfreezeCommand returns `tenure unfreeze`.
func newUnfreezeCommand(env *environment) *cobra.Command {
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
				return usageError("--reason is missing: say why no process can still rely on an earlier lock")
			}
			return env.withMembers(cmd.Context(), func(ctx context.Context, m *members) error {
				return endFreeze(ctx, env, m, request)
			})
		},
	}
	cmd.Flags().StringVar(&request.Reason, "reason", "", "reason for the record; required")
	return cmd
}

// endFreeze ends the freeze.
func endFreeze(ctx context.Context, e *environment, m *members, request *tenurev1.EndFreezeRequest) error {
	var answer *tenurev1.EndFreezeResponse
	err := m.call(ctx, mayRepeat, func(ctx context.Context, l *link) (err error) {
		answer, err = l.cluster().EndFreeze(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	if e.json() {
		if err := e.printDocument(answer); err != nil {
			return err
		}
	}
	switch {
	case !answer.GetEnded():
		return refusedError("Nothing is frozen: locks are granted")
	case e.json():
		return nil
	}
	return e.printf("Success! Locks are granted again.\n")
}
