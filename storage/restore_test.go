package storage_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestRestoreEndsSessions restores without sessions: all end as forced, what they held is delayed, grants are frozen, and
// every member that restores comes to the same state.
func TestRestoreEndsSessions(t *testing.T) {
	for seed := range uint64(4) {
		_, live := randomLog(t, seed, 400)
		backup := backupOf(t, live)
		s := restored(t, backup, restoreOptions(1))
		if got, want := dumpOf(t, restored(t, backup, restoreOptions(1))), dumpOf(t, s); got != want {
			t.Fatalf("seed %d: two members differ: got\n%s\nwant\n%s", seed, got, want)
		}
		checkBytesOf(t, s)
		r := s.NewReader()
		sessions, _, err := r.Sessions(storage.SessionID{}, 0)
		if err != nil || len(sessions) != 0 || s.Applied().Sessions != 0 {
			t.Fatalf("seed %d: got %d sessions, %v, want none", seed, len(sessions), err)
		}
		freeze, frozen, err := r.Freeze()
		if err != nil || !frozen || freeze.GetFreezeMs() != 60_000 || freeze.GetBeginRevision() != restoredAt<<20 {
			t.Errorf("seed %d: got freeze %v, %v, want one of a minute", seed, freeze, err)
		}
		checkEnded(t, live, r)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkEnded demands that the sessions of a store are ended as restored in a reader, and that nothing is held.
func checkEnded(t *testing.T, live *storage.Store, r *storage.Reader) {
	t.Helper()
	before := live.NewReader()
	was, _, err := before.Sessions(storage.SessionID{}, 0)
	if err = errors.Join(err, before.Close()); err != nil || len(was) < 2 {
		t.Fatalf("%d sessions before (%v): too few to show anything", len(was), err)
	}
	for _, e := range was {
		ended, ok, endedErr := r.EndedSession(e.ID)
		if endedErr != nil || !ok || ended.GetCause() != storev1.SessionEndCause_SESSION_END_CAUSE_RESTORED || ended.GetReason() == "" {
			t.Errorf("session %s: got %v, %v, want it ended by the restore", e.ID, ended, endedErr)
		}
	}
	locks, _, err := r.Locks("", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range locks {
		if l.State.GetHolders()+l.State.GetWaiters() != 0 {
			t.Errorf("got lock %v, want nobody to hold it or wait", l.State)
		}
	}
}

// TestNothingIsPassedOnInAFreeze restores with sessions that hold and wait: what a holder gives back stays free until the
// freeze ends, also for a candidate; then the first waiter has it.
func TestNothingIsPassedOnInAFreeze(t *testing.T) {
	live := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	live.sessions(0, 3)
	for _, key := range []string{"a", "b"} {
		for i := range uint64(3) {
			live.apply(acquireCommand(key, i, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
		}
	}
	o := restoreOptions(1)
	o.KeepSessions = true
	r := &rig{t: t, store: restored(t, backupOf(t, live.store), o)}
	_, results := r.apply(releaseCommand(r.holder("a")))
	if got := results[0].GetReleaseLock(); !got.GetReleased() || got.GetGranted() != 0 || r.holder("a") != nil {
		t.Errorf("release in a freeze: got %v and holder %v, want the lock free", got, r.holder("a"))
	}
	resign := &storev1.Command{Kind: &storev1.Command_Resign{Resign: &storev1.Resign{
		Key: "b", Session: &storev1.SessionRef{SessionId: numberedID(0)}, ToSessionId: numberedID(2),
	}}}
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{resign}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.store.Apply([]storage.Entry{{Index: r.store.Applied().Index + 1, Term: 1, Data: data}})
	if err != nil || out.Entries[0].Results[0].GetFailure().GetReason() != storev1.FailureReason_FAILURE_REASON_FROZEN {
		t.Errorf("resignation to a candidate in a freeze: got %v, %v, want FROZEN", out.Entries, err)
	}
	unfreeze(t, r.store)
	for key, session := range map[string]uint64{"a": 1, "b": 0} {
		if got := r.holder(key); string(got.GetSessionId()) != string(numberedID(session)) {
			t.Errorf("%q after the freeze: got holder %v, want session %d", key, got, session)
		}
	}
}

// TestRestoreEndsManySessions restores sessions that have together far more than one command may end.
func TestRestoreEndsManySessions(t *testing.T) {
	needsNoRaceDetector(t)
	const sessions, each = 4, 1500
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, sessions)
	for s := range uint64(sessions) {
		r.acquireMany(s, each)
	}
	s := restored(t, backupOf(t, r.store), restoreOptions(1))
	if a := s.Applied(); a.Sessions != 0 || a.EndedSessions != sessions {
		t.Errorf("got %d sessions, %d ended, want none and %d", a.Sessions, a.EndedSessions, sessions)
	}
	reader := s.NewReader()
	defer func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}()
	if left, _, err := reader.Sessions(storage.SessionID{}, 0); err != nil || len(left) > 0 {
		t.Errorf("got sessions %v, %v, want none", left, err)
	}
}

// TestRestoresOfOneBackupDiffer restores one backup twice, the second time a second later: neither its history nor any
// token of the first comes again.
func TestRestoresOfOneBackupDiffer(t *testing.T) {
	_, live := randomLog(t, 1, 200)
	backup := backupOf(t, live)
	first := restored(t, backup, restoreOptions(1))
	goOn(t, 1, unfreeze(t, first))
	later := restoreOptions(2)
	later.UnixSeconds++
	second := restored(t, backup, later).Applied()
	if got := first.Applied(); second.HistoryID == got.HistoryID || second.ClusterID == got.ClusterID ||
		second.CompactedRevision <= got.Revision || second.Checksum == got.Checksum {
		t.Errorf("got %+v after %+v, want other ids and higher revisions", second, got)
	}
	// Of a clock that stands still, the revision of what was backed up moves it on.
	again := restored(t, backupOf(t, first), restoreOptions(3)).Applied()
	if least := first.Applied().Revision + 1<<40; again.CompactedRevision < least {
		t.Errorf("restored at the same second: got revision %d, want at least %d", again.CompactedRevision, least)
	}
}

// wallCommand is a command that changes a key at a time of the leader's clock.
func wallCommand(seconds int64) *storev1.Command {
	c := putCommand("wall", "")
	c.WallTimeMs = seconds * 1000
	return c
}

// TestRestoresOfARestoredClusterDiffer makes a backup of a cluster that was restored itself, and restores it several times. Each time no token is
// below those that the time before had given, whatever the clocks of the old cluster showed.
func TestRestoresOfARestoredClusterDiffer(t *testing.T) {
	const hour, day = 60 * 60, 24 * 60 * 60
	for name, tc := range map[string]struct {
		clock    int64 // of the leader, when the backup is made; zero is none
		restored int64 // when the cluster was first restored
	}{
		"clocks that are right":           {restoredAt + hour, restoredAt},
		"a leader's clock a little ahead": {restoredAt + 10*day, restoredAt},
		"a leader's clock far ahead":      {restoredAt + 10_000*day, restoredAt},
		"a leader's clock far behind":     {1000, restoredAt},
		"a leader without a clock":        {0, restoredAt},
		"all clocks far ahead":            {restoredAt + 1001*day, restoredAt + 1000*day},
	} {
		t.Run(name, func(t *testing.T) {
			live := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
			live.sessions(0, 1)
			o := restoreOptions(1)
			o.UnixSeconds = tc.restored
			first := &rig{t: t, store: unfreeze(t, restored(t, backupOf(t, live.store), o))}
			first.apply(wallCommand(tc.clock))
			backup := backupOf(t, first.store)
			last := first.store.Applied().Revision
			for i, after := range []int64{hour, hour + 1, 2 * hour, 30 * day} {
				o := restoreOptions(byte(i) + 2)
				o.UnixSeconds = restoredAt + after
				r := &rig{t: t, store: unfreeze(t, restored(t, backup, o))}
				r.sessions(1, 1)
				r.apply(acquireCommand("thing", 1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
				token := r.holder("thing").GetFencingToken()
				if token <= last+1<<19 {
					t.Errorf("restored %d s later: got token %d, want it far above the %d of the restore before", after, token, last)
				}
				last = r.store.Applied().Revision
			}
		})
	}
}

// TestRevisionsStaySmallOverManyRestores restores a cluster again and again, each time from a backup of the last one. Revisions stay within what a
// double holds, as that is what many programs make of a number in JSON.
func TestRevisionsStaySmallOverManyRestores(t *testing.T) {
	const day = 24 * 60 * 60
	for name, clock := range map[string]func(now int64) int64{
		"clocks that are right": func(now int64) int64 { return now },
		"clocks far behind":     func(int64) int64 { return 1000 },
		"clocks far ahead":      func(now int64) int64 { return now + 1000*day },
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
			for i := range byte(40) {
				o := restoreOptions(i)
				o.UnixSeconds += int64(i) * day
				before := r.store.Applied().Revision
				backup := backupOf(t, r.store)
				closeStore(t, r.store)
				r.store = restored(t, backup, o)
				r.apply(wallCommand(clock(o.UnixSeconds + day/2)))
				if got := r.store.Applied().Revision; got <= before+1<<40 || got >= 1<<53 {
					t.Fatalf("restore %d: got revision %d after %d, want it above and below 2^53", i, got, before)
				}
			}
		})
	}
}

func unfreeze(t *testing.T, s *storage.Store) *storage.Store {
	t.Helper()
	r := &rig{t: t, store: s}
	r.apply(&storev1.Command{Kind: &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{Reason: "test"}}})
	return s
}

// TestRestoreRefuses leaves nothing behind, and nothing changed, when it cannot do what it is asked.
func TestRestoreRefuses(t *testing.T) {
	_, live := randomLog(t, 1, 50)
	backup := backupOf(t, live)
	same := restoreOptions(1)
	same.HistoryID = live.Applied().HistoryID
	tests := map[string]struct {
		backup  []byte
		options storage.RestoreOptions
		want    error // nil: any
	}{
		"a backup that is cut off":    {backup[:len(backup)-1], restoreOptions(1), storage.ErrBackup},
		"the history of the backup":   {backup, same, nil},
		"a restore without a history": {backup, storage.RestoreOptions{ClusterID: [16]byte{1}}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			err := storage.Restore(storage.Options{FS: fs, Dir: "sm"}, bytes.NewReader(tc.backup), tc.options)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if left, _ := fs.List("sm"); len(left) > 0 {
				t.Errorf("got %v left, want nothing", left)
			}
		})
	}
	fs := vfs.NewMem()
	used := newStore(t, fs, "sm")
	if err := used.Flush(); err != nil {
		t.Fatal(err)
	}
	want := dumpOf(t, used)
	closeStore(t, used)
	err := storage.Restore(storage.Options{FS: fs, Dir: "sm"}, bytes.NewReader(backup), restoreOptions(1))
	if !errors.Is(err, storage.ErrBootstrapped) {
		t.Errorf("into a store in use: got %v, want ErrBootstrapped", err)
	}
	if got := dumpOf(t, openStore(t, fs, "sm")); got != want {
		t.Errorf("a store in use was changed: got\n%s\nwant\n%s", got, want)
	}
}
