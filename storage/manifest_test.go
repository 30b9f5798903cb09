package storage_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/storage"
)

// A store of which the MANIFEST was cut off is read as the older one that is left, and nothing of it is removed; damage of
// the MANIFEST that no crash leaves is refused.
func TestReadingAStoreRemovesNothing(t *testing.T) {
	fs := vfs.NewMem()
	s, err := storage.Open(storage.Options{FS: fs, Dir: "sm"})
	if err != nil {
		t.Fatal(err)
	}
	if err = errors.Join(s.Bootstrap(storage.Genesis{}), s.Close()); err != nil {
		t.Fatal(err)
	}
	a, err := storage.ReadApplied(fs, "sm")
	if err != nil || a.Index != 1 {
		t.Fatalf("got index %d, %v, want 1", a.Index, err)
	}
	const name = "sm/MANIFEST-000001"
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	write := func(raw []byte) {
		t.Helper()
		f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(raw)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	list := func() []string {
		t.Helper()
		names, err := fs.List("sm")
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		return names
	}
	before := list()
	write(raw[:len(raw)-1])
	if _, err := storage.ReadApplied(fs, "sm"); !errors.Is(err, storage.ErrNotBootstrapped) {
		t.Errorf("cut off: got %v, want %v", err, storage.ErrNotBootstrapped)
	}
	changed := slices.Clone(raw)
	changed[10] ^= 1
	write(changed)
	for what, open := range map[string]func() error{
		"open": func() error { _, err := storage.Open(storage.Options{FS: fs, Dir: "sm"}); return err },
		"read": func() error { _, err := storage.ReadApplied(fs, "sm"); return err },
	} {
		if err := open(); !errors.Is(err, storage.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("changed: %s: got %v, want %v of %s", what, err, storage.ErrCorrupt, name)
		}
	}
	if after := list(); !slices.Equal(after, before) {
		t.Errorf("files: got %q, want %q", after, before)
	}
}
