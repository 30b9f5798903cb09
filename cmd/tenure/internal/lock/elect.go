package lock

import (
	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// NewElectCommand returns `tenure elect`.
func NewElectCommand(env *cli.Environment) *cobra.Command {
	f := &lockFlags{election: true}
	var observe bool
	cmd := &cobra.Command{
		Use:   "elect KEY --value V [flags] -- COMMAND ARGS... | KEY --observe",
		Short: "Run a command while leading an election, or watch the leader",
		Long: `Campaign in an election, run a command while leading, and resign. The value tells other clients who
leads. Candidates wait in a queue; standard error shows the queue position and the leader.

An election is a lock on the key. The command gets TENURE_ELECTION_KEY, TENURE_ELECTION_SESSION,
TENURE_ELECTION_FENCING_TOKEN and TENURE_ELECTION_SEQUENCER in its environment, and the same values as
TENURE_LOCK_KEY and so on. Signals, lost connections, SIGSTOP, the death of tenure and exit codes are as
for "tenure lock".

With --observe, print the current leader and then each change, one line each: revision, fencing token
or "none", value and leader, separated by tabs; with -o json, a JSON object. A line after changes that
were missed during a disconnect has "gap" in an extra last column. If no member ever responds, it stops
after --timeout, but not before 10s. Ctrl-C ends it with exit code 0.`,
		Example: `  tenure elect service/leader --value "$(hostname):8080" -- ./serve.sh
  tenure elect service/leader --value me --wait 1m -- ./serve.sh
  tenure elect service/leader --observe
  tenure elect service/leader --observe -o json | jq -r .leader.value`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := cli.SplitCommand(cmd, args)
			f.waitSet, f.valueSet = cmd.Flags().Changed("wait"), cmd.Flags().Changed("value")
			if len(own) != 1 || observe != (len(command) == 0) {
				return cli.UsageError("want one key, and --observe or \"--\" and a command: tenure elect KEY --value V -- COMMAND ARGS...")
			}
			key, err := env.KeyArgument(own[0])
			if err != nil {
				return err
			}
			if observe {
				return observeElection(cmd.Context(), env, key)
			}
			if !f.valueSet {
				return cli.UsageError("--value is missing: it identifies the leader to others")
			}
			f.try = f.waitSet && f.wait == 0
			if err := f.check(cmd.Flags().Changed("kill-after")); err != nil {
				return err
			}
			return lockAndRun(cmd.Context(), env, f, key, command)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&f.value, "value", "", "value that identifies the leader to others, such as its address")
	cmd.Flags().BoolVar(&observe, "observe", false, "print the leader, and each change")
	for _, other := range []string{"value", "wait", "ttl", "lock-delay", "kill-after"} {
		cmd.MarkFlagsMutuallyExclusive("observe", other)
	}
	return cmd
}
