package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// execute runs the command line and returns the exit code. Errors go to stderr as one line, "Error! ...".
func execute(ctx context.Context, env *environment, args []string) int {
	root := newRootCommand(env) //nolint:contextcheck // Commands get their context from cobra.
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code := exitCode(env, err)
	if exit, ok := errors.AsType[*exitError](err); ok && exit.err == nil {
		return code
	}
	_, _ = fmt.Fprintf(env.stderr, "Error! %s\n", oneLine(errorText(err)))
	if code == exitUsage {
		_, _ = fmt.Fprintf(env.stderr, "See %q.\n", cmd.CommandPath()+" --help")
	}
	return code
}

// oneLine returns joined errors as one line, each said once.
func oneLine(text string) string {
	var said []string
	for line := range strings.SplitSeq(text, "\n") {
		if !slices.ContainsFunc(said, func(before string) bool { return strings.HasSuffix(before, line) }) {
			said = append(said, line)
		}
	}
	return strings.Join(said, "; ")
}

// newRootCommand returns the whole command line.
func newRootCommand(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "tenure",
		Short: "Coordination service: sessions, locks, keys, watches and fencing tokens",
		Long: `Tenure makes sure exactly one of your processes does a job at a time. A process opens a session. While
the session lives, the process can hold locks and own keys, and other processes can watch them.

Exit codes: 0 success, 1 refused or not found, 2 wrong usage, 3 no member answered. Commands that run
another program return its exit code, or one that their help names. Durations are written as 500ms, 15s,
10m or 1h30m. Every flag can also be set by the environment variable in its help. The flags on this page
and of "tenure serve" can also be set in the YAML file that --config names. A flag overrides the
environment, and the environment overrides the file.`,
		Example: `  tenure serve --dev
  tenure kv put greeting hello
  tenure kv get greeting
  tenure lock jobs/nightly -- ./nightly.sh`,
		Version:       env.version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := applySettings(env, cmd); err != nil {
				return err
			}
			return env.validate()
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetVersionTemplate("tenure {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&env.configFile, "config", "", "YAML file with settings, one \"flag: value\" a line")
	flags.StringSliceVar(&env.endpoints, "endpoints", []string{endpointDefault}, "gRPC addresses of members, host:port (default port 7400), or a connection string; short commands try them in order, long-running ones discover the other members")
	env.security.register(flags)
	flags.StringVar(&env.tokenFile, "token-file", "", "file with the token that says who calls, also in TENURE_TOKEN_FILE; without a file, its text can be in TENURE_TOKEN")
	flags.StringVarP(&env.output, "output", "o", outputText, "output format: text or json")
	flags.DurationVar(&env.timeout, "timeout", timeoutDefault, "longest time for one call")
	root.AddCommand(newServeCommand(env), newRecoverCommand(env), newRestoreCommand(env), newCertCommand(env), newVersionCommand(env))
	root.AddCommand(clientCommands(env)...)
	prepare(env, root)
	explainUsage(root)
	return root
}

// prepare walks the commands: it marks when one's own code begins, and names each flag's environment variable in its
// help.
func prepare(env *environment, cmd *cobra.Command) {
	describeVariables(cmd)
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			env.started = true
			return run(c, args)
		}
	}
	for _, child := range cmd.Commands() {
		prepare(env, child)
	}
}

// newVersionCommand returns `tenure version`.
func newVersionCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  tenure version\n  tenure version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if env.output == outputJSON {
				_, err := fmt.Fprintf(env.stdout, "{\"version\": %q}\n", env.version)
				return err
			}
			_, err := fmt.Fprintf(env.stdout, "tenure %s\n", env.version)
			return err
		},
	}
}
