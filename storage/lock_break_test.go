package storage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestABreakTakesSoMany counts the commands that it takes to break a lock with many holders: by holds, and by bytes, from version 2
// on. Meanwhile others acquire it; they keep what they got.
func TestABreakTakesSoMany(t *testing.T) {
	needsNoRaceDetector(t)
	const sessions = 10
	tests := map[string]struct {
		version      uint32
		holds, bytes int    // how many, and of each owner's name
		step         uint32 // holds that the first command breaks, at most
		all          bool   // and at least
	}{
		"1 024 holds":                  {version: 2, holds: 1024, step: 1024, all: true},
		"2 100 holds":                  {version: 2, holds: 2100, step: 1024, all: true},
		"2 100 before version 2":       {version: 1, holds: 2100, step: 2100, all: true},
		"long names":                   {version: 2, holds: 1024, bytes: 250, step: 1023},
		"long names, before version 2": {version: 1, holds: 1024, bytes: 250, step: 1024, all: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, store: newStoreOf(t, vfs.NewMem(), "data", test.version)}
			r.sessions(0, sessions)
			key := "k" + strings.Repeat("x", 4*test.bytes)
			var acquires []*storev1.Command
			for i := range test.holds {
				owner := fmt.Sprint(i) + strings.Repeat("o", test.bytes)
				acquires = append(acquires, acquireCommand(key, uint64(i%sessions), owner, storev1.LockMode_LOCK_MODE_SHARED))
			}
			r.applyMany(acquires)
			b := &storev1.BreakLock{Key: key, Reason: strings.Repeat("r", 4*test.bytes)}
			broken, late := uint32(0), uint32(0)
			for {
				_, results := r.apply(&storev1.Command{Kind: &storev1.Command_BreakLock{BreakLock: b}})
				got := results[0].GetBreakLock()
				broken += got.GetHolds()
				if broken+got.GetRemaining() != uint32(test.holds) || got.GetHolds() == 0 {
					t.Fatalf("got %d holds broken, %d of them now, and %d left, want %d in all",
						broken, got.GetHolds(), got.GetRemaining(), test.holds)
				}
				if b.GetFrom() == nil && (got.GetHolds() > test.step || test.all && got.GetHolds() != test.step) {
					t.Errorf("first command: got %d holds broken, want %d", got.GetHolds(), test.step)
				}
				if b.From = got.GetNext(); b.GetFrom() == nil {
					break
				}
				late++
				r.apply(acquireCommand(key, 0, fmt.Sprint("late", late), storev1.LockMode_LOCK_MODE_SHARED))
			}
			r.read(func(reader *storage.Reader) error {
				l, _, err := reader.Lock(key)
				if got := l.State.GetHolders(); err == nil && got != late {
					t.Errorf("got %d holders, want the %d that came while the lock was broken", got, late)
				}
				return err
			})
			r.checkBytes()
		})
	}
}
