package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
)

// NewBackupCommand returns `tenure backup`.
func NewBackupCommand(env *cli.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a backup of the whole cluster to a file",
		Long: `Write a backup of the whole cluster to a file: keys, locks, queues, sessions, limits, the catalog and
prepared queries, policies, bindings, providers and the hashes of tokens, all of one revision. The cluster
continues to serve. The file appears under its name only once it is complete and verified; an existing
file of that name is replaced. "tenure restore" makes a new cluster from it.`,
		Example: `  tenure backup /backups/tenure-$(date +%F).backup
  tenure backup verify /backups/tenure-2026-11-21.backup
  curl -fO http://127.0.0.1:7401/v1/admin/backup -J`,
		Args: fileArgument,
		RunE: func(cmd *cobra.Command, args []string) error { return makeBackup(cmd.Context(), env, args[0]) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "verify FILE",
		Short: "Verify a backup and describe it",
		Long: `Verify a backup file completely and describe it. A file that was changed or truncated is refused, with
the position of the damage. This command does not contact a member.`,
		Example: "  tenure backup verify /backups/tenure-2026-11-21.backup",
		Args:    fileArgument,
		RunE:    func(cmd *cobra.Command, args []string) error { return verifyBackup(cmd.Context(), env, args[0]) },
	})
	return cmd
}

// fileArgument checks the arguments of a command that takes the name of a file.
func fileArgument(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return err
	}
	if args[0] == "" {
		return cli.UsageError("the file name is empty")
	}
	return nil
}

// makeBackup takes a backup, beside its place first.
func makeBackup(ctx context.Context, e *cli.Environment, path string) (err error) {
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return cli.RefusedError("%w", err)
	}
	defer func() {
		_ = file.Close() // It is closed already unless something failed before.
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	if err = receiveBackup(ctx, e, file); err != nil {
		return err
	}
	if err = file.Sync(); err != nil {
		return cli.RefusedError("%w", err)
	}
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return cli.RefusedError("%w", err)
	}
	info, err := storage.VerifyBackup(e.Told(ctx, file, "verified"))
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return cli.RefusedError("the received backup is not complete: %w", err)
	}
	if err = errors.Join(file.Close(), os.Rename(part, path)); err != nil {
		return cli.RefusedError("%w", err)
	}
	if e.JSON() {
		return printBackup(e, info)
	}
	return e.Printf("Success! Backup of revision %d, %d bytes, written to: %s\n", info.Revision, info.SizeBytes, path)
}

// receiveBackup writes what a member sends. It may be long; only a member that says nothing for a while is given up.
func receiveBackup(ctx context.Context, e *cli.Environment, out io.Writer) error {
	m, err := e.Connect()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(e.Timeout, func() { cancel(cli.ErrFellSilent) })
	defer silence.Stop()
	l, err := m.Link(ctx)
	if err != nil {
		return cli.SilenceOr(ctx, err)
	}
	stream, err := l.Cluster().Backup(ctx, &tenurev1.BackupRequest{})
	if err != nil {
		return err
	}
	tell := e.Progress(cli.Mebibyte, "MiB received")
	for {
		part, err := stream.Recv()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		default:
			return cli.SilenceOr(ctx, err)
		}
		silence.Stop() // A slow disk here is no fault of the member.
		if _, err = out.Write(part.GetData()); err != nil {
			return cli.RefusedError("%w", err)
		}
		tell(len(part.GetData()))
		silence.Reset(e.Timeout)
	}
}

// verifyBackup tells what a backup holds.
func verifyBackup(ctx context.Context, e *cli.Environment, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return cli.RefusedError("%w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	info, err := storage.VerifyBackup(e.Told(ctx, file, "verified"))
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return cli.RefusedError("%s: %w", path, err)
	}
	return printBackup(e, info)
}

// printBackup prints what a backup holds.
func printBackup(e *cli.Environment, info storage.BackupInfo) error {
	taken := time.UnixMilli(info.Meta.CreateTimeMs).UTC().Format(time.RFC3339)
	if e.JSON() {
		return e.Printf(`{"revision": "%d", "clusterId": "%x", "historyId": "%x", "keys": "%d", "sessions": "%d", "sizeBytes": "%d", `+
			`"createTime": %q, "member": %q, "version": %q}`+"\n", info.Revision, info.ClusterID, info.HistoryID, info.Keys,
			info.Sessions, info.SizeBytes, taken, info.Meta.Member, info.Meta.BinaryVersion)
	}
	return e.PrintTable([][]string{
		{"Revision", strconv.FormatUint(info.Revision, 10)},
		{"Taken", fmt.Sprintf("%s by %s (%s)", taken, cli.Printable(info.Meta.Member), cli.Printable(info.Meta.BinaryVersion))},
		{"Cluster", fmt.Sprintf("%x", info.ClusterID)},
		{"Keys", strconv.FormatUint(info.Keys, 10)},
		{"Sessions", strconv.FormatUint(info.Sessions, 10)},
		{"Size", fmt.Sprintf("%d bytes", info.SizeBytes)},
	})
}
