package service

import (
	"testing"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// TestSessionsAreListedByPrincipalFromClusterVersion3On lists with and without the filter that older members do not know.
func TestSessionsAreListedByPrincipalFromClusterVersion3On(t *testing.T) {
	timers, err := expiry.New(expiry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, newest := storage.ClusterVersions()
	for version, refused := range map[uint32]bool{2: true, newest: false} {
		answers := make(chan error)
		close(answers)
		store := stores.With(t, &storev1.Command{Kind: &storev1.Command_SetClusterVersion{
			SetClusterVersion: &storev1.SetClusterVersion{Version: version},
		}})
		a := New(Options{Caller: &call.Caller{
			Node: &provingNode{store: store, answers: answers}, Log: zap.NewNop(), Stopping: t.Context(), Timers: timers,
		}})
		if _, err := a.Sessions.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{}); err != nil {
			t.Errorf("version %d, all sessions: %v", version, err)
		}
		_, err := a.Sessions.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{Principals: []string{"token:a"}})
		e := reason.Of(err)
		if got := e != nil && e.Reason == tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED; got != refused || !refused && err != nil {
			t.Errorf("version %d: got %v, want it refused: %v", version, err, refused)
		}
	}
}
