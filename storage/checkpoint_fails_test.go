package storage_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tenure-io/tenure/internal/errfs"
)

// A checkpoint on a disk that fails, at any of its operations, is an error.
func TestACheckpointOnADiskThatFails(t *testing.T) {
	errDisk := errors.New("disk is gone")
	var left atomic.Int64 // operations until the disk fails
	store := newStore(t, errfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Path != "" && op.Path[0] == 'c' && left.Add(-1) == 0 {
			return errDisk
		}
		return nil
	})), "sm")
	for fails := int64(1); ; fails++ {
		left.Store(fails)
		_, err := store.Checkpoint("copy" + string(rune('a'+fails)))
		if left.Load() > 0 {
			if err != nil || fails < 10 {
				t.Errorf("%d operations, then %v, want at least ten and no error", fails, err)
			}
			return
		}
		if !errors.Is(err, errDisk) && err != nil {
			t.Errorf("the disk fails at operation %d: got %v, want %v", fails, err, errDisk)
		}
	}
}
