package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/daemon"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// agentVariable says where the agent is, for all commands that call it.
const agentVariable = "TENURE_AGENT"

// agentFlag is the flag --agent.
type agentFlag struct{ address string }

// add adds the flag.
func (f *agentFlag) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "agent", "", "gRPC address of the agent, host:port, or tenures://host:port if it has TLS (default "+daemon.AgentDefault+") ["+agentVariable+"]")
}

// call runs one short piece of work with the agent, within --timeout.
func (f *agentFlag) call(ctx context.Context, env *cli.Environment, work func(context.Context, tenurev1.AgentServiceClient) error) error {
	address := f.address
	if address == "" {
		address, _ = env.Getenv(agentVariable)
	}
	if address == "" {
		address = daemon.AgentDefault
	}
	address, security, err := env.Security.AtAgent(address)
	if err != nil {
		return err
	}
	agents, err := cli.NewMembers([]string{address}, security, "tenure-cli/"+env.Version)
	if err != nil {
		return err
	}
	defer agents.Close()
	ctx, cancel := context.WithTimeout(ctx, env.Timeout)
	defer cancel()
	link, err := agents.Link(ctx)
	if err == nil {
		err = work(ctx, tenurev1.NewAgentServiceClient(link))
	}
	if unreachable, ok := errors.AsType[*cli.UnreachableError](err); ok {
		return noAgent(address, unreachable.Cause())
	}
	if status.Code(err) == codes.Unavailable && errorinfo.Of(err) == nil {
		return noAgent(address, "the connection broke")
	}
	return err
}

// noAgent says that no agent answers at an address, and why.
func noAgent(address, cause string) error {
	return &cli.ExitError{Code: cli.ExitUnavailable, Err: fmt.Errorf("no agent answers at %s (%s): is `tenure agent` running? --agent takes its gRPC address",
		address, cause)}
}

// newAgentInfoCommand returns `tenure agent info`.
func newAgentInfoCommand(env *cli.Environment) *cobra.Command {
	at := &agentFlag{}
	cmd := &cobra.Command{
		Use:     "info",
		Short:   "Show the agent, and whether the catalog is as the agent has it",
		Example: "  tenure agent info\n  tenure agent info -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.GetAgent(ctx, &tenurev1.GetAgentRequest{})
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				}
				return env.PrintTable(agentRows(answer))
			})
		},
	}
	at.add(cmd.Flags())
	return cmd
}

// agentRows returns what is shown of an agent.
func agentRows(a *tenurev1.GetAgentResponse) [][]string {
	rows := [][]string{
		{"node", a.GetNode()},
		{"node id", a.GetNodeId()},
		{"gossip", cli.OrDash(a.GetGossipAddress())},
		{"version", cli.Printable(a.GetVersion())},
		{"start", fmt.Sprintf("%s (number %d)", a.GetStartTime().AsTime().Format(time.RFC3339), a.GetBoot())},
		{"services", fmt.Sprint(a.GetServices())},
		{"checks", fmt.Sprint(a.GetChecks())},
		{"maintenance", fmt.Sprint(a.GetMaintenance())},
		{"out of sync", fmt.Sprint(a.GetOutOfSync())},
	}
	last := "never"
	if a.GetLastSyncTime() != nil {
		last = a.GetLastSyncTime().AsTime().Format(time.RFC3339)
	}
	rows = append(rows, []string{"last sync", last})
	if a.GetLastSyncError() != "" {
		rows = append(rows, []string{"sync failed", cli.Printable(a.GetLastSyncError())})
	}
	return rows
}

// newAgentReloadCommand returns `tenure agent reload`.
func newAgentReloadCommand(env *cli.Environment) *cobra.Command {
	at := &agentFlag{}
	cmd := &cobra.Command{
		Use:     "reload",
		Short:   "Read the agent's files again",
		Long:    "Have the agent read its files again. If there is a mistake in one, nothing changes.",
		Example: "  tenure agent reload",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.ReloadAgent(ctx, &tenurev1.ReloadAgentRequest{})
				switch {
				case err != nil:
					return withViolations(err)
				case env.JSON():
					return env.PrintDocument(answer)
				}
				return env.Printf("Success! The files have %s and %s.\n", cli.Counted(answer.GetServices(), "service"), cli.Counted(answer.GetChecks(), "check"))
			})
		},
	}
	at.add(cmd.Flags())
	return cmd
}

// withViolations returns an error that names all mistakes, where the message of the agent names the first.
func withViolations(err error) error {
	for _, detail := range status.Convert(err).Details() {
		request, ok := detail.(*errdetails.BadRequest)
		if !ok || len(request.GetFieldViolations()) < 2 {
			continue
		}
		var mistakes []string
		for _, v := range request.GetFieldViolations() {
			mistakes = append(mistakes, cli.Printable(strings.TrimSuffix(v.GetField(), ":0")+": "+v.GetDescription()))
		}
		return cli.RefusedError("%s", strings.Join(mistakes, "\n"))
	}
	return err
}

// newAgentLeaveCommand returns `tenure agent leave`.
func newAgentLeaveCommand(env *cli.Environment) *cobra.Command {
	at := &agentFlag{}
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Leave the pool and stop the agent",
		Long: `Have the agent leave the pool and stop. The sessions that are bound to the check liveness of this machine
end. The node goes from the catalog with its services and checks, unless a session is bound to it.`,
		Example: "  tenure agent leave",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.LeaveAgent(ctx, &tenurev1.LeaveAgentRequest{})
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				}
				return env.Printf("Success! The agent left the pool and stops.\n")
			})
		},
	}
	at.add(cmd.Flags())
	return cmd
}

// newAgentMaintenanceCommand returns `tenure agent maintenance`.
func newAgentMaintenanceCommand(env *cli.Environment) *cobra.Command {
	at := &agentFlag{}
	r := &tenurev1.SetMaintenanceRequest{}
	cmd := &cobra.Command{
		Use:   "maintenance on|off",
		Short: "Take this machine, or one of its services, out of use",
		Long: `Take this machine, or with --service one instance of a service, out of use for as long as maintenance is on:
the agent registers a critical check for it. Maintenance outlasts a restart of the agent.`,
		Example: `  tenure agent maintenance on --reason "new disk"
  tenure agent maintenance on --service web-1
  tenure agent maintenance off`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "on":
				r.Enabled = true
			case "off":
			default:
				return cli.UsageError("maintenance is %s; it must be on or off", cli.Quoted(args[0]))
			}
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.SetMaintenance(ctx, r)
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				}
				return env.Printf("Success! Maintenance is %s.\n", args[0])
			})
		},
	}
	cmd.Flags().StringVar(&r.ServiceId, "service", "", "id of an instance of a service (default: the whole machine)")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why, shown with the check")
	at.add(cmd.Flags())
	return cmd
}
