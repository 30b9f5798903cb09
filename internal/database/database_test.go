package database_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/internal/database"
	"github.com/tenure-io/tenure/internal/errfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errCorrupt = errors.New("corrupt")
	errGone    = errors.New("disk is gone")
)

// silent is a logger that survives what Pebble would end the process for.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) {}

func open(fs vfs.FS) error {
	db, err := database.Open("db", &pebble.Options{FS: fs, Logger: silent{}}, errCorrupt)
	if err != nil {
		return err
	}
	return database.Close(db)
}

// A mistake in a program is no damage of the disk, and neither are options that cannot be.
func TestAMistakeIsNoDamage(t *testing.T) {
	fs := filled(t)
	mistaken := errfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, "MANIFEST") {
			none := make([]int, len(op.Path))
			none[len(op.Path)]++
		}
		return nil
	}))
	_, err := database.Open("db", &pebble.Options{FS: mistaken, Logger: silent{}}, errCorrupt)
	if err == nil || errors.Is(err, errCorrupt) {
		t.Errorf("a mistake: got %v, want an error that does not tell of damage", err)
	}
	_, err = database.Open("db", &pebble.Options{FS: fs, Logger: silent{}, MemTableStopWritesThreshold: 1}, errCorrupt)
	if err == nil || errors.Is(err, errCorrupt) {
		t.Errorf("wrong options: got %v, want an error that does not tell of damage", err)
	}
}

// filled returns the disk of a database with one table.
func filled(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	db, err := database.Open("db", &pebble.Options{FS: fs, Logger: silent{}}, errCorrupt)
	if err != nil {
		t.Fatal(err)
	}
	if err = errors.Join(db.Set([]byte("k"), []byte("v"), pebble.Sync), db.Flush(), database.Close(db)); err != nil {
		t.Fatal(err)
	}
	return fs.CrashClone(vfs.CrashCloneCfg{})
}

// only returns an injector that fails operations of some kinds on files whose names contain a part.
func only(part string, kinds ...errorfs.OpKind) errorfs.Injector {
	return errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, part) && slices.Contains(kinds, op.Kind) {
			return errGone
		}
		return nil
	})
}

// A database that cannot be opened is damaged only if its files are to blame.
func TestOnlyDamageIsCorrupt(t *testing.T) {
	tests := map[string]struct {
		spoil func(t *testing.T, fs *vfs.MemFS) vfs.FS
		want  error
	}{
		"a read of the manifest that fails": {func(_ *testing.T, fs *vfs.MemFS) vfs.FS {
			return errfs.Wrap(fs, only("MANIFEST", errorfs.OpFileRead, errorfs.OpFileReadAt))
		}, errGone},
		"a table that cannot be looked at": {func(_ *testing.T, fs *vfs.MemFS) vfs.FS {
			return errfs.Wrap(fs, only(".sst", errorfs.OpStat, errorfs.OpFileStat, errorfs.OpOpen))
		}, errGone},
		"a lock that fails": {func(_ *testing.T, fs *vfs.MemFS) vfs.FS {
			return errfs.Wrap(fs, only("LOCK", errorfs.OpLock))
		}, errGone},
		"a lock that is held": {func(t *testing.T, fs *vfs.MemFS) vfs.FS {
			c, err := fs.Lock("db/LOCK")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return fs
		}, nil},
		"a missing table": {func(t *testing.T, fs *vfs.MemFS) vfs.FS {
			remove(t, fs, ".sst")
			return fs
		}, errCorrupt},
		"a missing manifest": {func(t *testing.T, fs *vfs.MemFS) vfs.FS {
			remove(t, fs, "MANIFEST")
			return fs
		}, errCorrupt},
		"a missing mark of the format": {func(t *testing.T, fs *vfs.MemFS) vfs.FS {
			remove(t, fs, "marker.format")
			return fs
		}, errCorrupt},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := open(tt.spoil(t, filled(t)))
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || errors.Is(err, errCorrupt) != errors.Is(tt.want, errCorrupt) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// remove removes the files of a kind, as their names begin or end.
func remove(t *testing.T, fs vfs.FS, kind string) {
	t.Helper()
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	removed := 0
	for _, n := range names {
		if strings.HasPrefix(n, kind) || strings.HasSuffix(n, kind) {
			if err := fs.Remove("db/" + n); err != nil {
				t.Fatal(err)
			}
			removed++
		}
	}
	if removed == 0 {
		t.Fatalf("there is no %s among %v", kind, names)
	}
}

// A database that was just made, and whose disk fails, is not damaged, and can be made again.
func TestADiskThatFailsAtTheFirstOpeningIsNoDamage(t *testing.T) {
	failed := 0
	for i := range int64(40) {
		fs := vfs.NewMem()
		var writes atomic.Int64
		err := open(errfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
				return nil
			}
			if writes.Add(1) > i {
				return errGone
			}
			return nil
		})))
		if err != nil && (!errors.Is(err, errGone) || errors.Is(err, errCorrupt)) {
			t.Errorf("after %d writes: got %v, want %v", i, err, errGone)
		}
		if err != nil {
			failed++
		}
		if err = open(fs); err != nil {
			t.Errorf("after %d writes, again: %v", i, err)
		}
	}
	if failed < 10 {
		t.Errorf("%d failed writes were told, want one for each write of an opening", failed)
	}
}
