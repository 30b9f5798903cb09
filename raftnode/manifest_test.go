package raftnode_test

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/storage"
)

// stateTables returns the tables of the state.
func stateTables(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	return slices.DeleteFunc(files(t, fs, "/data"), func(p string) bool { return !strings.HasPrefix(p, "/data/sm-") || path.Ext(p) != ".sst" })
}

// logTables returns the tables of the raft log.
func logTables(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	return slices.DeleteFunc(files(t, fs, "/data/log"), func(p string) bool { return path.Ext(p) != ".sst" })
}

// without returns what is in one list and not in another.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(p string) bool { return slices.Contains(other, p) })
}

// keptTables looks whether all tables of the state are there after a start that was refused for the damage of a file. Tables
// that are used no more go with a start that gets further than the damage of the state's other files.
func keptTables(t *testing.T, fs vfs.FS, before []string, damaged string) {
	t.Helper()
	if !strings.HasPrefix(damaged, "/data/sm-") || path.Ext(damaged) == ".sst" {
		return
	}
	if lost := without(before, stateTables(t, fs)); len(lost) > 0 {
		t.Errorf("%s is damaged: a start that was refused removed %q", damaged, lost)
	}
}

// firstRecord is the length of the record with which Pebble makes a database.
const firstRecord = 39

// manifestOf returns the path of the MANIFEST in use below a directory.
func manifestOf(t *testing.T, fs vfs.FS, dir string) string {
	t.Helper()
	name, err := atomicfs.ReadMarker(fs, dir, "manifest")
	if err != nil || name == "" {
		t.Fatalf("no marker names a MANIFEST of %s: %v", dir, err)
	}
	return dir + "/" + name
}

// edit replaces a file by what is made of its content.
func edit(t *testing.T, fs vfs.FS, p string, change func([]byte) []byte) {
	t.Helper()
	if err := datadir.WriteFile(fs, path.Dir(p), path.Base(p), change(slices.Clone(read(t, fs, p)))); err != nil {
		t.Fatal(err)
	}
}

