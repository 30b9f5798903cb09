package storage_test

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestOvertakenRequestsAreMadeOnce makes the requests of a session out of order, as those of many callers come, each twice: the second attempt
// gets the first result, whichever request came before it. Each time the store was just opened, so that nothing is in memory.
func TestOvertakenRequestsAreMadeOnce(t *testing.T) {
	fs := vfs.NewMem()
	r := &rig{t: t, store: newStore(t, fs, "sm")}
	r.sessions(0, 1)
	first := map[uint64]uint64{}
	for _, sequence := range []uint64{1, 5, 3, 200, 4, 2, 130, 199, 6, 201} {
		if err := errors.Join(r.store.Flush(), r.store.Close()); err != nil {
			t.Fatal(err)
		}
		r.store = openStore(t, fs, "sm")
		_, results := r.apply(request(0, sequence))
		first[sequence] = results[0].GetRevision()
		if results[0].GetFailure() != nil {
			t.Fatalf("request %d: %v", sequence, results[0].GetFailure())
		}
	}
	made := map[uint64]bool{}
	for sequence, revision := range first {
		if made[revision] {
			t.Errorf("revision %d was made twice", revision)
		}
		made[revision] = true
		if _, results := r.apply(request(0, sequence)); results[0].GetRevision() != revision {
			t.Errorf("request %d has revision %d when it is made again, want %d", sequence, results[0].GetRevision(), revision)
		}
	}
	r.checkBytes()
}
