package errfs_test

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tenure-io/tenure/internal/errfs"
)

var errFull = errors.New("full")

func TestWritesToAFileThatIsUsedAgainFail(t *testing.T) {
	mem := vfs.NewMem()
	old, err := mem.Create("old", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if err = old.Close(); err != nil {
		t.Fatal(err)
	}
	fs := errfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWrite && op.Path == "new" {
			return errFull
		}
		return nil
	}))
	file, err := fs.ReuseForWrite("old", "new", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = file.Write([]byte("x")); !errors.Is(err, errFull) {
		t.Errorf("got %v, want that the write fails", err)
	}
	if err = errors.Join(file.Sync(), file.Close()); err != nil {
		t.Errorf("got %v of operations that do not fail", err)
	}
}
