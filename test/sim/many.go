package sim

import (
	"runtime"
	"sync"
	"time"
)

// Many runs so many seeds from the first on, on all processors, and calls each with every result, one at a time, in any
// order. It ends early when each returns false.
func Many(first uint64, seeds int, each func(*Result) bool) { Hunt(first, seeds, 0, each) }

// Hunt is Many for a bug that most seeds show at once: it bounds how long the answers about one key are checked. A seed that runs beside the one
// that tells may have a history without an order, which takes long to find out.
func Hunt(first uint64, seeds int, searchMax time.Duration, each func(*Result) bool) {
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
				plan := Expand(seed)
				plan.SearchMax = searchMax
				r := Run(plan, nil)
				mu.Lock()
				stop = !each(r) || stop
				mu.Unlock()
			}
		})
	}
	runs.Wait()
}
