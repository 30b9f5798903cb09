package main

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
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

// groupCommand returns a command that only holds others.
func groupCommand(use, short, example string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}

// connect returns the members that the flags name. Close them.
func (e *environment) connect() (*members, error) {
	security, err := e.security.credentials()
	if err != nil {
		return nil, err
	}
	m, err := newMembers(e.endpoints, security, "tenure-cli/"+e.version)
	if err != nil {
		return nil, err
	}
	token, err := e.token()
	if err != nil {
		return nil, err
	}
	if token != nil {
		m.options = append(m.options, grpc.WithPerRPCCredentials(token))
	}
	return m, nil
}

// withMembers runs one short piece of work with the members, within --timeout.
func (e *environment) withMembers(ctx context.Context, work func(ctx context.Context, m *members) error) error {
	m, err := e.connect()
	if err != nil {
		return err
	}
	defer m.close()
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	return work(ctx, m)
}

// keyArgument returns the key that an argument means: one leading slash is not part of it.
func (e *environment) keyArgument(argument string) (string, error) {
	key := e.prefixArgument(argument)
	switch {
	case key == "":
		return "", usageError("the key is empty")
	case !utf8.ValidString(key):
		return "", usageError("the key %s is not valid UTF-8", quoted(key))
	}
	return key, nil
}

// prefixArgument is keyArgument for a prefix, which may be empty.
func (e *environment) prefixArgument(argument string) string {
	key, dropped := strings.CutPrefix(argument, "/")
	if dropped {
		e.notef("Note: the leading slash of %s is not part of the key.", quoted(argument))
	}
	return key
}

// splitCommand splits arguments into those before "--" and the command after it.
func splitCommand(cmd *cobra.Command, args []string) (own, command []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at], args[at:]
}
