package storage_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// recoverOptions are those of a cluster of which member 7 is left.
func recoverOptions() storage.RecoverOptions {
	return storage.RecoverOptions{
		HistoryID: [16]byte{9}, ConfState: []byte("alone"), Index: 1000, Term: 99, UnixSeconds: restoredAt,
		Member: &storev1.Member{Id: 7, Name: "m1", Incarnation: 2},
	}
}

// lostCluster returns the file system of a store that was applied to at random, with three members, closed.
func lostCluster(t *testing.T, seed uint64) (vfs.FS, *storage.Store) {
	t.Helper()
	log, _ := randomLog(t, seed, 300)
	fs := vfs.NewMem()
	s := oldStore(t, fs, "sm")
	if _, err := s.Apply(log); err != nil {
		t.Fatal(err)
	}
	last := log[len(log)-1]
	g := newGenerator(t, seed, s)
	g.term = last.Term
	var members []*storev1.Command
	for id, name := range map[uint64]string{7: "m1", 8: "m2", 9: "m3"} {
		members = append(members, &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{
			Member: &storev1.Member{Id: id, Name: name, Incarnation: 1},
		}}})
	}
	if _, err := s.Apply([]storage.Entry{g.entry(last.Index+1, members)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return fs, s
}

// TestRecoverKeepsSessions recovers a state whose cluster is lost: sessions, locks and keys are as they were, the history
// is another one, and revisions go on far above.
func TestRecoverKeepsSessions(t *testing.T) {
	needsNoRaceDetector(t)
	for seed := range uint64(3) {
		fs, lost := lostCluster(t, seed)
		want, at := withoutKinds(dumpOf(t, lost), "avnuf"), lost.Applied()
		closeStore(t, lost)
		if err := storage.Recover(storage.Options{FS: fs, Dir: "sm"}, recoverOptions()); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, fs, "sm")
		if got := withoutKinds(dumpOf(t, s), "avnuf"); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got rows\n%s\nwant\n%s", seed, got, want)
		}
		a := s.Applied()
		if a.Index != 1000 || a.Term != 99 || a.HistoryID != [16]byte{9} || a.ClusterID != at.ClusterID || string(a.ConfState) != "alone" ||
			a.Revision != max(at.Revision+1<<40, restoredAt<<20) || a.CompactedRevision != a.Revision {
			t.Errorf("seed %d: got %+v after %+v", seed, a, at)
		}
		checkRecovered(t, s)
		checkTrimmed(t, s)
		goOn(t, seed, unfreeze(t, s))
	}
}

// checkRecovered looks at the members, the freeze and the history of a state that was recovered.
func checkRecovered(t *testing.T, s *storage.Store) {
	t.Helper()
	r := s.NewReader()
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	all, err := r.Members()
	if err != nil || len(all) != 1 || all[0].GetId() != 7 || all[0].GetIncarnation() != 2 {
		t.Errorf("got members %v, %v, want the one that is left", all, err)
	}
	removed, err := r.RemovedMembers()
	if err != nil || len(removed) != 2 {
		t.Errorf("got removed members %v, %v, want two", removed, err)
	}
	if f, frozen, err := r.Freeze(); err != nil || !frozen || f.GetFreezeMs() != 60_000 {
		t.Errorf("got freeze %v, %v, want one of a minute", f, err)
	}
	if _, err := r.History(s.Applied().Revision, 0); !errors.Is(err, storage.ErrCompacted) {
		t.Errorf("the old history: got %v, want ErrCompacted", err)
	}
}

// checkTrimmed demands that the old history leaves the disk by compaction, as ever.
func checkTrimmed(t *testing.T, s *storage.Store) {
	t.Helper()
	a := s.Applied()
	if a.HistoryBytes == 0 || a.TrimmedRevision >= a.CompactedRevision {
		t.Fatalf("got %d bytes of history, trimmed to %d of %d, want the old one still on disk", a.HistoryBytes, a.TrimmedRevision, a.CompactedRevision)
	}
	r := &rig{t: t, store: s}
	compact := &storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: a.CompactedRevision}}}
	if out, _ := r.apply(compact); out.Applied.HistoryBytes != 0 {
		t.Errorf("got %d bytes of history, want none", out.Applied.HistoryBytes)
	}
}

// TestRecoveriesOfOneStateDiffer recovers a state that was recovered before, twice, an hour apart: no revision of the first time comes again.
func TestRecoveriesOfOneStateDiffer(t *testing.T) {
	var last uint64
	for i := range int64(2) {
		fs, lost := lostCluster(t, 1)
		closeStore(t, lost)
		o := recoverOptions()
		for n := range byte(2) {
			o.HistoryID = [16]byte{9, n}
			o.UnixSeconds += int64(n) * (i + 1) * 3600
			if err := storage.Recover(storage.Options{FS: fs, Dir: "sm"}, o); err != nil {
				t.Fatal(err)
			}
		}
		got := openStore(t, fs, "sm").Applied().Revision
		if got < last+3600<<20 {
			t.Errorf("recovered %d hours later: got revision %d after %d, want it an hour above", i+1, got, last)
		}
		last = got
	}
}

// TestRecoverEndsSessionsOnRequest ends them all as a restore does.
func TestRecoverEndsSessionsOnRequest(t *testing.T) {
	fs, lost := lostCluster(t, 1)
	_, live := randomLog(t, 1, 300)
	closeStore(t, lost)
	o := recoverOptions()
	o.EndSessions, o.FreezeMs = true, 5000
	if err := storage.Recover(storage.Options{FS: fs, Dir: "sm"}, o); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, fs, "sm")
	checkBytesOf(t, s)
	r := s.NewReader()
	checkEnded(t, live, r)
	if f, _, err := r.Freeze(); err != nil || f.GetFreezeMs() != 5000 {
		t.Errorf("got freeze %v, %v, want one of 5 s", f, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRecoverRefuses(t *testing.T) {
	fs, lost := lostCluster(t, 1)
	at := lost.Applied()
	want := dumpOf(t, lost)
	closeStore(t, lost)
	tests := map[string]func(*storage.RecoverOptions){
		"the same history":      func(o *storage.RecoverOptions) { o.HistoryID = at.HistoryID },
		"no history":            func(o *storage.RecoverOptions) { o.HistoryID = [16]byte{} },
		"an index that is over": func(o *storage.RecoverOptions) { o.Index = at.Index - 1 },
		"a term that is over":   func(o *storage.RecoverOptions) { o.Term = at.Term - 1 },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			o := recoverOptions()
			change(&o)
			if err := storage.Recover(storage.Options{FS: fs, Dir: "sm"}, o); err == nil {
				t.Error("got no error")
			}
		})
	}
	if err := storage.Recover(storage.Options{FS: fs, Dir: "empty"}, recoverOptions()); !errors.Is(err, storage.ErrNotBootstrapped) {
		t.Errorf("an empty directory: got %v, want ErrNotBootstrapped", err)
	}
	if got := dumpOf(t, openStore(t, fs, "sm")); got != want {
		t.Errorf("the state was changed: got\n%s\nwant\n%s", got, want)
	}
}
