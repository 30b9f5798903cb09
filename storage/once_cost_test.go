package storage_test

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/internal/invariants"
)

// TestARequestOfAnOpenWindowReadsItsHead makes one more request after a restart, when nothing is in memory. All that a request id adds to
// what a put reads is the head of the window: that says that nothing is remembered of a higher number, and that the session lives.
func TestARequestOfAnOpenWindowReadsItsHead(t *testing.T) {
	needsNoRaceDetector(t)
	if invariants.Enabled {
		t.Skip("invariants read more")
	}
	const requests = 200
	fs := vfs.NewMem()
	r := &rig{t: t, store: newStore(t, fs, "data")}
	r.sessions(0, 1)
	r.apply(putCommand("k", "v"))
	for n := range uint64(requests) {
		r.apply(request(0, n+1))
	}
	reads := func(id bool) int {
		t.Helper()
		if err := errors.Join(r.store.Flush(), r.store.Close()); err != nil {
			t.Fatal(err)
		}
		r.store = openStore(t, fs, "data")
		c := request(0, requests+1)
		if !id {
			c.RequestId, c.RequestDigest = nil, nil
		}
		out, _ := r.apply(c)
		return out.RowsRead
	}
	plain := reads(false)
	if got := reads(true); got != plain+1 {
		t.Errorf("a put with a request id read %d rows, want %d as without and the head of the window", got, plain)
	}
}
