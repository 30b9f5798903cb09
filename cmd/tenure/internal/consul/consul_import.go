package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/kv"
)

// keyBytesMax is the longest key a member takes.
const keyBytesMax = 1024

// newConsulImportCommand returns `tenure consul import`.
func newConsulImportCommand(env *cli.Environment) *cobra.Command {
	var overwrite, nodes bool
	var prefixFlagged string
	cmd := &cobra.Command{
		Use:   "import URL|FILE|-",
		Short: "Import keys, or external nodes with their services, from Consul",
		Long: `Copy keys with their values and flags from Consul: from its HTTP API at URL, or from a file (or standard
input, with -) that "consul kv export" wrote. Reading from URL uses the variables CONSUL_HTTP_TOKEN and
CONSUL_CACERT, as Consul's own program does. With --prefix, copy only the keys with this prefix.

The import stops at a key that exists, unless you give --overwrite, and at a key that Tenure does not
accept: keys have 1 to 1024 bytes, values up to 512 KiB. Keys are written in batches of up to 32, each
completely or not at all. After a failure, earlier batches remain, and the error names the key.

With --nodes, copy from URL the external nodes instead, with their services and checks: those nodes on
which no agent of Consul runs, so that they have no check serfHealth. A check keeps its last status until
another is reported. The import stops at a node that exists, unless you give --overwrite.

Sessions, locks and the nodes of Consul's agents are not copied. A key that was locked arrives without
its lock, so stop the programs that use locks before you import, and start them again with Tenure's
address.`,
		Example: `  tenure consul import http://127.0.0.1:8500
  tenure consul import https://consul.example:8501 --prefix config/
  tenure consul import http://127.0.0.1:8500 --nodes
  consul kv export | tenure consul import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if nodes {
				return importNodes(cmd.Context(), env, args[0], overwrite)
			}
			var keys consulKeys
			prefix := env.PrefixArgument(prefixFlagged)
			switch source := args[0]; {
			case strings.HasPrefix(source, "http://"), strings.HasPrefix(source, "https://"):
				from, err := newConsulSource(env, source)
				if err != nil {
					return err
				}
				defer from.close()
				opened, err := from.openKeys(cmd.Context(), prefix)
				if err != nil {
					return err
				}
				defer opened.Close() //nolint:errcheck // It was only read.
				keys.source = opened
			case source == "-":
				keys.source = env.Input(cmd.Context())
			default:
				f, err := os.Open(source)
				if err != nil {
					return cli.UsageError("the import's file: %w", err)
				}
				defer f.Close() //nolint:errcheck // It was only read.
				keys.source = f
			}
			err := kv.ImportFrom(cmd.Context(), env, overwrite, "key", func(ctx context.Context, i *kv.KeyImport) error {
				return keys.run(ctx, prefix, i)
			})
			if err == nil && keys.locked > 0 {
				env.Notef("Note: %s locked in Consul; locks are not imported.", were(keys.locked, "key"))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "overwrite keys or nodes that exist")
	cmd.Flags().BoolVar(&nodes, "nodes", false, "copy external nodes with their services and checks instead of keys")
	cmd.Flags().StringVar(&prefixFlagged, "prefix", "", "copy only keys with this prefix")
	cmd.MarkFlagsMutuallyExclusive("nodes", "prefix")
	return cmd
}

// were is counted with its verb.
func were(n int, thing string) string {
	if n == 1 {
		return cli.Counted(n, thing) + " was"
	}
	return cli.Counted(n, thing) + " were"
}

// consulKey is a key as Consul's HTTP shows it, and as its export does, which has smaller names and fewer of them.
type consulKey struct {
	Key       string
	Flags     uint64
	Value     []byte
	Session   string
	Namespace string
	Partition string
}

// problem returns why a member would not take the key, or nothing.
func (k *consulKey) problem() string {
	switch {
	case k.Key == "":
		return "has no name"
	case strings.ContainsRune(k.Key, utf8.RuneError):
		return "is not UTF-8"
	case len(k.Key) > keyBytesMax:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(k.Key), keyBytesMax)
	case len(k.Value) > kv.ValueBytesMax:
		return fmt.Sprintf("has a value of %d bytes; at most %d are allowed", len(k.Value), kv.ValueBytesMax)
	case k.Namespace != "" && k.Namespace != "default", k.Partition != "" && k.Partition != "default":
		return "is in a namespace or partition of its own, which Tenure does not have here"
	}
	return ""
}

// consulKeys are keys from Consul: a JSON array of them.
type consulKeys struct {
	source io.Reader
	left   int // How many bytes more the key that is read may have.
	locked int // How many of those read were locked.
}

// errKeyTooLong means that one key takes more bytes than any that can be written.
var errKeyTooLong = errors.New("it is longer than any key with its value may be")

// Read reads of the source as much as one key may have.
func (c *consulKeys) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errKeyTooLong
	}
	n, err := c.source.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// run gives all keys with a prefix to an import.
func (c *consulKeys) run(ctx context.Context, prefix string, to *kv.KeyImport) error {
	c.left = kv.ImportLineMax
	decoder := json.NewDecoder(c)
	begin, err := decoder.Token()
	switch {
	case err == nil && begin == nil:
		return nil // Consul's export of no keys.
	case err != nil || begin != json.Delim('['):
		return consulSourceError(err, "the source is not a list of keys as Consul prints it")
	}
	number := 0
	for decoder.More() {
		number++
		c.left = kv.ImportLineMax
		key := &consulKey{}
		if err := decoder.Decode(key); err != nil {
			return consulSourceError(err, fmt.Sprintf("key %d cannot be read", number))
		}
		if !strings.HasPrefix(key.Key, prefix) {
			continue
		}
		if problem := key.problem(); problem != "" {
			return cli.RefusedError("key %d, %s, %s", number, cli.Quoted(key.Key), problem)
		}
		if key.Session != "" {
			c.locked++
		}
		if err := to.Add(ctx, number, &kv.ExportedKey{Key: key.Key, Value: key.Value, Flags: key.Flags}); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return consulSourceError(err, "the list of keys has no end")
	}
	return nil
}

// consulSourceError tells what is wrong with what Consul gave.
func consulSourceError(err error, what string) error {
	if exit := new(cli.ExitError); errors.As(err, &exit) {
		return exit
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err == nil {
		return cli.RefusedError("%s", what)
	}
	return cli.RefusedError("%s: %s", what, cli.Printable(err.Error()))
}
