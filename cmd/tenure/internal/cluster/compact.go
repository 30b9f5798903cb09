package cluster

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// NewCompactCommand returns `tenure compact`.
func NewCompactCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "compact REVISION",
		Short: "Discard the history of changes up to a revision",
		Long: `Discard the history of changes up to and including a revision. Keys, locks and sessions do not change.
From then on, watches that would start in the discarded history are refused. The cluster discards old
history automatically, so this command is only needed to free disk space now.`,
		Example: `  tenure compact 12345
  tenure compact "$(tenure status -o json | jq -r .header.revision)"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			revision, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil || revision == 0 {
				return cli.UsageError("%s is not a revision: a number from 1", cli.Quoted(args[0]))
			}
			return env.WithMembers(cmd.Context(), func(ctx context.Context, m *cli.Members) error {
				return compactTo(ctx, env, m, revision)
			})
		},
	}
}

// compactTo forgets history.
func compactTo(ctx context.Context, e *cli.Environment, m *cli.Members, revision uint64) error {
	var answer *tenurev1.CompactResponse
	err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
		answer, err = l.Cluster().Compact(ctx, &tenurev1.CompactRequest{Revision: revision})
		return err
	})
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED {
		return cli.RefusedError("%s", cli.ErrorText(err)) // It is no watch that missed something.
	}
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	return e.Printf("Success! Discarded the history up to revision %d.\n", answer.GetCompactedRevision())
}
