package service

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// deafClient is a client that reads nothing.
type deafClient struct {
	grpc.ServerStreamingServer[tenurev1.WatchResponse]
	ctx context.Context
}

func (c deafClient) Context() context.Context { return c.ctx }

func (c deafClient) Send(*tenurev1.WatchResponse) error {
	<-c.ctx.Done()
	return c.ctx.Err()
}

// TestAWatchWhoseFirstMessageIsNotReadHoldsNoSnapshot begins a watch with the present state, which is read from a snapshot.
func TestAWatchWhoseFirstMessageIsNotReadHoldsNoSnapshot(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	node := &provingNode{store: stores.With(t), answers: make(chan error, 1)}
	node.answers <- nil
	a := New(Options{Caller: &call.Caller{Node: node, Log: zap.NewNop(), Stopping: t.Context(), UnreadMax: 50 * time.Millisecond}})
	ended := make(chan error, 1)
	go func() {
		ended <- a.Watches.Watch(&tenurev1.WatchRequest{Prefixes: []string{""}, Initial: true}, deafClient{ctx: ctx})
	}()
	select {
	case err := <-ended:
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED {
			t.Errorf("got %v, want that the call gives up", err)
		}
	case <-time.After(patienceOfTests):
		t.Error("the call goes on, and holds its snapshot")
		end()
		t.Log(<-ended)
	}
}

// TestTheEndOfAWaitIsToldWithoutSnapshot ends a wait whose history is forgotten. While the last message is sent, which may
// take a client for ever to read, no snapshot of the store is open: the store can be closed, which waits for them.
func TestTheEndOfAWaitIsToldWithoutSnapshot(t *testing.T) {
	put := func(key string) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: key}}}
	}
	store := stores.With(t, put("a"), put("b"), put("c"),
		&storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: 2}}})
	node := &provingNode{store: store}
	hub, err := watch.New(watch.Options{History: watch.FromStore(node.Store)})
	if err != nil {
		t.Fatal(err)
	}
	a := New(Options{Caller: &call.Caller{Node: node, Log: zap.NewNop(), Stopping: t.Context()}, Hub: hub})
	session := storage.SessionID{1}
	var last *tenurev1.AcquireLockResponse
	err = a.Locks.await(t.Context(), &waiting{
		acquire: &storev1.AcquireLock{Key: "k", Session: &storev1.SessionRef{SessionId: session[:]}},
		place:   1, after: watch.Position{Revision: 1, Index: watch.Whole},
	}, func(step *tenurev1.AcquireLockResponse) error {
		last = step
		closed := make(chan error, 1)
		go func() { closed <- store.Close() }()
		select {
		case failed := <-closed:
			return failed
		case <-time.After(patienceOfTests):
			t.Error("a snapshot is open")
			return nil
		}
	})
	if err != nil || last.GetRejected() == nil {
		t.Errorf("got %v, %v; want that the place is gone", last, err)
	}
}
