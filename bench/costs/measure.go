package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
	"golang.org/x/sys/unix"
)

// The bounds of what one command may take on two cores.
const (
	commandBound = 50 * time.Millisecond
	// endBound is that of the end of a session with as many objects as one may have, and of its takeover: neither is ever split.
	endBound = 250 * time.Millisecond
)

// cost is one command to measure.
type cost struct {
	kind string // field of Command
	name string // what makes it dear
	// bound is what it may take; zero: commandBound.
	bound time.Duration
	// frozen leaves the freeze with which the store begins.
	frozen bool
	// refused is the reason for which the command is refused; none: it must succeed.
	refused storev1.FailureReason
	build   func(b *builder) *storev1.Command
}

// row is what a command took.
type row struct {
	cost

	rows, bytes, read, events int
	wall, cpu                 []time.Duration // of each run, sorted
}

// usual is the time that the thread ran, in the median. It is what counts: the wall's depends on what else the machine does.
func (r row) usual() time.Duration { return r.cpu[len(r.cpu)/2] }

func (r row) over() bool { return r.usual() > r.bound }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		return -cmp.Compare(a.usual(), b.usual())
	})
}

// measure builds a case in a copy of the base, and applies its command to copies of that.
func measure(o options, base *storage.Store, c cost, dir string) (row, error) {
	if c.bound == 0 {
		c.bound = commandBound
	}
	r := row{cost: c}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return r, fmt.Errorf("directory: %w", err)
	}
	store, err := copyOf(base, filepath.Join(dir, "built"))
	if err != nil {
		return r, err
	}
	b := &builder{store: store, scale: o.scale}
	if !c.frozen {
		b.apply(&storev1.Command{Kind: &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{}}})
	}
	command := c.build(b)
	if err = b.err; err == nil {
		for i := range o.runs {
			if err = r.run(o, store, command, filepath.Join(dir, fmt.Sprint(i))); err != nil {
				break
			}
		}
	}
	slices.Sort(r.wall)
	slices.Sort(r.cpu)
	return r, errors.Join(err, store.Close(), os.RemoveAll(dir))
}

// run applies the command to one more copy.
func (r *row) run(o options, store *storage.Store, command *storev1.Command, dir string) error {
	again, err := copyOf(store, dir)
	if err != nil {
		return err
	}
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{command}})
	if err == nil {
		runtime.GC()
		err = profiled(o.profile, len(r.wall), func() error { return r.apply(again, data) })
	}
	return errors.Join(err, again.Close(), os.RemoveAll(dir))
}

// apply applies an entry and takes the time. The thread's own time does not count what other processes, and collectors of
// garbage on other threads, do meanwhile.
func (r *row) apply(store *storage.Store, data []byte) error {
	at := store.Applied()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used, began := threadTime(), time.Now()
	out, err := store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	r.wall, r.cpu = append(r.wall, time.Since(began)), append(r.cpu, threadTime()-used)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	f := out.Entries[0].Results[0].GetFailure()
	if f.GetReason() != r.refused {
		return fmt.Errorf("got %v %s, want %v", f.GetReason(), storage.FailureText(f), r.refused)
	}
	r.rows, r.bytes, r.read, r.events = out.RowsWritten, out.BytesWritten, out.BytesRead, len(out.Events)
	return nil
}

// threadTime returns how long the present thread has run, in the program and in the kernel for it.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // The clock is always there on Linux.
	}
	return time.Duration(t.Nano())
}
