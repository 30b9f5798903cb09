package sim

import (
	"runtime"
	"sync"
)

// Many runs so many seeds from the first on, on all processors, and calls each with every result, one at a time, in any
// order. It ends early when each returns false.
func Many(first uint64, seeds int, each func(*Result) bool) {
	var (
		mu   sync.Mutex // guards what follows
		next = first
		stop bool
		runs sync.WaitGroup
	)
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		seed := next
		next++
		return seed, !stop && seed-first < uint64(seeds)
	}
	for range runtime.GOMAXPROCS(0) {
		runs.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				r := Run(Expand(seed), nil)
				mu.Lock()
				stop = !each(r) || stop
				mu.Unlock()
			}
		})
	}
	runs.Wait()
}
