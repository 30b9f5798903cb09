package lock

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newLockBreakCommand returns `tenure lock break`.
func newLockBreakCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.BreakLockRequest{}
	var owner string
	cmd := &cobra.Command{
		Use:   "break KEY --reason TEXT",
		Short: "Take a lock away from its holders",
		Long: `Take a lock away from its holders. Their sessions survive. Once their lock-delay has elapsed, the next
waiter gets the lock. "tenure lock info" and watches show the reason. With --session, only that session
loses the lock and its places in the queue. If the lock has very many holders, those that acquire it during
the break keep it. If some holds remain when --timeout ends, the command says how many; the exit code is 1.

To acquire a lock whose key is "break", write "tenure lock /break -- COMMAND".`,
		Example: `  tenure lock break jobs/nightly --reason 'host is gone'
  tenure lock break jobs/nightly --session "$ID" --reason 'hangs since noon'
  tenure lock list --older-than 24h`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 || len(args) > 1 {
				return nestedNameError(cmd, args)
			}
			key, err := env.KeyArgument(args[0])
			if err != nil {
				return err
			}
			request.Key = key
			if cmd.Flags().Changed("owner") {
				request.Owner = &owner
			}
			switch {
			case request.GetReason() == "":
				return cli.UsageError("--reason is missing: say why, for the holders and for the record")
			case request.Owner != nil && request.GetSessionId() == "":
				return cli.UsageError("--owner needs --session")
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return breakLock(ctx, env, c, request)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Reason, "reason", "", "reason for the record; required")
	cli.SessionIDFlag(flags, &request.SessionId, "session", "take the lock only from this session, and remove its places in the queue")
	flags.StringVar(&owner, "owner", "", "take the lock only from this owner within --session")
	return cmd
}

// breakLock takes a lock away and tells from how many. From very many it takes several calls.
func breakLock(ctx context.Context, e *cli.Environment, c *tenure.Client, request *tenurev1.BreakLockRequest) error {
	all := &tenurev1.BreakLockResponse{}
	for {
		var answer *tenurev1.BreakLockResponse
		err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
			request.Options = once
			answer, err = tenurev1.NewLockServiceClient(member).BreakLock(ctx, request)
			return err
		})
		if err != nil && all.GetRemaining() > 0 {
			return cli.RefusedError("Lock not broken: %s: %s were taken away, and %d remain; "+
				"run it again, or give a longer --timeout: %w",
				cli.Printable(request.GetKey()), takenAway(all, " and "), all.GetRemaining(), cli.PlainError(err))
		}
		if err != nil {
			return err
		}
		answer.Holds += all.GetHolds()
		answer.Places += all.GetPlaces()
		all = answer
		if request.BreakToken = answer.GetBreakToken(); request.GetBreakToken() == "" {
			return toldBroken(e, request.GetKey(), all)
		}
	}
}

// toldBroken tells what a break took away.
func toldBroken(e *cli.Environment, key string, all *tenurev1.BreakLockResponse) error {
	if e.JSON() {
		if err := e.PrintDocument(all); err != nil {
			return err
		}
	}
	switch {
	case all.GetHolds()+all.GetPlaces() == 0:
		return cli.RefusedError("Nothing to break at: %s (`tenure lock info` shows who holds it)", cli.Printable(key))
	case e.JSON():
		return nil
	}
	return e.Printf("Success! Lock broken: %s (%s)\n", cli.Printable(key), takenAway(all, ", "))
}

// takenAway says how much a break took away.
func takenAway(all *tenurev1.BreakLockResponse, separator string) string {
	return cli.Counted(all.GetHolds(), "hold") + separator + cli.Counted(all.GetPlaces(), "place") + " in the queue"
}
