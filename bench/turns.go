package main

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// turnsRound is how often each kind has its turn in a round, turnLong for how long each time, and turnSettle the time after a change of
	// kinds that does not count.
	turnsRound = 50
	turnLong   = 100 * time.Millisecond
	turnSettle = 50 * time.Millisecond
)

// turns are kinds of one workload that are measured in turns, while its clients never pause. A machine is now fast and now slow, for seconds; two
// turns that follow each other within a second differ by little but the kind.
type turns struct {
	// kinds are the cells.
	kinds []string
	// servers returns what is measured while a kind has its turn.
	servers func(kind string) []*server
	// choose makes clients work as a kind says from now on.
	choose func(ctx context.Context, kind string) error
	// step does one thing as a client and records it.
	step func(ctx context.Context, client int, r *recorder) error
}

// tally is what one client did. Its client adds, and others take.
type tally struct {
	mu  sync.Mutex // guards all
	all recorder
}

// measureTurns measures all kinds in turn with a number of clients.
func (b *bench) measureTurns(ctx context.Context, t turns, round, clients int) error {
	load, stop := context.WithCancel(ctx)
	defer stop()
	group, load := errgroup.WithContext(load)
	tallies := make([]tally, clients)
	for client := range tallies {
		group.Go(func() error { return t.work(load, client, &tallies[client]) })
	}
	err := b.takeTurns(load, t, tallies)
	stop()
	if err = firstCause(group.Wait(), err); err != nil {
		return err
	}
	for _, kind := range t.kinds {
		b.say("round %d  %-13s %4d clients  %10.0f ops/s\n", round+1, kind, clients, b.results.medianOf(cellKey{kind, clients}, sample.rate))
	}
	return nil
}

// work works as one client until ctx ends.
func (t turns) work(ctx context.Context, client int, done *tally) error {
	var always atomic.Int32
	always.Store(phaseMeasure)
	for ctx.Err() == nil {
		one := recorder{phase: &always}
		if err := t.step(ctx, client, &one); err != nil && ctx.Err() == nil {
			return err
		}
		done.add(one)
	}
	return nil
}

// takeTurns gives each kind its turns of a round.
func (b *bench) takeTurns(ctx context.Context, t turns, tallies []tally) error {
	kinds := slices.Clone(t.kinds)
	for range turnsRound {
		for _, kind := range kinds {
			if err := t.choose(ctx, kind); err != nil {
				return err
			}
			turn, err := t.turn(ctx, kind, tallies)
			if err != nil {
				return err
			}
			b.results.add(cellKey{kind, len(tallies)}, turn)
		}
		slices.Reverse(kinds) // What one leaves to do does not always fall to the same one.
	}
	return nil
}

// turn measures what clients do in one turn of a kind.
func (t turns) turn(ctx context.Context, kind string, tallies []tally) (s sample, err error) {
	if err = pause(ctx, turnSettle); err != nil {
		return s, err
	}
	var processes []*process
	for _, m := range t.servers(kind) {
		processes = append(processes, m.process)
	}
	before, err := serverCPU(processes)
	if err != nil {
		return s, err
	}
	for i := range tallies {
		tallies[i].take()
	}
	began := time.Now()
	if err = pause(ctx, turnLong); err != nil {
		return s, err
	}
	s.Window = time.Since(began)
	var latencies []time.Duration
	for i := range tallies {
		done := tallies[i].take()
		s.Ops += done.ops
		latencies = append(latencies, done.latencies...)
	}
	after, err := serverCPU(processes)
	if err != nil {
		return s, err
	}
	slices.Sort(latencies)
	s.P50, s.P99, s.ServerCPU = percentile(latencies, 50), percentile(latencies, 99), after-before
	return s, nil
}

// add adds what the client did.
func (t *tally) add(one recorder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.ops += one.ops
	t.all.latencies = append(t.all.latencies, one.latencies...)
}

// take returns what the client did since it was taken last.
func (t *tally) take() recorder {
	t.mu.Lock()
	defer t.mu.Unlock()
	done := t.all
	t.all = recorder{}
	return done
}
