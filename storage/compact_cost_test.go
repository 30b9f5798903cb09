package storage_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// compact forgets all history that a Compact has room for, and returns whether it left some on the disk.
func (r *rig) compact() (more bool) {
	r.t.Helper()
	_, results := r.apply(&storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{
		Revision: r.store.Applied().Revision,
	}}})
	return results[0].GetCompact().GetMore()
}

// TestCompactionCopiesNoValues forgets events with large values, ten times. The store may allocate besides, in the background; so
// the fewest bytes of the ten count.
func TestCompactionCopiesNoValues(t *testing.T) {
	measuresMemory(t)
	const events, valueBytes, bytesMax = 8, 64 << 10, 128 << 10
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
	value := strings.Repeat("v", valueBytes)
	fewest := uint64(math.MaxUint64)
	for range 10 {
		for range events {
			r.apply(putCommand("k", value))
		}
		fewest = min(fewest, allocated(func() { r.compact() }))
		if left := r.store.Applied().HistoryBytes; left != 0 {
			t.Fatalf("got %d bytes of history left, want none", left)
		}
	}
	if fewest > bytesMax {
		t.Errorf("allocated %d bytes for %d events, want at most %d: their values have %d",
			fewest, events, bytesMax, events*valueBytes)
	}
	r.checkBytes()
}

// TestACompactForgetsSoMuch counts the commands that it takes to forget history: by events, and by bytes, from version 2 on.
func TestACompactForgetsSoMuch(t *testing.T) {
	needsNoRaceDetector(t)
	tests := map[string]struct {
		version            uint32
		events, valueBytes int
		commands           int
	}{
		"4 096 events":            {2, 4_096, 0, 1},
		"4 097 events":            {2, 4_097, 0, 2},
		"4 097 before version 2":  {1, 4_097, 0, 1},
		"32 MiB":                  {2, 64, 512 << 10, 2}, // The last event of a command may exceed its bytes.
		"32 MiB before version 2": {1, 64, 512 << 10, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			store := newStoreOf(t, vfs.NewMem(), "data", test.version)
			value := strings.Repeat("v", test.valueBytes)
			r := &rig{t: t, store: store}
			for from := 0; from < test.events; from += 32 {
				var puts []*storev1.Command
				for range min(32, test.events-from) {
					puts = append(puts, putCommand("k", value))
				}
				r.apply(puts...)
			}
			commands := 1
			for ; r.compact(); commands++ {
				if a := store.Applied(); a.TrimmedRevision >= a.CompactedRevision {
					t.Fatalf("trimmed up to %d of %d, and says that there is more", a.TrimmedRevision, a.CompactedRevision)
				}
			}
			if commands != test.commands {
				t.Errorf("got %d commands, want %d", commands, test.commands)
			}
			if a := store.Applied(); a.HistoryBytes != 0 || a.TrimmedRevision != a.CompactedRevision {
				t.Errorf("got %d bytes of history and revision %d of %d, want all gone", a.HistoryBytes, a.TrimmedRevision, a.CompactedRevision)
			}
			r.checkBytes()
		})
	}
}
