package renewal

import (
	"context"
	"testing"

	"go.uber.org/zap"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// provedNode proves at once that it leads.
type provedNode struct{ stateNode }

func (provedNode) ReadIndexLeader(context.Context) (uint64, error) { return 1, nil }

func (provedNode) ReadIndex(context.Context) error { return nil }

// TestASessionOnTheEndListIsNotRenewed renews a session that has ended and whose end is not carried out yet: the timers know it.
func TestASessionOnTheEndListIsNotRenewed(t *testing.T) {
	id := storage.SessionID{1}
	store := stores.WithMarked(t, id, "lock")
	timers, err := expiry.New(expiry.Options{Snapshot: func() expiry.Snapshot { return store.NewReader() }})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := timers.Begin(1)
	if err != nil {
		t.Fatal(err)
	}
	defer steps.End()
	a := &Renewer{Caller: &call.Caller{Node: provedNode{stateNode{store: store}}, Log: zap.NewNop(), Timers: timers, Stopping: t.Context()}, streamSessionsMax: 8}

	renewals := []expiry.Renewal{{ID: id}}
	timers.Receive(renewals)
	task := core.Settle{Batch: &core.Batch{Renewals: renewals}, Term: 1}
	if err = a.settleStream(task); err != nil {
		t.Fatal(err)
	}
	if got := task.Refusal(0); got != tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED || renewals[0].Verdict == expiry.Renewed {
		t.Errorf("on a stream: got %v and verdict %d, want SESSION_EXPIRED", got, renewals[0].Verdict)
	}
	wantExpired := func(what string, err error) {
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED {
			t.Errorf("%s: got %v, want SESSION_EXPIRED", what, err)
		}
	}
	_, err = a.RenewSession(t.Context(), &tenurev1.RenewSessionRequest{SessionId: id.String()})
	wantExpired("in a call", err)
	// The call may have been checked before the end, on its way to another leader.
	c := &oneCall{line: &line{api: a}, id: id, checked: true}
	renewals = []expiry.Renewal{{ID: id}}
	timers.Receive(renewals)
	wantExpired("in a call that was checked before", c.settle(t.Context(), core.Settle{Batch: &core.Batch{Renewals: renewals}, Term: 1}))
	wantExpired("by another leader", a.renewalError(t.Context(), id, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED))
}
