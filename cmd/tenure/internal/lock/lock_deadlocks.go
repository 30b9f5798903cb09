package lock

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// newLockDeadlocksCommand returns `tenure lock deadlocks`.
func newLockDeadlocksCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "deadlocks",
		Short: "Find sessions that wait for each other",
		Long: `Find sessions that wait for each other in a cycle, so that none can continue. A session waits for the
holders of a lock it queues for, for earlier waiters in that queue, and for locks that the command it
runs waits for ("tenure lock" within "tenure lock"). Only the first 100 holders and waiters of a lock are
examined. A program that uses one session from many threads may still release its locks; then a cycle is
not necessarily a deadlock.

Exit codes: 0 no cycle, 1 at least one cycle. To break one, run
"tenure lock break KEY --session ID --reason TEXT".

To acquire a lock whose key is "deadlocks", write "tenure lock /deadlocks -- COMMAND".`,
		Example: `  tenure lock deadlocks
  tenure lock deadlocks -o json | jq -r '.deadlocks[][].key'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nestedNameError(cmd, args)
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error { return deadlocks(ctx, env, c) })
		},
	}
}

// deadlocks looks for rings. One that is found is looked for again, because locks are not all read at one moment.
func deadlocks(ctx context.Context, e *cli.Environment, c *tenure.Client) error {
	rings := [][]waitEdge{}
	first, sessions, err := waitedLocks(ctx, c)
	if err != nil {
		return err
	}
	if len(newWaitGraph(first, sessions).cycles()) > 0 {
		again, _, err := waitedLocks(ctx, c)
		if err != nil {
			return err
		}
		rings = append(rings, newWaitGraph(bothSeen(first, again), sessions).cycles()...)
	}
	if err := printRings(e, rings); err != nil {
		return err
	}
	if len(rings) > 0 {
		return cli.SilentExit(cli.ExitRefused)
	}
	return nil
}

// waitedLocks returns the locks that somebody waits for, with holders and queues, and the live sessions.
func waitedLocks(ctx context.Context, c *tenure.Client) (map[string]*tenurev1.Lock, []*tenurev1.Session, error) {
	var keys []string
	_, err := eachLock(ctx, c, &tenurev1.ListLocksRequest{Waiting: true}, func(lock *tenurev1.Lock) {
		keys = append(keys, lock.GetKey())
	})
	if err != nil || len(keys) == 0 {
		return nil, nil, err
	}
	locks := make(map[string]*tenurev1.Lock, len(keys))
	for _, key := range keys {
		answer, failed := getLock(ctx, c, key)
		switch {
		case failed == nil:
			locks[key] = answer.GetLock()
		case errorinfo.Reason(failed) != tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_FOUND:
			return nil, nil, failed
		}
	}
	var sessions []*tenurev1.Session
	_, err = session.EachSession(ctx, c, &tenurev1.ListSessionsRequest{}, func(s *tenurev1.Session) { sessions = append(sessions, s) })
	return locks, sessions, err
}

// printRings prints rings, if there are any.
func printRings(e *cli.Environment, rings [][]waitEdge) error {
	if e.JSON() {
		out, err := json.MarshalIndent(map[string]any{"deadlocks": rings}, "", "  ")
		if err != nil {
			return err
		}
		return e.Printf("%s\n", out)
	}
	if len(rings) == 0 {
		return e.Printf("No deadlocks.\n")
	}
	for i, ring := range rings {
		if err := e.Printf("Deadlock %d:\n", i+1); err != nil {
			return err
		}
		for _, edge := range ring {
			if err := e.Printf("  %s\n", edgeText(edge)); err != nil {
				return err
			}
		}
	}
	return nil
}

// edgeText says who waits for whom, and why.
func edgeText(edge waitEdge) string {
	from, to := cli.WhoText(edge.FromName, edge.From), cli.WhoText(edge.ToName, edge.To)
	switch edge.Because {
	case "command":
		return fmt.Sprintf("%s runs a command that waits as %s", from, to)
	case "waiter":
		return fmt.Sprintf("%s waits for %s, in the queue behind %s", from, cli.Quoted(edge.Key), to)
	default:
		return fmt.Sprintf("%s waits for %s, held by %s", from, cli.Quoted(edge.Key), to)
	}
}
