package storage_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/storage"
)

// TestChecksumsOfTheLastEntriesAreKnown applies a log entry by entry to one store and in batches to another: both know
// the checksum after each entry. A store that is opened again knows only the one it was opened with.
func TestChecksumsOfTheLastEntriesAreKnown(t *testing.T) {
	log, live := randomLog(t, 5, 300)
	fs := vfs.NewMem()
	batched := oldStore(t, fs, "batched")
	for at := 0; at < len(log); at += 7 {
		if _, err := batched.Apply(log[at:min(at+7, len(log))]); err != nil {
			t.Fatal(err)
		}
	}
	different := map[uint64]bool{}
	for _, e := range log {
		want, known := live.ChecksumAt(e.Index)
		got, ok := batched.ChecksumAt(e.Index)
		if !known || !ok || got != want {
			t.Fatalf("entry %d: got %x, %t, want %x, %t", e.Index, got, ok, want, known)
		}
		different[got] = true
	}
	if len(different) != len(log) {
		t.Errorf("got %d checksums of %d entries, want each its own", len(different), len(log))
	}
	last := live.Applied()
	if got, ok := live.ChecksumAt(last.Index); !ok || got != last.Checksum {
		t.Errorf("last entry: got %x, %t, want %x", got, ok, last.Checksum)
	}
	if _, ok := live.ChecksumAt(last.Index + 1); ok {
		t.Error("the next entry has a checksum")
	}
	if err := batched.Flush(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, batched)
	again := openStore(t, fs, "batched")
	if got, ok := again.ChecksumAt(last.Index); !ok || got != last.Checksum {
		t.Errorf("opened again: got %x, %t, want %x", got, ok, last.Checksum)
	}
	if _, ok := again.ChecksumAt(last.Index - 1); ok {
		t.Error("opened again: the entry before has a checksum")
	}
}

// TestOldChecksumsAreForgotten applies more entries than the ring has room for.
func TestOldChecksumsAreForgotten(t *testing.T) {
	const kept, entries = 1 << 14, 20_000
	store := newStore(t, vfs.NewMem(), "sm")
	var batch []storage.Entry
	for i := range uint64(entries) {
		batch = append(batch, storage.Entry{Index: i + 2, Term: 1})
	}
	if _, err := store.Apply(batch); err != nil {
		t.Fatal(err)
	}
	last := uint64(entries + 1)
	for index, want := range map[uint64]bool{1: false, last - kept: false, last - kept + 1: true, last: true} {
		if _, got := store.ChecksumAt(index); got != want {
			t.Errorf("entry %d of %d: got known %t, want %t", index, last, got, want)
		}
	}
}
