package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	settlePause   = time.Second // between two looks at a member's memory
	settleSamples = 5           // that many in a row must agree
	settlePercent = 1           // how far they may differ
	settleWait    = time.Minute // after which memory counts as it is
)

// memoryResult is what one kind of idle thing costs a member in memory.
type memoryResult struct {
	Workload      string
	Count         int
	BeforeBytes   int64 // resident memory before
	AfterBytes    int64 // resident memory with all of them
	BytesEach     float64
	CreatePerSec  float64 // how fast they were made
	ServerCPUEach time.Duration
}

// measureSessions tells what live sessions add to the memory of a member that has been in use: as many sessions were
// opened and destroyed before, so that caches, histories and memtables are as full as they get.
func measureSessions(ctx context.Context, member *server, o options) (memoryResult, error) {
	conns, err := dialAll(member.addresses.GRPC, o.conns)
	if err != nil {
		return memoryResult{}, err
	}
	ids, err := createSessions(ctx, conns, o.sessions)
	if err == nil {
		err = destroySessions(ctx, conns, ids)
	}
	if err != nil {
		return memoryResult{}, err
	}
	result, err := measureMemory(ctx, member, o.sessions, func() error {
		_, createErr := createSessions(ctx, conns, o.sessions)
		return createErr
	})
	result.Workload = workSessions
	return result, errors.Join(err, conns.close())
}

// watchersPerConnection is how many watchers share a connection while their memory is measured.
const watchersPerConnection = 100

// measureWatchers tells what idle watchers add to the memory of a member, with their share of the connections.
func measureWatchers(ctx context.Context, member *server, o options) (memoryResult, error) {
	conns, err := dialAll(member.addresses.GRPC, (o.watchers+watchersPerConnection-1)/watchersPerConnection)
	if err != nil {
		return memoryResult{}, err
	}
	watchCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	result, err := measureMemory(ctx, member, o.watchers, func() error {
		return inParallel(ctx, o.watchers, func(_ context.Context, i int) error {
			_, openErr := openWatch(watchCtx, conns.of(i), fmt.Sprintf("bench/idle/%d", i))
			return openErr
		})
	})
	result.Workload = workWatchers
	return result, errors.Join(err, conns.close())
}

// measureMemory compares the settled memory of a member before and after making count things.
func measureMemory(ctx context.Context, member *server, count int, create func() error) (memoryResult, error) {
	result := memoryResult{Count: count}
	var err error
	if result.BeforeBytes, err = member.settledRSS(ctx); err != nil {
		return result, err
	}
	cpu, err := member.cpu()
	if err != nil {
		return result, err
	}
	begin := time.Now()
	if err = create(); err != nil {
		return result, err
	}
	result.CreatePerSec = float64(count) / time.Since(begin).Seconds()
	used, err := member.cpu()
	if err != nil {
		return result, err
	}
	result.ServerCPUEach = (used - cpu) / time.Duration(count)
	if result.AfterBytes, err = member.settledRSS(ctx); err != nil {
		return result, err
	}
	result.BytesEach = float64(result.AfterBytes-result.BeforeBytes) / float64(count)
	return result, nil
}

// settledRSS returns the resident memory once it stays as it is. The member collects its garbage before each look; what
// it then keeps for growth counts.
func (s *server) settledRSS(ctx context.Context) (int64, error) {
	var recent []int64
	for begin := time.Now(); ; {
		if err := s.collectGarbage(ctx); err != nil {
			return 0, err
		}
		rss, err := s.rssBytes()
		if err != nil {
			return 0, err
		}
		recent = append(recent, rss)
		if len(recent) >= settleSamples && agree(recent[len(recent)-settleSamples:]) || time.Since(begin) > settleWait {
			return rss, nil
		}
		if err = pause(ctx, settlePause); err != nil {
			return 0, err
		}
	}
}

// agree tells whether samples differ by at most settlePercent.
func agree(samples []int64) bool {
	low, high := samples[0], samples[0]
	for _, s := range samples {
		low, high = min(low, s), max(high, s)
	}
	return (high-low)*100 <= high*settlePercent
}
