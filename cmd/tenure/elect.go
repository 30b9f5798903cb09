package main

import (
	"github.com/spf13/cobra"
)

// newElectCommand returns `tenure elect`.
func newElectCommand(env *environment) *cobra.Command {
	f := &lockFlags{election: true}
	var observe bool
	cmd := &cobra.Command{
		Use:   "elect KEY --value V -- COMMAND ARGS... | KEY --observe",
		Short: "Run a command while leading an election, or watch who leads",
		Long: `Stand for election at a key, run a command while leading, and resign. The value tells others who leads. Who stands waits in a
queue; on standard error it says where, and who leads. An election is a lock on the key: the command finds
TENURE_ELECTION_KEY, TENURE_ELECTION_SESSION, TENURE_ELECTION_FENCING_TOKEN and TENURE_ELECTION_SEQUENCER in its environment,
and the same as TENURE_LOCK_KEY and so on. Signals, a cluster that does not answer, a SIGSTOP of this program, and exit codes are as for "tenure lock".

With --observe it prints who leads now and each change after, as a line: revision, fencing token or "none", value, leader, separated by
tabs; with -o json as a line of JSON. Changes between that were missed over a break are marked "gap" in a last column. If
no member ever answers it ends after --timeout, 10s at least. Ctrl-C ends it, with exit code 0.`,
		Example: `  tenure elect service/leader --value "$(hostname):8080" -- ./serve.sh
  tenure elect service/leader --value me --wait 1m -- ./serve.sh
  tenure elect service/leader --observe
  tenure elect service/leader --observe -o json | jq -r .leader.value`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := splitCommand(cmd, args)
			f.waitSet, f.valueSet = cmd.Flags().Changed("wait"), cmd.Flags().Changed("value")
			if len(own) != 1 || observe != (len(command) == 0) {
				return usageError("want one key, and --observe or \"--\" and a command: tenure elect KEY --value V -- COMMAND ARGS...")
			}
			key, err := env.keyArgument(own[0])
			if err != nil {
				return err
			}
			if observe {
				return env.observe(cmd.Context(), key)
			}
			if !f.valueSet {
				return usageError("--value is missing: it tells others who leads")
			}
			f.try = f.waitSet && f.wait == 0
			if err := f.check(cmd.Flags().Changed("kill-after")); err != nil {
				return err
			}
			return env.lockAndRun(cmd.Context(), f, key, command)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&f.value, "value", "", "what others see of the leader, such as its address")
	cmd.Flags().BoolVar(&observe, "observe", false, "print who leads, and each change")
	for _, other := range []string{"value", "wait", "ttl", "lock-delay", "kill-after"} {
		cmd.MarkFlagsMutuallyExclusive("observe", other)
	}
	return cmd
}