func removeMarker(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "marker.manifest.") {
			if err := fs.Remove(dir + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A damaged MANIFEST is refused by its name, says what to do, and costs no table: Pebble would take it for an older or empty
// one, and remove all tables that this one does not name.
func TestADamagedManifestCostsNoTable(t *testing.T) {
	flip := func(at func(length int) int) func(*testing.T, vfs.FS, string) {
		return func(t *testing.T, fs vfs.FS, dir string) {
			edit(t, fs, manifestOf(t, fs, dir), func(raw []byte) []byte {
				raw[at(len(raw))] ^= 0x10
				return raw
			})
		}
	}
	cut := func(to func(length int) int) func(*testing.T, vfs.FS, string) {
		return func(t *testing.T, fs vfs.FS, dir string) {
			edit(t, fs, manifestOf(t, fs, dir), func(raw []byte) []byte { return raw[:to(len(raw))] })
		}
	}
	empty := func(t *testing.T, fs vfs.FS, dir string) {
		if err := errors.Join(fs.RemoveAll(dir), fs.MkdirAll(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		dir    string
		damage func(t *testing.T, fs vfs.FS, dir string)
		names  string
	}{
		"byte 40 of the state's":           {"sm-1", flip(func(int) int { return 40 }), "sm-1/MANIFEST-"},
		"a byte in the first record":       {"sm-1", flip(func(int) int { return 10 }), "sm-1/MANIFEST-"},
		"a byte in its middle":             {"sm-1", flip(func(n int) int { return n / 2 }), "sm-1/MANIFEST-"},
		"the state's is empty":             {"sm-1", cut(func(int) int { return 0 }), "sm-1/MANIFEST-"},
		"the state's lost its second half": {"sm-1", cut(func(n int) int { return n / 2 }), "sm-1"},
		"only its first record is left":    {"sm-1", cut(func(int) int { return firstRecord }), "sm-1"},
		"a part of the second is left":     {"sm-1", cut(func(int) int { return firstRecord + 9 }), "sm-1"},
		"the state's marker is missing":    {"sm-1", removeMarker, "sm-1/marker.manifest"},
		"the state's directory is empty":   {"sm-1", empty, "sm-1"},
		"a byte of the log's":              {"log", flip(func(int) int { return 10 }), "log/MANIFEST-"},
		"a byte in the log's middle":       {"log", flip(func(n int) int { return n / 2 }), "log/MANIFEST-"},
		"the log's lost its last byte":     {"log", cut(func(n int) int { return n - 1 }), "log/MANIFEST-"},
		"the log's marker is missing":      {"log", removeMarker, "log/marker.manifest"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			puts(t, fs, 20, true)
			if tt.dir == "log" {
				puts(t, fs, 5, false) // What the log has is in a table since.
			}
			tt.damage(t, fs, "/data/"+tt.dir)
			tables := stateTables
			if tt.dir == "log" {
				tables = logTables // Where only the state is damaged, the log may merge its own.
			}
			before := tables(t, fs)
			if len(before) == 0 && tt.names != "sm-1" {
				t.Fatal("there is no table")
			}
			for range 2 {
				n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
				if err == nil {
					err = n.Close()
				}
				damage := errors.Is(err, storage.ErrCorrupt) || errors.Is(err, raftlog.ErrCorrupt) || errors.Is(err, datadir.ErrDamaged)
				if text := fmt.Sprint(err); !damage || !strings.Contains(text, tt.names) || !strings.Contains(text, "restore a backup") {
					t.Errorf("open: got %v, want damage of %s and what to do", err, tt.names)
				}
				if lost := without(before, tables(t, fs)); len(lost) > 0 {
					t.Fatalf("a start that was refused removed %q", lost)
				}
			}
			for _, dry := range []bool{true, false} {
				r, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: fs, Dir: "/data", DryRun: dry})
				if err == nil || errors.Is(err, raftnode.ErrNothingToRecover) {
					t.Errorf("recover: got %+v, %v, want that something is damaged", r, err)
				}
				if lost := without(before, tables(t, fs)); len(lost) > 0 {
					t.Fatalf("a recovery that was refused removed %q", lost)
				}
			}
		})
	}
}

// A record at the end of a MANIFEST that a crash has torn is none: the member starts, and has everything.
func TestATornRecordOfAManifestLosesNothing(t *testing.T) {
	for _, dir := range []string{"/data/sm-1", "/data/log"} {
		for name, torn := range map[string][]byte{
			"in its header":   {1, 2, 3},
			"in its data":     {1, 2, 3, 4, 40, 0, 1, 6, 7, 8},
			"without content": make([]byte, 50),
		} {
			t.Run(path.Base(dir)+" "+name, func(t *testing.T) {
				fs := vfs.NewMem()
				puts(t, fs, 20, true)
				puts(t, fs, 20, false) // What the log has is in a table since.
				edit(t, fs, manifestOf(t, fs, dir), func(raw []byte) []byte { return append(raw, torn...) })
				n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
				if err != nil {
					t.Fatal(err)
				}
				if got := values(t, n, 20); len(got) != 20 {
					t.Errorf("got %d keys, want 20", len(got))
				}
				if err := n.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A member without a state was waiting for its first one only where it has nothing else either.
func TestARecoveryKnowsWhoWaitedForAState(t *testing.T) {
	for name, checkpoint := range map[string]bool{"it waited": false, "its state is gone": true} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			puts(t, fs, 20, checkpoint)
			if err := errors.Join(fs.RemoveAll("/data/log"), fs.RemoveAll("/data/sm-1")); err != nil {
				t.Fatal(err)
			}
			s, err := storage.Open(storage.Options{FS: fs, Dir: "/data/sm-1"})
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = raftnode.RecoverDir(raftnode.RecoverOptions{FS: fs, Dir: "/data", DryRun: true})
			want, text := raftnode.ErrNothingToRecover, "waiting for its first snapshot"
			if checkpoint {
				want, text = datadir.ErrDamaged, "/data/snap has a checkpoint of it up to entry 22"
			}
			if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), text) {
				t.Errorf("got %v, want %v with %q", err, want, text)
			}
		})
	}
}
