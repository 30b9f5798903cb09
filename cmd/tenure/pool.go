package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/gossip"
)

// newPoolCommand returns `tenure pool`.
func newPoolCommand(env *environment) *cobra.Command {
	return groupCommand("pool", "List the machines that watch each other, deregister failed ones, make keys", `  tenure pool list
  tenure pool force-leave web1
  tenure pool keygen > gossip.key`,
		newPoolListCommand(env, "list"), newPoolForceLeaveCommand(env), newPoolKeygenCommand(env))
}

// newPoolListCommand returns `tenure pool list`, which is `tenure members`, too.
func newPoolListCommand(env *environment, use string) *cobra.Command {
	request := &tenurev1.ListPoolRequest{}
	cmd := &cobra.Command{
		Use:   use,
		Short: "List the machines that watch each other by gossip: members and agents",
		Long: `List the members and agents that take part in gossip, as the member that answers sees them: name, address,
state, role and version. Those that failed or left are listed until they are deregistered. "tenure member
list" lists the members of the cluster itself.`,
		Example: "  tenure " + map[string]string{"list": "pool list", "members": "members"}[use],
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return listPool(ctx, env, c, request)
			})
		},
	}
	return cmd
}

// listPool prints all pages of the pool.
func listPool(ctx context.Context, e *environment, c *tenure.Client, request *tenurev1.ListPoolRequest) error {
	all := &tenurev1.ListPoolResponse{}
	err := eachPage(ctx, c, tenurev1.NewPoolServiceClient, tenurev1.PoolServiceClient.ListPool, request, &request.PageToken, func(page *tenurev1.ListPoolResponse) {
		all.Header, all.TakesPart, all.Nodes = page.GetHeader(), page.GetTakesPart(), append(all.GetNodes(), page.GetNodes()...)
	})
	if err != nil {
		return err
	}
	switch {
	case e.json():
		return e.printDocument(all)
	case !all.GetTakesPart():
		return refusedError("this member takes no part in gossip")
	}
	rows := [][]string{{"NAME", "ADDRESS", "STATE", "ROLE", "VERSION", "SINCE"}}
	for _, n := range all.GetNodes() {
		rows = append(rows, []string{
			printable(n.GetName()), n.GetGossipAddress(), words(n.GetState().String(), "POOL_NODE_STATE_"),
			words(n.GetRole().String(), "POOL_NODE_ROLE_"), orDash(printable(n.GetVersion())), n.GetSince().AsTime().Format(time.RFC3339),
		})
	}
	return e.printTable(rows)
}

// newPoolForceLeaveCommand returns `tenure pool force-leave`.
func newPoolForceLeaveCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "force-leave NODE",
		Short: "Deregister a machine that has failed, as if it had left",
		Long: `Deregister a machine whose check liveness is critical. The node goes from the catalog with its services and
checks, unless a session is bound to it; then only the check liveness goes.`,
		Example: "  tenure pool force-leave web1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				var answer *tenurev1.ForceLeaveResponse
				// Repeated, it finds the node gone or changes nothing.
				err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
					answer, err = tenurev1.NewPoolServiceClient(member).ForceLeave(ctx, &tenurev1.ForceLeaveRequest{Node: args[0]})
					return err
				})
				switch {
				case err != nil:
					return err
				case env.json():
					return env.printDocument(answer)
				case !answer.GetDeregistered():
					return env.printf("A session is bound to %s: only its check liveness was deregistered.\n", printable(args[0]))
				}
				return env.printf("Success! Deregistered: %s\n", printable(args[0]))
			})
		},
	}
}

// newPoolKeygenCommand returns `tenure pool keygen`.
func newPoolKeygenCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen",
		Short: "Print a new key for gossip",
		Long: `Print a new key for the file that --gossip-key of "tenure serve" and "tenure agent" names. All members and
agents need the same file. To change the key, add the new one as a second line on every machine and send
SIGHUP; then make it the first line everywhere; then remove the old one.`,
		Example: "  tenure pool keygen > gossip.key",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return env.printf("%s\n", gossip.NewKey()) },
	}
}
