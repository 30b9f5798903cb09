package storage_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestReaderKnowsItsOwnRevision reads while entries are applied: the revision that a reader tells is always that of the
// keys it shows, never one before or after.
func TestReaderKnowsItsOwnRevision(t *testing.T) {
	const readers, entries = 4, 3000
	store := newStore(t, vfs.NewMem(), "sm")
	applied := make(chan struct{})
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			for n, over := 0, false; n < 100 || !over; n++ {
				select {
				case <-applied:
					over = true
				default:
				}
				if !sameRevision(t, store) {
					return
				}
			}
		})
	}
	for i := range uint64(entries) {
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{
			putCommand("k", strconv.FormatUint(i, 10)),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Apply([]storage.Entry{{Index: i + 2, Term: 1, Data: data}}); err != nil {
			t.Fatal(err)
		}
	}
	close(applied)
	group.Wait()
}

// sameRevision reports whether a new reader agrees with itself. Every revision of the test is a put of one key.
func sameRevision(t *testing.T, store *storage.Store) bool {
	t.Helper()
	r := store.NewReader()
	at, appliedErr := r.Applied()
	k, _, getErr := r.Get("k")
	if err := r.Close(); appliedErr != nil || getErr != nil || err != nil {
		t.Errorf("read: %v, %v, %v", appliedErr, getErr, err)
		return false
	}
	if at.Revision != k.GetModRevision() {
		t.Errorf("reader at revision %d shows a key of revision %d", at.Revision, k.GetModRevision())
		return false
	}
	return true
}

// TestAPageBehindItsPrefixIsEmpty asks for locks behind a key that lies behind all with the prefix, as a page token that a
// client made itself can. With checks of the store under it switched on, as by the race detector, it may not fail.
func TestAPageBehindItsPrefixIsEmpty(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(1, 1)
	for _, key := range []string{"a", "b", "z"} {
		r.apply(acquireCommand(key, 1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	}
	read := r.store.NewReader()
	defer func() {
		if err := read.Close(); err != nil {
			t.Error(err)
		}
	}()
	page, more, err := read.Locks("a", "w", 10)
	if err != nil || more || len(page) != 0 {
		t.Errorf("got %d locks, more %t, %v; want none", len(page), more, err)
	}
	if page, _, err = read.Locks("", "", 10); err != nil || len(page) != 3 {
		t.Errorf("afterwards: got %d locks, %v; want 3", len(page), err)
	}
}
