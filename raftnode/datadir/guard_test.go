package datadir_test

import (
	"errors"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

func TestNothingIsWrittenAfterAFailedWrite(t *testing.T) {
	cause := errors.New("disk is gone")
	var fail bool
	mem := vfs.NewMem()
	g := datadir.NewGuard(errfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fail && op.Kind == errorfs.OpFileSync {
			return cause
		}
		return nil
	})))
	if err := datadir.WriteFile(g, "/", "a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	// What is missing or there already is no failure.
	if err := g.Rename("/missing", "/x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("rename: got %v, want %v", err, os.ErrNotExist)
	}
	if err := g.Err(); err != nil {
		t.Fatalf("before a failure: got %v", err)
	}
	open, err := g.Create("/open", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	fail = true
	if err := datadir.WriteFile(g, "/", "a", []byte("2")); !errors.Is(err, cause) {
		t.Errorf("the failed write: got %v, want %v", err, cause)
	}
	fail = false
	select {
	case <-g.Failed():
	default:
		t.Error("Failed is not closed")
	}
	_, werr := open.Write([]byte("x"))
	_, cerr := g.Create("/b", vfs.WriteCategoryUnspecified)
	for what, err := range map[string]error{
		"write": werr, "create": cerr, "sync": open.Sync(), "rename": g.Rename("/a", "/c"),
		"remove": g.Remove("/a"), "mkdir": g.MkdirAll("/d", 0o700), "link": g.Link("/a", "/e"),
	} {
		if !errors.Is(err, datadir.ErrDiskFailed) || !errors.Is(err, cause) {
			t.Errorf("%s after the failure: got %v, want %v and the cause", what, err, datadir.ErrDiskFailed)
		}
	}
	if got, err := datadir.ReadFile(g, "/a"); err != nil || string(got) != "1" {
		t.Errorf("read after the failure: got %q %v, want 1", got, err)
	}
	if err := open.Close(); err != nil {
		t.Error(err)
	}
}
