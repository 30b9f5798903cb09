package sim

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// failure is how a disk fails.
type failure uint32

const (
	works failure = iota
	failsSyncs
	failsWrites
	isFull
)

// failing lets the writes to a disk fail. Pebble's own goroutines ask it.
type failing struct {
	how atomic.Uint32
	// state is set during work on the state machine: in the background Pebble may write there at any moment, and a run
	// must not depend on when.
	state atomic.Bool
}

// String names the injector.
func (f *failing) String() string { return "failing disk" }

// MaybeError returns the error of an operation on the disk.
func (f *failing) MaybeError(op errorfs.Op) error {
	how := failure(f.how.Load())
	if how == works || strings.HasPrefix(op.Path, dataDir+"/sm-") && !f.state.Load() {
		return nil
	}
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData:
		if how != isFull {
			return syscall.EIO
		}
	case errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpCreate, errorfs.OpReuseForWrite, errorfs.OpMkdirAll:
		switch how {
		case isFull:
			return syscall.ENOSPC
		case failsWrites:
			return syscall.EIO
		default:
		}
	default:
	}
	return nil
}

// fails reports whether the disk of this life fails now.
func (r *life) fails() bool { return failure(r.failing.how.Load()) != works }

// diskWork does something with the disk, and reports whether it worked. On a disk that fails it ends the life, whether
// the work noticed or not: what is written in the background may have failed just before.
func (r *life) diskWork(what string, do func() error) bool {
	if !r.fails() {
		err := do()
		if err != nil {
			r.w.violated("disk", "member %d: %s: %v", r.m.id, what, err)
		}
		return err == nil
	}
	r.failing.state.Store(true)
	err := do()
	r.failing.state.Store(false)
	r.w.tell("member %d: %s on a disk that fails: %v", r.m.id, what, err)
	r.stopForDisk()
	return false
}

// stopForDisk ends this life because its disk failed.
func (r *life) stopForDisk() {
	if r.stopping {
		return
	}
	r.stopping = true
	r.w.note("disk failed", r.m.id, uint64(r.failing.how.Load()))
	if failure(r.failing.how.Load()) == isFull {
		r.w.floors.DisksFull++
	} else {
		r.w.floors.DiskErrors++
	}
	r.w.after(0, func() {
		if m := r.m; m.life == r {
			m.leave(r.survives)
			r.w.after(between(r.dice, 100*time.Millisecond, 2*time.Second), m.start)
		}
	})
}

// failDisk lets a member's disk fail for some time. What it was given and did not sync survives the end of the member, or
// does not.
func (m *member) failDisk(how failure, survives bool, length time.Duration) {
	r := m.life
	if r == nil || r.fails() {
		return
	}
	r.survives = survives
	r.failing.how.Store(uint32(how))
	if how == isFull {
		m.fullUntil = m.w.now + length
	}
	m.w.after(length, func() {
		if m.life == r {
			r.stopForDisk()
		}
	})
}

// leave ends a life as a crash does. What was not synced is all lost, or all there.
func (m *member) leave(survives bool) {
	cfg := vfs.CrashCloneCfg{}
	if survives {
		cfg.UnsyncedDataPercent, cfg.RNG = 100, rand.New(rand.NewPCG(1, 1)) //nolint:gosec // All of it, whatever is drawn.
	}
	m.apart.Lock()
	clone := m.fs.CrashClone(cfg)
	m.apart.Unlock()
	m.end()
	m.fs = clone
}
