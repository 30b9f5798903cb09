package datadir_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode/datadir"
)

// content returns all that is in a directory, with what is in the files.
func content(t *testing.T, fs vfs.FS, dir string) string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var all strings.Builder
	for _, name := range names {
		at := fs.PathJoin(dir, name)
		info, err := fs.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			_, _ = fmt.Fprintf(&all, "%s/\n%s", at, content(t, fs, at))
			continue
		}
		raw, err := datadir.ReadFile(fs, at)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(&all, "%s %d %s\n", at, info.Size(), raw)
	}
	return all.String()
}

// write makes a file.
func write(name, text string, open func(name string) (vfs.File, error)) error {
	f, err := open(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}

// change does something to a file system, always the same with the same dice.
func change(fs vfs.FS, dice *rand.Rand) error {
	dirs := []string{"/data", "/data/log", "/data/sm-1", "/data/sm-2"}
	pick := func() string { return fs.PathJoin(dirs[dice.IntN(4)], []string{"one", "two", "three"}[dice.IntN(3)]) }
	dir, from, to, text := dirs[1+dice.IntN(3)], pick(), pick(), fmt.Sprint(dice.IntN(1000))
	if from == to {
		return nil
	}
	switch dice.IntN(9) {
	case 0:
		return fs.MkdirAll(dir, 0o700)
	case 1:
		return fs.RemoveAll(dir)
	case 2:
		return fs.Remove(from)
	case 3:
		if _, err := fs.Stat(fs.PathDir(to)); err != nil {
			return err // A MemFS would lose the file.
		}
		return fs.Rename(from, to)
	case 4:
		return fs.Link(from, to)
	case 5:
		return datadir.WriteFile(fs, fs.PathDir(from), fs.PathBase(from), []byte(text))
	case 6:
		if _, err := fs.Stat(dir); err != nil {
			return err
		}
		return fs.Rename(dir, "/data/moved")
	case 7:
		return fs.RemoveAll("/data/moved")
	default:
		return write(from, text, func(name string) (vfs.File, error) { return fs.Create(name, vfs.WriteCategoryUnspecified) })
	}
}

// What is done aside looks as if it were done, and nothing is.
func TestWhatIsDoneAsideChangesNothing(t *testing.T) {
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 1))
		below, direct := vfs.NewMem(), vfs.NewMem()
		for _, fs := range []vfs.FS{below, direct} {
			if err := fs.MkdirAll("/data/log", 0o700); err != nil {
				t.Fatal(err)
			}
			same := rand.New(rand.NewPCG(seed, 2))
			for range 20 {
				_ = change(fs, same) // Some of it cannot be done.
			}
		}
		before, aside := content(t, below, "/"), datadir.Aside(below)
		for step := range 60 {
			roll := dice.Uint64()
			want, got := change(direct, rand.New(rand.NewPCG(roll, 3))), change(aside, rand.New(rand.NewPCG(roll, 3)))
			if (want == nil) != (got == nil) || errors.Is(want, os.ErrNotExist) && !errors.Is(got, os.ErrNotExist) {
				t.Fatalf("seed %d, step %d: got %v, want %v", seed, step, got, want)
			}
			if want, got := content(t, direct, "/"), content(t, aside, "/"); got != want {
				t.Fatalf("seed %d, step %d: got\n%s\nwant\n%s", seed, step, got, want)
			}
		}
		if after := content(t, below, "/"); after != before {
			t.Fatalf("seed %d: it was\n%s\nand is\n%s", seed, before, after)
		}
	}
}

// A file that is opened for writing is a copy.
func TestAFileThatIsWrittenToAsideIsACopy(t *testing.T) {
	below := vfs.NewMem()
	if err := datadir.WriteFile(below, "/", "one", []byte("before")); err != nil {
		t.Fatal(err)
	}
	aside := datadir.Aside(below)
	for _, name := range []string{"/one", "/two"} {
		err := write(name, "af", func(name string) (vfs.File, error) { return aside.OpenReadWrite(name, vfs.WriteCategoryUnspecified) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := content(t, aside, "/"), "/one 6 affore\n/two 2 af\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := content(t, below, "/"), "/one 6 before\n"; got != want {
		t.Errorf("below, got\n%s\nwant\n%s", got, want)
	}
	if f, err := aside.ReuseForWrite("/one", "/three", vfs.WriteCategoryUnspecified); err != nil || f.Close() != nil {
		t.Error(err)
	}
	if got, want := content(t, aside, "/"), "/three 0 \n/two 2 af\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestManyWorkAsideAtOnce is for the race detector.
func TestManyWorkAsideAtOnce(t *testing.T) {
	below := vfs.NewMem()
	if err := below.MkdirAll("/data/log", 0o700); err != nil {
		t.Fatal(err)
	}
	aside := datadir.Aside(below)
	var all sync.WaitGroup
	for seed := range uint64(8) {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(seed, 4))
			for range 200 {
				_ = change(aside, dice) // Some of it cannot be done, whatever the others do.
				_, _ = aside.List("/data/log")
				_, _ = datadir.ReadFile(aside, "/data/log/one")
			}
		})
	}
	all.Wait()
	if got, want := content(t, below, "/"), "/data/\n/data/log/\n"; got != want {
		t.Errorf("below, got\n%s\nwant\n%s", got, want)
	}
}
