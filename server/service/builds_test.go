package service

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// currentNode is a node whose state is always current.
type currentNode struct{ provingNode }

func (*currentNode) ReadIndex(context.Context) error { return nil }

// TestLargeAnswersWaitForTheirTurn asks for pages while as many are made as may be, and gives up: what would not wait for its turn
// would be answered.
func TestLargeAnswersWaitForTheirTurn(t *testing.T) {
	session := storage.SessionID{1}
	ref := &storev1.SessionRef{SessionId: session[:]}
	store := stores.With(t,
		&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: session[:], Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}},
		&storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
			Key: "k", Session: ref, Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE,
		}}})
	timers, err := expiry.New(expiry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := New(Options{Caller: &call.Caller{
		Node: &currentNode{provingNode{store: store}}, Log: zap.NewNop(), Stopping: t.Context(), Timers: timers,
	}})
	builds := unread.NewBuilds()
	for name, ask := range map[string]func(ctx context.Context) error{
		"a list of keys": func(ctx context.Context) error {
			_, err := a.KV.List(ctx, &tenurev1.ListRequest{})
			return err
		},
		"a transaction that reads": func(ctx context.Context) error {
			_, err := a.KV.Txn(ctx, &tenurev1.TxnRequest{Then: []*tenurev1.Op{
				{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: "k"}}},
			}})
			return err
		},
		"a session": func(ctx context.Context) error {
			_, err := a.Sessions.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: session.String()})
			return err
		},
		"a list of sessions": func(ctx context.Context) error {
			_, err := a.Sessions.ListSessions(ctx, &tenurev1.ListSessionsRequest{})
			return err
		},
		"what a session has that attaches": func(ctx context.Context) error {
			_, err := a.Sessions.AttachSession(ctx, &tenurev1.AttachSessionRequest{SessionId: session.String()})
			return err
		},
		"a leader": func(ctx context.Context) error {
			_, err := a.Elections.GetLeader(ctx, &tenurev1.GetLeaderRequest{Key: "k"})
			return err
		},
		"a lock": func(ctx context.Context) error {
			_, err := a.Locks.GetLock(ctx, &tenurev1.GetLockRequest{Key: "k"})
			return err
		},
		"a list of locks": func(ctx context.Context) error {
			_, err := a.Locks.ListLocks(ctx, &tenurev1.ListLocksRequest{})
			return err
		},
		"a list of a session's locks": func(ctx context.Context) error {
			_, err := a.Locks.ListLocks(ctx, &tenurev1.ListLocksRequest{SessionId: session.String()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := builds.Context(t.Context())
			if err := ask(ctx); err != nil {
				t.Fatalf("with room: %v", err)
			}
			end()
			var ends []func()
			for range cap(builds) {
				other, done := builds.Context(t.Context())
				if err := unread.Begin(other); err != nil {
					t.Fatal(err)
				}
				ends = append(ends, done)
			}
			late, cancel := context.WithCancel(t.Context())
			cancel()
			ctx, end = builds.Context(late)
			if err := ask(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("without room: got %v, want that it waited until the call ended", err)
			}
			end()
			for _, end := range ends {
				end()
			}
		})
	}
}
