package kv

import (
	"bufio"
	"context"
	"time"

	"github.com/spf13/cobra"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// ExportedKey is a line of an export.
type ExportedKey struct {
	// Key is the key.
	Key string `json:"key"`
	// Value is the value; base64 in JSON.
	Value []byte `json:"value"`
	// Flags are the user's own number, a string in JSON as everywhere.
	Flags uint64 `json:"flags,string"`
}

// newKVExportCommand returns `tenure kv export`.
func newKVExportCommand(env *cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [PREFIX]",
		Short: "Export keys with a prefix as lines of JSON",
		Long: `Print all keys with a prefix, one JSON object a line, with "key", "value" in base64 and "flags". All are
of the same revision, however many there are. Without PREFIX, export all keys. Ephemeral keys are left
out, because their sessions are not exported. The export is complete only if the exit code is 0.
"tenure kv import" reads it.

Use it to move keys, not as a backup: it does not contain locks, sessions or revisions.`,
		Example: `  tenure kv export >keys.ndjson
  tenure kv export service/ | tenure kv import --endpoints other:7400
  tenure kv export config/ | jq -r '.value | @base64d'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := ""
			if len(args) == 1 {
				prefix = env.PrefixArgument(args[0])
			}
			return exportKeys(cmd.Context(), env, prefix)
		},
	}
	acceptPrefixFlag(cmd)
	return cmd
}

// exportKeys prints what a watch begins with: the state of one revision.
func exportKeys(ctx context.Context, e *cli.Environment, prefix string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// It may be long; only a member that says nothing for a while is given up.
	silence := time.AfterFunc(e.Timeout, func() { cancel(cli.ErrFellSilent) })
	defer silence.Stop()
	c, err := e.PatientClient(ctx, tenure.WithFixedMembers())
	if err != nil {
		return cli.SilenceOr(ctx, err)
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	w := &exportWriter{out: bufio.NewWriter(e.Stdout)}
	for part, err := range c.Watch(ctx, tenure.OnPrefix(prefix), tenure.WithInitial(), tenure.InParts()) {
		if err != nil {
			return cli.SilenceOr(ctx, cli.SaidBy(c, err))
		}
		silence.Stop() // Whoever reads the export may take their time.
		if err := w.write(part.Initial); err != nil {
			return err
		}
		if !part.More {
			break
		}
		silence.Reset(e.Timeout)
	}
	if w.ephemeral > 0 {
		e.Notef("Note: %d ephemeral keys were left out.", w.ephemeral)
	}
	return w.out.Flush()
}

// exportWriter writes keys as lines.
type exportWriter struct {
	out       *bufio.Writer
	ephemeral int
}

// write writes keys, but not ephemeral ones.
func (w *exportWriter) write(kvs []*tenure.KeyValue) error {
	for _, kv := range kvs {
		if kv.BoundSessionID != "" {
			w.ephemeral++
			continue
		}
		line, err := exportLine(kv)
		if err != nil {
			return err
		}
		if _, err := w.out.Write(line); err != nil {
			return err
		}
	}
	return nil
}
