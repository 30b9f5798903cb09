package raftnode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenure-io/tenure/raftnode"
)

// noise returns a value that the store cannot make smaller, and that is printed as it is.
func noise(rng *rand.Rand, size int) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	raw := make([]byte, size)
	for i := range raw {
		raw[i] = letters[rng.Uint32()%uint32(len(letters))]
	}
	return string(raw)
}

// A member behind the log comes back although no stream lives long enough for a snapshot, and there is a newer one at every
// attempt: what it has received is not sent again.
func TestSnapshotsOfANewerStateGoOnWithWhatIsThere(t *testing.T) {
	for name, restarts := range map[string]bool{"streams break": false, "and the member restarts": true} {
		t.Run(name, func(t *testing.T) {
			if raceDetector && restarts {
				t.Skip("long, and much the same goroutines as the other case")
			}
			synctest.Test(t, func(t *testing.T) {
				registries := map[uint64]*prometheus.Registry{}
				reused := 0.0
				f := newFleet(t, func(id uint64, o *raftnode.Options) {
					smallLogs(id, o)
					registries[id] = prometheus.NewRegistry()
					o.Registerer = registries[id]
				})
				rng := rand.New(rand.NewPCG(3, 3))
				f.begin(3)
				f.put("before", "1")
				f.w.setCut(3)
				for i := range 100 {
					f.put(fmt.Sprintf("k%03d", i), noise(rng, 64<<10))
				}
				if err := f.leader().Checkpoint(); err != nil {
					t.Fatal(err)
				}
				f.await("a log that begins behind the member's end", func() bool {
					return f.leader().Status().FirstIndex > f.node(3).Status().LastIndex+1
				})
				broken := func() int {
					f.mu.Lock()
					defer f.mu.Unlock()
					return f.broken
				}
				f.breakAfter = 40 // What announces the snapshot, and 39 of more than 50 chunks.
				f.w.setCut(0)
				sending := 0.0
				there := func() bool {
					for _, id := range []uint64{1, 2} {
						sending = max(sending, metric(t, registries[id], "tenure_snapshot_sending"))
					}
					return f.node(3).Store().Applied().Revision > 100
				}
				for round := 1; !there(); round++ {
					if round > 30 {
						t.Fatal("the member does not come back")
					}
					f.await("a stream that breaks", func() bool { return there() || broken() >= round })
					f.put(fmt.Sprintf("k%03d", 200+round), noise(rng, 64<<10))
					if err := f.leader().Checkpoint(); err != nil {
						t.Fatal(err)
					}
					if restarts && round == 1 {
						reused += metric(t, registries[3], "tenure_snapshot_reused_bytes_total")
						f.restart(3)
					}
				}
				f.agree(1, 2, 3)
				reused += metric(t, registries[3], "tenure_snapshot_reused_bytes_total")
				t.Logf("%d streams, %d broken, %.0f bytes reused", f.streams, broken(), reused)
				if broken() == 0 || reused < 1<<20 {
					t.Errorf("%d streams broke, %.0f bytes were reused: want some of each", broken(), reused)
				}
				if sending != 1 {
					t.Errorf("at most %.0f snapshots were sent at once, want 1", sending)
				}
				sent := metric(t, registries[1], "tenure_snapshot_sent_total") + metric(t, registries[2], "tenure_snapshot_sent_total")
				if whole := f.streams - broken(); sent < 1 || int(sent) > whole {
					t.Errorf("%.0f snapshots were sent whole, by %d streams that did not break", sent, whole)
				}
			})
		})
	}
}

// The log behind a snapshot that is on its way is kept beyond what is kept otherwise, and its receiver goes on with it. When it
// has caught up the log is cut. Where the disk has no room, the log is no longer than otherwise, and the member needs another
// snapshot.
func TestTheLogBehindASnapshotIsKept(t *testing.T) {
	for name, room := range map[string]bool{"with room on the disk": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			if raceDetector && !room {
				t.Skip("long, and the same goroutines as in the other case")
			}
			synctest.Test(t, func(t *testing.T) {
				const logBytesMax, diskFreeMin = 512 << 10, 1 << 20
				f := newFleet(t, func(_ uint64, o *raftnode.Options) {
					o.LogBytesMax, o.CheckpointLogBytes = logBytesMax, 64<<10
					o.Snapshots.BytesPerSecond = 1 << 20
					o.Health.DiskFreeMin, o.Health.ReserveBytes = diskFreeMin, 1<<10
				})
				for id := uint64(1); id <= 3; id++ {
					disk := &smallDisk{FS: vfs.NewMem()}
					disk.free.Store(1 << 40)
					if !room && id != 3 {
						disk.free.Store(diskFreeMin + diskFreeMin/8)
					}
					f.disks[id] = disk
				}
				rng := rand.New(rand.NewPCG(4, 4))
				f.begin(3)
				f.put("before", "1")
				f.w.setCut(3)
				for i := range 50 {
					f.put(fmt.Sprintf("k%03d", i), noise(rng, 64<<10))
				}
				if err := f.leader().Checkpoint(); err != nil {
					t.Fatal(err)
				}
				f.await("a log that begins behind the member's end", func() bool {
					return f.leader().Status().FirstIndex > f.node(3).Status().LastIndex+1
				})
				f.w.setCut(0)
				streams := func() int {
					f.mu.Lock()
					defer f.mu.Unlock()
					return f.streams
				}
				f.await("a snapshot", func() bool { return streams() == 1 })
				longest := uint64(0)
				for i := range 40 {
					f.put(fmt.Sprintf("l%03d", i), noise(rng, 64<<10))
					longest = max(longest, f.leader().Status().LogBytes)
				}
				f.agree(1, 2, 3)
				f.await("the log to be cut", func() bool {
					f.put("more", noise(rng, 16<<10))
					return f.leader().Status().LogBytes <= logBytesMax+logBytesMax/2
				})
				f.agree(1, 2, 3)
				t.Logf("%d snapshots, at most %d bytes of log", streams(), longest)
				switch {
				case room && (streams() != 1 || longest < 2<<20):
					t.Errorf("%d snapshots, %d bytes of log: want one snapshot, and the log behind it", streams(), longest)
				case !room && streams() < 2:
					t.Errorf("%d snapshots: want another one, since the log is cut", streams())
				}
			})
		})
	}
}
