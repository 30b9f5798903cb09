package storage_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestDeletesCopyNoValues deletes keys with large values in every way there is, ten times each. The store may allocate besides,
// in the background; so the fewest bytes of the ten count.
func TestDeletesCopyNoValues(t *testing.T) {
	measuresMemory(t)
	const (
		keys       = 8
		valueBytes = 64 << 10
		bytesMax   = 128 << 10
		runs       = 10
	)
	key := func(i int) string { return fmt.Sprintf("p/%d", i) }
	end := func(session uint64) []*storev1.Command {
		return []*storev1.Command{{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: &storev1.SessionRef{SessionId: numberedID(session)},
		}}}}
	}
	tests := map[string]struct {
		binds, locks bool // the session owns the keys, or locks them
		deletes      func(session uint64) []*storev1.Command
	}{
		"by prefix": {deletes: func(uint64) []*storev1.Command {
			return []*storev1.Command{{Kind: &storev1.Command_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{Prefix: "p/"}}}}
		}},
		"one by one": {deletes: func(uint64) (commands []*storev1.Command) {
			for i := range keys {
				commands = append(commands, &storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: key(i)}}})
			}
			return commands
		}},
		"with their session":          {binds: true, deletes: end},
		"with the locks of a session": {locks: true, deletes: end},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
			fewest := uint64(math.MaxUint64)
			for session := range uint64(runs) {
				r.apply(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
					SessionId: numberedID(session), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_DELETE,
				}}})
				for i := range keys {
					put := &storev1.Put{Key: key(i), Value: make([]byte, valueBytes)}
					if test.binds {
						put.BindSession = &storev1.SessionRef{SessionId: numberedID(session)}
					}
					r.apply(&storev1.Command{Kind: &storev1.Command_Put{Put: put}})
					if test.locks {
						r.apply(acquireCommand(key(i), session, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
					}
				}
				fewest = min(fewest, allocated(func() { r.apply(test.deletes(session)...) }))
				if left := r.store.Applied().Keys; left != 0 {
					t.Fatalf("got %d keys left, want none", left)
				}
			}
			if fewest > bytesMax {
				t.Errorf("allocated %d bytes for %d keys, want at most %d: their values have %d",
					fewest, keys, bytesMax, keys*valueBytes)
			}
			r.checkBytes()
		})
	}
}

// TestLeavingAQueueCopiesNoValues ends sessions that wait with large values for their grant to write. The fewest bytes of ten
// count.
func TestLeavingAQueueCopiesNoValues(t *testing.T) {
	measuresMemory(t)
	const places, valueBytes, bytesMax = 8, 64 << 10, 128 << 10
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
	r.sessions(0, 11)
	for i := range places {
		r.apply(acquireCommand(fmt.Sprintf("%d", i), 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	}
	fewest := uint64(math.MaxUint64)
	for session := uint64(1); session <= 10; session++ {
		for i := range places {
			c := acquireCommand(fmt.Sprintf("%d", i), session, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
			c.GetAcquireLock().Value = make([]byte, valueBytes)
			r.apply(c)
		}
		fewest = min(fewest, allocated(func() {
			r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
				Session: &storev1.SessionRef{SessionId: numberedID(session)},
			}}})
		}))
	}
	if fewest > bytesMax {
		t.Errorf("allocated %d bytes for %d places, want at most %d: their values have %d",
			fewest, places, bytesMax, places*valueBytes)
	}
	r.checkBytes()
}

// TestGuardsCopyNoValues demands properties of keys with large values. The fewest bytes of ten runs count.
func TestGuardsCopyNoValues(t *testing.T) {
	measuresMemory(t)
	const keys, valueBytes, bytesMax = 8, 64 << 10, 128 << 10
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
	put := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "small"}}}
	for i := range keys {
		key := fmt.Sprint(i)
		r.apply(putCommand(key, string(make([]byte, valueBytes))))
		put.Guards = append(put.Guards, &storev1.Guard{Condition: &storev1.Guard_Key{Key: &storev1.KeyGuard{
			Key: key, Exists: new(true), Version: new(uint64(1)),
		}}})
	}
	fewest := uint64(math.MaxUint64)
	for range 10 {
		fewest = min(fewest, allocated(func() { r.apply(put) }))
	}
	if fewest > bytesMax {
		t.Errorf("allocated %d bytes for guards of %d keys, want at most %d: their values have %d",
			fewest, keys, bytesMax, keys*valueBytes)
	}
}

// measuresMemory skips a test where what is allocated says nothing of the product.
func measuresMemory(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("runs without the race detector, for which Pebble keeps a stack for each file that it opens")
	}
}

// allocated returns how many bytes all goroutines allocated while do ran. What do reads has to be in memory: a block that Pebble
// reads from the disk is allocated, too, where Pebble is built without cgo.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// checkBytes fails the test if the store counts its bytes wrong.
func (r *rig) checkBytes() {
	r.t.Helper()
	r.read(func(reader *storage.Reader) error {
		counted, err := reader.CountBytes()
		if got := r.store.Applied().StoreBytes; err == nil && got != counted {
			r.t.Errorf("got %d bytes, want the %d of all rows", got, counted)
		}
		return err
	})
}
