package expiry_test

import (
	"context"
	"math/rand/v2"
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
