package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
}

// newRecoverCommand returns `tenure recover`.
func newRecoverCommand(env *environment) *cobra.Command {
	flags := &recoverFlags{}
	cmd := &cobra.Command{
		Use:   "recover --data-dir DIR",
		Short: "Make one member a cluster of its own when the majority is gone for good",
		Long: `Make the data directory of a stopped member a cluster of one, when so many members are lost for good that the rest
cannot go on. Without --force-new-cluster nothing is changed: the command says what the directory has, and what may be
lost.

What was acknowledged, but had not reached this member, is lost: of several members that are left, take the one with the
highest last entry. The new cluster has an id of its own, so the members that were lost cannot come back into it, and a
new history: revisions and fencing tokens go on far above the old ones, watches begin anew. Sessions and locks stay, unless
--end-sessions; for a while no lock is granted, so that whoever held one that is not known any more has noticed.

An entry of the log that this program cannot apply stops a member at every start. If a newer version wrote it, run that
one. If none did, --drop-unreadable-entries leaves such entries out; the command names them.

Afterwards start the member with "tenure serve --data-dir DIR", and let others join it from empty directories.`,
		Example: `  tenure recover --data-dir /var/lib/tenure
  tenure recover --data-dir /var/lib/tenure --force-new-cluster
  tenure recover --data-dir /var/lib/tenure --force-new-cluster --end-sessions --reason "rack 4 burnt down"`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return env.recover(flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.dataDir, "data-dir", "", "directory of the member; it must be stopped")
	f.BoolVar(&flags.force, "force-new-cluster", false, "do it; what only the lost members had is lost")
	f.BoolVar(&flags.drop, "drop-unreadable-entries", false, "leave out entries of the log that this version cannot apply")
	f.BoolVar(&flags.endSessions, "end-sessions", false, "end all sessions; what they held is delayed as after any forced loss")
	f.DurationVar(&flags.freeze, "freeze", 0, "how long no lock is granted; 0 is the longest TTL of a session, but at least 60s")
	f.StringVar(&flags.reason, "reason", "", "why, kept with the ends of sessions")
	return cmd
}

// recover recovers a data directory, or says what that would mean.
func (e *environment) recover(f *recoverFlags) error {
	if f.dataDir == "" {
		return usageError("--data-dir is missing: give the data directory of the member that is left")
	}
	if f.freeze < 0 {
		return usageError("--freeze is %v; it must not be less than zero", f.freeze)
	}
	done, err := raftnode.RecoverDir(raftnode.RecoverOptions{
		Dir: f.dataDir, EndSessions: f.endSessions, FreezeMs: f.freeze.Milliseconds(), Reason: f.reason, DryRun: !f.force,
		DropUnreadable: f.drop,
	})
	if err != nil {
		return explainOffline(f.dataDir, err)
	}
	if e.json() {
		return e.printRecoveryJSON(done)
	}
	return e.printRecovery(f, done)
}

// explainOffline says what to do about an error of a command that works on a data directory.
func explainOffline(dataDir string, err error) error {
	switch {
	case errors.Is(err, raftnode.ErrLocked):
		return refusedError("%w; stop the member that runs on %s first", err, dataDir)
	case errors.Is(err, raftnode.ErrUnreadable):
		return refusedError("%w; if a newer version wrote it, use that one; else add --drop-unreadable-entries, and it is left out", err)
	case errors.Is(err, raftnode.ErrNotEmpty):
		return refusedError("%w; give one that is empty or does not exist, or remove %s if nothing in it is needed", err, dataDir)
	default:
		return refusedError("%w", err)
	}
}

// printRecovery tells people what there was, and what was done.
func (e *environment) printRecovery(f *recoverFlags, r raftnode.Recovery) error {
	dropped := make([]string, 0, len(r.Dropped))
	for _, id := range r.Dropped {
		dropped = append(dropped, fmt.Sprint(id))
	}
	if r.Finished && f.force {
		return e.printf("Success! A recovery of this directory had been interrupted; it is finished now.\n")
	}
	if len(dropped) == 0 {
		dropped = append(dropped, "none")
	}
	rows := [][]string{
		{"Member", fmt.Sprint(r.MemberID)},
		{"Cluster", fmt.Sprintf("%x", r.ClusterID)},
		{"Members that are given up", strings.Join(dropped, ", ")},
		{"Last entry", fmt.Sprint(r.Index)},
		{"Not known to be committed", fmt.Sprint(r.Unconfirmed)},
		{"Last write", r.LastWrite.Format(time.RFC3339)},
		{"Revision", fmt.Sprint(r.Revision)},
		{"Keys, sessions", fmt.Sprintf("%d, %d", r.Keys, r.Sessions)},
	}
	if r.LostUpTo > 0 {
		rows = append(rows, []string{"Lost by its disk", fmt.Sprintf(
			"entries up to %d, which it had acknowledged: take another member if one is left that has them", r.LostUpTo)})
	}
	for _, u := range r.Unreadable {
		rows = append(rows, []string{"Unreadable entry", fmt.Sprintf("%d of term %d: %v", u.Index, u.Term, u.Cause)})
	}
	if err := e.printTable(rows); err != nil {
		return err
	}
	if !f.force {
		return e.printf("\nNothing was changed. What was acknowledged after the last entry is lost if you go on; of several members\n" +
			"that are left, take the one whose last entry is the highest. To go on, add --force-new-cluster.\n")
	}
	return e.printf("\nSuccess! The member is a cluster of its own: %x, at revision %d.\n"+
		"Start it with \"tenure serve --data-dir %s\"; the other members need empty data directories, --join, and join tokens (tenure member add).\n",
		r.NewClusterID, r.NewRevision, f.dataDir)
}

// printRecoveryJSON tells programs the same.
func (e *environment) printRecoveryJSON(r raftnode.Recovery) error {
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
	return e.printf("%s\n", out)
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
