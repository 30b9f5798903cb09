package server_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/zap"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// cutOff is a member that can lose the others.
type cutOff struct {
	leader.Node

	store *storage.Store
	lost  error
}

func (c *cutOff) Store() *storage.Store           { return c.store }
func (c *cutOff) ReadIndex(context.Context) error { return c.lost }

// TestWhoSomebodyIsIsSaidByTheCluster asks a member that the others cannot reach who a caller is, and what it may do: others would decide by that.
func TestWhoSomebodyIsIsSaidByTheCluster(t *testing.T) {
	node := &cutOff{store: stores.With(t)}
	service := auth.New(auth.Options{Caller: &call.Caller{Node: node, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Log: zap.NewNop()}})
	noLeader := errors.New("no leader")
	for _, want := range []error{nil, noLeader} {
		node.lost = want
		if _, err := service.WhoAmI(t.Context(), &tenurev1.WhoAmIRequest{}); !errors.Is(err, want) {
			t.Errorf("who it is: got %v, want %v", err, want)
		}
		if _, err := service.CheckAccess(t.Context(), &tenurev1.CheckAccessRequest{Rule: `key "a" read`}); !errors.Is(err, want) {
			t.Errorf("what it may do: got %v, want %v", err, want)
		}
	}
}
