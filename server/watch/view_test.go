package watch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
)

// TestAWatchComesOnThroughWhatItsViewLeavesOut reads through history and what comes live, of which little is shown: that little comes once and whole, and
// progress goes on.
func TestAWatchComesOnThroughWhatItsViewLeavesOut(t *testing.T) {
	f := newFeed(t, watch.Options{RingEventsMax: 4})
	for range 3000 {
		f.commit(put("hidden", ""))
	}
	f.commit(put("shown", ""))
	view := func(b watch.Batch) (watch.Batch, error) {
		var shown []*storev1.Event
		for _, e := range b.Events {
			if key, _ := watch.KeyOf(e); strings.HasPrefix(key, "shown") {
				shown = append(shown, e)
			}
		}
		return watch.Batch{Events: shown, Through: b.Through}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, done := make(chan watch.Batch), make(chan error, 1)
	go func() {
		done <- f.hub.Watch(ctx, watch.Request{
			Selectors: watch.Selectors{}.Normal(), After: watch.Position{Index: watch.Whole}, Progress: time.Millisecond, View: view,
		}, func(b watch.Batch) error {
			select {
			case got <- b:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	next := func(revision uint64) {
		t.Helper()
		for events := 0; ; {
			b := receive(t, got)
			events += len(b.Events)
			if len(b.Events) > 0 && b.Shared != nil {
				t.Error("what is left of a batch is shared")
			}
			if len(b.Events) == 0 && !b.Behind && b.Through >= revision {
				if events != 1 {
					t.Errorf("got %d events up to revision %d, want 1", events, revision)
				}
				return
			}
		}
	}
	next(f.at())
	f.commit(put("hidden", ""))
	f.commit(put("shown too", ""))
	f.commit(put("hidden", ""))
	next(f.at())
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
