package main

import (
	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/agent"
	"github.com/tenure-io/tenure/cmd/tenure/internal/auth"
	"github.com/tenure-io/tenure/cmd/tenure/internal/catalog"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cluster"
	"github.com/tenure-io/tenure/cmd/tenure/internal/consul"
	"github.com/tenure-io/tenure/cmd/tenure/internal/kv"
	"github.com/tenure-io/tenure/cmd/tenure/internal/lock"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
	"github.com/tenure-io/tenure/cmd/tenure/internal/watch"
)

// clientCommands returns the commands that talk to a member.
func clientCommands(env *cli.Environment) []*cobra.Command {
	commands := []*cobra.Command{
		cluster.NewStatusCommand(env),
		auth.NewCommand(env),
		cluster.NewMemberCommand(env),
		session.NewCommand(env),
		kv.NewCommand(env),
		consul.NewCommand(env),
		lock.NewCommand(env),
		watch.NewCommand(env),
		catalog.NewCommand(env),
		catalog.NewQueryCommand(env),
		catalog.NewPoolCommand(env),
		catalog.NewPoolListCommand(env, "members"),
		agent.NewCommand(env),
		agent.NewServiceCommand(env),
		agent.NewCheckCommand(env),
		kv.NewTxnCommand(env),
		lock.NewElectCommand(env),
		cluster.NewLimitsCommand(env),
		cluster.NewCompactCommand(env),
		cluster.NewBackupCommand(env),
		cluster.NewUnfreezeCommand(env),
		cluster.NewHealthCommand(env),
	}
	for _, cmd := range commands {
		explainErrors(env, cmd)
		offerArguments(env, cmd)
	}
	return commands
}

// explainErrors makes every error of a command say what to do next.
func explainErrors(env *cli.Environment, cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			return env.Explain(run(c, args))
		}
	}
	for _, child := range cmd.Commands() {
		explainErrors(env, child)
	}
}
