package lock

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newLockListCommand returns `tenure lock list`.
func newLockListCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.ListLocksRequest{}
	var olderThan time.Duration
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List locks that are held, waited for or delayed",
		Long: `List the locks that are held, waited for or delayed, in byte order of their keys: mode, state, first
holder and since when, number of holders and waiters. The state is held, delayed, with the remaining
lock-delay, or free. With several filters, list the locks that match all.

To acquire a lock whose key is "list", write "tenure lock /list -- COMMAND".`,
		Example: `  tenure lock list
  tenure lock list --prefix jobs/ --waiting
  tenure lock list --older-than 1h
  tenure lock list --held-by 'tenure lock' -o json | jq -r '.locks[].key'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nestedNameError(cmd, args)
			}
			if cmd.Flags().Changed("older-than") {
				if olderThan < 0 {
					return cli.UsageError("--older-than is %v; it must not be negative", olderThan)
				}
				request.OlderThan = durationpb.New(olderThan)
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return listLocks(ctx, env, c, request)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Prefix, cli.PrefixFlag, "", "only keys with this prefix")
	cli.SessionIDFlag(flags, &request.SessionId, "session", "only locks that this session holds or waits for")
	flags.StringVar(&request.HeldBy, "held-by", "", "only locks held by a session whose name has this prefix")
	flags.BoolVar(&request.Waiting, "waiting", false, "only locks with waiters")
	flags.DurationVar(&olderThan, "older-than", 0, "only locks with a hold older than this")
	return cmd
}

// nestedNameError refuses arguments of a subcommand of `tenure lock`. It tells those who mean a key of that name how to
// write it.
func nestedNameError(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() >= 0 {
		return cli.UsageError("to lock the key %q write: tenure lock /%s -- COMMAND ARGS...", cmd.Name(), cmd.Name())
	}
	return cli.UsageError("unexpected argument %s", cli.Quoted(args[len(args)-1]))
}

// eachLock gives all locks of a list to take, page by page, and returns the header of the last page.
func eachLock(
	ctx context.Context, c *tenure.Client, request *tenurev1.ListLocksRequest, take func(*tenurev1.Lock),
) (*tenurev1.ResponseHeader, error) {
	var header *tenurev1.ResponseHeader
	err := cli.EachPage(ctx, c, tenurev1.NewLockServiceClient, tenurev1.LockServiceClient.ListLocks, request, &request.PageToken, func(page *tenurev1.ListLocksResponse) {
		for _, lock := range page.GetLocks() {
			take(lock)
		}
		header = page.GetHeader()
	})
	return header, err
}

// listLocks prints all pages of a list.
func listLocks(ctx context.Context, e *cli.Environment, c *tenure.Client, request *tenurev1.ListLocksRequest) error {
	all := &tenurev1.ListLocksResponse{}
	header, err := eachLock(ctx, c, request, func(lock *tenurev1.Lock) { all.Locks = append(all.Locks, lock) })
	if err != nil {
		return err
	}
	all.Header = header
	if e.JSON() {
		return e.PrintDocument(all)
	}
	rows := [][]string{{"KEY", "MODE", "STATE", "HOLDER", "SESSION", "SINCE", "HOLDERS", "WAITING"}}
	for _, lock := range all.GetLocks() {
		rows = append(rows, lockRow(lock))
	}
	return e.PrintTable(rows)
}

// lockRow returns a lock in a line.
func lockRow(lock *tenurev1.Lock) []string {
	state, holder, session, since := stateWord(lock), "-", "-", "-"
	switch {
	case len(lock.GetHolds()) > 0:
		holder, session, since = holdColumns(lock.GetHolds()[0])
	case len(lock.GetDelayed()) > 0:
		state += " " + cli.Length(lock.GetDelayed()[0].GetDelayLeft())
	}
	mode := cli.Words(lock.GetMode().String(), "LOCK_MODE_")
	if lock.GetLimit() > 0 {
		mode += fmt.Sprintf(" of %d", lock.GetLimit())
	}
	return []string{
		cli.Printable(lock.GetKey()), mode, state, holder, session, since,
		strconv.FormatUint(uint64(lock.GetHolders()), 10), strconv.FormatUint(uint64(lock.GetWaiters()), 10),
	}
}

// holdColumns returns who holds, and since when.
func holdColumns(hold *tenurev1.Hold) (name, session, since string) {
	session = hold.GetSequencer().GetSessionId()
	return cmp.Or(cli.Printable(hold.GetSessionName()), "-"), session, cli.Moment(hold.GetGrantTime())
}
