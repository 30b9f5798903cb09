package kv

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// ValueBytesMax is the longest value a member takes.
const ValueBytesMax = 512 << 10

// putFlags are the flags of `tenure kv put`.
type putFlags struct {
	flags      uint64
	ifRevision uint64
	acquire    string
	release    string
	secret     cli.SecretFlag
	held       cli.GuardFlag
}

// newKVPutCommand returns `tenure kv put`.
func newKVPutCommand(env *cli.Environment) *cobra.Command {
	f := &putFlags{}
	cmd := &cobra.Command{
		Use:   "put KEY VALUE",
		Short: "Write a key, and optionally acquire or release its lock",
		Long: `Write a key. A VALUE of "-" is read from standard input, and "@FILE" from a file. One leading slash is
not part of the key. --acquire also acquires the key's lock for a session, if it is free; --release
releases it. If the lock cannot be acquired or released, nothing is written, and the exit code is 1. So it
is with --if-held if the lock of its sequencer is no longer held. In a command under "tenure lock",
--if-held "$TENURE_LOCK_SEQUENCER" keeps writes from being made after the lock was lost.`,
		Example: `  tenure kv put greeting hello
  tenure kv put config/app @app.yaml
  date | tenure kv put last-run -
  tenure kv put counter 2 --if-revision 17
  tenure kv put last-run done --if-held "$TENURE_LOCK_SEQUENCER"
  tenure kv put service/leader '{"node": "a"}' --acquire "$ID"
  tenure kv put service/leader '{"node": "a"}' --release "$ID"`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := f.request(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("if-revision") {
				request.IfRevision = &f.ifRevision
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return putKey(ctx, env, c, f, request)
			})
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.flags, "flags", 0, "a number of your choice to store with the key")
	flags.Uint64Var(&f.ifRevision, "if-revision", 0, "write only if this is the key's mod_revision; 0: only if the key does not exist")
	cli.SessionIDFlag(flags, &f.acquire, "acquire", "acquire the key's lock for this session")
	cli.SessionIDFlag(flags, &f.release, "release", "release the key's lock for this session")
	f.secret.Add(flags)
	f.held.Add(flags, "write")
	cmd.MarkFlagsMutuallyExclusive("if-revision", "acquire", "release")
	return cmd
}

// request returns what to put.
func (f *putFlags) request(ctx context.Context, env *cli.Environment, args []string) (*tenurev1.PutRequest, error) {
	key, err := env.KeyArgument(args[0])
	if err != nil {
		return nil, err
	}
	if err = f.held.Read(); err != nil {
		return nil, err
	}
	value, err := valueArgument(ctx, env, args[1])
	if err != nil {
		return nil, err
	}
	return &tenurev1.PutRequest{
		Key:     key,
		Content: &tenurev1.PutRequest_Value{Value: value},
		Flags:   f.flags,
		Acquire: f.acquire,
		Release: f.release,
	}, nil
}

// valueArgument returns the value that an argument means.
func valueArgument(ctx context.Context, e *cli.Environment, argument string) ([]byte, error) {
	var source io.Reader
	name, file := strings.CutPrefix(argument, "@")
	switch {
	case argument == "-":
		source = e.Input(ctx)
	case file:
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.UsageError("the value's file: %w", err)
		}
		defer f.Close() //nolint:errcheck // It was only read.
		source = f
	default:
		return []byte(argument), nil
	}
	value, err := io.ReadAll(io.LimitReader(source, ValueBytesMax+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, cli.UsageError("the value: %w", err)
	case len(value) > ValueBytesMax:
		return nil, cli.RefusedError("the value is longer than 512 KiB: store it elsewhere, and its location in the key")
	}
	return value, nil
}

// putKey writes a key and tells what became of it.
func putKey(ctx context.Context, e *cli.Environment, c *tenure.Client, f *putFlags, request *tenurev1.PutRequest) error {
	var actor *tenurev1.CallOptions
	if session := request.GetAcquire() + request.GetRelease(); session != "" {
		var err error
		if actor, err = f.secret.Options(ctx, e, c, session); err != nil {
			return err
		}
	}
	var answer *tenurev1.PutResponse
	err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
		request.Options = f.held.Guard(cli.ActingAs(actor, once))
		answer, err = tenurev1.NewKVServiceClient(member).Put(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	if request.GetAcquire()+request.GetRelease() == "" && len(request.GetOptions().GetGuards()) == 0 {
		noteHolder(e, answer.GetKv().GetSessionId())
	}
	if e.JSON() {
		if err := e.PrintDocument(answer); err != nil {
			return err
		}
	}
	key := cli.Printable(request.GetKey())
	var done string
	switch {
	case request.GetAcquire() != "" && !answer.GetAcquired():
		return cli.RefusedError("Did not acquire lock: %s", cli.WhyNotAcquired(answer.GetLock()))
	case request.GetRelease() != "" && !answer.GetReleased():
		return cli.RefusedError("Did not release lock: %s", cli.WhyNotReleased(answer.GetLock()))
	case request.GetAcquire() != "":
		done = "Lock acquired on"
	case request.GetRelease() != "":
		done = "Lock released on"
	default:
		done = "Data written to"
	}
	if e.JSON() {
		return nil
	}
	return e.Printf("Success! %s: %s\n", done, key)
}

// noteHolder tells who wrote a key, with neither its lock nor a guard, which session holds the lock, unless it is one under which this program runs.
func noteHolder(e *cli.Environment, holder string) {
	if holder == "" {
		return
	}
	for _, variable := range []string{"TENURE_LOCK_SESSION", "TENURE_SESSION_ID"} {
		if own, _ := e.Getenv(variable); own == holder {
			return
		}
	}
	e.Notef("Note: session %s holds the lock of this key. The lock does not keep others from writing the key.", holder)
}
