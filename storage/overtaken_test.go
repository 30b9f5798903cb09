package storage_test

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
)

// TestOvertakenRequestsAreMadeOnce makes the requests of a session out of order, as those of many callers come, each twice: the second attempt
// gets the first result, whichever request came before it. In one store nothing was opened again, so that it knows what was overtaken; the
// other was just opened each time, so that nothing is in memory.
func TestOvertakenRequestsAreMadeOnce(t *testing.T) {
	for name, opens := range map[string]bool{"in one store": false, "in a store that was just opened": true} {
		t.Run(name, func(t *testing.T) {
			overtake(t, opens)
		})
	}
}

func overtake(t *testing.T, opens bool) {
	t.Helper()
	fs := vfs.NewMem()
	r := &rig{t: t, store: newStore(t, fs, "sm")}
	r.sessions(0, 1)
	first := map[uint64]uint64{}
	for _, sequence := range []uint64{1, 5, 3, 200, 4, 2, 130, 199, 6, 201, 600, 344, 345, 599} {
		if opens {
			if err := errors.Join(r.store.Flush(), r.store.Close()); err != nil {
				t.Fatal(err)
			}
			r.store = openStore(t, fs, "sm")
		}
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

// TestAnOvertakenRequestIsNotLookedFor has a row say that a request was made that was overtaken. The store knows better, so it does not look.
func TestAnOvertakenRequestIsNotLookedFor(t *testing.T) {
	if invariants.Enabled {
		t.Skip("invariants look, and find out")
	}
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, 1)
	for _, sequence := range []uint64{1, 2, 6} {
		r.apply(request(0, sequence))
	}
	id := request(0, 5).GetRequestId()
	rowOf := func(sequence uint64) []byte {
		return layout.RequestRow(layout.SessionID(id.GetSessionId()), id.GetEpoch(), sequence)
	}
	if err := r.store.CopyRow(rowOf(6), rowOf(5)); err != nil {
		t.Fatal(err)
	}
	before := r.store.Applied().Revision
	if _, results := r.apply(request(0, 5)); results[0].GetFailure() != nil || results[0].GetRevision() <= before {
		t.Errorf("request 5, which 6 had overtaken, was looked for: got %v", results[0])
	}
}
