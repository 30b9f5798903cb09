package expiry

import (
	"math"
	"testing"
	"time"
)

func TestAWheelTakesAnyTime(t *testing.T) {
	for _, start := range []time.Duration{math.MinInt64 + time.Minute, -bucketCount * bucketWidth, -2 * time.Second, -1, 0, 1, time.Hour} {
		w := newWheel[int](start)
		w.file(start+3*time.Second, 1)
		w.file(math.MinInt64, 2)
		w.file(start-time.Second, 3)
		w.file(math.MaxInt64-bucketWidth, 4)
		var looked []int
		w.due(start+4*time.Second, func(n int) { looked = append(looked, n) })
		if len(looked) != 3 || looked[2] != 1 {
			t.Errorf("a wheel that starts at %v: looked at %v, want 2, 3 and then 1", start, looked)
		}
	}
}
