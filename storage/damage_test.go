package storage_test

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// rewrite changes the files of a store whose names begin or end so, and returns these. A nil content removes a file.
func rewrite(t *testing.T, fs vfs.FS, kind string, change func(content []byte) []byte) (changed []string) {
	t.Helper()
	names, err := fs.List("sm")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if !strings.HasPrefix(n, kind) && !strings.HasSuffix(n, kind) {
			continue
		}
		changed = append(changed, n)
		f, err := fs.Open("sm/" + n)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close(), fs.Remove("sm/"+n)); err != nil {
			t.Fatal(err)
		}
		if content = change(content); content == nil {
			continue
		}
		if f, err = fs.Create("sm/"+n, vfs.WriteCategoryUnspecified); err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(content)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if len(changed) == 0 {
		t.Fatalf("there is no %s among %v", kind, names)
	}
	return changed
}

// A store whose files are damaged is not opened, or only read, and says that it is corrupt and which file it is.
func TestDamageAtTheOpeningIsCorruption(t *testing.T) {
	disk := filledDisk(t)
	tests := map[string]struct {
		kind   string
		change func(content []byte) []byte
	}{
		"a table without its end": {".sst", func(content []byte) []byte { return content[:max(1, len(content))-1] }},
		"a missing table":         {".sst", func([]byte) []byte { return nil }},
		"a changed file of options": {"OPTIONS-", func(content []byte) []byte {
			return []byte(strings.Replace(string(content), "leveldb.Bytewise", "leveldb.Cytewise", 1))
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fs := disk.CrashClone(vfs.CrashCloneCfg{})
			changed := rewrite(t, fs, tt.kind, tt.change)
			store, err := storage.Open(storage.Options{FS: fs, Dir: "sm"})
			if err == nil {
				_ = store.Close()
			}
			named := func(file string) bool {
				return strings.Contains(fmt.Sprint(err), strings.TrimSuffix(file, ".sst"))
			}
			if !errors.Is(err, storage.ErrCorrupt) || !slices.ContainsFunc(changed, named) {
				t.Errorf("got %v, want %v with one of %v", err, storage.ErrCorrupt, changed)
			}
		})
	}
}

// Damage that a read finds is told to whoever reads, to whoever watches the store, and to the next Apply: as corruption, in a line with the file.
func TestDamageFoundByAReadIsCorruption(t *testing.T) {
	reads := map[string]func(r *storage.Reader) error{
		"a key": func(r *storage.Reader) error {
			for i := range 50 {
				if _, _, err := r.Get(fmt.Sprintf("k%d", i)); err != nil {
					return err
				}
			}
			return nil
		},
		"all rows": func(r *storage.Reader) error { return r.Dump(io.Discard) },
		"history": func(r *storage.Reader) error {
			h, err := r.History(1, 0)
			if err != nil {
				return err
			}
			for h.Next() {
			}
			return errors.Join(h.Err(), h.Close())
		},
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			fs := filledDisk(t)
			store := openStore(t, fs, "sm")
			damageInPlace(t, fs)
			r := store.NewReader()
			err := read(r)
			if cerr := r.Close(); cerr != nil {
				t.Fatal(cerr)
			}
			select {
			case <-store.Failed():
			default:
				t.Error("Failed is not closed")
			}
			put, encodeErr := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{putCommand("k", "v")}})
			if encodeErr != nil {
				t.Fatal(encodeErr)
			}
			_, applyErr := store.Apply([]storage.Entry{{Index: store.Applied().Index + 1, Term: 1, Data: put}})
			for whose, err := range map[string]error{"read": err, "Err": store.Err(), "Apply": applyErr} {
				text := fmt.Sprint(err)
				if !errors.Is(err, storage.ErrCorrupt) || errors.Is(err, storage.ErrBackground) || !strings.Contains(text, ".sst: ") {
					t.Errorf("%s: got %.300s, want %v with the path of a table", whose, text, storage.ErrCorrupt)
				}
				if len(text) > 400 {
					t.Errorf("%s: got %d bytes: %.300s", whose, len(text), text)
				}
			}
		})
	}
}

// damageInPlace changes the blocks of all tables, also for those who have them open.
func damageInPlace(t *testing.T, fs vfs.FS) {
	t.Helper()
	names, err := fs.List("sm")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if path.Ext(n) != ".sst" {
			continue
		}
		f, err := fs.OpenReadWrite("sm/"+n, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		for at := int64(0); err == nil && at < info.Size()*9/10; at += 200 {
			_, err = f.WriteAt([]byte("damage"), at)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
