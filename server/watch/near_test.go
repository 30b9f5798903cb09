package watch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tenure-io/tenure/server/watch"
)

// TestAWatchThatStaysNearDoesNotWalkHistory skips much of history, as an installed snapshot does.
func TestAWatchThatStaysNearDoesNotWalkHistory(t *testing.T) {
	for name, tc := range map[string]struct {
		missed int
		far    bool
	}{
		"a little is read":  {missed: 10},
		"much is looked up": {missed: 10_000, far: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed(t, watch.Options{RingEventsMax: 4})
			for range tc.missed {
				f.commit(put("b", ""))
			}
			f.commit(put("a", ""))
			got := make(chan watch.Batch, 1)
			done := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				done <- f.hub.Watch(ctx, watch.Request{
					Selectors: watch.Selectors{Keys: []string{"a"}}.Normal(), After: watch.Position{Index: watch.Whole}, Near: true,
				}, func(b watch.Batch) error { got <- b; return nil })
			}()
			select {
			case b := <-got:
				if tc.far || len(b.Events) != 1 {
					t.Errorf("got %v", b)
				}
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want %v", err, context.Canceled)
				}
			case err := <-done:
				if !tc.far || !errors.Is(err, watch.ErrFar) {
					t.Errorf("got %v, want that the watch ends: %v", err, tc.far)
				}
			case <-time.After(patience):
				t.Fatal("nothing came")
			}
		})
	}
}
