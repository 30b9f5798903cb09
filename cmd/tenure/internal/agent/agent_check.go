package agent

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/catalog"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NewCheckCommand returns `tenure check`.
func NewCheckCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("check", "Register, report and list checks at the agent of this machine", `  tenure check register disk-free --ttl 1m
  tenure check pass disk-free --output-text "40 GiB"
  tenure check list`,
		newCheckRegisterCommand(env), newCheckDeregisterCommand(env),
		newCheckReportCommand(env, "pass", "passing", tenurev1.CheckStatus_CHECK_STATUS_PASSING),
		newCheckReportCommand(env, "warn", "warning", tenurev1.CheckStatus_CHECK_STATUS_WARNING),
		newCheckReportCommand(env, "fail", "critical", tenurev1.CheckStatus_CHECK_STATUS_CRITICAL),
		newCheckListCommand(env))
}

// newCheckReportCommand returns `tenure check pass`, warn and fail.
func newCheckReportCommand(env *cli.Environment, verb, word string, status tenurev1.CheckStatus) *cobra.Command {
	at := &agentFlag{}
	r := &tenurev1.ReportCheckRequest{Status: status}
	long := "Report to the agent of this machine that a check of the kind ttl is " + word + "."
	if status == tenurev1.CheckStatus_CHECK_STATUS_CRITICAL {
		long += " Sessions that are bound to the\ncheck end."
	}
	cmd := &cobra.Command{
		Use:     verb + " CHECK",
		Short:   "Report that a check is " + word,
		Long:    long,
		Example: "  tenure check " + verb + " disk-free --output-text \"40 GiB\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.CheckId = args[0]
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.ReportCheck(ctx, r)
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				}
				return env.Printf("Success! Check %s: %s\n", word, cli.Printable(args[0]))
			})
		},
	}
	cmd.Flags().StringVar(&r.Output, "output-text", "", "what to show with the status")
	at.add(cmd.Flags())
	return cmd
}

// newCheckRegisterCommand returns `tenure check register`.
func newCheckRegisterCommand(env *cli.Environment) *cobra.Command {
	at, flags := &agentFlag{}, &checkFlags{}
	var service, notes string
	cmd := &cobra.Command{
		Use:   "register CHECK",
		Short: "Register a check of this machine, or of one of its services",
		Long: `Register a check at the agent of this machine: a check of the node, which counts for all services on it, or
with --service one of an instance. A check with the same id is replaced, and keeps its status. The agent
registers it again after a restart, until it is deregistered.`,
		Example: `  tenure check register disk-free --ttl 1m
  tenure check register web-port --service web-1 --tcp 127.0.0.1:8080 --interval 5s`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return cli.UsageError("the id of the check is empty")
			}
			flags.id = args[0]
			check, err := flags.message("")
			if err != nil {
				return err
			}
			check.ServiceId, check.Notes = service, notes
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.AddAgentCheck(ctx, &tenurev1.AddAgentCheckRequest{Check: check})
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				}
				return env.Printf("Success! Check registered: %s\n", cli.Printable(answer.GetCheckId()))
			})
		},
	}
	cmd.Flags().StringVar(&service, "service", "", "id of the instance of a service (default: a check of the node)")
	cmd.Flags().StringVar(&notes, "notes", "", "notes about the check")
	flags.register(cmd.Flags(), "", "run-timeout")
	at.add(cmd.Flags())
	return cmd
}

// newCheckDeregisterCommand returns `tenure check deregister`.
func newCheckDeregisterCommand(env *cli.Environment) *cobra.Command {
	at := &agentFlag{}
	cmd := &cobra.Command{
		Use:     "deregister CHECK",
		Short:   "Deregister a check",
		Long:    "Deregister a check. Sessions that are bound to it end. One from a file is refused: change the file.",
		Example: "  tenure check deregister disk-free",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.RemoveAgentCheck(ctx, &tenurev1.RemoveAgentCheckRequest{CheckId: args[0]})
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				case !answer.GetRemoved():
					return cli.RefusedError("the agent has no check %s; `tenure check list` shows all", cli.Quoted(args[0]))
				}
				return env.Printf("Success! Check deregistered: %s\n", cli.Printable(args[0]))
			})
		},
	}
	at.add(cmd.Flags())
	return cmd
}

// newCheckListCommand returns `tenure check list`.
func newCheckListCommand(env *cli.Environment) *cobra.Command {
	at := &agentFlag{}
	r := &tenurev1.ListAgentChecksRequest{}
	var status string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the checks of this machine",
		Long: `List the checks that the agent of this machine runs: id, service, kind, status, where it is from, whether the
catalog is as the agent has it, and the first line of the last output.`,
		Example: "  tenure check list\n  tenure check list --status critical",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if status != "" {
				if r.Status, err = catalog.StatusOf(status); err != nil {
					return err
				}
			}
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.ListAgentChecks(ctx, r)
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				}
				rows := [][]string{{"CHECK", "SERVICE", "KIND", "STATUS", "FROM", "IN SYNC", "OUTPUT"}}
				for _, i := range answer.GetChecks() {
					k := i.GetCheck()
					rows = append(rows, []string{
						cli.Printable(k.GetCheckId()), cli.OrDash(k.GetServiceId()), k.GetKind(), catalog.StatusWord(k.GetStatus()),
						cli.Words(i.GetSource().String(), "AGENT_SOURCE_"), strconv.FormatBool(i.GetInSync()),
						cli.OrDash(strings.TrimPrefix(catalog.OutputLine(k.GetOutput()), ": ")),
					})
				}
				return env.PrintTable(rows)
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only checks with this status: passing, warning or critical")
	cmd.Flags().StringVar(&r.ServiceId, "service", "", "only checks of this instance of a service")
	at.add(cmd.Flags())
	return cmd
}
