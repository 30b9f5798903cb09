package lock

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// lockFlags are the flags of `tenure lock`, and of `tenure elect`, which shares most of them.
type lockFlags struct {
	// election tells that the lock is an election's.
	election  bool
	shared    bool
	permits   uint32
	limit     uint32
	try       bool
	ttl       time.Duration
	lockDelay time.Duration
	wait      time.Duration
	waitSet   bool
	value     string
	valueSet  bool
	killAfter time.Duration
}

// NewCommand returns `tenure lock`.
func NewCommand(env *cli.Environment) *cobra.Command {
	f := &lockFlags{}
	cmd := &cobra.Command{
		Use:   "lock KEY [flags] -- COMMAND ARGS...",
		Short: "Run a command while holding a lock",
		Long: `Wait for a lock, run a command while holding it, then release it. Waiters queue and get the lock in
order. Standard error shows the queue position and the holder. The lock is exclusive by default;
--shared shares it, and --limit makes it a semaphore (--permits: how many to take).

The command gets TENURE_LOCK_KEY, TENURE_LOCK_SESSION, TENURE_LOCK_FENCING_TOKEN and
TENURE_LOCK_SEQUENCER in its environment. Signals are forwarded to it. It is terminated, with all
processes that it started, if tenure dies.

tenure opens a session for the lock. If the cluster stops responding, tenure prints how long the lock is
safe, and another line on recovery. Without recovery, the command gets SIGTERM --kill-after before that
time, and SIGKILL at that time, before another client can get the lock. If tenure is stopped (SIGSTOP),
the command continues: protect your data with the fencing token or a guard.

Exit codes: the command's own, or 128+N after signal N; 3 no member answered; 75 not acquired (--wait,
--try); 76 lost before the command ended; 126 the command cannot be run; 127 command not found.`,
		Example: `  tenure lock jobs/nightly -- ./nightly.sh
  tenure lock jobs/nightly --wait 10s -- ./nightly.sh || echo "busy"
  tenure lock jobs/nightly --try -- ./nightly.sh
  tenure lock config --shared -- ./read-config.sh
  tenure lock downloads --limit 3 -- ./download.sh
  tenure lock deploy --value "$USER" --ttl 30s -- make deploy
  tenure lock info jobs/nightly`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := cli.SplitCommand(cmd, args)
			if len(own) != 1 || len(command) == 0 {
				return cli.UsageError("want one key, \"--\" and a command: tenure lock KEY -- COMMAND ARGS...%s", otherwiseMeant(cmd, own, command))
			}
			key, err := env.KeyArgument(own[0])
			if err != nil {
				return err
			}
			f.waitSet = cmd.Flags().Changed("wait")
			f.valueSet = cmd.Flags().Changed("value")
			f.try = f.try || f.waitSet && f.wait == 0
			if err := cli.NotZero(cmd.Flags(), "limit", "permits"); err != nil {
				return err
			}
			if f.permits > 0 && f.limit == 0 {
				return cli.UsageError("--permits requires --limit, the total number of permits")
			}
			if err := f.check(cmd.Flags().Changed("kill-after")); err != nil {
				return err
			}
			return lockAndRun(cmd.Context(), env, f, key, command)
		},
	}
	f.add(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&f.value, "value", "", "value to write to the key with the lock (default: do not write)")
	flags.BoolVar(&f.shared, "shared", false, "share the lock with other commands that use --shared")
	flags.Uint32Var(&f.limit, "limit", 0, "make the lock a semaphore with this many permits; all users must give the same limit")
	flags.Uint32Var(&f.permits, "permits", 0, "how many permits to take, with --limit (default 1)")
	flags.BoolVar(&f.try, "try", false, "acquire the lock only if it is free now")
	cmd.MarkFlagsMutuallyExclusive("shared", "limit")
	cmd.MarkFlagsMutuallyExclusive("shared", "permits")
	cmd.MarkFlagsMutuallyExclusive("try", "wait")
	cmd.AddCommand(newLockInfoCommand(env), newLockListCommand(env), newLockBreakCommand(env), newLockDeadlocksCommand(env))
	return cmd
}

// otherwiseMeant returns what was meant instead of running a command, if one is missing: to look at locks, or a command below this one.
func otherwiseMeant(cmd *cobra.Command, own, command []string) string {
	if len(own) == 0 || len(command) > 0 {
		return ""
	}
	key := "KEY"
	if len(own) == 1 {
		key = cli.Printable(own[0])
	}
	return fmt.Sprintf("%s; to see a lock: \"tenure lock info %s\"; all locks: \"tenure lock list\"", cli.CommandMeant(cmd, own[0]), key)
}

// add adds the flags that `tenure lock` and `tenure elect` share.
func (f *lockFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.ttl, "ttl", session.TTLDefault, "time after which the lock is lost if this program dies")
	flags.DurationVar(&f.lockDelay, "lock-delay", session.LockDelayDefault, "time for which no other client gets the lock after it was lost, up to 60s")
	flags.DurationVar(&f.wait, "wait", 0, "longest wait; 0s: try once (default: wait forever)")
	flags.DurationVar(&f.killAfter, "kill-after", 0,
		"time between SIGTERM and SIGKILL when the lock is lost, at most a third of the TTL (default 5s)")
}

// what names what is waited for, for people.
func (f *lockFlags) what(key string) string {
	if f.election {
		return "leadership of " + cli.Quoted(key)
	}
	return "the lock on " + cli.Quoted(key)
}

