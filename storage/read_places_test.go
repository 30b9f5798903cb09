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

// TestReadingPlacesLoadsNoValues has a session queue for many locks, each time with a large value to write on its grant. Who
// reads the places allocates less than a few values take.
func TestReadingPlacesLoadsNoValues(t *testing.T) {
	const places, valueBytes = 64, 500_000
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
	r.sessions(1, 2)
	queue := func(key string, session uint64) {
		c := acquireCommand(key, session, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE)
		c.GetAcquireLock().Queue = true
		c.GetAcquireLock().Value = make([]byte, valueBytes)
		r.apply(c)
	}
	for i := range uint64(places) {
		key := fmt.Sprintf("lock/%02d", i)
		r.apply(acquireCommand(key, 1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
		queue(key, 2)
	}
	read := r.store.NewReader()
	defer func() {
		if err := read.Close(); err != nil {
			t.Error(err)
		}
	}()
	id, err := storage.SessionIDFromBytes(numberedID(2))
	if err != nil {
		t.Fatal(err)
	}
	// The store may allocate besides, in the background; so the fewest bytes of several reads count.
	fewest := uint64(math.MaxUint64)
	for range 10 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		objects, err := read.SessionObjects(id)
		runtime.ReadMemStats(&after)
		if err != nil || len(objects.Places) != places {
			t.Fatalf("got %d places, %v, want %d", len(objects.Places), err, places)
		}
		fewest = min(fewest, after.TotalAlloc-before.TotalAlloc)
	}
	if fewest > places*valueBytes/4 {
		t.Errorf("allocated %d bytes for %d places, want a fraction of the %d of their values", fewest, places, places*valueBytes)
	}
}
