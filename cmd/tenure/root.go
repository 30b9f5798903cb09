package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/offline"
	"github.com/tenure-io/tenure/cmd/tenure/internal/serve"
)

// execute runs the command line and returns the exit code. Errors go to stderr as one line, "Error! ...".
func execute(ctx context.Context, env *cli.Environment, args []string) int {
	root := newRootCommand(env) // Commands get their context from cobra.
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return cli.ExitOK
	}
	code := cli.ExitCode(env, err)
	if exit, ok := errors.AsType[*cli.ExitError](err); ok && exit.Err == nil {
		return code
	}
	_, _ = fmt.Fprintf(env.Stderr, "Error! %s\n", oneLine(cli.ErrorText(err)))
	if code == cli.ExitUsage {
		_, _ = fmt.Fprintf(env.Stderr, "See %q.\n", cmd.CommandPath()+" --help")
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
func newRootCommand(env *cli.Environment) *cobra.Command {
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
		Version:       env.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.ApplySettings(env, cmd); err != nil {
				return err
			}
			if err := cli.CheckGroups(cmd); err != nil {
				return err
			}
			return env.Validate()
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetVersionTemplate("tenure {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&env.ConfigFile, "config", "", "YAML file with settings, one \"flag: value\" a line")
	flags.StringSliceVar(&env.Endpoints, "endpoints", []string{cli.EndpointDefault}, "gRPC addresses of members, host:port (default port 7400), or a connection string; short commands try them in order, long-running ones discover the other members")
	env.Security.Register(flags)
	flags.StringVar(&env.TokenFile, "token-file", "", "file with the token that says who calls, also in TENURE_TOKEN_FILE; without a file, its text can be in TENURE_TOKEN")
	flags.StringVarP(&env.Output, "output", "o", cli.OutputText, "output format: text or json")
	flags.DurationVar(&env.Timeout, "timeout", cli.TimeoutDefault, "longest time for one call")
	root.AddCommand(serve.NewCommand(env), offline.NewRecoverCommand(env), offline.NewRestoreCommand(env), offline.NewCertCommand(env), newVersionCommand(env))
	root.AddCommand(clientCommands(env)...)
	prepare(env, root)
	cli.ExplainUsage(root)
	cli.ExplainBuiltIns(root)
	return root
}

// prepare walks the commands: it marks when one's own code begins, and names each flag's environment variable in its
// help.
func prepare(env *cli.Environment, cmd *cobra.Command) {
	cli.DescribeVariables(cmd)
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(c *cobra.Command, args []string) error {
			env.Started = true
			return run(c, args)
		}
	}
	for _, child := range cmd.Commands() {
		prepare(env, child)
	}
}

// newVersionCommand returns `tenure version`.
func newVersionCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  tenure version\n  tenure version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if env.Output == cli.OutputJSON {
				_, err := fmt.Fprintf(env.Stdout, "{\"version\": %q}\n", env.Version)
				return err
			}
			_, err := fmt.Fprintf(env.Stdout, "tenure %s\n", env.Version)
			return err
		},
	}
}
