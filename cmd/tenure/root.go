package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Exit codes of every command.
const (
	exitOK          = 0
	exitRefused     = 1
	exitUsage       = 2
	exitUnavailable = 3
)

// Defaults of the flags that all commands share.
const (
	endpointDefault = "127.0.0.1:7400"
	timeoutDefault  = 10 * time.Second
	outputText      = "text"
	outputJSON      = "json"
)

// environment is what every command shares: its streams, the process environment and the global flags, connections by them, and how answers are
// printed. Each command is a function of its own. Flags are set when a command's RunE is called.
type environment struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	getenv  func(name string) (value string, set bool)
	version string

	// configFile is the file that gives what neither flag nor environment does; empty for none.
	configFile string
	// endpoints are the members a client command tries, as host:port.
	endpoints []string
	// security says whether client commands use TLS.
	security security
	// tokenFile is the file with the text of the token that says who calls; empty for none.
	tokenFile string
	// output is outputText or outputJSON.
	output string
	// timeout bounds one call of a client command.
	timeout time.Duration
	// firstAnswerMin is the least time for which what is followed may say nothing at its beginning; zero is timeoutDefault.
	firstAnswerMin time.Duration

	// started tells that a command's own code ran, so that an error is not one of usage.
	started bool
}

// exitError ends the program with a code of its own. Without err nothing more is printed.
type exitError struct {
	code int
	err  error
}

// Error returns the cause's text.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *exitError) Unwrap() error { return e.err }

// usageError returns an error that ends the program with exitUsage.
func usageError(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// refusedError returns an error that ends the program with exitRefused.
func refusedError(format string, args ...any) error {
	return &exitError{code: exitRefused, err: fmt.Errorf(format, args...)}
}

// silentExit ends the program with a code and prints nothing more.
func silentExit(code int) error { return &exitError{code: code} }

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

// exitCode returns the exit code for an error of a command.
func exitCode(env *environment, err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	if !env.started {
		return exitUsage
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return exitUnavailable
	default:
		return exitRefused
	}
}

// errorText returns what people read: the message of a gRPC status without its technical prefix.
func errorText(err error) string {
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		return s.Message()
	}
	return err.Error()
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

// validate checks the global flags, and replaces the endpoints by the addresses that they mean.
func (e *environment) validate() error {
	if e.output != outputText && e.output != outputJSON {
		return usageError("--output is %q; it must be text or json", e.output)
	}
	if e.timeout <= 0 {
		return usageError("--timeout is %v; it must be more than zero", e.timeout)
	}
	if len(e.endpoints) == 0 {
		return usageError("--endpoints is empty; give at least one host:port")
	}
	endpoints, err := e.security.memberEndpoints(e.endpoints)
	if err != nil {
		return err
	}
	e.endpoints = endpoints
	return e.security.validate()
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
