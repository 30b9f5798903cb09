package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// rounds are what a quiet client makes over and over.
type rounds struct {
	stop func() // ends them, and waits until they have ended

	mu   sync.Mutex // guards what follows
	n    int
	more chan struct{} // closed at the end of a round
	errs []error
}

func newRounds() *rounds { return &rounds{more: make(chan struct{})} }

// begin makes one round after the other until the test ends.
func (r *rounds) begin(t *testing.T, round func(ctx context.Context, n int) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(r.stop)
	go func() {
		defer close(ended)
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			err := round(ctx, n)
			if ctx.Err() != nil {
				return
			}
			r.end(n, err)
		}
	}()
}

// end notes the end of a round.
func (r *rounds) end(n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	if err != nil && len(r.errs) < 10 {
		r.errs = append(r.errs, fmt.Errorf("round %d: %w", n, err))
	}
	close(r.more)
	r.more = make(chan struct{})
}

// await waits for so many rounds that begin from now on.
func (r *rounds) await(t *testing.T, more int) {
	t.Helper()
	limit := time.After(patience)
	r.mu.Lock()
	want := r.n + 1 + more // The one under way had begun.
	r.mu.Unlock()
	for {
		r.mu.Lock()
		done, next := r.n >= want, r.more
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-next:
		case <-limit:
			t.Fatalf("the quiet client makes no rounds: %v", r.failed())
		}
	}
}

// failed returns what failed so far.
func (r *rounds) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}
