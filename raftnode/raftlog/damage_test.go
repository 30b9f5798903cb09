package raftlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
)

const (
	walBlockBytes = 32 << 10
	// chunksBytes is what a write of the test has beside its data, at most.
	chunksBytes = 1 << 10
)

// writing says what a log holds, and how it ended.
type writing struct {
	entries           uint64
	bytes             int // of one entry
	closed, restarted bool
}

// disk makes a log of entries that were synced one after the other, and returns its disk as it is after a crash, or
// after it was closed. Restarted, it is opened a second time half-way.
func (w writing) disk(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	open := func() *raftlog.Log {
		l, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	if err := l.Bootstrap(raftlog.EntryID{Index: 1, Term: 1}); err != nil {
		t.Fatal(err)
	}
	for i := range w.entries {
		if w.restarted && i == w.entries/3 {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = open()
		}
		b := l.NewBatch()
		e := &raftpb.Entry{Index: new(i + 2), Term: new(uint64(1)), Data: bytes.Repeat([]byte{byte(i)}, w.bytes)}
		if err := errors.Join(b.Append([]*raftpb.Entry{e}), b.Commit(true)); err != nil {
			t.Fatal(err)
		}
	}
	disk := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if w.closed {
		return fs.CrashClone(vfs.CrashCloneCfg{})
	}
	return disk
}

// longestWAL returns the longest file of the write-ahead log.
func longestWAL(t *testing.T, fs vfs.FS) (name string, content []byte) {
	t.Helper()
	return longest(t, fs, ".log")
}

// longest returns the longest file whose name ends so.
func longest(t *testing.T, fs vfs.FS, suffix string) (name string, content []byte) {
	t.Helper()
	names, err := fs.List("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if !strings.HasSuffix(n, suffix) {
			continue
		}
		f, err := fs.Open("log/" + n)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if len(raw) > len(content) {
			name, content = n, raw
		}
	}
	return name, content
}

// A byte of the write-ahead log that changed is found: entries that were synced are never missing in silence, but where the
// damage lies in the last 32 KiB, or the last two writes if they are longer. There the log says that its end cannot be read.
func TestAChangedByteOfTheLogIsFound(t *testing.T) {
	flips := 400
	switch {
	case os.Getenv("TENURE_SOAK") == "1":
		flips = 2000
	case testing.Short():
		flips = 60
	}
	for name, w := range map[string]writing{
		"just made, crashed": {entries: 150, bytes: 1500},
		"just made, closed":  {entries: 150, bytes: 1500, closed: true},
		"restarted, crashed": {entries: 150, bytes: 1500, restarted: true},
		"large entries":      {entries: 12, bytes: 200_000},
		"small entries":      {entries: 1500, bytes: 50},
	} {
		t.Run(name, func(t *testing.T) {
			disk := w.disk(t)
			file, content := longestWAL(t, disk)
			if len(content) < 3*walBlockBytes {
				t.Fatalf("%s has %d bytes, want several blocks", file, len(content))
			}
			unknown := len(content) - max(walBlockBytes, 2*(w.bytes+chunksBytes))
			rng := rand.New(rand.NewPCG(3, 3))
			refused, harmless, shortened, silent := 0, 0, 0, 0
			for range flips {
				at := rng.IntN(len(content))
				flipped := slices.Clone(content)
				flipped[at] ^= byte(1 + rng.IntN(255))
				fs := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
				if err := datadir.WriteFile(fs, "log", file, flipped); err != nil {
					t.Fatal(err)
				}
				logs, said := observer.New(zap.WarnLevel)
				l, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log", Logger: zap.New(logs)})
				if err != nil {
					refused++
					if !errors.Is(err, raftlog.ErrCorrupt) && !errors.Is(err, os.ErrInvalid) && !strings.Contains(err.Error(), file[:6]) {
						t.Errorf("byte %d of %s: it is refused with %v", at, file, err)
					}
					continue
				}
				last, err := l.LastIndex()
				if err = errors.Join(err, l.Close()); err != nil {
					t.Fatal(err)
				}
				if last == w.entries+1 {
					harmless++
					continue
				}
				shortened++
				if said.FilterMessageSnippet("cannot be read").Len() == 0 {
					silent++
				}
				if at < unknown {
					t.Errorf("byte %d of %d of %s: the log ends at %d, want %d", at, len(content), file, last, w.entries+1)
				}
			}
			t.Logf("%d refused, %d harmless, %d without their end, of these %d said nothing", refused, harmless, shortened, silent)
			if refused < flips/2 {
				t.Errorf("%d of %d were refused: the logs are too short to show anything", refused, flips)
			}
		})
	}
}

