package kv

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// pageKeysMax is how many keys a page has at most.
const pageKeysMax = 1000

// keyListing is what `tenure kv list` lists, and how.
type keyListing struct {
	request *tenurev1.ListRequest
	// limit is how many lines there are at most; zero: no limit.
	limit uint64
	// separator, unless empty, has all keys in which it follows the prefix counted as one, up to its end.
	separator string
}

// newKVListCommand returns `tenure kv list`.
func newKVListCommand(env *cli.Environment) *cobra.Command {
	l := &keyListing{request: &tenurev1.ListRequest{Read: &tenurev1.ReadOptions{}}}
	cmd := &cobra.Command{
		Use:   "list [PREFIX]",
		Short: "List keys with a prefix",
		Long: `Print all keys with a prefix and their values, separated by a tab, in byte order. Control characters
are escaped; -o json prints keys and values exactly. Without PREFIX, print all keys.

With --separator, print keys only, and only up to the first separator after the prefix, each once: one
level of a tree. With --limit, stop after this many lines. With --visible-only, print the keys that you
may list and read where you may not list and read all of them; "filtered" of -o json says that it is so.`,
		Example: `  tenure kv list service/
  tenure kv list service/ --keys
  tenure kv list service/ --separator /
  tenure kv list --limit 10
  tenure kv list -o json | jq -r '.kvs[].key'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.NotZero(cmd.Flags(), "limit"); err != nil {
				return err
			}
			if len(args) == 1 {
				l.request.Prefix = env.PrefixArgument(args[0])
			}
			if l.separator != "" {
				l.request.KeysOnly = true
			} else if l.limit < pageKeysMax {
				l.request.PageSize = uint32(l.limit) // Zero is as many as there can be.
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return listKeys(ctx, env, c, l)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&l.request.KeysOnly, "keys", false, "print keys only")
	flags.Uint64Var(&l.limit, "limit", 0, "print at most this many lines (default: all)")
	flags.StringVar(&l.separator, "separator", "", "print keys only up to this text after the prefix, each once")
	cli.VisibleOnlyFlag(flags, &l.request.VisibleOnly)
	staleFlag(cmd, &l.request.Read.Stale)
	acceptPrefixFlag(cmd)
	return cmd
}

// acceptPrefixFlag lets a command whose argument is a prefix take --prefix before or after it, as others need it. It changes nothing.
func acceptPrefixFlag(cmd *cobra.Command) {
	cmd.Flags().Bool(cli.PrefixFlag, false, "the argument is a prefix, as always")
	cmd.Flags().Lookup(cli.PrefixFlag).Hidden = true
}

// take returns those keys of a page that are listed, of which there were so many before, the last of them last.
func (l *keyListing) take(page []*tenurev1.KeyValue, before uint64, last string) []*tenurev1.KeyValue {
	var listed []*tenurev1.KeyValue
	for _, kv := range page {
		if l.limit > 0 && before+uint64(len(listed)) == l.limit {
			break
		}
		if l.separator != "" {
			head, _, below := strings.Cut(strings.TrimPrefix(kv.GetKey(), l.request.GetPrefix()), l.separator)
			if below {
				kv = &tenurev1.KeyValue{Key: l.request.GetPrefix() + head + l.separator}
			}
			if kv.GetKey() == last {
				continue
			}
			last = kv.GetKey()
		}
		listed = append(listed, kv)
	}
	return listed
}

// listKeys prints a list, page by page.
func listKeys(ctx context.Context, e *cli.Environment, c *tenure.Client, l *keyListing) error {
	all := &tenurev1.ListResponse{}
	var count uint64
	last := ""
	for {
		var page *tenurev1.ListResponse
		err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
			page, err = tenurev1.NewKVServiceClient(member).List(ctx, l.request)
			return err
		})
		if err != nil {
			return err
		}
		listed := l.take(page.GetKvs(), count, last)
		if n := len(listed); n > 0 {
			count, last = count+uint64(n), listed[n-1].GetKey()
		}
		if e.JSON() {
			all.Header = page.GetHeader()
			all.Kvs = append(all.Kvs, listed...)
		} else if err := printKeys(e, listed, l.request.GetKeysOnly()); err != nil {
			return err
		}
		if page.GetNextPageToken() == "" || l.limit > 0 && count == l.limit {
			break
		}
		l.request.PageToken = page.GetNextPageToken()
	}
	if e.JSON() {
		return e.PrintDocument(all)
	}
	return nil
}

// printKeys prints keys for people, one a line.
func printKeys(e *cli.Environment, kvs []*tenurev1.KeyValue, keysOnly bool) error {
	for _, kv := range kvs {
		line := cli.Printable(kv.GetKey())
		if !keysOnly {
			line += "\t" + cli.Printable(string(kv.GetValue()))
		}
		if err := e.Printf("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}
