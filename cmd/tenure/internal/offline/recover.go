package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/raftnode"
)

// recoverFlags are the flags of `tenure recover`.
type recoverFlags struct {
	dataDir     string
	force       bool
	drop        bool
	endSessions bool
	freeze      time.Duration
	reason      string
	startAfter  uint64
}

// NewRecoverCommand returns `tenure recover`.
func NewRecoverCommand(env *cli.Environment) *cobra.Command {
	flags := &recoverFlags{}
	cmd := &cobra.Command{
		Use:   "recover --data-dir DIR",
		Short: "Make one member a new cluster after the majority is lost",
		Long: `Make a stopped member a cluster of one, if so many members are permanently lost that the rest has no
quorum. Without --force-new-cluster, nothing is changed: the command shows what the directory has, and
what may be lost.

Acknowledged writes that had not reached this member are lost. If several members remain, choose the one
with the highest last entry. The new cluster has a new id, so the lost members cannot return to it, and a
new history, with revisions and fencing tokens far above the old ones. Watches have to start again.
Sessions and locks are kept, unless --end-sessions is given. For a while no lock is granted, so that
clients whose holds are not recorded here have time to notice.

A log entry that this program cannot apply stops a member at every start. If a newer version wrote it,
run that version. Otherwise --drop-unreadable-entries drops such entries; the command names them.

If other members take the directory for an old copy, although it is the newest one of this member, another
program has named a later start of the member to them. --start-after N makes the next start count as
number N+1, and changes nothing else; the refusal names the N that the others know.

Run it as the user of the member or as root: what root makes in DIR belongs to the user and group of DIR.

Then start the member with "tenure serve --data-dir DIR", and let others join with empty directories.`,
		Example: `  tenure recover --data-dir /var/lib/tenure
  tenure recover --data-dir /var/lib/tenure --force-new-cluster
  tenure recover --data-dir /var/lib/tenure --force-new-cluster --end-sessions --reason "rack 4 burnt down"`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return recoverMember(env, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.dataDir, "data-dir", "", "directory of the member; it must be stopped")
	f.BoolVar(&flags.force, "force-new-cluster", false, "recover; data that only the lost members had is lost")
	f.BoolVar(&flags.drop, "drop-unreadable-entries", false, "drop log entries that this version cannot apply")
	f.BoolVar(&flags.endSessions, "end-sessions", false, "end all sessions; their locks become free after their lock-delays")
	f.DurationVar(&flags.freeze, "freeze", 0, "time for which no lock is granted; 0: the longest TTL of a session, but at least 60s")
	f.Uint64Var(&flags.startAfter, "start-after", 0, "count the next start from this one; only for the newest directory of the member")
	f.StringVar(&flags.reason, "reason", "", "reason, stored with each session that ends")
	return cmd
}

// recoverMember recovers a data directory, or says what that would mean.
func recoverMember(e *cli.Environment, f *recoverFlags) error {
	if f.dataDir == "" {
		return cli.UsageError("--data-dir is missing: give the data directory of the remaining member")
	}
	if f.freeze < 0 {
		return cli.UsageError("--freeze is %v; it must not be negative", f.freeze)
	}
	if f.startAfter > 0 {
		return startAfter(e, f)
	}
	done, err := raftnode.RecoverDir(raftnode.RecoverOptions{
		Dir: f.dataDir, EndSessions: f.endSessions, FreezeMs: f.freeze.Milliseconds(), Reason: f.reason, DryRun: !f.force,
		DropUnreadable: f.drop,
	})
	if err != nil {
		return explainOffline(f.dataDir, err)
	}
	if e.JSON() {
		return printRecoveryJSON(e, done)
	}
	return printRecovery(e, f, done)
}

// startAfter makes the next start on a directory count from a given one.
func startAfter(e *cli.Environment, f *recoverFlags) error {
	if f.force || f.drop || f.endSessions {
		return cli.UsageError("--start-after recovers nothing else: give it with --data-dir alone")
	}
	if f.startAfter > startAfterMax {
		return cli.UsageError("--start-after is %d; at most %d is allowed", f.startAfter, uint64(startAfterMax))
	}
	if err := raftnode.StartAfter(nil, f.dataDir, f.startAfter); err != nil {
		return explainOffline(f.dataDir, err)
	}
	return e.Printf("Success! The next start on %s counts as number %d.\n", f.dataDir, f.startAfter+1)
}

// startAfterMax leaves room for the starts that follow.
const startAfterMax = 1<<47 - 1

// explainOffline says what to do about an error of a command that works on a data directory.
func explainOffline(dataDir string, err error) error {
	switch {
	case errors.Is(err, raftnode.ErrLocked):
		return cli.RefusedError("%w; stop the member that runs on %s first", err, dataDir)
	case errors.Is(err, raftnode.ErrUnreadable):
		return cli.RefusedError("%w; if a newer version wrote it, use that version; otherwise --drop-unreadable-entries drops it", err)
	case errors.Is(err, raftnode.ErrNotEmpty):
		return cli.RefusedError("%w; give one that is empty or does not exist, or remove %s if nothing in it is needed", err, dataDir)
	default:
		return cli.RefusedError("%w", err)
	}
}

// printRecovery tells people what there was, and what was done.
func printRecovery(e *cli.Environment, f *recoverFlags, r raftnode.Recovery) error {
	dropped := make([]string, 0, len(r.Dropped))
	for _, id := range r.Dropped {
		dropped = append(dropped, fmt.Sprint(id))
	}
	if r.Finished && f.force {
		return e.Printf("Success! Completed an interrupted recovery of this directory.\n")
	}
	if len(dropped) == 0 {
		dropped = append(dropped, "none")
	}
	rows := [][]string{
		{"Member", fmt.Sprint(r.MemberID)},
		{"Cluster", fmt.Sprintf("%x", r.ClusterID)},
		{"Members that are dropped", strings.Join(dropped, ", ")},
		{"Last entry", fmt.Sprint(r.Index)},
		{"Not known to be committed", fmt.Sprint(r.Unconfirmed)},
		{"Last write", r.LastWrite.Format(time.RFC3339)},
		{"Revision", fmt.Sprint(r.Revision)},
		{"Keys, sessions", fmt.Sprintf("%d, %d", r.Keys, r.Sessions)},
	}
	if r.LostUpTo > 0 {
		rows = append(rows, []string{"Lost by its disk", fmt.Sprintf(
			"entries up to %d, which it had acknowledged: choose another member if one remains that has them", r.LostUpTo)})
	}
	for _, u := range r.Unreadable {
		rows = append(rows, []string{"Unreadable entry", fmt.Sprintf("%d of term %d: %v", u.Index, u.Term, u.Cause)})
	}
	if err := e.PrintTable(rows); err != nil {
		return err
	}
	if !f.force {
		return e.Printf("\nNothing was changed. If you continue, acknowledged writes after the last entry are lost. If several members remain,\n" +
			"choose the one with the highest last entry. To continue, add --force-new-cluster.\n")
	}
	return e.Printf("\nSuccess! The member is a new cluster: %x, at revision %d.\n"+
		"Start it with \"tenure serve --data-dir %s\"; the other members need empty data directories, --join, and join tokens (tenure member add).\n",
		r.NewClusterID, r.NewRevision, dirForShell(f.dataDir))
}

// printRecoveryJSON tells programs the same.
func printRecoveryJSON(e *cli.Environment, r raftnode.Recovery) error {
	dropped := make([]string, 0, len(r.Dropped))
	for _, id := range r.Dropped {
		dropped = append(dropped, fmt.Sprint(id))
	}
	document := map[string]any{
		"memberId": fmt.Sprint(r.MemberID), "clusterId": fmt.Sprintf("%x", r.ClusterID), "givenUp": dropped,
		"lastIndex": fmt.Sprint(r.Index), "unconfirmedEntries": fmt.Sprint(r.Unconfirmed),
		"lastWriteTime": r.LastWrite.UTC().Format(time.RFC3339Nano), "revision": fmt.Sprint(r.Revision),
		"keys": fmt.Sprint(r.Keys), "sessions": fmt.Sprint(r.Sessions), "recovered": r.NewClusterID != [16]byte{},
	}
	if r.LostUpTo > 0 {
		document["lostUpToIndex"] = fmt.Sprint(r.LostUpTo)
	}
	if len(r.Unreadable) > 0 {
		document["unreadableEntries"] = unreadableDocument(r.Unreadable)
	}
	if r.NewClusterID != [16]byte{} {
		document["newClusterId"] = fmt.Sprintf("%x", r.NewClusterID)
		document["newRevision"] = fmt.Sprint(r.NewRevision)
	}
	out, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return e.Printf("%s\n", out)
}

// unreadableDocument returns the entries that were left out, or would be, for programs.
func unreadableDocument(entries []raftnode.UnreadableEntry) []map[string]string {
	all := make([]map[string]string, 0, len(entries))
	for _, u := range entries {
		all = append(all, map[string]string{
			"index": fmt.Sprint(u.Index), "term": fmt.Sprint(u.Term), "cause": u.Cause.Error(),
		})
	}
	return all
}
