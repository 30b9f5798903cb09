package antientropy

import (
	"math/rand/v2"
	"time"

	"github.com/tenure-io/tenure/agent/registry"
)

const (
	// gather is how long changes that no session depends on wait for others.
	gather = 100 * time.Millisecond
	// outputEvery is how often an output is written that alone is another.
	outputEvery = time.Minute
	// After a failure the next try comes within a time that doubles from retryMin to retryMax.
	retryMin = time.Second
	retryMax = 30 * time.Second
)

// schedule says when there is a round.
type schedule struct {
	// full is when all is compared, and outputs from when on outputs that alone are others are written.
	full    time.Time
	outputs time.Time
	// changed is since when something waits; zero: nothing does.
	changed time.Time
	// attempts counts failures in a row. After one, retry is when there is the next try, which compares all.
	attempts int
	retry    time.Time
}

// begin has a round at once.
func (p *schedule) begin(now time.Time) { p.full, p.outputs = now, now }

// due returns when there is the next round.
func (p *schedule) due(pending registry.Change, now time.Time) time.Time {
	if p.attempts > 0 {
		return p.retry
	}
	if (pending.Rows || pending.Status) && p.changed.IsZero() {
		p.changed = now
	}
	at := p.full
	switch {
	case pending.Status:
		at = earlier(at, p.changed)
	case pending.Rows:
		at = earlier(at, p.changed.Add(gather))
	}
	if pending.Output {
		at = earlier(at, p.outputs)
	}
	return at
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// next begins a round. It returns whether all is compared, and whether outputs that alone are others are written.
func (p *schedule) next(now time.Time) (full, outputs bool) {
	p.changed = time.Time{}
	full = p.attempts > 0 || !now.Before(p.full)
	return full, !now.Before(p.outputs)
}

// failed notes that a round failed. The next try waits for any part of a time that doubles, so that many agents do not
// come back together.
func (p *schedule) failed(now time.Time) {
	limit := retryMax
	if p.attempts < 5 {
		limit = min(retryMin<<p.attempts, retryMax)
	}
	p.attempts++
	p.retry = now.Add(rand.N(limit)) //nolint:gosec // Nobody guesses it.
}

// succeeded notes that a round succeeded; after is when all is compared again.
func (p *schedule) succeeded(now time.Time, full, outputs bool, after time.Duration) {
	p.attempts = 0
	if full {
		p.full = now.Add(after)
	}
	if outputs {
		p.outputs = now.Add(outputEvery)
	}
}
