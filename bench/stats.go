package main

import (
	"math"
	"slices"
	"time"
)

// percentile returns the nearest-rank percentile p (0 to 100) of sorted latencies, or 0 without any.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(p / 100 * float64(len(sorted)))
	return sorted[min(rank, len(sorted)-1)]
}

// median returns the middle of the values, the mean of the two middle ones of an even number, or 0 without any.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// medianWithin returns between which two of the values the median of their distribution lies, with 95 % confidence and whatever that
// distribution is: the order statistics of the sign test. With fewer than 6 values it returns 0 and 0.
func medianWithin(values []float64) (low, high float64) {
	if len(values) < 6 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(values))
	// Each value is below the median as a coin falls. rank is the largest with which it is seen at most 2.5 times in 100 that no more are below.
	n, rank := float64(len(sorted)), 0
	logFactorial := func(k float64) float64 { l, _ := math.Lgamma(k + 1); return l }
	for k, below := 0.0, 0.0; ; k++ {
		below += math.Exp(logFactorial(n) - logFactorial(k) - logFactorial(n-k) - n*math.Ln2)
		if below > 0.025 {
			break
		}
		rank = int(k)
	}
	return sorted[rank], sorted[len(sorted)-1-rank]
}