// A chunk that names the next log stands where a log was closed, or is damage if more of this log comes behind it: also where all
// of that is in the same block.
func TestAChunkOfTheNextLogInTheMiddleIsDamage(t *testing.T) {
	const header, lengthAt, numberAt = 19, 4, 7
	disk := writing{entries: 12, bytes: 1000}.disk(t)
	file, content := longestWAL(t, disk)
	if len(content) > walBlockBytes {
		t.Fatalf("%s has %d bytes, want one block", file, len(content))
	}
	number := binary.LittleEndian.Uint32(content[numberAt:])
	at := 0
	for range 4 {
		at += header + int(binary.LittleEndian.Uint16(content[at+lengthAt:]))
		if got := binary.LittleEndian.Uint32(content[at+numberAt:]); got != number {
			t.Fatalf("at %d there is no chunk of log %d, but of %d", at, number, got)
		}
	}
	binary.LittleEndian.PutUint32(content[at+numberAt:], number+1)
	if err := datadir.WriteFile(disk, "log", file, content); err != nil {
		t.Fatal(err)
	}
	l, err := raftlog.Open(raftlog.Options{FS: disk, Dir: "log"})
	if err == nil {
		err = l.Close()
	}
	if !errors.Is(err, raftlog.ErrCorrupt) {
		t.Errorf("got %v, want %v", err, raftlog.ErrCorrupt)
	}
}

// A chunk that cannot be read is damage as soon as one behind it says that the log was synced further than that, also where no
// later one says more. How far a log says that it was synced depends on when its blocks were written, so here it is written anew.
func TestASyncBehindTheDamageProvesIt(t *testing.T) {
	const header, checksumAt, lengthAt, kindAt, syncedAt = 19, 0, 4, 6, 11
	disk := writing{entries: 60, bytes: 1500}.disk(t)
	file, content := longestWAL(t, disk)
	const damaged, later = walBlockBytes, 2 * walBlockBytes
	if len(content) < later+walBlockBytes/4 {
		t.Fatalf("%s has %d bytes, want over two blocks", file, len(content))
	}
	for at := later; at+header < len(content) && content[at+kindAt] != 0; {
		next := at + header + int(binary.LittleEndian.Uint16(content[at+lengthAt:]))
		binary.LittleEndian.PutUint64(content[at+syncedAt:], damaged+100)
		binary.LittleEndian.PutUint32(content[at+checksumAt:], raftlog.WALChecksum(content[at+kindAt:next]))
		at = next
	}
	content[damaged+kindAt] = 0xff
	if err := datadir.WriteFile(disk, "log", file, content); err != nil {
		t.Fatal(err)
	}
	l, err := raftlog.Open(raftlog.Options{FS: disk, Dir: "log"})
	if err == nil {
		err = l.Close()
	}
	if !errors.Is(err, raftlog.ErrCorrupt) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want %v with the name of the file", err, raftlog.ErrCorrupt)
	}
}

// Damage in another file of the log's directory, which only Pebble can find, is told as damage too.
func TestDamageThatPebbleFindsIsCorruption(t *testing.T) {
	disk := writing{entries: 3, bytes: 10, closed: true}.disk(t)
	names, err := disk.List("log")
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, n := range names {
		if !strings.HasPrefix(n, "MANIFEST-") {
			continue
		}
		if err = datadir.WriteFile(disk, "log", n, bytes.Repeat([]byte{0xff}, 64)); err != nil {
			t.Fatal(err)
		}
		damaged++
	}
	l, err := raftlog.Open(raftlog.Options{FS: disk, Dir: "log"})
	if err == nil {
		err = l.Close()
	}
	if damaged == 0 || !errors.Is(err, raftlog.ErrCorrupt) {
		t.Errorf("%d files were damaged; got %v, want %v", damaged, err, raftlog.ErrCorrupt)
	}
}

