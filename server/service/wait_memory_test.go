package service

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// queuedNode answers each proposal with the same place in a queue.
type queuedNode struct{ currentNode }

func (*queuedNode) Propose(context.Context, *storev1.Command) (*storev1.Result, error) {
	return &storev1.Result{Kind: &storev1.Result_AcquireLock{AcquireLock: &storev1.AcquireLockResult{
		Outcome: &storev1.AcquireLockResult_Place{Place: &storev1.PlaceState{Place: 1}},
	}}}, nil
}

// silentStream is a stream whose client is told that it waits, and no more.
type silentStream[T any] struct {
	grpc.ServerStream
	ctx  context.Context
	told chan struct{}
}

func (s silentStream[T]) Context() context.Context     { return s.ctx }
func (s silentStream[T]) SetHeader(metadata.MD) error  { return nil }
func (s silentStream[T]) SendHeader(metadata.MD) error { return nil }
func (s silentStream[T]) SetTrailer(metadata.MD)       {}
func (s silentStream[T]) Send(*T) error {
	select {
	case s.told <- struct{}{}:
	default:
	}
	return nil
}

// TestCallsThatWaitKeepNothingOfTheirRequest has calls wait in a queue that bring a value, and looks whether that is still in memory.
func TestCallsThatWaitKeepNothingOfTheirRequest(t *testing.T) {
	const valueBytes = 512 << 10
	holder, waiter := storage.SessionID{1}, storage.SessionID{2}
	create := func(id storage.SessionID) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: id[:], Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}}
	}
	acquire := func(id storage.SessionID) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
			Key: "k", Session: &storev1.SessionRef{SessionId: id[:]}, Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE, Queue: true,
		}}}
	}
	node := &queuedNode{currentNode{provingNode{store: stores.With(t, create(holder), create(waiter), acquire(holder), acquire(waiter))}}}
	hub, err := watch.New(watch.Options{History: watch.FromStore(node.Store)})
	if err != nil {
		t.Fatal(err)
	}
	timers, err := expiry.New(expiry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	caller := &call.Caller{Node: node, Log: zap.NewNop(), Stopping: t.Context(), Timers: timers, Arrivals: &leader.Arrivals{}}
	caller.Relay, err = leader.New(leader.Options{
		Node: node, Arrivals: caller.Arrivals, Stopping: t.Context(), Election: time.Second, Logger: zap.NewNop(), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	a := New(Options{Caller: caller, Hub: hub})
	session, wait := waiter.String(), durationpb.New(time.Minute)
	for name, begin := range map[string]func(ctx context.Context, value []byte) error{
		"AcquireLock": func(ctx context.Context, value []byte) error {
			return a.Locks.AcquireLock(&tenurev1.AcquireLockRequest{Key: "k", SessionId: session, Value: value},
				silentStream[tenurev1.AcquireLockResponse]{ctx: ctx})
		},
		"Campaign": func(ctx context.Context, value []byte) error {
			return a.Elections.Campaign(&tenurev1.CampaignRequest{
				Key: "k", SessionId: session, Content: &tenurev1.CampaignRequest_Value{Value: value},
			}, silentStream[tenurev1.CampaignResponse]{ctx: ctx})
		},
		"TryAcquireLock": func(ctx context.Context, value []byte) error {
			_, err := a.Locks.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: session, Value: value, Wait: wait})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ended, kept := make(chan error, 1), make(chan weak.Pointer[[valueBytes]byte], 1)
			go func() {
				value := new([valueBytes]byte)
				kept <- weak.Make(value)
				ended <- begin(ctx, value[:])
			}()
			pointer := <-kept
			late := time.After(patienceOfTests)
			for pointer.Value() != nil {
				select {
				case err := <-ended:
					t.Fatalf("the call ended: %v", err)
				case <-late:
					t.Fatalf("the call waits, and keeps the %d bytes of its value", valueBytes)
				default:
					runtime.GC()
				}
			}
			cancel()
			if err := <-ended; err == nil {
				t.Error("the call did not wait")
			}
		})
	}
}
