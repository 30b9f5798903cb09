package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What enforced rules cost: clients put without a pause and send a token, and the mode changes again and again below them. A machine is now fast
// and now slow, for seconds; two turns that follow each other within a second differ by little but the mode.
const (
	rulesOff     = workRules + "-off"
	rulesEnforce = workRules + "-enforce"
	// rulesPairs is how often both modes are measured in a round, rulesTurn for how long each time, and rulesSettle the time after a change of
	// the mode that does not count.
	rulesPairs  = 50
	rulesTurn   = 100 * time.Millisecond
	rulesSettle = 50 * time.Millisecond
)

// tally is what one client did. Its client adds, and others may look.
type tally struct {
	mu  sync.Mutex
	all recorder
}

// measureRules measures both modes in turn with each number of clients.
func (b *bench) measureRules(ctx context.Context) (err error) {
	if !b.has(workRules) {
		return nil
	}
	s, err := startSafe(ctx, b.dir, b.options)
	defer func() {
		for _, m := range s.members {
			err = errors.Join(err, m.stop())
		}
	}()
	if err == nil {
		err = fillKeys(ctx, s.leader, b.options)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", workRules, err)
	}
	for round := range b.rounds {
		for _, clients := range b.clients {
			if err = b.measureRulesWith(ctx, s, round, clients); err != nil {
				return fmt.Errorf("%s with %d clients: %w", workRules, clients, err)
			}
		}
	}
	return nil
}

// measureRulesWith measures both modes in turn with one number of clients.
func (b *bench) measureRulesWith(ctx context.Context, s *secured, round, clients int) (err error) {
	leader := *s.leader
	leader.dial = s.dials[secureEnforce]
	c, err := newPutCell(&leader, clients, b.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	load, stop := context.WithCancel(ctx)
	group, load := errgroup.WithContext(load)
	tallies := make([]tally, clients)
	var counts atomic.Int32
	counts.Store(phaseMeasure)
	for client := range tallies {
		group.Go(func() error {
			for load.Err() == nil {
				one := recorder{phase: &counts}
				stepErr := c.step(load, client, &one)
				// A call that began in mode off is not served in mode enforce; it may be made again, which libraries do.
				if stepErr != nil && load.Err() == nil && status.Code(stepErr) != codes.Unavailable {
					return stepErr
				}
				tallies[client].add(one)
			}
			return nil
		})
	}
	modes := []string{rulesOff, rulesEnforce}
	for pair := 0; pair < rulesPairs && err == nil; pair++ {
		for _, mode := range modes {
			if err = s.enforced(load, mode == rulesEnforce); err != nil {
				break
			}
			var turn sample
			if turn, err = rulesTurnOf(load, s.members, tallies); err != nil {
				break
			}
			b.results.add(cellKey{mode, clients}, turn)
		}
		slices.Reverse(modes) // What one leaves to do does not always fall to the same one.
	}
	stop()
	if err = firstCause(group.Wait(), err); err != nil {
		return err
	}
	for _, mode := range modes {
		key := cellKey{mode, clients}
		b.say("round %d  %-13s %4d clients  %10.0f ops/s\n", round+1, mode, clients, b.results.medianOf(key, sample.rate))
	}
	return nil
}

// rulesTurnOf measures what clients do in one turn.
func rulesTurnOf(ctx context.Context, members []*server, tallies []tally) (s sample, err error) {
	if err = pause(ctx, rulesSettle); err != nil {
		return s, err
	}
	var processes []*process
	for _, m := range members {
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
	if err = pause(ctx, rulesTurn); err != nil {
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
	if s.Ops == 0 {
		return s, errors.New("no operation ended in a turn")
	}
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
