package expiry_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// sleep lets the bubble's time pass.
func sleep(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-ctx.Done()
	synctest.Wait()
}

// wantEnd fails unless a session ended at earliest, or up to tolerance later.
func wantEnd(t *testing.T, c *cluster, id storage.SessionID, earliest time.Duration) {
	t.Helper()
	at, ok := c.ended(id)
	if !ok {
		t.Fatalf("session %s: got no end by %v, want one after %v", id, c.now(), earliest)
	}
	if at < earliest || at > earliest+tolerance {
		t.Errorf("session %s: got its end at %v, want it between %v and %v", id, at, earliest, earliest+tolerance)
	}
}

func TestSessionEndsBetweenTTLAndASecondLater(t *testing.T) {
	ttls := map[string]time.Duration{
		"the shortest":                      2 * time.Second,
		"no multiple of a bucket":           2*time.Second + 7*time.Millisecond,
		"longer than one turn of the wheel": 10 * time.Minute,
	}
	for name, ttl := range ttls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				defer c.lead()()
				sleep(t, 13*time.Millisecond)
				began := c.now()
				c.create(ttl, sid(1))
				sleep(t, ttl-time.Millisecond)
				if at, ok := c.ended(sid(1)); ok {
					t.Fatalf("got its end at %v, want none before %v", at, began+ttl)
				}
				sleep(t, tolerance)
				wantEnd(t, c, sid(1), began+ttl)
			})
		})
	}
}

func TestNobodyEndsEarlyUnderRandomRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions, steps = 300, 2000
		c := newCluster(t)
		defer c.lead()()
		random := rand.New(rand.NewPCG(1, 2))
		ttl := map[storage.SessionID]time.Duration{}
		last := map[storage.SessionID]time.Duration{}
		for i := range sessions {
			ttl[sid(i)] = 2*time.Second + time.Duration(random.IntN(5000))*time.Millisecond
			c.create(ttl[sid(i)], sid(i))
			last[sid(i)] = c.now()
		}
		acknowledged, missing := 0, 0
		for range steps {
			sleep(t, time.Duration(random.IntN(30))*time.Millisecond)
			id := sid(random.IntN(sessions))
			received := c.now()
			switch v := c.renew(id); v {
			case expiry.Renewed:
				acknowledged++
				last[id] = received
			case expiry.Missing:
				missing++
			default:
				t.Fatalf("got verdict %d", v)
			}
		}
		sleep(t, 10*time.Second)
		for id := range ttl {
			wantEnd(t, c, id, last[id]+ttl[id])
		}
		if acknowledged < 500 || missing < 100 {
			t.Errorf("got %d acknowledged renewals and %d of ended sessions, want at least 500 and 100", acknowledged, missing)
		}
	})
}

func TestStallExtendsEveryTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		ids := []storage.SessionID{sid(1), sid(2), sid(3)}
		c.create(4*time.Second, ids...)
		began := c.now()
		// As close to the end as can be when the process stops for longer than the TTL.
		sleep(t, 3990*time.Millisecond)
		const stall = 5 * time.Second
		c.jump(stall)
		sleep(t, 150*time.Millisecond)
		for _, id := range ids[:2] {
			if v := c.renew(id); v != expiry.Renewed {
				t.Fatalf("renewal right after a stall: got verdict %d, want Renewed", v)
			}
		}
		renewed := c.now()
		sleep(t, 3800*time.Millisecond)
		for _, id := range ids[:2] {
			if at, ok := c.ended(id); ok {
				t.Errorf("session that was renewed: got its end at %v", at)
			}
		}
		wantEnd(t, c, ids[2], began+4*time.Second+stall)
		sleep(t, 2*time.Second)
		wantEnd(t, c, ids[0], renewed+4*time.Second)
	})
}

func TestStallWhileAnExpireIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		release := make(chan struct{})
		c.propose = func(context.Context, *storev1.Command) error { <-release; return nil }
		defer c.lead()()
		// One is proposed; others get due while the command is under way, and then the process stops.
		c.create(2*time.Second, sid(1))
		c.create(3*time.Second, sid(2))
		sleep(t, 2900*time.Millisecond)
		c.jump(5 * time.Second)
		close(release)
		synctest.Wait()
		if v := c.renew(sid(2)); v != expiry.Renewed {
			t.Fatalf("got verdict %d, want Renewed", v)
		}
		sleep(t, 2*time.Second)
		if at, ok := c.ended(sid(2)); ok {
			t.Errorf("session renewed right after the stall: got its end at %v", at)
		}
	})
}

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

func TestEveryTermStartsAllTimersInFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.delays = []storage.Delay{{Key: "k", LockIndex: 7, FencingToken: 70, DelayMs: 3000}}
		stop := c.lead()
		c.create(4*time.Second, sid(1))
		old := []expiry.Renewal{{ID: sid(1)}}
		c.timers.Receive(old)
		c.timers.Settle(1, old)
		for range 3 {
			// The same member leads again each time, shortly before the end.
			sleep(t, 2900*time.Millisecond)
			stop()
			if _, _, ok := c.timers.SessionLeft(sid(1)); ok {
				t.Error("SessionLeft without leadership: got ok")
			}
			if v := c.renew(sid(1)); v != expiry.NotLeading {
				t.Errorf("renewal without leadership: got verdict %d, want NotLeading", v)
			}
			stop = c.lead()
		}
		began := c.now()
		if left, _, ok := c.timers.SessionLeft(sid(1)); !ok || left != 4*time.Second {
			t.Errorf("SessionLeft: got %v, %v, want 4s", left, ok)
		}
		if left, ok := c.timers.DelayLeft("k", 7); !ok || left != 3*time.Second {
			t.Errorf("DelayLeft: got %v, %v, want 3s", left, ok)
		}
		// What an earlier term knew of the session is recognised as old.
		again := []expiry.Renewal{{ID: sid(1), Ref: old[0].Ref}}
		sleep(t, time.Second)
		c.timers.Receive(again)
		c.timers.Settle(c.term, again)
		if again[0].Verdict != expiry.Renewed || !again[0].Searched {
			t.Errorf("got verdict %d, searched %v, want Renewed, true", again[0].Verdict, again[0].Searched)
		}
		sleep(t, 6*time.Second)
		stop()
		wantEnd(t, c, sid(1), began+5*time.Second)
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

func TestNothingIsProposedWithoutLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.create(2*time.Second, sid(1))
		stop := c.lead()
		sleep(t, time.Second)
		stop()
		sleep(t, time.Minute)
		if n := len(c.proposed()); n != 0 {
			t.Errorf("got %d commands, want none", n)
		}
	})
}

func TestManyEndInBoundedCommandsOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sessions = 5000
		c := newCluster(t)
		under := make(chan struct{}, 1)
		c.propose = func(ctx context.Context, _ *storev1.Command) error {
			select {
			case under <- struct{}{}:
			default:
				t.Error("two commands are under way")
			}
			<-time.After(20 * time.Millisecond)
			<-under
			return ctx.Err()
		}
		leftOnce := map[string]bool{}
		c.left = func(id []byte) bool {
			if id[15]%7 != 0 || leftOnce[string(id)] {
				return false
			}
			leftOnce[string(id)] = true
			return true
		}
		defer c.lead()()
		var ids []storage.SessionID
		for i := range sessions {
			ids = append(ids, sid(i))
		}
		c.create(2*time.Second, ids...)
		sleep(t, 4*time.Second)
		for _, id := range ids {
			wantEnd(t, c, id, 2*time.Second)
		}
		named := 0
		for _, cmd := range c.proposed() {
			n := len(cmd.GetExpireSessions().GetSessionIds())
			if n > 1024 {
				t.Errorf("got a command for %d sessions, want at most 1024", n)
			}
			if cmd.GetExpireSessions().GetTerm() != 1 {
				t.Errorf("got term %d, want 1", cmd.GetExpireSessions().GetTerm())
			}
			named += n
		}
		if want := sessions + len(leftOnce); named != want {
			t.Errorf("got %d sessions named by commands, want %d", named, want)
		}
	})
}

func TestDelaysAndWaitsEndByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		waiter := sid(9)
		c.mu.Lock()
		c.publish(
			&storev1.Event{Kind: &storev1.Event_LockDelayBegun{LockDelayBegun: &storev1.LockDelayBegun{
				Key: "a", LockIndex: 3, FencingToken: 33, DelayMs: 1500,
			}}},
			&storev1.Event{Kind: &storev1.Event_LockDelayBegun{LockDelayBegun: &storev1.LockDelayBegun{
				Key: "a", LockIndex: 4, FencingToken: 44, DelayMs: 1500,
			}}},
			&storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{
				Key: "w", Place: 5, SessionId: waiter[:], WaitMs: 1500,
			}}},
			&storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{
				Key: "w", Place: 6, SessionId: waiter[:], WaitMs: 1500,
			}}},
			&storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{
				Key: "w", Place: 7, SessionId: waiter[:],
			}}},
		)
		c.publish(
			&storev1.Event{Kind: &storev1.Event_LockDelayEnded{LockDelayEnded: &storev1.LockDelayEnded{Key: "a", LockIndex: 4}}},
			&storev1.Event{Kind: &storev1.Event_LockGranted{LockGranted: &storev1.LockGranted{Key: "w", Place: 6}}},
		)
		c.mu.Unlock()
		if left, ok := c.timers.DelayLeft("a", 3); !ok || left != 1500*time.Millisecond {
			t.Errorf("DelayLeft: got %v, %v, want 1.5s, true", left, ok)
		}
		sleep(t, 1499*time.Millisecond)
		if n := len(c.proposed()); n != 0 {
			t.Fatalf("got %d commands before anything is due, want none", n)
		}
		sleep(t, 200*time.Millisecond)
		commands := c.proposed()
		if len(commands) != 2 {
			t.Fatalf("got %d commands, want 2: %v", len(commands), commands)
		}
		slices.SortFunc(commands, func(a, b *storev1.Command) int {
			return len(a.GetEndWaits().GetPlaces()) - len(b.GetEndWaits().GetPlaces())
		})
		delays := commands[0].GetEndDelays()
		if d := delays.GetDelays(); delays.GetTerm() != 1 || len(d) != 1 || d[0].GetKey() != "a" || d[0].GetLockIndex() != 3 ||
			d[0].GetFencingToken() != 33 {
			t.Errorf("got %v, want the delay of a, 3, 33 in term 1", delays)
		}
		waits := commands[1].GetEndWaits()
		if p := waits.GetPlaces(); waits.GetTerm() != 1 || len(p) != 1 || p[0].GetKey() != "w" || p[0].GetPlace() != 5 ||
			storage.SessionID(p[0].GetSessionId()) != waiter {
			t.Errorf("got %v, want place 5 of w in term 1", waits)
		}
		sleep(t, 5*time.Second)
		if n := len(c.proposed()); n != 2 {
			t.Errorf("got %d commands in the end, want 2", n)
		}
	})
}

func TestWhatIsAppliedDuringTheLoadIsNeitherLostNorDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.create(4*time.Second, sid(1), sid(2))
		c.paging = func() {
			c.paging = nil
			c.create(3*time.Second, sid(3))
			c.destroy(sid(2))
		}
		defer c.lead()()
		if left, _, ok := c.timers.SessionLeft(sid(3)); !ok || left != 3*time.Second {
			t.Errorf("session begun during the load: got %v, %v, want 3s, true", left, ok)
		}
		if _, _, ok := c.timers.SessionLeft(sid(2)); ok {
			t.Error("session ended during the load: got it among the live")
		}
		sleep(t, 6*time.Second)
		wantEnd(t, c, sid(1), 4*time.Second)
		wantEnd(t, c, sid(3), 3*time.Second)
		for _, cmd := range c.proposed() {
			for _, id := range cmd.GetExpireSessions().GetSessionIds() {
				if storage.SessionID(id) == sid(2) {
					t.Error("got an Expire for a session that was destroyed")
				}
			}
		}
	})
}

func TestTheTimeThatALoadTakesIsNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.delays = []storage.Delay{{Key: "k", LockIndex: 7, FencingToken: 70, DelayMs: 3000}}
		c.create(4*time.Second, sid(1))
		c.loadTakes = 10 * time.Second
		defer c.lead()()
		if left, _, ok := c.timers.SessionLeft(sid(1)); !ok || left != 4*time.Second {
			t.Errorf("SessionLeft: got %v, %v, want 4s", left, ok)
		}
		if left, ok := c.timers.DelayLeft("k", 7); !ok || left != 3*time.Second {
			t.Errorf("DelayLeft: got %v, %v, want 3s", left, ok)
		}
		sleep(t, 6*time.Second)
		wantEnd(t, c, sid(1), 14*time.Second)
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
		c.timers.SetSecret(&expiry.Renewal{ID: id}, true)
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

func TestLeftGrantsAreFollowedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.mu.Lock()
		c.applied.GrantsLeft = 3
		c.publish()
		c.mu.Unlock()
		sleep(t, time.Second)
		if n := len(c.proposed()); n != 3 {
			t.Errorf("got %d commands, want 3", n)
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
