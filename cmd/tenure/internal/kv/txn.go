package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// requestBytesMax is the longest transaction, as JSON, that is read; a member takes 1.5 MiB, and base64 takes more.
const requestBytesMax = 4 << 20

// NewTxnCommand returns `tenure txn`.
func NewTxnCommand(env *cli.Environment) *cobra.Command {
	secret, held := &cli.SecretFlag{}, &cli.GuardFlag{}
	cmd := &cobra.Command{
		Use:   "txn FILE|-",
		Short: "Run a transaction: compare, then apply operations",
		Long: `Run a transaction from a JSON file, or from standard input with "-". The format is that of POST /v1/txn,
with "compares", "then" and "otherwise"; operators and modes may also be words: equal, not-equal, less,
greater; exclusive, shared, semaphore. If all compares hold, "then" runs, otherwise "otherwise" does:
completely or not at all. The response is printed as JSON. If it is lost, the transaction is sent again,
and applied once. If the lock of an --if-held is no longer held, nothing is written.

Exit codes: 0 the compares held, and "then" ran; 1 they did not, and "otherwise" ran; also 1 an operation
was refused, and nothing was written. The error names each refused operation; the first is number 0.`,
		Example: `  tenure txn move.json
  echo '{"compares": [{"key": "a", "text": "1"}], "then": [{"put": {"key": "a", "text": "2"}}]}' | tenure txn -
  echo '{"compares": [{"key": "a", "operator": "greater", "version": "3"}], "then": [{"delete": {"key": "a"}}]}' | tenure txn -
  echo '{"then": [{"get": {"key": "a"}}, {"get": {"key": "b"}}]}' | tenure txn - | jq '.responses[].get.kv'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := held.Read(); err != nil {
				return err
			}
			request, err := readTxn(cmd.Context(), env, args[0])
			if err != nil {
				return err
			}
			if request.GetOptions() == nil {
				request.Options = &tenurev1.CallOptions{}
			}
			held.Guard(request.GetOptions())
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return runTxn(ctx, env, c, secret, request)
			})
		},
	}
	secret.Add(cmd.Flags())
	held.Add(cmd.Flags(), "write")
	return cmd
}

// readTxn reads a transaction from a file, or from standard input.
func readTxn(ctx context.Context, e *cli.Environment, name string) (*tenurev1.TxnRequest, error) {
	source := e.Input(ctx)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.UsageError("the transaction's file: %w", err)
		}
		defer f.Close() //nolint:errcheck // It was only read.
		source = f
	}
	data, err := io.ReadAll(io.LimitReader(source, requestBytesMax+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, cli.UsageError("the transaction: %w", err)
	case len(data) > requestBytesMax:
		return nil, cli.UsageError("the transaction is longer than %d MiB", requestBytesMax>>20)
	}
	request := &tenurev1.TxnRequest{}
	if err := parseJSON(data, request); err != nil {
		return nil, cli.UsageError("the transaction: %s", cli.Printable(err.Error()))
	}
	return request, nil
}

// parseJSON reads a message from JSON as REST takes it: every field must be known, by its lowerCamel name.
// Values of enums may also be the words that this program prints for them.
func parseJSON(data []byte, m *tenurev1.TxnRequest) error {
	data, err := cli.EnumNames(data, m.ProtoReflect().Descriptor())
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(data, m); err != nil {
		// The library varies its white space on purpose.
		return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "proto:")), " "))
	}
	// It also takes the names of the .proto files.
	decoder := json.NewDecoder(bytes.NewReader(data))
	var names []bool // For each open object or array: whether a name comes next; arrays never have one.
	var objects []bool
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		top := len(objects) - 1
		if name, ok := token.(string); ok && top >= 0 && objects[top] && names[top] {
			if strings.Contains(name, "_") {
				return fmt.Errorf("unknown field %s: names are written likeThis", cli.Quoted(name))
			}
			names[top] = false
			continue
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			objects, names = append(objects, token == json.Delim('{')), append(names, true)
			continue
		case json.Delim('}'), json.Delim(']'):
			objects, names = objects[:top], names[:top]
		}
		if top = len(objects) - 1; top >= 0 {
			names[top] = true
		}
	}
}

// runTxn runs a transaction and prints its answer.
func runTxn(ctx context.Context, e *cli.Environment, c *tenure.Client, secret *cli.SecretFlag, request *tenurev1.TxnRequest) error {
	if err := addSecret(ctx, e, c, secret, request); err != nil {
		return err
	}
	options := request.GetOptions()
	named := options.GetRequestId() != nil || len(options.GetIdempotencyKey()) > 0
	var answer *tenurev1.TxnResponse
	err := cli.SaidBy(c, c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
		if !named {
			options.IdempotencyKey = once.GetIdempotencyKey()
		}
		answer, err = tenurev1.NewKVServiceClient(member).Txn(ctx, request)
		return err
	}))
	if failed := errorinfo.Fact(err, "operations"); failed != "" {
		return cli.RefusedError("nothing was written: %s (all that failed: %s)", cli.Printable(cli.ErrorText(err)), failedOperations(failed))
	}
	if err != nil {
		return err
	}
	if err := e.PrintDocument(answer); err != nil {
		return err
	}
	if !answer.GetSucceeded() {
		return cli.RefusedError("the compares did not hold; \"otherwise\" ran, with %d operations", len(answer.GetResponses()))
	}
	return nil
}

// addSecret adds the session's secret, if the file does not say it.
func addSecret(
	ctx context.Context, e *cli.Environment, c *tenure.Client, secret *cli.SecretFlag, request *tenurev1.TxnRequest,
) error {
	options := request.GetOptions()
	session := txnSession(request)
	if len(options.GetSessionSecret()) > 0 || session == "" {
		return nil
	}
	given, err := secret.Options(ctx, e, c, session)
	if err != nil || given == nil {
		return err
	}
	options.SessionSecret = given.GetSessionSecret()
	if options.GetEpoch() == 0 {
		options.Epoch = given.GetEpoch()
	}
	return nil
}

// txnSession returns the first session that an operation acts as.
func txnSession(request *tenurev1.TxnRequest) string {
	for _, side := range [][]*tenurev1.Op{request.GetThen(), request.GetOtherwise()} {
		for _, op := range side {
			for _, id := range []string{
				op.GetPut().GetAcquire(), op.GetPut().GetRelease(), op.GetPut().GetBindSession(),
				op.GetAcquireLock().GetSessionId(), op.GetReleaseLock().GetSessionId(),
			} {
				if id != "" {
					return id
				}
			}
		}
	}
	return ""
}

// failedOperations returns for people which operations failed and why, from a list like "0:LOCK_HELD,2:COMPARE_FAILED".
func failedOperations(list string) string {
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		position, reason, _ := strings.Cut(part, ":")
		out = append(out, fmt.Sprintf("%s %s", position, strings.ToLower(strings.ReplaceAll(reason, "_", " "))))
	}
	return cli.Printable(strings.Join(out, ", "))
}
