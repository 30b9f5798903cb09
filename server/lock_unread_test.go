package server

import (
	"testing"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// TestTheEndOfAWaitIsToldWithoutSnapshot ends a wait whose history is forgotten. While the last message is sent, which may
// take a client for ever to read, no snapshot of the store is open: the store can be closed, which waits for them.
func TestTheEndOfAWaitIsToldWithoutSnapshot(t *testing.T) {
	put := func(key string) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: key}}}
	}
	store := storeWith(t, put("a"), put("b"), put("c"),
		&storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: 2}}})
	node := &provingNode{store: store}
	hub, err := watch.New(watch.Options{History: watch.FromStore(node.Store)})
	if err != nil {
		t.Fatal(err)
	}
	a := &api{node: node, hub: hub, log: zap.NewNop(), stopping: t.Context()}
	session := storage.SessionID{1}
	var last *tenurev1.AcquireLockResponse
	err = a.await(t.Context(), &waiting{
		acquire: &storev1.AcquireLock{Key: "k", Session: &storev1.SessionRef{SessionId: session[:]}},
		place:   1, after: watch.Position{Revision: 1, Index: watch.Whole},
	}, func(step *tenurev1.AcquireLockResponse) error {
		last = step
		closed := make(chan error, 1)
		go func() { closed <- store.Close() }()
		select {
		case err := <-closed:
			return err
		case <-time.After(patienceOfTests / 6):
			t.Error("a snapshot is open")
			return nil
		}
	})
	if err != nil || last.GetRejected() == nil {
		t.Errorf("got %v, %v; want that the place is gone", last, err)
	}
}
