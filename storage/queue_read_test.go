package storage_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// TestWhoAsksForItsPositionReadsNoValues queues with large values, takes some of the waiters out, and counts what is read to tell where the
// others stand, and what their session owns. A queue that began under version 1 tells the same.
func TestWhoAsksForItsPositionReadsNoValues(t *testing.T) {
	needsNoRaceDetector(t)
	const (
		waiters    = 600
		valueBytes = 8 << 10
		session    = 1
		readMax    = 8 * valueBytes // the first waiter's value, and rows without one
	)
	leave := func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
			Key: "k", Session: &storev1.SessionRef{SessionId: numberedID(session)}, Owner: numbered(i),
		}}}
	}
	for name, raisedAt := range map[string]int{"from version 2 on": 0, "raised in the first part": 100, "raised in the second": 400, "never raised": waiters} {
		t.Run(name, func(t *testing.T) {
			version := uint32(1)
			if raisedAt == 0 {
				version = 2
			}
			r := &rig{t: t, store: newStoreOf(t, vfs.NewMem(), "data", version)}
			r.sessions(0, 2)
			r.apply(acquireCommand("k", 0, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
			for i := range waiters {
				if i > 0 && i == raisedAt {
					r.apply(&storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: 2}}})
				}
				wait := acquireCommand("k", session, numbered(i), storev1.LockMode_LOCK_MODE_EXCLUSIVE)
				wait.GetAcquireLock().Value = make([]byte, valueBytes)
				r.apply(wait)
				if i%3 == 2 {
					r.apply(leave(i / 2))
				}
			}
			r.checkPositions("k", 7)
			if raisedAt > 0 {
				return
			}
			r.read(func(reader *storage.Reader) error {
				all, _, err := reader.Waiters("k", 0, 0)
				if err != nil {
					return err
				}
				reads := reader.CountReads()
				for what, w := range map[string]storage.WaiterEntry{"last": all[len(all)-1], "in the middle": all[len(all)/2]} {
					before := reads.Bytes
					if _, err = reader.Position("k", w.Place); err != nil {
						return err
					}
					if read := reads.Bytes - before; read > readMax {
						t.Errorf("read %d bytes to tell the position of the waiter that is %s, want at most %d", read, what, readMax)
					}
				}
				before := reads.Bytes
				objects, err := reader.SessionObjects(storage.SessionID(numberedID(session)))
				if err != nil {
					return err
				}
				if read := reads.Bytes - before; len(objects.Places) == 0 || read > len(objects.Places)*valueBytes/8 {
					t.Errorf("read %d bytes to list %d places", read, len(objects.Places))
				}
				return nil
			})
		})
	}
}
