package tenure

import (
	"context"
	"sync"
)

// windowMax is how far the newest request of a session may be ahead of the oldest that is under way; more wait. The cluster
// remembers the results of 1 024 from the oldest on, also of those that were answered since.
const windowMax = 512

// window numbers the requests of a session, and knows which are done.
type window struct {
	mu    sync.Mutex // Guards what follows.
	next  uint64
	low   uint64 // All below are done.
	open  map[uint64]struct{}
	moved chan struct{} // Closed and replaced when low rises.
}

func newWindow() *window {
	return &window{next: 1, low: 1, open: map[uint64]struct{}{}, moved: make(chan struct{})}
}

// begin returns the number of a new request, as soon as there is room for it.
func (w *window) begin(ctx context.Context) (uint64, error) {
	for {
		w.mu.Lock()
		if w.next-w.low < windowMax {
			defer w.mu.Unlock()
			return w.draw(), nil
		}
		moved := w.moved
		w.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return 0, interrupted(ctx, false, nil)
		}
	}
}

// draw returns the next number. Call it under mu.
func (w *window) draw() uint64 {
	sequence := w.next
	w.next++
	w.open[sequence] = struct{}{}
	return sequence
}

// end notes that a request is done: it will never be sent again. Ending it again does nothing.
func (w *window) end(sequence uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close(sequence)
}

// close is end under mu.
func (w *window) close(sequence uint64) {
	delete(w.open, sequence)
	before := w.low
	for w.low < w.next {
		if _, open := w.open[w.low]; open {
			break
		}
		w.low++
	}
	if w.low > before {
		close(w.moved)
		w.moved = make(chan struct{})
	}
}

// renumber gives a request of which nothing was done another number, so that it is not what keeps the window full.
func (w *window) renumber(sequence uint64) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close(sequence)
	return w.draw()
}

// mark returns the number below which all are done, and a channel that is closed when that changes.
func (w *window) mark() (doneBelow uint64, moved <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.low, w.moved
}
