package renewal

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// TestAParkedRenewalWaitsForTheOutcome renews a session whose end is proposed, and lets that end be applied.
func TestAParkedRenewalWaitsForTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := storage.SessionID{1}
		store := stores.With(t, &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: session[:], TtlMs: 2000, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}})
		apply, applied := make(chan struct{}), make(chan struct{})
		timers, err := expiry.New(expiry.Options{
			Propose: func(ctx context.Context, _ *storev1.Command) (*storev1.Result, error) {
				select {
				case <-apply:
					defer close(applied)
					return &storev1.Result{}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
			Snapshot: func() expiry.Snapshot { return store.NewReader() },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		led := make(chan error, 1)
		go func() { led <- timers.Lead(ctx, 1) }()
		<-time.After(3 * time.Second) // The session's time is up.
		synctest.Wait()
		a := &Renewer{Caller: &call.Caller{Node: stateNode{store: store}, Log: zap.NewNop(), Timers: timers, Stopping: ctx}}
		line := newPeer(a, nil, nil).line
		line.came(relayedAsked(&peerv1.RenewRequest{Renewals: []*peerv1.Renewal{
			{SessionId: session[:], Number: 7}, {SessionId: session[:], Number: 8}, {SessionId: session[:], Number: 9},
		}}))
		// told takes what is told in a round, and whether renewals wait after it.
		told := func() (numbers []uint64, wait bool) {
			fx := line.step(core.Round{})
			for fx.Task != nil {
				var ev core.Event
				switch task := fx.Task.(type) {
				case core.Prove:
					ev = core.Proved{Term: 1}
				case core.Settle:
					if err := a.settleStream(task); err != nil {
						t.Fatal(err)
					}
					ev = core.Settled{}
				case core.Send:
					for _, v := range task.Verdicts {
						numbers = append(numbers, v.Number)
						if v.Refused == 0 {
							t.Errorf("got %+v, want that the session is gone", v)
						}
					}
					ev = core.Sent{}
				}
				fx = line.step(ev)
			}
			return numbers, fx.Idle.Parked
		}
		for range 2 {
			if got, wait := told(); len(got) > 0 || !wait {
				t.Errorf("got verdicts on %v before the outcome", got)
			}
		}
		close(apply)
		<-applied
		synctest.Wait()
		if got, wait := told(); !slices.Equal(got, []uint64{7, 8, 9}) || wait {
			t.Errorf("got verdicts on %v, want each told once", got)
		}
		line.close()
		stop()
		if err := <-led; err != nil {
			t.Error(err)
		}
	})
}
