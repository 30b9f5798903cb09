package health

import (
	"testing"
	"time"
)

func TestTheTimeOfAMajority(t *testing.T) {
	at := time.UnixMilli(1_000_000)
	year := 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		clocks []time.Time
		voters int
		want   time.Time
		known  bool
	}{
		"one voter is a majority":        {[]time.Time{at}, 1, at, true},
		"a clock a year ahead is alone":  {[]time.Time{at.Add(year), at, at.Add(time.Second)}, 3, at.Add(time.Second), true},
		"a clock a year behind, too":     {[]time.Time{at.Add(-year), at, at.Add(time.Second)}, 3, at, true},
		"two of three, one a year ahead": {[]time.Time{at.Add(year), at}, 3, at, true},
		"one of two is no majority":      {[]time.Time{at}, 2, time.Time{}, false},
		"two of four are no majority":    {[]time.Time{at, at}, 4, time.Time{}, false},
	} {
		if got, known := reachedByMajority(c.clocks, c.voters); !got.Equal(c.want) || known != c.known {
			t.Errorf("%s: got %v, %v, want %v, %v", name, got, known, c.want, c.known)
		}
	}
}
