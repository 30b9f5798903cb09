package main

import (
	"github.com/spf13/cobra"
)

// clientCommands returns the commands that talk to a member.
func clientCommands(env *environment) []*cobra.Command {
	commands := []*cobra.Command{
		newStatusCommand(env),
		newAuthCommand(env),
		newMemberCommand(env),
		newSessionCommand(env),
		newKVCommand(env),
		newConsulCommand(env),
		newLockCommand(env),
		newWatchCommand(env),
		newCatalogCommand(env),
		newQueryCommand(env),
		newPoolCommand(env),
		newPoolListCommand(env, "members"),
		newAgentCommand(env),
		newServiceCommand(env),
		newCheckCommand(env),
		newTxnCommand(env),
		newElectCommand(env),
		newLimitsCommand(env),
		newCompactCommand(env),
		newBackupCommand(env),
		newUnfreezeCommand(env),
		newHealthCommand(env),
	}
	for _, cmd := range commands {
		explainErrors(env, cmd)
		offerArguments(env, cmd)
	}
	return commands
}

// explainErrors makes every error of a command say what to do next.
func explainErrors(env *environment, cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			return explain(env.timeout, run(c, args))
		}
	}
	for _, child := range cmd.Commands() {
		explainErrors(env, child)
	}
}
