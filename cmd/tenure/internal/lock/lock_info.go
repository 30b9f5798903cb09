package lock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// newLockInfoCommand returns `tenure lock info`.
func newLockInfoCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "info KEY",
		Short: "Show a lock's current and earlier holders",
		Long: `Show the holders of a lock: name, host, process, address, when each got the lock, its last renewal and
the remaining time of its TTL. Also show the remaining lock-delay, the number of waiters, and why
earlier holds ended.

To acquire a lock whose key is "info", write "tenure lock /info -- COMMAND".`,
		Example: `  tenure lock info jobs/nightly
  tenure lock info jobs/nightly -o json | jq .lock.holds`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				return cli.UsageError("to lock the key \"info\" write: tenure lock /info -- COMMAND ARGS...")
			}
			key, err := env.KeyArgument(args[0])
			if err != nil {
				return err
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return lockInfo(ctx, env, c, key)
			})
		},
	}
}

// lockInfo prints a lock.
func lockInfo(ctx context.Context, e *cli.Environment, c *tenure.Client, key string) error {
	answer, err := getLock(ctx, c, key)
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_FOUND {
		return cli.RefusedError("No lock at: %s (it has no holder, no waiter and no recent holder; "+
			"a client with a namespace puts that before the key: NAMESPACE/%s)", cli.Printable(key), cli.Printable(key))
	}
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	return e.PrintTable(lockRows(answer))
}

// getLock reads a lock.
func getLock(ctx context.Context, c *tenure.Client, key string) (answer *tenurev1.GetLockResponse, err error) {
	err = c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
		answer, err = tenurev1.NewLockServiceClient(member).GetLock(ctx, &tenurev1.GetLockRequest{Key: key})
		return err
	})
	return answer, err
}

// stateWord returns the state of a lock: held; delayed, if only a lock-delay keeps it from others; or free.
func stateWord(lock *tenurev1.Lock) string {
	switch {
	case lock.GetHolders() > 0:
		return "held"
	case lock.GetDelayedHolds() > 0:
		return "delayed"
	default:
		return "free"
	}
}

// lockRows returns all about a lock.
func lockRows(answer *tenurev1.GetLockResponse) [][]string {
	lock := answer.GetLock()
	rows := [][]string{
		{"Lock", cli.Printable(lock.GetKey())},
		{"State", stateWord(lock)},
		{"Lock index", strconv.FormatUint(lock.GetLockIndex(), 10)},
		{"Waiters", strconv.FormatUint(uint64(lock.GetWaiters()), 10)},
	}
	for _, hold := range lock.GetHolds() {
		rows = append(rows, holdRows(hold, sessionOf(answer, hold))...)
	}
	for _, hold := range lock.GetDelayed() {
		rows = append(rows, []string{"Delay left", fmt.Sprintf("%s, after %s lost it at %s", cli.Length(hold.GetDelayLeft()),
			cli.WhoText(hold.GetSessionName(), hold.GetSequencer().GetSessionId()), cli.Moment(hold.GetLostTime()))})
	}
	for _, past := range slices.Backward(lock.GetPast()) {
		why := cli.EndText(past.GetCause())
		if past.GetReason() != "" {
			why += ": " + cli.Printable(past.GetReason())
		}
		rows = append(rows, []string{"Held before", fmt.Sprintf("by %s with token %d until %s: %s",
			cli.WhoText(past.GetSessionName(), past.GetSessionId()), past.GetFencingToken(), cli.Moment(past.GetEndTime()), why)})
	}
	return rows
}

// sessionOf returns the session of a hold; an empty one if it is not known.
func sessionOf(answer *tenurev1.GetLockResponse, hold *tenurev1.Hold) *tenurev1.Session {
	for _, s := range answer.GetSessions() {
		if s.GetSessionId() == hold.GetSequencer().GetSessionId() {
			return s
		}
	}
	return &tenurev1.Session{}
}

// holdRows returns all about a holder.
func holdRows(hold *tenurev1.Hold, session *tenurev1.Session) [][]string {
	metadata := session.GetMetadata()
	left := "none"
	if session.GetTtlLeft() != nil {
		left = fmt.Sprintf("%s of %s", cli.Length(session.GetTtlLeft()), cli.Length(session.GetTtl()))
	}
	renewed := "-"
	if session.GetLastRenewalTime() != nil {
		renewed = cli.Moment(session.GetLastRenewalTime())
	}
	return [][]string{
		{"Holder", cli.OrDash(hold.GetSessionName())},
		{"Session", hold.GetSequencer().GetSessionId()},
		{"Host", cli.OrDash(cmp.Or(metadata["host"], session.GetNode()))},
		{"Pid", cli.OrDash(metadata["pid"])},
		{"Program", cli.OrDash(metadata["program"])},
		{"Command", cli.OrDash(metadata["command"])},
		{"User", cli.OrDash(metadata["user"])},
		{"Address", cli.OrDash(session.GetPeerAddress())},
		{"Since", cli.Moment(hold.GetGrantTime())},
		{"Fencing token", strconv.FormatUint(hold.GetSequencer().GetFencingToken(), 10)},
		{"TTL left", left},
		{"Last renewal", renewed},
	}
}
