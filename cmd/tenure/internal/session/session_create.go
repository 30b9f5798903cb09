package session

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// createFlags are the flags of `tenure session create`.
type createFlags struct {
	name      string
	ttl       time.Duration
	lockDelay time.Duration
	behavior  string
	secret    bool
	node      string
	checks    []string
}

// newSessionCreateCommand returns `tenure session create`.
func newSessionCreateCommand(env *cli.Environment) *cobra.Command {
	f := &createFlags{}
	cmd := &cobra.Command{
		Use:   "create [flags] [-- COMMAND ARGS...]",
		Short: "Open a session and print its id",
		Long: `Open a session and print only its id. Anyone who knows the id can use the session. With --secret, the
second line is a secret, which is then required to act as the session. Without --ttl, the session lives
until it is destroyed.

With COMMAND, keep the session alive while the command runs, then destroy it cleanly; print nothing. The
command gets TENURE_SESSION_ID in its environment, and with --secret also TENURE_SESSION_SECRET. Signals
are forwarded to it, and its exit code is returned. The TTL is then 15s by default. If the session ends
before the command, the command is terminated, and the exit code is 76. The command is terminated, with
all processes that it started, if tenure dies.

With --node, the session is bound to that node of the catalog: it ends when the node is deregistered.
With --check, it also ends when that check of the node turns critical or is deregistered. Without
--check, the session is bound to the node's check "liveness", if there is one; an empty --check binds it to
none. If there is no such node, a note says so, and the session is bound to no node.`,
		Example: `  ID=$(tenure session create --name "$(hostname)" --ttl 30s)
  tenure session create --ttl 10s --lock-delay 0s --behavior delete
  tenure session create --name worker -- ./worker.sh
  tenure session create --node web1 --check web-up`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := cli.SplitCommand(cmd, args)
			if len(own) > 0 {
				return cli.UsageError("unexpected argument %s; put \"--\" before a command to run", cli.Quoted(own[0]))
			}
			request, err := f.request(cmd, len(command) > 0)
			if err != nil {
				return err
			}
			if len(command) > 0 {
				return runUnderSession(cmd.Context(), env, request, command)
			}
			return createSession(cmd.Context(), env, request, f.node)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name that identifies the session to people (default USER@HOST)")
	flags.DurationVar(&f.ttl, "ttl", 0, "time for which it lives without renewal; 0s: until it is destroyed")
	flags.StringVar(&f.behavior, "behavior", "release", "what happens to the keys of held locks when the session ends: release or delete")
	flags.DurationVar(&f.lockDelay, "lock-delay", LockDelayDefault, "time for which no other session gets a lock that this session lost, up to 60s")
	flags.BoolVar(&f.secret, "secret", false, "protect it with a secret, printed on the second line")
	flags.StringVar(&f.node, "node", "", "bind it to this node of the catalog (default: the host's name, without checks)")
	flags.StringArrayVar(&f.checks, "check", nil, "bind it to this check of --node; repeatable, up to 16; empty: to none")
	return cmd
}

// TTLDefault is the TTL of a session that lives with a command, and LockDelayDefault the lock-delay of any.
const (
	TTLDefault       = 15 * time.Second
	LockDelayDefault = 15 * time.Second
)

// request returns the session to create.
func (f *createFlags) request(cmd *cobra.Command, withCommand bool) (*tenurev1.CreateSessionRequest, error) {
	request := &tenurev1.CreateSessionRequest{
		Name:      f.name,
		LockDelay: protoDuration(cmd.Flags().Changed("lock-delay"), f.lockDelay),
		Ttl:       protoDuration(cmd.Flags().Changed("ttl"), f.ttl),
	}
	if withCommand && request.GetTtl() == nil {
		request.Ttl = durationpb.New(TTLDefault)
	}
	switch f.behavior {
	case "release":
		request.Behavior = tenurev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE
	case "delete":
		request.Behavior = tenurev1.SessionBehavior_SESSION_BEHAVIOR_DELETE
	default:
		return nil, cli.UsageError("--behavior is %s; it must be release or delete", cli.Quoted(f.behavior))
	}
	if f.secret {
		request.Secret = NewSecret()
	}
	switch {
	case f.node == "" && len(f.checks) > 0:
		return nil, cli.UsageError("--check needs --node: the node of the catalog that has the check")
	case f.node != "" && withCommand:
		return nil, cli.UsageError("--node does not go with a command; open the session first")
	case f.node == "":
		request.Checks = &tenurev1.SessionChecks{} // The TTL bounds it.
	case len(f.checks) > 0:
		request.Checks = &tenurev1.SessionChecks{NodeChecks: cli.Present(f.checks)}
	}
	request.Node = f.node
	return request, nil
}

// createSession opens a session and prints its id. The node is the one that was asked for; empty: none was.
func createSession(ctx context.Context, e *cli.Environment, request *tenurev1.CreateSessionRequest, node string) error {
	Describe(e, request, "")
	return e.WithClient(ctx, func(ctx context.Context, c *tenure.Client) error {
		answer, err := openSession(ctx, e, c, request)
		if err != nil {
			return err
		}
		switch {
		case node == "" || answer.GetNodeId() != "":
		case answer.GetHeader().GetHidden() > 0:
			e.Notef("Note: without the right node %s read it is not said whether there is such a node, to which the session is bound then.", cli.Quoted(node))
		default:
			e.Notef("Note: there is no node %s in the catalog, so the session is bound to none.", cli.Quoted(node))
		}
		// Whoever writes --ttl 0s knows; and a node ends what is bound to it.
		if request.GetTtl() == nil && (node == "" || answer.GetNodeId() == "" && answer.GetHeader().GetHidden() == 0) {
			e.Notef("Note: this session has no TTL: it and its locks live until `tenure session destroy %s`; --ttl changes that.", answer.GetSessionId())
		}
		if e.JSON() {
			return e.PrintDocument(answer)
		}
		if err := e.Printf("%s\n", answer.GetSessionId()); err != nil || len(answer.GetSecret()) == 0 {
			return err
		}
		return e.Printf("%s\n", cli.SecretText(answer.GetSecret()))
	})
}

// runUnderSession opens a session, runs a command while it lives, and ends it.
func runUnderSession(
	ctx context.Context, e *cli.Environment, request *tenurev1.CreateSessionRequest, argv []string,
) error {
	program, err := process.LookUp(argv)
	if err != nil {
		return err
	}
	Describe(e, request, argv[0])
	// Signals end the opening of the session. Then they go to the command, and only its end ends the session.
	signals, stop := process.CatchSignals()
	defer stop()
	ctx = context.WithoutCancel(ctx)
	opening, cancel := context.WithTimeout(ctx, e.Timeout)
	session, err := OpenOwnUntilSignal(opening, e, request, signals, func() {}) // The opening has the time of one call.
	cancel()
	if err != nil {
		return err
	}
	NoteTTL(e, request.GetTtl().AsDuration(), session.TTL())
	variables := []string{"TENURE_SESSION_ID=" + session.ID()}
	if len(session.Secret()) > 0 {
		variables = append(variables, cli.SecretVariable+"="+cli.SecretText(session.Secret()))
	}
	losses := make(chan error, 1)
	g := &process.Guarded{
		Lease:     process.SessionLease{Session: session.Session},
		Vigil:     session.Vigil,
		Grace:     process.KillAfter(session.TTL()),
		Signals:   signals,
		Losses:    losses,
		Note:      e.Notef,
		What:      "session " + session.ID(),
		Program:   program,
		Argv:      argv,
		Variables: variables,
		Streams:   process.Streams{In: e.Stdin, Out: e.Stdout, Err: e.Stderr},
	}
	stopTelling := session.TellEnd(ctx, losses)
	code, err := g.Run()
	stopTelling()
	if closeErr := session.Close(); closeErr != nil && code != process.ExitLost {
		e.Notef("Could not destroy session %s: %s. It ends with its TTL, if it has one.", session.ID(), cli.NotTold(closeErr))
	}
	if err != nil {
		return err
	}
	if code != cli.ExitOK {
		return cli.SilentExit(code)
	}
	return nil
}
