package kv

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// Bounds of one step of an import: what a member takes in one transaction, with room for names and answers.
const (
	importKeysMax  = 32
	importBytesMax = 1 << 20
	ImportLineMax  = 2 * ValueBytesMax // A value in base64, a key with escapes and the rest.
)

// newKVImportCommand returns `tenure kv import`.
func newKVImportCommand(env *cli.Environment) *cobra.Command {
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "import [FILE|-]",
		Short: "Import keys from the output of export",
		Long: `Write keys from a file, or from standard input, in the format of "tenure kv export": one JSON object a
line, with "key", "value" in base64 and "flags". The import stops at a key that exists, unless you give
--overwrite. Keys are written in batches of up to 32, each completely or not at all. After a failure,
earlier batches remain, and the error names the line.`,
		Example: `  tenure kv import keys.ndjson
  tenure kv export service/ | tenure kv import --endpoints other:7400
  tenure kv import keys.ndjson --overwrite`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source := env.Input(cmd.Context())
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return cli.UsageError("the import's file: %w", err)
				}
				defer f.Close() //nolint:errcheck // It was only read.
				source = f
			}
			return importKeys(cmd.Context(), env, source, overwrite)
		},
	}
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "overwrite keys that exist")
	return cmd
}

// KeyImport is an import under way.
type KeyImport struct {
	env       *cli.Environment
	client    *tenure.Client
	overwrite bool
	unit      string // What a key of the source is, for people: a line.

	ops     []*tenurev1.Op
	pending map[string]bool // Keys in ops.
	bytes   int
	from    int // Number of the first of ops in the source, from 1.
	written int
	tell    func(more int) // Takes how many keys more were written.
}

// importKeys writes keys from the output of an export, and tells how many.
func importKeys(ctx context.Context, e *cli.Environment, source io.Reader, overwrite bool) error {
	return ImportFrom(ctx, e, overwrite, "line", func(ctx context.Context, i *KeyImport) error { return i.run(ctx, source) })
}

// ImportFrom writes the keys that run gives to add, and tells how many.
func ImportFrom(ctx context.Context, e *cli.Environment, overwrite bool, unit string, run func(context.Context, *KeyImport) error) error {
	c, err := e.Client(ctx, tenure.WithFixedMembers())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	i := &KeyImport{
		env: e, client: c, overwrite: overwrite, unit: unit, pending: map[string]bool{}, tell: e.Progress(1, "keys imported"),
	}
	err = run(ctx, i)
	if err == nil {
		err = i.write(ctx)
	}
	if err != nil {
		if i.written > 0 {
			verb := "were"
			if i.written == 1 {
				verb = "was"
			}
			e.Notef("%s %s written before.", cli.Counted(i.written, "key"), verb)
		}
		return err
	}
	if e.JSON() {
		return e.Printf("{\"written\": %d}\n", i.written)
	}
	return e.Printf("Success! Imported %s.\n", cli.Counted(i.written, "key"))
}

// run reads all lines.
func (i *KeyImport) run(ctx context.Context, source io.Reader) error {
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, ImportLineMax)
	number := 0
	for lines.Scan() && lines.Err() == nil { // What came of a line before an error is no line.
		number++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		key, err := parseExportLine(line)
		if err != nil {
			return cli.RefusedError("line %d: %s", number, cli.Printable(err.Error()))
		}
		if err := i.Add(ctx, number, key); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return cli.RefusedError("line %d is too long: a value has at most 512 KiB", number+1)
	case err != nil:
		return fmt.Errorf("the import: %w", err)
	default:
		return nil
	}
}

// Add takes the key with a number in the source, and writes those before it if they are enough.
func (i *KeyImport) Add(ctx context.Context, number int, key *ExportedKey) error {
	size := len(key.Key) + len(key.Value)
	if len(i.ops) == importKeysMax || i.bytes+size > importBytesMax || i.pending[key.Key] {
		if err := i.write(ctx); err != nil {
			return err
		}
	}
	if len(i.ops) == 0 {
		i.from = number
	}
	put := &tenurev1.PutRequest{
		Key: key.Key, Flags: key.Flags, Content: &tenurev1.PutRequest_Value{Value: key.Value},
	}
	if !i.overwrite {
		put.IfRevision = new(uint64) // It must not exist.
	}
	i.ops = append(i.ops, &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: put}})
	i.pending[key.Key] = true
	i.bytes += size
	return nil
}

// write writes what was taken, whole or not at all.
func (i *KeyImport) write(ctx context.Context) error {
	if len(i.ops) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, i.env.Timeout)
	defer cancel()
	request := &tenurev1.TxnRequest{Then: i.ops}
	err := cli.SaidBy(i.client, i.client.Change(ctx, func(
		ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions,
	) error {
		request.Options = once
		_, err := tenurev1.NewKVServiceClient(member).Txn(ctx, request)
		return err
	}))
	switch {
	case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED && !i.overwrite:
		return cli.RefusedError("key %s exists already, at %s %d or after: remove it, or give --overwrite",
			cli.Quoted(errorinfo.Fact(err, "key")), i.unit, i.from)
	case errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
		i.env.Notef("What starts at %s %d was refused.", i.unit, i.from)
		return err
	case err != nil:
		return err
	}
	i.written += len(i.ops)
	i.tell(len(i.ops))
	i.ops, i.bytes = nil, 0
	clear(i.pending)
	return nil
}

// exportLine returns a key as a line of an export.
func exportLine(kv *tenure.KeyValue) ([]byte, error) {
	value := kv.Value
	if value == nil {
		value = []byte{}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(ExportedKey{Key: kv.Key, Value: value, Flags: kv.Flags})
	return out.Bytes(), err
}

// parseExportLine reads a line of an export, strictly.
func parseExportLine(line []byte) (*ExportedKey, error) {
	key := &ExportedKey{}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(key); err != nil {
		return nil, fmt.Errorf("is not a key as export prints it: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one object")
	}
	if key.Key == "" {
		return nil, errors.New("has no key")
	}
	return key, nil
}
