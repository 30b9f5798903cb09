package share

import (
	"sync"
	"time"
)

// How old a count may be.
const (
	// tallyAgeMin is the least time between two counts, and tallyPart which part of the time counting may take.
	tallyAgeMin = time.Second
	tallyPart   = 20
	// tallyAgeMax is how long a count is good as long as hardly anything changed, and tallyChanges which part of the total
	// may have changed.
	tallyAgeMax  = 10 * time.Second
	tallyChanges = 100
)

// Tally shares what others keep, by the rule of a Pool: it counts what each caller has when somebody could have more than a
// share, and not before. Between two counts it adds what it allowed itself. Its methods may be called by any goroutine; they
// block while it counts.
type Tally struct {
	count func(add func(Caller)) error
	now   func() time.Time

	mu      sync.Mutex // guards what follows, and is held while it counts
	by      map[Caller]int64
	used    int64 // how much there was
	counted time.Time
	took    time.Duration
	refused int64
}

// NewTally returns a tally that counts with a function, which calls add once for each thing that is kept.
func NewTally(count func(add func(Caller)) error, now func() time.Time) *Tally {
	return &Tally{count: count, now: now}
}

// Allow reports whether a caller may have one more of total, of which so many are used. An error is that of the function that
// counts.
func (t *Tally) Allow(c Caller, total, used int64) (bool, error) {
	free := total - used
	if c.exempt || used+1 <= free {
		return true, nil // The second: also if all of them are this caller's.
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	age := t.now().Sub(t.counted)
	changed := max(used-t.used, t.used-used) > total/tallyChanges
	if t.by == nil || age > tallyAgeMax || changed && age > t.took*tallyPart {
		if err := t.again(used); err != nil {
			return false, err
		}
	}
	if t.by[c]+1 > free && t.now().Sub(t.counted) > max(tallyAgeMin, t.took*tallyPart) {
		// What ended since is not known, and nobody is refused for what they had long ago.
		if err := t.again(used); err != nil {
			return false, err
		}
	}
	if t.by[c]+1 > free {
		t.refused++
		return false, nil
	}
	t.by[c]++
	return true, nil
}

// again counts. The caller holds mu.
func (t *Tally) again(used int64) error {
	began := t.now()
	by := map[Caller]int64{}
	if err := t.count(func(c Caller) { by[c]++ }); err != nil {
		return err
	}
	t.by, t.used, t.counted = by, used, t.now()
	t.took = t.counted.Sub(began)
	return nil
}

// Refused returns how often the tally refused.
func (t *Tally) Refused() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}
