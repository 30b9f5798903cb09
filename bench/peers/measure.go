package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// key names a cell of the tables.
type key struct {
	work    string
	members int
	callers int
	system  string
}

// sample is one measurement of a cell.
type sample struct {
	rate    float64       // operations a second
	p50     time.Duration // latency
	p99     time.Duration
	cpu     time.Duration // of all members, an operation
	foreign float64       // part of the machine that others took
}

// bench measures all cells, round by round.
type bench struct {
	options

	systems  []system
	progress io.Writer
	samples  map[key][]sample
	lives    map[key][]life
}

func (b *bench) say(format string, args ...any) { _, _ = fmt.Fprintf(b.progress, format, args...) }

// measureAll measures every cell once a round. Each system is started afresh in each round, and only one runs at a time.
// What one fails at does not keep the others from being measured.
func (b *bench) measureAll(ctx context.Context) (failed error) {
	for round := range b.rounds {
		for _, members := range b.members {
			for i := range b.systems {
				s := b.systems[(i+round)%len(b.systems)] // Nobody is always first.
				var err error
				if b.life {
					err = b.measureLife(ctx, round, s, members)
				}
				if len(b.work) > 0 {
					err = errors.Join(err, b.measureSystem(ctx, round, s, members))
				}
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s with %d members: %w", s.name(), members, err))
				}
				if ctx.Err() != nil {
					return failed
				}
			}
		}
	}
	return failed
}

func (b *bench) measureSystem(ctx context.Context, round int, s system, members int) (err error) {
	dir, err := os.MkdirTemp(b.dir, "peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := s.start(ctx, dir, members)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(c.processes())) }()
	if err = c.fill(); err != nil {
		return err
	}
	for _, work := range b.work {
		for _, callers := range b.callers {
			k := key{work: work, members: members, callers: callers, system: s.name()}
			got, err := b.measureQuietly(ctx, c, k)
			if err != nil {
				return fmt.Errorf("%s by %d callers: %w", work, callers, err)
			}
			b.samples[k] = append(b.samples[k], got)
			b.say("round %d  %-16s %d members  %4d callers  %-18s %9.0f/s  p99 %8.2f ms  %7.1f µs of CPU  others %2.0f %%\n",
				round+1, k.work, k.members, k.callers, k.system, got.rate, ms(got.p99), us(got.cpu), 100*got.foreign)
		}
	}
	return nil
}

// measureQuietly measures a cell until others take little of the machine, or it has been tried often enough; the quietest counts.
func (b *bench) measureQuietly(ctx context.Context, c cluster, k key) (sample, error) {
	var best sample
	for try := range b.tries {
		got, err := b.measure(ctx, c, k)
		if err != nil {
			return sample{}, err
		}
		if try == 0 || got.foreign < best.foreign {
			best = got
		}
		if got.foreign <= b.foreignMax {
			break
		}
	}
	return best, nil
}

func (b *bench) measure(ctx context.Context, c cluster, k key) (got sample, err error) {
	ce, err := c.open(ctx, k.work, k.callers)
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, ce.close()) }()
	w := newWindow(k.callers)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, k.callers)
	var callers sync.WaitGroup
	for i := range k.callers {
		callers.Go(func() {
			if errs[i] = w.call(ctx, i, ce); errs[i] != nil {
				stop()
			}
		})
	}
	used, took, err := w.watch(ctx, b.warmup, b.duration, c.processes())
	stop()
	callers.Wait()
	if err = errors.Join(errors.Join(errs...), err); err != nil {
		return sample{}, err
	}
	return w.sample(used, took), nil
}

// window is the time in which operations count.
type window struct {
	open      atomic.Bool
	latencies [][]time.Duration // by caller
}

func newWindow(callers int) *window { return &window{latencies: make([][]time.Duration, callers)} }

// call makes operations until the context ends.
func (w *window) call(ctx context.Context, caller int, c *cell) error {
	for ctx.Err() == nil {
		begin := time.Now()
		err := c.step(ctx, caller)
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // It was asked to end, in the middle of an operation.
			}
			return err
		}
		if w.open.Load() {
			w.latencies[caller] = append(w.latencies[caller], time.Since(begin))
		}
	}
	return nil
}

// watch opens the window after the warm-up, and closes it after so long. It returns what was used meanwhile.
func (w *window) watch(ctx context.Context, warmup, duration time.Duration, members []*process) (use, time.Duration, error) {
	if err := pause(ctx, warmup); err != nil {
		return use{}, 0, err
	}
	before, err := readUse(members)
	if err != nil {
		return use{}, 0, err
	}
	w.open.Store(true)
	begin := time.Now()
	err = pause(ctx, duration)
	w.open.Store(false)
	took := time.Since(begin)
	if err != nil {
		return use{}, 0, err
	}
	after, err := readUse(members)
	return after.since(before), took, err
}

// sample sums up a window that is closed, when no caller is left.
func (w *window) sample(used use, took time.Duration) sample {
	all := slices.Concat(w.latencies...)
	if len(all) == 0 {
		return sample{foreign: used.foreign()} // As slow as that: no operation ended in time.
	}
	slices.Sort(all)
	return sample{
		rate: float64(len(all)) / took.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100],
		cpu: used.members / time.Duration(len(all)), foreign: used.foreign(),
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// use is the CPU time that was used until a moment, or between two.
type use struct {
	members, own time.Duration
	machine      machineTime
}

func readUse(members []*process) (use, error) {
	of, err := cpuOf(members)
	if err != nil {
		return use{}, err
	}
	own, err := ownCPU()
	if err != nil {
		return use{}, err
	}
	machine, err := readMachineTime()
	return use{members: of, own: own, machine: machine}, err
}

func (u use) since(before use) use {
	return use{members: u.members - before.members, own: u.own - before.own, machine: machineTime{
		busy: u.machine.busy - before.machine.busy, all: u.machine.all - before.machine.all,
	}}
}

// foreign returns the part of the machine that neither the members nor this program used.
func (u use) foreign() float64 {
	if u.machine.all <= 0 {
		return 0
	}
	return max(0, float64(u.machine.busy-u.members-u.own)) / float64(u.machine.all)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// logOf is where a member writes what it says.
func logOf(dir string, member int) string {
	return filepath.Join(dir, fmt.Sprintf("member-%d.log", member))
}
