// Package backoff holds pauses between attempts: growing, bounded, with full jitter.
package backoff

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// The bound of the first pause, and of the longest.
const (
	Min = 20 * time.Millisecond
	Max = 2 * time.Second
)

// Backoff is a series of pauses. The zero value begins with the shortest.
type Backoff struct {
	// Longest is the bound of the longest pause; zero is Max.
	Longest time.Duration
	attempt int
}

// Next returns the next pause, uniform between nothing and a bound that doubles each time.
func (b *Backoff) Next() time.Duration {
	bound := min(cmp.Or(b.Longest, Max), Min<<min(b.attempt, 20))
	b.attempt++
	return 1 + rand.N(bound) //nolint:gosec // Spreads load; nothing secret hangs on it.
}

// Reset begins with short pauses again.
func (b *Backoff) Reset() { b.attempt = 0 }

// Wait waits for the next pause, and tells whether it ended before ctx did.
func (b *Backoff) Wait(ctx context.Context) bool { return Pause(ctx, b.Next()) }

// Pause waits, and tells whether the time passed before ctx ended.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
