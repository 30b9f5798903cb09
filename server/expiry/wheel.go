package expiry

import "time"

const (
	// bucketWidth is how finely the wheel tells times apart.
	bucketWidth = 50 * time.Millisecond
	// bucketCount buckets make one turn of 205 s; what is due later is filed again on the way. It is a power of two.
	bucketCount = 4096
	// bucketKept is the largest capacity that a bucket keeps from one turn to the next.
	bucketKept = 256
)

// wheel files items under the time at which somebody should look at them. It belongs to one goroutine.
type wheel[T any] struct {
	buckets [][]T
	next    int64 // number of the first bucket that was not looked at
}

// newWheel returns an empty wheel that starts at now.
func newWheel[T any](now time.Duration) *wheel[T] {
	return &wheel[T]{buckets: make([][]T, bucketCount), next: int64(now / bucketWidth)}
}

// file puts an item where it is looked at as soon as possible after at, or on the way there.
func (w *wheel[T]) file(at time.Duration, item T) {
	n := int64((at + bucketWidth - 1) / bucketWidth)
	n = min(max(n, w.next), w.next+bucketCount-1)
	slot := w.bucket(n)
	*slot = append(*slot, item)
}

// bucket returns the bucket of a number, which may be negative: a clock may start anywhere.
func (w *wheel[T]) bucket(n int64) *[]T { return &w.buckets[n&(bucketCount-1)] }

// due calls look for the items of all buckets whose time has come. look may file items again.
func (w *wheel[T]) due(now time.Duration, look func(T)) {
	for ; time.Duration(w.next)*bucketWidth <= now; w.next++ {
		slot := w.bucket(w.next)
		items := *slot
		if len(items) == 0 {
			continue
		}
		// What look files under this time goes into the next bucket.
		*slot = nil
		w.next++
		for _, item := range items {
			look(item)
		}
		w.next--
		if cap(items) <= bucketKept && len(*slot) == 0 {
			clear(items)
			*slot = items[:0]
		}
	}
}