// lock returns what to ask for.
func (f *lockFlags) lock(s *tenure.Session, key string, options []tenure.LockOption) *tenure.Lock {
	if f.valueSet {
		options = append(options, tenure.WithValue([]byte(f.value)))
	}
	switch {
	case f.shared:
		return s.ReadWriteLock(key, options...).Read()
	case f.limit > 0:
		return s.Semaphore(key, f.limit, max(f.permits, 1), options...)
	default:
		return s.Lock(key, options...)
	}
}

// check refuses flags that do not fit together, and fills in what was not given.
func (f *lockFlags) check(killAfterSet bool) error {
	switch {
	case f.ttl <= 0:
		return cli.UsageError("--ttl is %v; it must be more than zero", f.ttl)
	case f.wait < 0:
		return cli.UsageError("--wait is %v; it must not be negative", f.wait)
	case f.killAfter < 0 || f.killAfter > f.ttl/3:
		return cli.UsageError("--kill-after is %v; it must be at most a third of the TTL, %v", f.killAfter, f.ttl/3)
	case !killAfterSet:
		f.killAfter = process.KillAfter(f.ttl)
	}
	return nil
}

// lockAndRun takes a lock, runs a command and gives the lock back.
func lockAndRun(ctx context.Context, e *cli.Environment, f *lockFlags, key string, argv []string) error {
	program, err := process.LookUp(argv)
	if err != nil {
		return err
	}
	// From here on signals are taken care of: whatever happens, the session is ended.
	signals, stopSignals := process.CatchSignals()
	defer stopSignals()
	ctx = context.WithoutCancel(ctx)
	begun := time.Now()
	own, err := openInTime(ctx, e, f, key, argv, signals)
	if err != nil {
		return err
	}
	session.NoteTTL(e, f.ttl, own.TTL())
	losses := make(chan error, 2)
	stopTelling := own.TellEnd(ctx, losses)
	w := &lockQueue{
		session: own, key: key, what: f.what(key), note: e.Notef, timeout: e.Timeout,
		lock: func(options ...tenure.LockOption) *tenure.Lock { return f.lock(own.Session, key, options) },
	}
	w.outer, _ = e.Getenv("TENURE_LOCK_SESSION")
	switch {
	case f.try && f.waitSet:
		w.try = "--wait 0s"
	case f.try:
		w.try = "--try"
	case f.waitSet:
		w.deadline = begun.Add(f.wait)
	}
	own.Vigil.Hangs(process.Stake{Text: "the place in the queue for " + f.what(key) + " is kept"})
	hold, err := w.take(ctx, signals, losses)
	code := cli.ExitOK
	if err == nil {
		g := &process.Guarded{
			Lease: process.HoldLease{Session: own.Session, Held: hold}, Vigil: own.Vigil, Grace: f.killAfter, Signals: signals, Losses: losses, Note: e.Notef,
			What: f.what(key), Program: program, Argv: argv,
			Streams: process.Streams{In: e.Stdin, Out: e.Stdout, Err: e.Stderr},
		}
		g.Variables = f.variables(hold)
		code, err = runHolding(ctx, g, own.Client, hold, losses)
	}
	stopTelling()
	closeErr := own.Close()
	switch {
	case closeErr == nil || code == process.ExitLost:
	case hold == nil:
		e.Notef("Could not leave the queue: %s. The place ends with the session's TTL (%v).", cli.NotTold(closeErr), own.TTL())
	default:
		e.Notef("Could not release the lock: %s. It becomes free after the TTL (%v) and the lock-delay.", cli.NotTold(closeErr), own.TTL())
	}
	if err != nil {
		return err
	}
	if code != cli.ExitOK {
		return cli.SilentExit(code)
	}
	return nil
}

// request returns the session that holds the lock.
func (f *lockFlags) request(e *cli.Environment, key string, argv []string) *tenurev1.CreateSessionRequest {
	name := "tenure lock " + key
	if f.election {
		name = "tenure elect " + key
	}
	request := &tenurev1.CreateSessionRequest{
		Name:      session.Clip(name),
		Ttl:       durationpb.New(f.ttl),
		LockDelay: durationpb.New(f.lockDelay),
		Secret:    session.NewSecret(),
	}
	session.Describe(e, request, argv[0])
	return request
}

// variables returns what the command finds in its environment.
func (f *lockFlags) variables(held *tenure.Held) []string {
	hold := held.Sequencer()
	prefixes := []string{"TENURE_LOCK_"}
	if f.election {
		prefixes = append(prefixes, "TENURE_ELECTION_")
	}
	var variables []string
	for _, prefix := range prefixes {
		variables = append(variables,
			prefix+"KEY="+hold.Key,
			prefix+"SESSION="+hold.SessionID,
			prefix+"FENCING_TOKEN="+strconv.FormatUint(hold.Token, 10),
			prefix+"SEQUENCER="+hold.String())
	}
	return variables
}

// runHolding runs a command while a hold lasts, and tells losses how that ended.
func runHolding(ctx context.Context, g *process.Guarded, c *tenure.Client, held *tenure.Held, losses chan<- error) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		losses <- watchHold(ctx, c, held.Sequencer())
	}()
	code, err := g.Run()
	cancel()
	<-ended
	return code, err
}

// signalled is the end of a wait by a signal.
func signalled(s os.Signal) error { return cli.SilentExit(process.SignalExitCode(s)) }
