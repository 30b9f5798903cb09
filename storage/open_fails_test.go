package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/storage"
)

// filledDisk returns the disk of a store with two flushes, as a crash leaves it.
func filledDisk(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	store := newStore(t, fs, "sm")
	for i := range uint64(200) {
		put := putCommand(fmt.Sprintf("k%d", i%50), strings.Repeat("v", 500))
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{put}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = store.Apply([]storage.Entry{{Index: i + 2, Term: 1, Data: data}}); err != nil {
			t.Fatal(err)
		}
		if i%100 == 99 {
			if err = store.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return fs.CrashClone(vfs.CrashCloneCfg{})
}

// A store whose disk fails while it is opened says so, whichever write it is. Pebble tries its flushes again for ever, and waits for them.
func TestAFailedWriteEndsTheOpening(t *testing.T) {
	disk := filledDisk(t)
	gone := errors.New("disk is gone")
	failed := 0
	for i := range int64(60) {
		mem := disk.CrashClone(vfs.CrashCloneCfg{})
		var writes atomic.Int64
		var on atomic.Bool
		on.Store(true)
		fs := errfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) > i {
				return gone
			}
			return nil
		}))
		opened := make(chan error, 1)
		go func() {
			store, err := storage.Open(storage.Options{FS: fs, Dir: "sm"})
			if err == nil {
				on.Store(false)
				err = store.Close()
			}
			opened <- err
		}()
		select {
		case err := <-opened:
			if err != nil && !errors.Is(err, gone) {
				t.Errorf("after %d writes: got %v, want %v", i, err, gone)
			}
			if err != nil {
				failed++
			}
		case <-time.After(time.Minute):
			t.Fatalf("after %d writes the store is opened without end", i)
		}
		// What was written is no worse than after a crash, and nothing of the failed opening is in the way.
		again := openStore(t, mem, "sm")
		if got := again.Applied().Index; got != 201 {
			t.Errorf("after %d writes and another opening: got index %d, want 201", i, got)
		}
	}
	if failed < 10 {
		t.Errorf("%d openings failed: too few to show anything", failed)
	}
}
