package clock

import (
	"sync"
	"time"
)

// Clock returns the time since some moment in the past.
type Clock func() time.Duration

// Portable returns a clock for systems without one that runs through sleep: it takes the larger advance of the monotonic
// and of the wall clock. Under testing/synctest it shows the fake time.
func Portable() Clock {
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
