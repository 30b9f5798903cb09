package main

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
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// Bounds of one step of an import: what a member takes in one transaction, with room for names and answers.
const (
	importKeysMax  = 32
	importBytesMax = 1 << 20
	importLineMax  = 2 * valueBytesMax // A value in base64, a key with escapes and the rest.
)

// newKVImportCommand returns `tenure kv import`.
func newKVImportCommand(env *environment) *cobra.Command {
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
			source := env.stdin
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return usageError("the import's file: %w", err)
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

// keyImport is an import under way.
type keyImport struct {
	env       *environment
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
func importKeys(ctx context.Context, e *environment, source io.Reader, overwrite bool) error {
	return importFrom(ctx, e, overwrite, "line", func(ctx context.Context, i *keyImport) error { return i.run(ctx, source) })
}

// importFrom writes the keys that run gives to add, and tells how many.
func importFrom(ctx context.Context, e *environment, overwrite bool, unit string, run func(context.Context, *keyImport) error) error {
	c, err := e.client(ctx, tenure.WithFixedMembers())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	i := &keyImport{
		env: e, client: c, overwrite: overwrite, unit: unit, pending: map[string]bool{}, tell: e.progress(1, "keys imported"),
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
			e.notef("%s %s written before.", counted(i.written, "key"), verb)
		}
		return err
	}
	if e.json() {
		return e.printf("{\"written\": %d}\n", i.written)
	}
	return e.printf("Success! Imported %s.\n", counted(i.written, "key"))
}

// run reads all lines.
func (i *keyImport) run(ctx context.Context, source io.Reader) error {
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, importLineMax)
	number := 0
	for lines.Scan() {
		number++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		key, err := parseExportLine(line)
		if err != nil {
			return refusedError("line %d: %s", number, printable(err.Error()))
		}
		if err := i.add(ctx, number, key); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return refusedError("line %d is too long: a value has at most 512 KiB", number+1)
	case err != nil:
		return fmt.Errorf("the import: %w", err)
	default:
		return nil
	}
}

// add takes the key with a number in the source, and writes those before it if they are enough.
func (i *keyImport) add(ctx context.Context, number int, key *exportedKey) error {
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
func (i *keyImport) write(ctx context.Context) error {
	if len(i.ops) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, i.env.timeout)
	defer cancel()
	request := &tenurev1.TxnRequest{Then: i.ops}
	err := saidBy(i.client, i.client.Change(ctx, func(
		ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions,
	) error {
		request.Options = once
		_, err := tenurev1.NewKVServiceClient(member).Txn(ctx, request)
		return err
	}))
	switch {
	case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED && !i.overwrite:
		return refusedError("key %s exists already, at %s %d or after: remove it, or give --overwrite",
			quoted(errorinfo.Fact(err, "key")), i.unit, i.from)
	case errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
		i.env.notef("What starts at %s %d was refused.", i.unit, i.from)
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
	err := encoder.Encode(exportedKey{Key: kv.Key, Value: value, Flags: kv.Flags})
	return out.Bytes(), err
}

// parseExportLine reads a line of an export, strictly.
func parseExportLine(line []byte) (*exportedKey, error) {
	key := &exportedKey{}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(key); err != nil {
		return nil, fmt.Errorf("is no key as export prints it: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has more than one object")
	}
	if key.Key == "" {
		return nil, errors.New("has no key")
	}
	return key, nil
}
