package main

import (
	"sync"
	"time"
)

// clock tells the time since some moment in the past. It never goes back, and it runs on while the machine sleeps: a lease
// that ran out meanwhile has run out.
type clock func() time.Duration

// portableClock is for systems that have no clock of that kind: it takes the larger advance of the monotonic and of the
// wall clock.
func portableClock() clock {
	start := time.Now()
	var mu sync.Mutex // Guards latest.
	var latest time.Duration
	return func() time.Duration {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		latest = max(latest, now.Sub(start), now.Round(0).Sub(start.Round(0)))
		return latest
	}
}
