package kv

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NewCommand returns `tenure kv`.
func NewCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("kv", "Read and write keys",
		`  tenure kv put greeting hello
  tenure kv get greeting
  tenure kv list service/`,
		newKVPutCommand(env), newKVGetCommand(env), newKVListCommand(env), newKVDeleteCommand(env),
		newKVExportCommand(env), newKVImportCommand(env))
}

// newKVGetCommand returns `tenure kv get`.
func newKVGetCommand(env *cli.Environment) *cobra.Command {
	var detailed, stale bool
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Print a key's value",
		Long: `Print a key's value, byte for byte and nothing else. On a terminal a line break is added. --detailed
prints everything that is known about the key. With --stale, the member answers from its own data
without contacting the leader; the value may be old.`,
		Example: `  tenure kv get greeting
  tenure kv get --detailed service/leader
  tenure kv get service/leader -o json
  tenure kv get --stale service/leader`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := env.KeyArgument(args[0])
			if err != nil {
				return err
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				answer, err := getKey(ctx, c, key, stale)
				if status.Code(err) == codes.NotFound {
					return cli.RefusedError("No key at: %s", cli.Printable(key))
				}
				if err != nil {
					return err
				}
				return printKey(env, answer, detailed)
			})
		},
	}
	cmd.Flags().BoolVar(&detailed, "detailed", false, "print everything that is known about the key")
	staleFlag(cmd, &stale)
	return cmd
}

// staleFlag adds the flag of reads that ask no leader.
func staleFlag(cmd *cobra.Command, stale *bool) {
	cmd.Flags().BoolVar(stale, "stale", false, "read the member's own data, which may be old; works without a leader")
}

// getKey reads a key.
func getKey(ctx context.Context, c *tenure.Client, key string, stale bool) (answer *tenurev1.GetResponse, err error) {
	request := &tenurev1.GetRequest{Key: key, Read: &tenurev1.ReadOptions{Stale: stale}}
	err = c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
		answer, err = tenurev1.NewKVServiceClient(member).Get(ctx, request)
		return err
	})
	return answer, err
}

// printKey prints a key as the flags ask.
func printKey(e *cli.Environment, answer *tenurev1.GetResponse, detailed bool) error {
	kv := answer.GetKv()
	switch {
	case e.JSON():
		return e.PrintDocument(answer)
	case detailed:
		return e.PrintTable([][]string{
			{"Key", cli.Printable(kv.GetKey())},
			{"Value", cli.Printable(string(kv.GetValue()))},
			{"Flags", strconv.FormatUint(kv.GetFlags(), 10)},
			{"Create revision", strconv.FormatUint(kv.GetCreateRevision(), 10)},
			{"Mod revision", strconv.FormatUint(kv.GetModRevision(), 10)},
			{"Puts", strconv.FormatUint(kv.GetVersion(), 10)},
			{"Lock index", strconv.FormatUint(kv.GetLockIndex(), 10)},
			{"Session", cli.OrDash(kv.GetSessionId())},
			{"Ephemeral for", cli.OrDash(kv.GetBoundSessionId())},
			{"Created", cli.Moment(kv.GetCreateTime())},
			{"Modified", cli.Moment(kv.GetModTime())},
		})
	}
	if _, err := e.Stdout.Write(kv.GetValue()); err != nil {
		return err
	}
	if cli.IsTerminal(e.Stdout) {
		return e.Printf("\n")
	}
	return nil
}

// newKVDeleteCommand returns `tenure kv delete`.
func newKVDeleteCommand(env *cli.Environment) *cobra.Command {
	var prefix, all bool
	var ifRevision uint64
	held := &cli.GuardFlag{}
	cmd := &cobra.Command{
		Use:   "delete KEY",
		Short: "Delete a key, or all keys with a prefix",
		Long: `Delete a key and its value; its lock remains. With --prefix, delete all keys with the prefix KEY, but
at most 10 000: if there are more, none is deleted. Deleting every key of the store requires --all. With
--if-held, nothing is deleted if the lock of the sequencer is no longer held.`,
		Example: `  tenure kv delete greeting
  tenure kv delete greeting --if-revision 12
  tenure kv delete last-run --if-held "$TENURE_LOCK_SEQUENCER"
  tenure kv delete service/ --prefix`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := held.Read(); err != nil {
				return err
			}
			if prefix {
				request := &tenurev1.DeletePrefixRequest{Prefix: env.PrefixArgument(args[0]), All: all}
				if request.GetPrefix() == "" && !all {
					return cli.UsageError("an empty prefix means every key: confirm it with --all")
				}
				return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
					return deletePrefix(ctx, env, c, held, request)
				})
			}
			key, err := env.KeyArgument(args[0])
			if err != nil {
				return err
			}
			request := &tenurev1.DeleteRequest{Key: key}
			if cmd.Flags().Changed("if-revision") {
				request.IfRevision = &ifRevision
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return deleteKey(ctx, env, c, held, request)
			})
		},
	}
	cmd.Flags().BoolVar(&prefix, cli.PrefixFlag, false, "delete all keys with the prefix KEY")
	cmd.Flags().BoolVar(&all, "all", false, "with --prefix and an empty KEY: delete every key")
	cmd.Flags().Uint64Var(&ifRevision, "if-revision", 0, "delete only if this is the key's mod_revision")
	held.Add(cmd.Flags(), "delete")
	cmd.MarkFlagsMutuallyExclusive(cli.PrefixFlag, "if-revision")
	return cmd
}

// deleteKey deletes one key.
func deleteKey(ctx context.Context, e *cli.Environment, c *tenure.Client, held *cli.GuardFlag, request *tenurev1.DeleteRequest) error {
	var answer *tenurev1.DeleteResponse
	err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
		request.Options = held.Guard(once)
		answer, err = tenurev1.NewKVServiceClient(member).Delete(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		if err := e.PrintDocument(answer); err != nil {
			return err
		}
	}
	if !answer.GetDeleted() {
		return cli.RefusedError("No key at: %s", cli.Printable(request.GetKey()))
	}
	if e.JSON() {
		return nil
	}
	return e.Printf("Success! Deleted key: %s\n", cli.Printable(request.GetKey()))
}

// deletePrefix deletes all keys with a prefix.
func deletePrefix(ctx context.Context, e *cli.Environment, c *tenure.Client, held *cli.GuardFlag, request *tenurev1.DeletePrefixRequest) error {
	var answer *tenurev1.DeletePrefixResponse
	err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
		request.Options = held.Guard(once)
		answer, err = tenurev1.NewKVServiceClient(member).DeletePrefix(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	return e.Printf("Success! Deleted %s with prefix: %s\n", cli.Counted(answer.GetDeleted(), "key"), cli.Printable(request.GetPrefix()))
}
