package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// bench is one run.
type bench struct {
	options
	dir      string          // temporary directory of the run
	progress io.Writer       // one line for each cell
	member   *server         // the leader; nil without a workload that needs it
	cluster  []*server       // all members
	echo     *server         // nil without echo
	secured  []*secured      // a cluster without security and one with it; none without secure
	sessions []string        // that renew renews
	worn     map[string]bool // what wears out, and is worn out already
	crowds   int             // locks that had a crowd
	results  results
}

// say tells the user how far the run is. That nobody listens is no reason to stop.
func (b *bench) say(format string, args ...any) { _, _ = fmt.Fprintf(b.progress, format, args...) }

// run measures everything the options ask for.
func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp(b.options.dir, "tenure-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if tmpfs, statErr := onTmpfs(b.dir); statErr == nil && tmpfs {
		b.say("warning: %s lies in memory, where a sync costs nothing; choose a disk with -dir\n", b.dir)
	}
	if err = b.measureRounds(ctx); err != nil {
		return err
	}
	if err = b.measureRules(ctx); err != nil {
		return err
	}
	if err = b.measureOnce(ctx); err != nil {
		return err
	}
	if err = b.measureIdle(ctx); err != nil {
		return err
	}
	if err = b.measureGaps(ctx); err != nil {
		return err
	}
	return b.measureFleet(ctx)
}

// measureRounds measures rates and latencies: in each round every cell once, so that a slow minute of the machine hits all.
func (b *bench) measureRounds(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, b.stopServers()) }()
	if err = b.startServers(ctx); err != nil {
		return err
	}
	for round := range b.rounds {
		for _, key := range b.cells(round) {
			if err = b.measureCell(ctx, round, key); err != nil {
				return fmt.Errorf("%s with %d clients: %w", key.workload, key.clients, err)
			}
		}
	}
	return nil
}

// cells returns what a round measures, in order.
func (b *bench) cells(round int) []cellKey {
	var keys []cellKey
	for _, clients := range b.clients {
		for _, workload := range b.workloads {
			switch {
			case slices.Contains(apartWorkloads, workload):
			case len(partsOf(workload, round)) > 0:
				for _, part := range partsOf(workload, round) {
					keys = append(keys, cellKey{part, clients})
				}
			case workload != workFsync:
				keys = append(keys, cellKey{workload, clients})
			case clients == b.clients[0]:
				keys = append(keys, cellKey{workload, oneClient})
			}
		}
	}
	if b.has(workHandover) {
		for _, waiters := range handoverWaiters {
			keys = append(keys, cellKey{workHandover, waiters})
		}
	}
	if b.has(workWear) {
		for _, kind := range wearKinds {
			keys = append(keys, cellKey{workWear + "-" + kind, 0}, cellKey{workWear + "-" + kind, wornOperations})
		}
	}
	if b.has(workWide) {
		for _, kind := range wideKinds {
			keys = append(keys, cellKey{workWide + "-" + kind, wideWatchers})
		}
	}
	if b.has(workCrowd) {
		for _, what := range crowdWorkloads() {
			keys = append(keys, cellKey{what, crowdFew}, cellKey{what, crowdMany})
		}
	}
	return keys
}

// partsOf returns what a workload consists of in a round; nil: of itself. Every second round takes kinds of security the other way round, so
// that what one leaves to do, such as compactions, does not always fall to the same one.
func partsOf(workload string, round int) []string {
	switch workload {
	case workConsul:
		return consulWorkloads()
	case workSecure:
		parts := secureWorkloads()
		if round%2 == 1 {
			slices.Reverse(parts)
		}
		return parts
	default:
		return nil
	}
}

func (b *bench) measureCell(ctx context.Context, round int, key cellKey) (err error) {
	c, err := b.newCell(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	measured := b.cluster
	switch {
	case c.servers != nil:
		measured = c.servers
	case key.workload == workEcho:
		measured = []*server{b.echo}
	case key.workload == workFsync:
		measured = nil
	}
	s, err := b.measureProfiled(ctx, c, round, key, measured)
	if err != nil {
		return err
	}
	b.results.add(key, s)
	b.say("round %d  %-9s %4d clients  %10.0f ops/s  p50 %8v  p99 %8v\n", round+1, key.workload,
		key.clients, s.rate(), s.P50.Round(time.Microsecond), s.P99.Round(time.Microsecond))
	if s.Bytes > 0 {
		b.say("         %.0f bytes read an operation, %d MiB resident\n", float64(s.Bytes)/float64(s.Ops), s.RSSBytes>>20)
	}
	return nil
}

// measureProfiled measures a cell, and takes a profile of each member meanwhile if asked to.
func (b *bench) measureProfiled(
	ctx context.Context, c *cell, round int, key cellKey, measured []*server,
) (sample, error) {
	var processes []*process
	for _, s := range measured {
		processes = append(processes, s.process)
	}
	var profiles errgroup.Group
	if b.profileDir != "" && key.workload != workEcho {
		for i, m := range measured {
			role := "follower"
			if m == b.member {
				role = "leader"
			}
			name := fmt.Sprintf("%s-%d-round%d-%s%d", key.workload, key.clients, round+1, role, i+1)
			profiles.Go(func() error { return m.profileCPU(ctx, b.profileDir, name, b.warmup+b.duration) })
		}
	}
	s, err := measure(ctx, c, b.options, processes...)
	return s, errors.Join(err, profiles.Wait())
}

func (b *bench) newCell(ctx context.Context, key cellKey) (*cell, error) {
	if kind, ok := strings.CutPrefix(key.workload, workWear+"-"); ok {
		return b.newWearCell(ctx, kind, key.clients)
	}
	if kind, ok := strings.CutPrefix(key.workload, workWide+"-"); ok {
		return newWideCell(ctx, b.member, kind, b.options)
	}
	if strings.HasPrefix(key.workload, workCrowd+"-") {
		b.crowds++
		return newCrowdCell(ctx, b.member, key.workload, fmt.Sprintf("bench/crowd/%d", b.crowds), key.clients, b.options)
	}
	if kind, ok := strings.CutPrefix(key.workload, workSecure+"-"); ok {
		return b.newSecureCell(ctx, kind, key.clients)
	}
	if c, ok, err := newConsulCell(ctx, b.member, key, b.options); ok {
		return c, err
	}
	switch key.workload {
	case workFsync:
		return newFsyncCell(b.dir, b.valueBytes)
	case workEcho:
		return newEchoCell(b.echo, key.clients, b.options)
	case workPut:
		return newPutCell(b.member, key.clients, b.options)
	case workGet:
		return newGetCell(b.member, key.clients, b.options)
	case workLock:
		return newLockCell(ctx, b.member, key.clients, b.options)
	case workHandover:
		return newHandoverCell(ctx, b.member, key.clients, b.options)
	case workRenew:
		return newRenewCell(ctx, b.member, key.clients, b.options, b.sessions)
	default:
		return newWatchCell(ctx, b.member, key.clients, b.options)
	}
}
