package catalog

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/gossip"
)

// NewPoolCommand returns `tenure pool`.
func NewPoolCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("pool", "List the machines that watch each other, deregister failed ones, make keys", `  tenure pool list
  tenure pool force-leave web1
  tenure pool keygen > gossip.key`,
		NewPoolListCommand(env, "list"), newPoolForceLeaveCommand(env), newPoolKeygenCommand(env))
}

// NewPoolListCommand returns `tenure pool list`, which is `tenure members`, too.
func NewPoolListCommand(env *cli.Environment, use string) *cobra.Command {
	request := &tenurev1.ListPoolRequest{}
	short := map[string]string{
		"list":    "List the machines that watch each other by gossip: members and agents",
		"members": "Same as \"tenure pool list\"",
	}[use]
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long: `List the members and agents that take part in gossip, as the member that answers sees them: name, address,
state, role and version. Those that failed or left are listed until they are deregistered. "tenure member
list" lists the members of the cluster itself.`,
		Example: "  tenure " + map[string]string{"list": "pool list", "members": "members"}[use],
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return listPool(ctx, env, c, request)
			})
		},
	}
	return cmd
}

// listPool prints all pages of the pool.
func listPool(ctx context.Context, e *cli.Environment, c *tenure.Client, request *tenurev1.ListPoolRequest) error {
	all := &tenurev1.ListPoolResponse{}
	err := cli.EachPage(ctx, c, tenurev1.NewPoolServiceClient, tenurev1.PoolServiceClient.ListPool, request, &request.PageToken, func(page *tenurev1.ListPoolResponse) {
		all.Header, all.TakesPart, all.Nodes = page.GetHeader(), page.GetTakesPart(), append(all.GetNodes(), page.GetNodes()...)
	})
	if err != nil {
		return err
	}
	switch {
	case e.JSON():
		return e.PrintDocument(all)
	case !all.GetTakesPart():
		return cli.RefusedError("this member takes no part in gossip")
	}
	rows := [][]string{{"NAME", "ADDRESS", "STATE", "ROLE", "VERSION", "SINCE"}}
	for _, n := range all.GetNodes() {
		rows = append(rows, []string{
			cli.Printable(n.GetName()), n.GetGossipAddress(), cli.Words(n.GetState().String(), "POOL_NODE_STATE_"),
			cli.Words(n.GetRole().String(), "POOL_NODE_ROLE_"), cli.OrDash(cli.Printable(n.GetVersion())), n.GetSince().AsTime().Format(time.RFC3339),
		})
	}
	return e.PrintTable(rows)
}

// newPoolForceLeaveCommand returns `tenure pool force-leave`.
func newPoolForceLeaveCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "force-leave NODE",
		Short: "Deregister a machine that has failed, as if it had left",
		Long: `Deregister a machine whose check liveness is critical. The node goes from the catalog with its services and
checks, unless a session is bound to it; then only the check liveness goes.`,
		Example: "  tenure pool force-leave web1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				var answer *tenurev1.ForceLeaveResponse
				// Repeated, it finds the node gone or changes nothing.
				err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
					answer, err = tenurev1.NewPoolServiceClient(member).ForceLeave(ctx, &tenurev1.ForceLeaveRequest{Node: args[0]})
					return err
				})
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				case !answer.GetDeregistered():
					return env.Printf("A session is bound to %s: only its check liveness was deregistered.\n", cli.Printable(args[0]))
				}
				return env.Printf("Success! Deregistered: %s\n", cli.Printable(args[0]))
			})
		},
	}
}

// newPoolKeygenCommand returns `tenure pool keygen`.
func newPoolKeygenCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen",
		Short: "Print a new key for gossip",
		Long: `Print a new key for the file that --gossip-key of "tenure serve" and "tenure agent" names. All members and
agents need the same file. To change the key, add the new one as a second line on every machine and send
SIGHUP; then make it the first line everywhere; then remove the old one.`,
		Example: "  tenure pool keygen > gossip.key",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return env.Printf("%s\n", gossip.NewKey()) },
	}
}
