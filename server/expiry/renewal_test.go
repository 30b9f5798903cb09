package expiry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/expiry"
)

func TestRenewalThatWaitsForItsProofPostponesTheEnd(t *testing.T) {
	tests := map[string]struct {
		proved bool
	}{
		"proved in the end":   {proved: true},
		"given up in the end": {proved: false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				defer c.lead()()
				c.create(2*time.Second, sid(1))
				sleep(t, 1990*time.Millisecond)
				received := c.now()
				r := []expiry.Renewal{{ID: sid(1)}}
				c.timers.Receive(r)
				sleep(t, 1500*time.Millisecond)
				if n := len(c.proposed()); n != 0 {
					t.Fatalf("got %d commands while a renewal waits, want none", n)
				}
				settled := c.now()
				if !test.proved {
					c.timers.Release(r)
					sleep(t, 200*time.Millisecond)
					wantEnd(t, c, sid(1), settled)
					return
				}
				c.timers.Settle(1, r)
				if r[0].Verdict != expiry.Renewed || r[0].TTL != 2*time.Second {
					t.Fatalf("got verdict %d and TTL %v, want Renewed and 2s", r[0].Verdict, r[0].TTL)
				}
				sleep(t, 2*time.Second)
				wantEnd(t, c, sid(1), received+2*time.Second)
			})
		})
	}
}

func TestRenewalsThatNobodySettlesKeepNoSessionAliveForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.create(2*time.Second, sid(1))
		var waiting [][]expiry.Renewal
		for range 40 {
			r := []expiry.Renewal{{ID: sid(1)}}
			c.timers.Receive(r)
			waiting = append(waiting, r)
			sleep(t, 500*time.Millisecond)
		}
		wantEnd(t, c, sid(1), 17*time.Second)
		for _, r := range waiting {
			c.timers.Settle(1, r)
			if r[0].Verdict != expiry.Missing {
				t.Errorf("got verdict %d, want Missing", r[0].Verdict)
			}
		}
	})
}

func TestRenewalsWaitForTheOutcomeOfAnExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		gate := make(chan error)
		c.propose = func(ctx context.Context, _ *storev1.Command) error {
			select {
			case err := <-gate:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		defer c.lead()()
		c.create(2*time.Second, sid(1))
		sleep(t, 2200*time.Millisecond)
		r := []expiry.Renewal{{ID: sid(1)}}
		c.timers.Receive(r)
		c.timers.Settle(1, r)
		if r[0].Verdict != expiry.Expiring {
			t.Fatalf("got verdict %d, want Expiring", r[0].Verdict)
		}
		// A proposal that failed may still be applied, so it is never taken back.
		gate <- errors.New("too busy")
		sleep(t, 500*time.Millisecond)
		c.timers.Settle(1, r)
		if r[0].Verdict != expiry.Expiring {
			t.Fatalf("after a failed proposal: got verdict %d, want Expiring", r[0].Verdict)
		}
		changed := c.timers.Changed()
		gate <- nil
		<-changed
		c.timers.Settle(1, r)
		if r[0].Verdict != expiry.Missing {
			t.Errorf("after the end: got verdict %d, want Missing", r[0].Verdict)
		}
		for _, cmd := range c.proposed() {
			if got := cmd.GetExpireSessions().GetSessionIds(); len(got) != 1 {
				t.Errorf("got a command for %d sessions, want 1", len(got))
			}
		}
	})
}

func TestProofOfALaterTermThanTheTimersIsNotLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.create(4*time.Second, sid(1))
		r := []expiry.Renewal{{ID: sid(1)}}
		c.timers.Receive(r)
		c.timers.Settle(2, r)
		if r[0].Verdict != expiry.NotLeading {
			t.Errorf("got verdict %d, want NotLeading", r[0].Verdict)
		}
		c.timers.Release(r)
	})
}

func TestEpochsOfRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.create(4*time.Second, sid(1))
		id := sid(1)
		c.mu.Lock()
		c.publish(&storev1.Event{Kind: &storev1.Event_SessionTakenOver{SessionTakenOver: &storev1.SessionTakenOver{
			SessionId: id[:], Epoch: 3,
		}}})
		c.mu.Unlock()
		tests := map[string]struct {
			epoch uint64
			want  expiry.Verdict
		}{
			"the present one":  {3, expiry.Renewed},
			"a lower one":      {2, expiry.Superseded},
			"none is no check": {0, expiry.Renewed},
		}
		settle := func(name string, epoch uint64, want expiry.Verdict) {
			r := []expiry.Renewal{{ID: id, Epoch: epoch}}
			c.timers.Receive(r)
			c.timers.Settle(1, r)
			if r[0].Verdict != want {
				t.Errorf("%s: got verdict %d, want %d", name, r[0].Verdict, want)
			}
		}
		for name, test := range tests {
			settle(name, test.epoch, test.want)
		}
		c.timers.SetSecret(&expiry.Renewal{ID: id}, make([]byte, 32))
		settle("none, though there is a secret", 0, expiry.Superseded)
	})
}

func TestSessionWithoutTTLIsRenewedAndNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.create(0, sid(1))
		if v := c.renew(sid(1)); v != expiry.Renewed {
			t.Errorf("got verdict %d, want Renewed", v)
		}
		if _, _, ok := c.timers.SessionLeft(sid(1)); ok {
			t.Error("SessionLeft: got ok for a session without TTL")
		}
		sleep(t, time.Hour)
		if n := len(c.proposed()); n != 0 {
			t.Errorf("got %d commands, want none", n)
		}
	})
}

func TestLastRenewalIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.create(10*time.Second, sid(1))
		if _, last, ok := c.timers.SessionLeft(sid(1)); !ok || !last.IsZero() {
			t.Errorf("before a renewal: got %v, %v, want the zero time, true", last, ok)
		}
		sleep(t, 3*time.Second)
		at := time.Now()
		c.renew(sid(1))
		sleep(t, 4*time.Second)
		left, last, _ := c.timers.SessionLeft(sid(1))
		if left != 6*time.Second || !last.Equal(at) {
			t.Errorf("got %v left, renewed at %v, want 6s, %v", left, last, at)
		}
	})
}
