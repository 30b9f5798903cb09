package renewal

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// TestAParkedRenewalWaitsForTheOutcome renews a session whose end is proposed, and lets that end be applied.
func TestAParkedRenewalWaitsForTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := storage.SessionID{1}
		store := storeWith(t, &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
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
		renewals := []expiry.Renewal{{ID: session}, {ID: session}, {ID: session}}
		timers.Receive(renewals)
		timers.Settle(1, renewals)
		parked := parkedRenewals{timers: timers, term: 1}
		for i := range renewals {
			if !parked.park(&renewals[i], "s", uint64(7+i)) {
				t.Fatalf("got verdict %v, want that the renewal waits", renewals[i].Verdict)
			}
		}
		var told []uint64
		failure := errors.New("the second cannot be told")
		decided := func(p *parkedRenewal) error {
			if p.renewal.Verdict != expiry.Missing || p.id != "s" {
				t.Errorf("got %+v, want that the session is gone", p)
			}
			if told = append(told, p.number); p.number == 8 {
				return failure
			}
			return nil
		}
		if err := parked.settle(decided); err != nil || len(told) > 0 || len(parked.waiting) != 3 {
			t.Errorf("got verdicts on %v and error %v before the outcome", told, err)
		}
		close(apply)
		<-applied
		synctest.Wait()
		if err := parked.settle(decided); !errors.Is(err, failure) || len(parked.waiting) != 1 {
			t.Errorf("got error %v and %d that wait, want that who comes after the failure waits", err, len(parked.waiting))
		}
		if err := parked.settle(decided); err != nil || !slices.Equal(told, []uint64{7, 8, 9}) || len(parked.waiting) > 0 {
			t.Errorf("got verdicts on %v and error %v, want each told once", told, err)
		}
		stop()
		if err := <-led; err != nil {
			t.Error(err)
		}
	})
}
