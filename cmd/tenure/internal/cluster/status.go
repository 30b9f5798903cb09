package cluster

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NewStatusCommand returns `tenure status`.
func NewStatusCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show cluster status, problems first",
		Long: `Show the status of the cluster as one member sees it: problems first, then the leader, the revision,
the size and the members. Without a line "Problem" there is none. A member answers even without a leader.

REACHED shows whether the member that answers is connected to another one. LAG is the number of log
entries that a member lacks; only the leader knows it.`,
		Example: `  tenure status
  tenure status -o json | jq -r .leader`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.WithMembers(cmd.Context(), func(ctx context.Context, m *cli.Members) error { return printStatus(ctx, env, m) })
		},
	}
}

// printStatus prints the cluster's status.
func printStatus(ctx context.Context, e *cli.Environment, m *cli.Members) error {
	var answer *tenurev1.GetStatusResponse
	err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
		answer, err = l.Cluster().GetStatus(ctx, &tenurev1.GetStatusRequest{})
		return err
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	if err := e.PrintTable(statusRows(answer)); err != nil {
		return err
	}
	if err := e.Printf("\n"); err != nil {
		return err
	}
	return e.PrintTable(memberRows(answer.GetMembers()))
}

// statusRows returns the state of the cluster and of the answering member.
func statusRows(answer *tenurev1.GetStatusResponse) [][]string {
	var rows [][]string
	for _, p := range answer.GetProblems() {
		rows = append(rows, []string{"Problem", cli.Printable(p.GetName()) + ": " + cli.Printable(p.GetMessage())})
		if p.GetRunbook() != "" {
			rows = append(rows, []string{"", "see " + cli.Printable(p.GetRunbook())})
		}
	}
	leader := "none: writes fail until there is one"
	if answer.GetLeader() != "" {
		leader = cli.Printable(answer.GetLeader())
	}
	return append(rows, [][]string{
		{"Leader", leader},
		{"Answered by", fmt.Sprintf("%s (%s, up %s)",
			cli.Printable(answer.GetMember()), cli.Printable(answer.GetVersion()), cli.Length(answer.GetUptime()))},
		{"Cluster", answer.GetHeader().GetClusterId()},
		{"Revision", strconv.FormatUint(answer.GetHeader().GetRevision(), 10)},
		{"Term", strconv.FormatUint(answer.GetHeader().GetTerm(), 10)},
		{"Raft index", fmt.Sprintf("%d committed, %d applied", answer.GetCommitIndex(), answer.GetAppliedIndex())},
		{"Sessions", strconv.FormatUint(answer.GetSessions(), 10)},
		{"Keys", strconv.FormatUint(answer.GetKeys(), 10)},
		{"Watches", strconv.FormatUint(answer.GetWatches(), 10)},
		{"On disk", fmt.Sprintf("%d bytes", answer.GetDiskBytes())},
	}...)
}
