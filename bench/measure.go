package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// cell is one workload at one number of clients, ready to run.
type cell struct {
	// step does one thing as a client and records it. One goroutine for each driver calls it again and again.
	step func(ctx context.Context, client int, r *recorder) error
	// drivers is how many clients step; the others only listen.
	drivers int
	// servers are the cell's own members, which are measured; nil: those of the run.
	servers []*server
	// bytes returns how many bytes its clients have read; nil: they are not counted.
	bytes func() int64
	// close ends what the cell opened.
	close func() error
}

// sample is what one measurement of a cell gave.
type sample struct {
	Ops       int64         // operations in the window
	Window    time.Duration // measured time
	P50       time.Duration // of the latency of one operation
	P99       time.Duration
	ServerCPU time.Duration // used by the measured processes together in the window
	Bytes     int64         // that the clients read in the window; 0: not counted
	RSSBytes  int64         // of the largest measured process at the end of the window
}

func (s sample) rate() float64 { return float64(s.Ops) / s.Window.Seconds() }

func (s sample) cpuPerOp() time.Duration {
	if s.Ops == 0 {
		return 0
	}
	return s.ServerCPU / time.Duration(s.Ops)
}

// Phases of a measurement.
const (
	phaseWarmup int32 = iota
	phaseMeasure
	phaseStop
)

// recorder collects the operations that one client finished in the window. One goroutine owns it; only the phase is
// shared.
type recorder struct {
	phase     *atomic.Int32
	ops       int64
	latencies []time.Duration
}

// time runs one operation and records it.
func (r *recorder) time(operation func() error) error {
	begin := time.Now()
	if err := operation(); err != nil {
		return err
	}
	r.add(1, time.Since(begin))
	return nil
}

// add records operations that ended just now and took latency each.
func (r *recorder) add(ops int, latency time.Duration) {
	if r.phase.Load() == phaseMeasure {
		r.ops += int64(ops)
		r.latencies = append(r.latencies, latency)
	}
}

// addAll records one operation for each latency.
func (r *recorder) addAll(latencies []time.Duration) {
	if r.phase.Load() == phaseMeasure {
		r.ops += int64(len(latencies))
		r.latencies = append(r.latencies, latencies...)
	}
}

// measure runs a cell: all drivers in closed loops, first the warm-up, then the window. An operation counts when it ends in
// the window.
func measure(ctx context.Context, c *cell, o options, servers ...*process) (sample, error) {
	var phase atomic.Int32
	recorders := make([]*recorder, c.drivers)
	group, groupCtx := errgroup.WithContext(ctx)
	for client := range c.drivers {
		recorders[client] = &recorder{phase: &phase}
		group.Go(func() error {
			for phase.Load() != phaseStop {
				if err := c.step(groupCtx, client, recorders[client]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	s, err := watchWindow(groupCtx, &phase, c, o, servers)
	phase.Store(phaseStop)
	if err = firstCause(group.Wait(), err); err != nil {
		return s, err
	}
	var latencies []time.Duration
	for _, r := range recorders {
		s.Ops += r.ops
		latencies = append(latencies, r.latencies...)
	}
	if s.Ops == 0 {
		return s, errors.New("no operation ended in the window; raise -duration")
	}
	slices.Sort(latencies)
	s.P50, s.P99 = percentile(latencies, 50), percentile(latencies, 99)
	return s, nil
}

// watchWindow lets the warm-up and the window pass and takes the servers' counters at its ends.
func watchWindow(ctx context.Context, phase *atomic.Int32, c *cell, o options, servers []*process) (sample, error) {
	var s sample
	if err := pause(ctx, o.warmup); err != nil {
		return s, err
	}
	before, err := serverCPU(servers)
	if err != nil {
		return s, err
	}
	read := func() int64 { return 0 }
	if c.bytes != nil {
		read = c.bytes
	}
	begin, bytes := time.Now(), read()
	phase.Store(phaseMeasure)
	if err = pause(ctx, o.duration); err != nil {
		return s, err
	}
	phase.Store(phaseStop)
	s.Window, s.Bytes = time.Since(begin), read()-bytes
	after, err := serverCPU(servers)
	if err != nil {
		return s, err
	}
	s.ServerCPU = after - before
	for _, server := range servers {
		resident, err := server.rssBytes()
		if err != nil {
			return s, err
		}
		s.RSSBytes = max(s.RSSBytes, resident)
	}
	return s, nil
}

// serverCPU is what the measured processes have used together.
func serverCPU(servers []*process) (time.Duration, error) {
	var sum time.Duration
	for _, server := range servers {
		used, err := server.cpu()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// firstCause prefers the error of the clients to the cancellation that it caused.
func firstCause(clients, window error) error {
	if clients != nil {
		return clients
	}
	return window
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