// A table that is cut off, or missing, is damage and is told with its number: Pebble does not call either corruption.
func TestACutOrMissingTableIsCorruption(t *testing.T) {
	disk := vfs.NewCrashableMem()
	l, err := raftlog.Open(raftlog.Options{FS: disk, Dir: "log", MemTableSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3000) {
		b := l.NewBatch()
		if err = errors.Join(b.Append(entries(i+1, 1, 1, 300)), b.Commit(i%100 == 99)); err != nil {
			t.Fatal(err)
		}
	}
	if err = l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(fs vfs.FS, table string, content []byte) error{
		"cut": func(fs vfs.FS, table string, content []byte) error {
			return datadir.WriteFile(fs, "log", table, content[:len(content)-1])
		},
		"missing": func(fs vfs.FS, table string, _ []byte) error { return fs.Remove("log/" + table) },
	} {
		t.Run(name, func(t *testing.T) {
			fs := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
			table, content := longest(t, fs, ".sst")
			if len(content) == 0 {
				t.Fatal("there is no table")
			}
			if err := damage(fs, table, content); err != nil {
				t.Fatal(err)
			}
			l, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log"})
			if err == nil {
				err = l.Close()
			}
			number := strings.TrimSuffix(table, ".sst")
			if !errors.Is(err, raftlog.ErrCorrupt) || !strings.Contains(err.Error(), number) {
				t.Errorf("got %v, want %v with %s", err, raftlog.ErrCorrupt, number)
			}
		})
	}
}

// Damage that a read finds while the log is in use is told in a line, with its file, to whoever reads and to whoever waits for the failure.
// It is no failed write.
func TestDamageFoundByAReadIsToldInALine(t *testing.T) {
	const entriesOf, bytesOf = 3000, 1000
	fs := vfs.NewMem()
	open := func() *raftlog.Log {
		l, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log", TailEntriesMax: 10})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	for i := range uint64(entriesOf) {
		b := l.NewBatch()
		if err := errors.Join(b.Append(entries(i+1, 1, 1, bytesOf)), b.Commit(i%100 == 99)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open() // All is in tables now.
	var err error
	for pass := 0; err == nil; pass++ {
		if pass == 10 { // A merge of tables may overtake a pass.
			t.Fatal("no damage is found")
		}
		damageTables(t, fs)
		for lo := uint64(1); lo+10 < entriesOf && err == nil; lo += 10 {
			_, err = l.Entries(lo, lo+10, 1<<20)
		}
	}
	select {
	case <-l.Failed():
	default:
		t.Error("Failed is not closed")
	}
	for whose, err := range map[string]error{"read": err, "failure": l.Err()} {
		if !errors.Is(err, raftlog.ErrCorrupt) || !strings.Contains(err.Error(), ".sst: ") {
			t.Errorf("%s: got %.300v, want %v with the path of a table", whose, err, raftlog.ErrCorrupt)
		}
		if text := fmt.Sprint(err); len(text) > 500 || strings.Contains(text, "\n") || strings.Contains(text, "write raft log") {
			t.Errorf("%s: got %d bytes, want a line about a read: %.300s", whose, len(text), text)
		}
	}
	_ = l.Close() // It says again that it failed.
}

// damageTables changes most blocks of all tables, also for those who have them open.
func damageTables(t *testing.T, fs vfs.FS) {
	t.Helper()
	names, err := fs.List("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if !strings.HasSuffix(n, ".sst") {
			continue
		}
		f, err := fs.OpenReadWrite("log/"+n, vfs.WriteCategoryUnspecified)
		if err != nil {
			continue // A merge removed it.
		}
		info, err := f.Stat()
		for at := int64(0); err == nil && at < info.Size()*9/10; at += 500 {
			_, err = f.WriteAt([]byte("damage"), at)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
