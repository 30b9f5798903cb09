package watch_test

import (
	"context"
	"slices"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

func putAt(revision uint64) *storev1.Event {
	return &storev1.Event{Revision: revision, Count: 1, Kind: &storev1.Event_KeyPut{KeyPut: &storev1.KeyPut{Key: "k"}}}
}

// A member starts behind the others; somebody watches there and has seen all that its store shows. Then a snapshot takes
// the store forward, and only after it something is published.
func TestASnapshotBeforeTheFirstEventIsNotMissed(t *testing.T) {
	newest := uint64(5)
	h, err := watch.New(watch.Options{History: func(after watch.Position, visit func(*storev1.Event) bool) (uint64, error) {
		for revision := after.Revision + 1; revision <= newest; revision++ {
			if !visit(putAt(revision)) {
				break
			}
		}
		return newest, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.Cursor(watch.Request{Selectors: watch.Selectors{}.Normal(), After: watch.Position{Index: watch.Whole}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []uint64
	drain := func() {
		for more := true; more; {
			var b watch.Batch
			if b, more, err = c.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
			for _, e := range b.Events {
				got = append(got, e.GetRevision())
			}
		}
	}
	drain()
	newest = 8
	h.Publish(storage.Outcome{Events: []*storev1.Event{putAt(9)}, Applied: storage.Applied{Revision: 9}})
	newest = 9
	h.Step()
	drain()
	if want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
