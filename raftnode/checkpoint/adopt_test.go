package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// install lays a received snapshot at an index as it is when it was swapped in: its manifest in one directory and its files
// in another.
func install(t *testing.T, fs vfs.FS, index uint64) {
	t.Helper()
	other := vfs.NewMem()
	sender := catalogue(t, other)
	made, err := sender.Make(source(other, index, map[string]string{"1.sst": "table", "MANIFEST-1": "edits"}))
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := checkpoint.ReadManifestRaw(other, made.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err = errors.Join(
		fs.MkdirAll("/data/received", 0o700), checkpoint.WriteManifestRaw(fs, "/data/received", raw),
		fs.MkdirAll("/data/sm", 0o700), datadir.WriteFile(fs, "/data/sm", "1.sst", []byte("table")),
		datadir.WriteFile(fs, "/data/sm", "MANIFEST-1", []byte("edits")), datadir.SyncDir(fs, "/data"),
	); err != nil {
		t.Fatal(err)
	}
}

// A snapshot that was installed is the newest checkpoint in place of those before, also after a crash, and nothing that
// happens to the state in use changes it.
func TestAnInstalledSnapshotIsACheckpoint(t *testing.T) {
	fs := vfs.NewCrashableMem()
	c := catalogue(t, fs)
	mustMake(t, c, fs, 10)
	install(t, fs, 20)
	if err := c.Adopt("/data/received", "/data/sm"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(datadir.WriteFile(fs, "/data/sm", "MANIFEST-1", []byte("more edits")), fs.Remove("/data/sm/1.sst")); err != nil {
		t.Fatal(err)
	}
	// A start does it again, when the files may be gone.
	after := fs.CrashClone(vfs.CrashCloneCfg{})
	for name, again := range map[string]*checkpoint.Catalogue{"in the same process": c, "after a crash": catalogue(t, after)} {
		if err := again.Adopt("/data/received", "/data/sm"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		held := again.Hold()
		if held == nil || held.Manifest.Index != 20 {
			t.Fatalf("%s: newest is %+v, want index 20", name, held)
		}
		if err := again.Release(held); err != nil {
			t.Error(err)
		}
	}
	for _, fs := range []vfs.FS{fs, after} {
		if got := list(t, fs); len(got) != 1 {
			t.Errorf("got %v, want one", got)
		}
		if _, err := checkpoint.Verify(fs, "/data/snap/"+list(t, fs)[0]); err != nil {
			t.Error(err)
		}
	}
}

// What cannot be a checkpoint leaves none: those before are of another state.
func TestASnapshotThatCannotBeACheckpointLeavesNone(t *testing.T) {
	noLinks := errors.New("no second names here")
	tests := map[string]func(fs *vfs.MemFS) (vfs.FS, error){
		"its manifest is gone": func(fs *vfs.MemFS) (vfs.FS, error) { return fs, fs.RemoveAll("/data/received") },
		"a table is gone":      func(fs *vfs.MemFS) (vfs.FS, error) { return fs, fs.Remove("/data/sm/1.sst") },
		"another file was changed": func(fs *vfs.MemFS) (vfs.FS, error) {
			return fs, datadir.WriteFile(fs, "/data/sm", "MANIFEST-1", []byte("edited"))
		},
		"files have one name": func(fs *vfs.MemFS) (vfs.FS, error) {
			return errfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpLink {
					return noLinks
				}
				return nil
			})), nil
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			mustMake(t, catalogue(t, mem), mem, 10)
			install(t, mem, 20)
			fs, err := change(mem)
			if err != nil {
				t.Fatal(err)
			}
			c := catalogue(t, fs)
			if err := c.Adopt("/data/received", "/data/sm"); err != nil {
				t.Fatal(err)
			}
			if got := list(t, fs); len(got) != 0 || c.Newest() != nil {
				t.Errorf("got %v, newest %v, want none", got, c.Newest())
			}
		})
	}
}
