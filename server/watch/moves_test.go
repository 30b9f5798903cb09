package watch_test

import (
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// Places move when one before them is granted or left, and when a snapshot was installed, whatever it has; a put moves none.
func TestMovesAreCounted(t *testing.T) {
	h, err := watch.New(watch.Options{History: func(watch.Position, func(*storev1.Event) bool) (uint64, error) { return 0, nil }})
	if err != nil {
		t.Fatal(err)
	}
	revision := uint64(0)
	publish := func(e *storev1.Event, passed uint64) {
		revision += 1 + passed
		e.Revision = revision
		h.Publish(storage.Outcome{Events: []*storev1.Event{e}, Applied: storage.Applied{Revision: revision}})
	}
	put := &storev1.Event{Kind: &storev1.Event_KeyPut{KeyPut: &storev1.KeyPut{Key: "lock"}}}
	publish(put, 0)
	for _, step := range []struct {
		name   string
		event  *storev1.Event
		passed uint64 // revisions that were never published
		moves  bool
	}{
		{name: "a put", event: put},
		{name: "a grant", event: &storev1.Event{Kind: &storev1.Event_LockGranted{LockGranted: &storev1.LockGranted{Key: "lock"}}}, moves: true},
		{name: "a place that joins", event: &storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{Key: "lock"}}}},
		{name: "a place that is left", event: &storev1.Event{Kind: &storev1.Event_LockLeft{LockLeft: &storev1.LockLeft{Key: "lock"}}}, moves: true},
		{name: "a snapshot", event: put, passed: 10, moves: true},
	} {
		before := h.Moves("lock")
		publish(step.event, step.passed)
		if got := h.Moves("lock") != before; got != step.moves {
			t.Errorf("%s counts as a move: %t, want %t", step.name, got, step.moves)
		}
	}
}
