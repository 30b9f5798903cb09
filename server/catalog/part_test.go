package catalog

import (
	"context"
	"errors"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// TestAListEndsWithItsCall visits spans with nothing in them, of which a caller may have many, in a call that has ended.
func TestAListEndsWithItsCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, visited := &list{over: ctx.Err}, 0
	err := l.each([]authz.Span{{Text: "a"}, {Text: "b"}, {Text: "c"}}, "", func(authz.Span) error {
		visited++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || visited != 1 {
		t.Errorf("got %v after %d spans, want that it ends after the first", err, visited)
	}
}

// newOf returns a new value of a type that this package does not know.
func newOf[T any](*T) *T { return new(T) }

// TestAPageWithoutTokenFails ends a page whose token cannot be sealed, at what is seen and at what is not.
func TestAPageWithoutTokenFails(t *testing.T) {
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	_, newest := storage.ClusterVersions()
	if err = store.Bootstrap(storage.Genesis{ClusterVersion: newest}); err != nil {
		t.Fatal(err)
	}
	reader := store.NewReader()
	t.Cleanup(func() { _ = reader.Close() })
	at, err := reader.Applied()
	if err != nil {
		t.Fatal(err)
	}
	for _, seen := range []bool{true, false} {
		s := &call.Snapshot{Reader: reader, At: at}
		s.Sight = newOf(s.Sight)
		l := &list{Snapshot: s, items: 1, itemsMax: 1, looked: call.ScannedItemsMax}
		if l.pages, _, err = l.Pages(call.PageQuery{List: "nodes"}, &tenurev1.ListNodesRequest{VisibleOnly: true}); err != nil {
			t.Fatal(err)
		}
		if !l.ends("last", seen) || !l.ended {
			t.Fatal("the page goes on")
		}
		next, err := l.end(nil)
		if e := reason.Of(err); next != "" || e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_AUTH_NOT_BOOTSTRAPPED {
			t.Errorf("got %q, %v; want that the list fails", next, err)
		}
	}
}
