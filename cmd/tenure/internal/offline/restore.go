package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// restoreFlags are the flags of `tenure restore`.
type restoreFlags struct {
	dataDir      string
	keepSessions bool
	freeze       time.Duration
	noFreeze     bool
	reason       string
	dropTokens   bool
}

// NewRestoreCommand returns `tenure restore`.
func NewRestoreCommand(env *cli.Environment) *cobra.Command {
	flags := &restoreFlags{}
	cmd := &cobra.Command{
		Use:   "restore BACKUP --data-dir DIR",
		Short: "Make a new cluster's data directory from a backup",
		Long: `Make the data directory of the first member of a new cluster from a backup file. The directory must be
empty or missing.

The cluster has a new id and a new history. Its revisions and fencing tokens are far above those of the
backup, so none is ever used twice, even if one backup is restored twice. All sessions end, unless
--keep-sessions is given. After the start no lock is granted for as long as the longest TTL of a session
in the backup, but at least a minute (see --freeze), so that clients that got a lock after the backup have
time to notice that they lost it. "tenure status" shows how long this lasts.

Policies, bindings and access tokens are those of the backup: a token that was revoked since is valid again.
With --drop-tokens no token is restored, and the command prints how to make a first one; policies, bindings,
providers and the mode stay.

Run it as the user of the member or as root: what root makes belongs to the user and group of DIR, or if
DIR is missing, of the directory that it is made in.

Then start the member with "tenure serve --data-dir DIR", and let others join with empty directories.`,
		Example: `  tenure restore nightly.backup --data-dir /var/lib/tenure
  tenure restore nightly.backup --data-dir /var/lib/tenure --freeze 5m
  tenure restore nightly.backup --data-dir /var/lib/tenure --drop-tokens
  tenure restore nightly.backup --data-dir ./look --keep-sessions --no-freeze`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return restoreBackup(cmd.Context(), env, args[0], flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.dataDir, "data-dir", "", "directory to create")
	f.BoolVar(&flags.keepSessions, "keep-sessions", false, "keep sessions, with everything they hold")
	f.DurationVar(&flags.freeze, "freeze", 0, "time for which no lock is granted; 0: the longest TTL of a session in the backup, but at least 60s")
	f.BoolVar(&flags.noFreeze, "no-freeze", false, "grant locks immediately")
	f.BoolVar(&flags.dropTokens, "drop-tokens", false, "restore no access token; policies, bindings and the mode stay")
	f.StringVar(&flags.reason, "reason", "", "reason, stored with each session that ends")
	return cmd
}

// restoreBackup makes a data directory of a backup.
func restoreBackup(ctx context.Context, e *cli.Environment, path string, f *restoreFlags) (err error) {
	switch {
	case f.dataDir == "":
		return cli.UsageError("--data-dir is missing: give the directory to create")
	case f.freeze < 0:
		return cli.UsageError("--freeze is %v; it must not be negative, and --no-freeze is none", f.freeze)
	case f.freeze > 0 && f.noFreeze:
		return cli.UsageError("--freeze and --no-freeze contradict each other")
	}
	file, err := os.Open(path)
	if err != nil {
		return cli.RefusedError("%w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	// A damaged backup is found before anything is made of it.
	switch _, err = storage.VerifyBackup(e.Told(ctx, file, "verified")); {
	case errors.Is(err, context.Canceled):
		return errRestoreInterrupted()
	case err != nil:
		return cli.RefusedError("%w", err)
	}
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return cli.RefusedError("%w", err)
	}
	o := raftnode.RestoreDirOptions{
		Dir: f.dataDir, KeepSessions: f.keepSessions, FreezeMs: f.freeze.Milliseconds(), Reason: f.reason, DropTokens: f.dropTokens,
	}
	if f.noFreeze {
		o.FreezeMs = -1
	}
	a, err := raftnode.RestoreDir(o, e.Told(ctx, file, "restored"))
	switch {
	case errors.Is(err, context.Canceled):
		return errRestoreInterrupted()
	case err != nil:
		return explainOffline(f.dataDir, err)
	}
	sayTokens(e, a, f)
	if e.JSON() {
		return printRestoredJSON(e, a)
	}
	frozen := "No lock is granted for some time after the start: \"tenure status\" shows for how long.\n"
	if f.noFreeze {
		frozen = ""
	}
	return e.Printf("Success! %s is the first member of a new cluster: %x, at revision %d, with %s and %s.\n"+
		"Start it with \"tenure serve --data-dir %s\"; others join it with --join and a join token (tenure member add).\n%s",
		f.dataDir, a.ClusterID, a.Revision, cli.Counted(a.Keys, "key"), cli.Counted(a.Sessions, "session"), dirForShell(f.dataDir), frozen)
}

// sayTokens says which access tokens are valid after a restore, and what to do about it. Programs that read JSON have an operator, too.
func sayTokens(e *cli.Environment, a raftnode.Restored, f *restoreFlags) {
	switch {
	case !a.Bootstrapped:
		return
	case f.dropTokens:
		e.Notef("No access token was restored; policies, bindings, providers and the mode are those of the backup. Make a first token on the machine of the member, once it runs:")
		e.Notef("  tenure auth reset --data-dir %s --out new-admin.token", dirForShell(f.dataDir))
	default:
		e.Notef("Access tokens, policies, bindings and the mode are those of the backup: what was revoked or changed since is valid again as it was (%s). Look at "+
			"`tenure auth token list` and `tenure auth binding list`, and revoke again what must not be used; or restore with --drop-tokens.", cli.Counted(a.Tokens, "token"))
	}
	if len(a.Bindings) == 0 {
		return
	}
	e.Notef("Bindings that give rights without an access token, as in the backup: %d", len(a.Bindings))
	for _, b := range a.Bindings {
		principal := b.Principal
		if principal == "" {
			principal = "callers without a credential"
		}
		e.Notef("  %s: %s", cli.Printable(b.Name), cli.Printable(principal))
	}
}

// errRestoreInterrupted is the end of a restore by Ctrl-C. What there was of the state is gone again.
func errRestoreInterrupted() error {
	return &cli.ExitError{Code: cli.ExitInterrupted, Err: errors.New("interrupted; nothing was restored")}
}

// printRestoredJSON tells programs what was restored.
func printRestoredJSON(e *cli.Environment, a raftnode.Restored) error {
	bindings := []map[string]string{}
	for _, b := range a.Bindings {
		bindings = append(bindings, map[string]string{"name": b.Name, "principal": b.Principal})
	}
	out, err := json.MarshalIndent(map[string]any{
		"clusterId": fmt.Sprintf("%x", a.ClusterID), "historyId": fmt.Sprintf("%x", a.HistoryID),
		"revision": fmt.Sprint(a.Revision), "keys": fmt.Sprint(a.Keys), "sessions": fmt.Sprint(a.Sessions),
		"tokens": fmt.Sprint(a.Tokens), "bindings": bindings,
	}, "", "  ")
	if err != nil {
		return err
	}
	return e.Printf("%s\n", out)
}
