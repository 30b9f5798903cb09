package storage_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

const restoredAt = 1_800_000_000 // seconds since the Unix epoch

// backupOf returns a backup of what a store holds now.
func backupOf(t testing.TB, s *storage.Store) []byte {
	t.Helper()
	r := s.NewReader()
	var b bytes.Buffer
	err := storage.WriteBackup(&b, r, storage.BackupMeta{CreateTimeMs: 7, BinaryVersion: "v1", Member: "m1"})
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// restoreOptions are those of a new cluster of a number.
func restoreOptions(n byte) storage.RestoreOptions {
	return storage.RestoreOptions{
		ClusterID: [16]byte{0: 0xc, 15: n}, HistoryID: [16]byte{0: 0xd, 15: n}, ConfState: []byte("conf"), UnixSeconds: restoredAt,
	}
}

// restored returns a store that was restored from a backup.
func restored(t *testing.T, backup []byte, o storage.RestoreOptions) *storage.Store {
	t.Helper()
	fs := vfs.NewMem()
	if err := storage.Restore(storage.Options{FS: fs, Dir: "sm"}, bytes.NewReader(backup), o); err != nil {
		t.Fatal(err)
	}
	return openStore(t, fs, "sm")
}

// remembered returns the locks of a store that nobody uses and that have no key.
func remembered(t *testing.T, s *storage.Store) []string {
	t.Helper()
	r := s.NewReader()
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	locks, _, err := r.Locks("", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, l := range locks {
		_, exists, err := r.Get(l.State.GetKey())
		if err != nil {
			t.Fatal(err)
		}
		if !exists && l.State.GetHolders()+l.State.GetDelayedHolds()+l.State.GetWaiters() == 0 {
			keys = append(keys, l.State.GetKey())
		}
	}
	return keys
}

// backedUp returns the lines of a dump that a backup keeps as they are: no account, no history, no members, no freeze, and
// no locks that are only remembered.
func backedUp(t *testing.T, s *storage.Store) []string {
	t.Helper()
	only := remembered(t, s)
	return slices.DeleteFunc(withoutKinds(dumpOf(t, s), "avnuf"), func(line string) bool {
		return slices.ContainsFunc(only, func(key string) bool { return strings.HasPrefix(line, fmt.Sprintf("l 0 %q ", key)) })
	})
}

// withoutKinds returns the lines of a dump, but for rows of some kinds.
func withoutKinds(dump, kinds string) []string {
	return slices.DeleteFunc(slices.Collect(strings.Lines(dump)), func(line string) bool {
		return strings.Contains(kinds, line[:1])
	})
}

func checkBytesOf(t *testing.T, s *storage.Store) {
	t.Helper()
	r := s.NewReader()
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	checkBytes(t, r)
}

// TestBackupRoundTrip backs up random states, while entries are applied behind the snapshot, and restores them with
// their sessions: every row is there again, and the state goes on to work.
func TestBackupRoundTrip(t *testing.T) {
	for seed := range uint64(4) {
		log, _ := randomLog(t, seed, 500)
		live := oldStore(t, vfs.NewMem(), "sm")
		if _, err := live.Apply(log[:400]); err != nil {
			t.Fatal(err)
		}
		want, at := backedUp(t, live), live.Applied()
		r := live.NewReader()
		if _, err := live.Apply(log[400:]); err != nil {
			t.Fatal(err)
		}
		var backup bytes.Buffer
		if err := errors.Join(storage.WriteBackup(&backup, r, storage.BackupMeta{}), r.Close()); err != nil {
			t.Fatal(err)
		}
		info, err := storage.VerifyBackup(bytes.NewReader(backup.Bytes()))
		if err != nil || info.Revision != at.Revision || info.Keys != at.Keys || info.Sessions != at.Sessions ||
			info.HistoryID != at.HistoryID || info.SizeBytes != int64(backup.Len()) {
			t.Fatalf("seed %d: got %+v, %v, want the state at %+v", seed, info, err, at)
		}
		o := restoreOptions(1)
		o.KeepSessions, o.FreezeMs = true, -1
		again := restored(t, backup.Bytes(), o)
		if got := backedUp(t, again); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got rows\n%s\nwant\n%s", seed, strings.Join(got, ""), strings.Join(want, ""))
		}
		if locks := remembered(t, again); len(locks) > 0 {
			t.Errorf("seed %d: locks %q are remembered, and would be for ever", seed, locks)
		}
		a := again.Applied()
		if a.Revision != max(at.Revision+1<<40, restoredAt<<20) || a.Index != 1 || a.Term != 1 || a.HistoryID != o.HistoryID ||
			a.ClusterID != o.ClusterID || string(a.ConfState) != "conf" || a.CompactedRevision != a.Revision {
			t.Errorf("seed %d: got %+v", seed, a)
		}
		goOn(t, seed, again)
	}
}

// goOn applies random commands to a store: none may find a row that does not fit, and every token is a new one.
func goOn(t *testing.T, seed uint64, s *storage.Store) {
	t.Helper()
	checkBytesOf(t, s)
	before := s.Applied()
	g := newGenerator(t, seed+100, s)
	g.term, g.next, g.alive = before.Term, 1000, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	grants := 0
	for i := range uint64(500) {
		out, err := s.Apply([]storage.Entry{g.entry(before.Index+1+i, []*storev1.Command{g.command()})})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, e := range out.Events {
			if e.GetLockGranted() != nil {
				grants++
			}
			if e.GetRevision() <= before.Revision {
				t.Fatalf("seed %d: got revision %d, want above %d", seed, e.GetRevision(), before.Revision)
			}
		}
		g.forget()
	}
	if grants == 0 {
		t.Errorf("seed %d: no lock was granted", seed)
	}
	checkBytesOf(t, s)
}

// smallBackup is one with a row of most kinds.
func smallBackup(t testing.TB) []byte {
	t.Helper()
	store, err := storage.Open(storage.Options{FS: vfs.NewMem(), Dir: "sm"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if closeErr := store.Close(); closeErr != nil {
			t.Error(closeErr)
		}
	}()
	if err = store.Bootstrap(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}}); err != nil {
		t.Fatal(err)
	}
	session := func(n uint64) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: numberedID(n), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE, LockDelayMs: 1000, TtlMs: 90_000,
		}}}
	}
	wait := acquireCommand("a", 2, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
	wait.GetAcquireLock().WaitMs = 1000
	put := putCommand("b", "1")
	put.RequestId = &storev1.RequestID{SessionId: numberedID(1), Epoch: 1, Sequence: 1}
	put.RequestDigest = make([]byte, 32)
	keyed := putCommand("c", "2")
	keyed.IdempotencyKey, keyed.RequestDigest = []byte("0123456789abcdef"), make([]byte, 32)
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{
		session(1), session(2), session(3), put, keyed,
		acquireCommand("a", 1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE), wait,
		acquireCommand("d", 3, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE),
		{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: &storev1.SessionRef{SessionId: numberedID(3)},
		}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Apply([]storage.Entry{{Index: 2, Term: 1, Data: data}}); err != nil {
		t.Fatal(err)
	}
	return backupOf(t, store)
}

// TestDamagedBackupIsRefused cuts a backup off at every byte, and flips every bit of it.
func TestDamagedBackupIsRefused(t *testing.T) {
	backup := smallBackup(t)
	info, err := storage.VerifyBackup(bytes.NewReader(backup))
	if err != nil || info.Rows < 15 || info.LongestTTLMs != 90_000 {
		t.Fatalf("the whole backup: got %+v, %v", info, err)
	}
	for n := range backup {
		_, err := storage.VerifyBackup(bytes.NewReader(backup[:n]))
		if !errors.Is(err, storage.ErrBackup) || !strings.Contains(err.Error(), fmt.Sprintf("ends after %d bytes", n)) {
			t.Fatalf("cut off at byte %d: got %v, want where", n, err)
		}
	}
	flipped := bytes.Clone(backup)
	for n := range backup {
		for bit := range 8 {
			flipped[n] ^= 1 << bit
			if _, err := storage.VerifyBackup(bytes.NewReader(flipped)); !errors.Is(err, storage.ErrBackup) {
				t.Fatalf("bit %d of byte %d flipped: got %v, want ErrBackup", bit, n, err)
			}
			flipped[n] = backup[n]
		}
	}
	for what, damaged := range map[string][]byte{
		"bytes behind the trailer": append(bytes.Clone(backup), 0),
		"two in one":               append(bytes.Clone(backup), backup...),
	} {
		if _, err := storage.VerifyBackup(bytes.NewReader(damaged)); !errors.Is(err, storage.ErrBackup) {
			t.Errorf("%s: got %v, want ErrBackup", what, err)
		}
	}
}

// TestDamageIsNamed flips one byte in the value of a key: the error says behind which row.
func TestDamageIsNamed(t *testing.T) {
	store := newStore(t, vfs.NewMem(), "sm")
	r := &rig{t: t, store: store}
	for i := range 20 {
		r.apply(putCommand(fmt.Sprintf("key-%02d", i), strings.Repeat(string(rune('a'+i)), 60_000)))
	}
	backup := backupOf(t, store)
	at := bytes.Index(backup, []byte("mmmmmmmm"))
	backup[at+30_000] ^= 1
	_, err := storage.VerifyBackup(bytes.NewReader(backup))
	if !errors.Is(err, storage.ErrBackup) || !strings.Contains(err.Error(), `after row k 0 "key-1`) || !strings.Contains(err.Error(), "at byte ") {
		t.Errorf("got %v, want the row before the damage and the byte", err)
	}
}

// largestWrite remembers the largest write.
type largestWrite struct {
	size int
	all  int64
}

func (w *largestWrite) Write(p []byte) (int, error) {
	w.size, w.all = max(w.size, len(p)), w.all+int64(len(p))
	return len(p), nil
}

// TestBackupIsStreamed backs up much more than a frame: no write is larger than a frame and a row.
func TestBackupIsStreamed(t *testing.T) {
	store := newStore(t, vfs.NewMem(), "sm")
	r := &rig{t: t, store: store}
	for i := range 40 {
		r.apply(putCommand(fmt.Sprint(i), strings.Repeat("x", 512<<10)))
	}
	reader := store.NewReader()
	var w largestWrite
	if err := errors.Join(storage.WriteBackup(&w, reader, storage.BackupMeta{}), reader.Close()); err != nil {
		t.Fatal(err)
	}
	if w.all < 20<<20 || w.size > 700<<10 {
		t.Errorf("got writes of up to %d bytes, %d in all, want many small ones", w.size, w.all)
	}
}

// TestBackupPassesErrorsOn fails while it writes, and while it is read.
func TestBackupPassesErrorsOn(t *testing.T) {
	store := newStore(t, vfs.NewMem(), "sm")
	r := store.NewReader()
	closed, out := io.Pipe()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := storage.WriteBackup(out, r, storage.BackupMeta{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want ErrClosedPipe", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.VerifyBackup(iotest.ErrReader(io.ErrNoProgress)); !errors.Is(err, io.ErrNoProgress) || errors.Is(err, storage.ErrBackup) {
		t.Errorf("got %v, want ErrNoProgress: the file may be good", err)
	}
}

// FuzzVerifyBackup reads files that are nearly backups: no panic, no memory for a length that lies, and what is taken
// for a backup is one, byte by byte.
func FuzzVerifyBackup(f *testing.F) {
	backup := smallBackup(f)
	f.Add(backup)
	f.Add(backup[:100])
	f.Add(append(bytes.Clone(backup[:30]), 0xff, 0xff, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := storage.VerifyBackup(bytes.NewReader(data))
		if err != nil {
			return
		}
		if info.SizeBytes != int64(len(data)) {
			t.Fatalf("took a backup of %d bytes for one of %d", len(data), info.SizeBytes)
		}
		o := restoreOptions(9)
		if err := storage.Restore(storage.Options{FS: vfs.NewMem(), Dir: "sm"}, bytes.NewReader(data), o); err != nil {
			t.Fatalf("verified, but not restored: %v", err)
		}
	})
}

// FuzzBackupRow checks rows of any bytes, as they may stand in a frame whose checksums fit.
func FuzzBackupRow(f *testing.F) {
	for _, kind := range "bcdeghijklmopqrstwxyz" {
		for _, n := range []int{0, 8, 16, 24, 32} {
			f.Add(append([]byte{byte(kind)}, make([]byte, n)...), binary.AppendUvarint(nil, uint64(n)))
		}
	}
	f.Fuzz(func(_ *testing.T, row, value []byte) {
		if len(row) > 0 {
			_ = storage.CheckRow(row, value)
		}
	})
}
