package expiry_test

import (
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// freezeEnds returns how many EndFreeze were proposed, and fails if one is not of the term.
func freezeEnds(t *testing.T, c *cluster) (n int) {
	t.Helper()
	for _, cmd := range c.proposed() {
		if e := cmd.GetEndFreeze(); e != nil {
			n++
			if e.GetTerm() != c.term || e.GetReason() != "" {
				t.Errorf("got %v, want one of term %d without reason", e, c.term)
			}
		}
	}
	return n
}

// wantFreeze fails unless the timers say that the freeze goes on so long, or not at all.
func wantFreeze(t *testing.T, c *cluster, want time.Duration, frozen bool) {
	t.Helper()
	if left, ok := c.timers.FreezeLeft(); ok != frozen || left != want {
		t.Errorf("got %v, %v; want %v, %v", left, ok, want, frozen)
	}
}

func TestFreezeEndsByTheLeadersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.freeze = &storev1.FreezeRecord{FreezeMs: 60_000}
		wantFreeze(t, c, 0, false) // This member does not lead.
		stop := c.lead()
		sleep(t, 59*time.Second)
		wantFreeze(t, c, time.Second, true)
		stop()
		// Another term starts it again in full.
		defer c.lead()()
		wantFreeze(t, c, time.Minute, true)
		sleep(t, 59*time.Second)
		if n := freezeEnds(t, c); n != 0 || c.freeze == nil {
			t.Fatalf("%d commands ended the freeze early", n)
		}
		c.jump(10 * time.Second) // This process stood still for so long.
		sleep(t, 900*time.Millisecond)
		if n := freezeEnds(t, c); n != 0 {
			t.Fatalf("%d commands ended the freeze after a stall that was no time of its", n)
		}
		sleep(t, time.Second)
		if n := freezeEnds(t, c); n != 1 || c.freeze != nil {
			t.Errorf("%d commands, want that one ended the freeze", n)
		}
		wantFreeze(t, c, 0, false)
		sleep(t, 5*time.Minute)
		if n := freezeEnds(t, c); n != 1 {
			t.Errorf("%d commands ended the freeze, want one", n)
		}
	})
}

func TestFreezeOfAnotherTermIsNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.freeze = &storev1.FreezeRecord{FreezeMs: 1000}
		defer c.lead()()
		c.mu.Lock()
		c.term++ // Somebody else leads, and this member has not heard of it yet.
		c.mu.Unlock()
		sleep(t, 5*time.Second)
		if c.freeze == nil {
			t.Error("an old leader ended the freeze")
		}
	})
}

// TestNothingIsGrantedOnWhileFrozen checks that locks which wait for GrantWaiters do not fill the log with commands that
// fail, and are granted when an operator ends the freeze early.
func TestNothingIsGrantedOnWhileFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.freeze = &storev1.FreezeRecord{FreezeMs: time.Hour.Milliseconds()}
		c.applied.GrantsLeft = 2
		defer c.lead()()
		c.mu.Lock()
		c.publish()
		c.mu.Unlock()
		sleep(t, time.Minute)
		if n := len(c.proposed()); n != 0 {
			t.Fatalf("%d commands while nothing could be granted, want none", n)
		}
		if _, err := c.Propose(t.Context(), &storev1.Command{Kind: &storev1.Command_EndFreeze{
			EndFreeze: &storev1.EndFreeze{Reason: "all clients are new"},
		}}); err != nil {
			t.Fatal(err)
		}
		sleep(t, 2*time.Second)
		if c.applied.GrantsLeft != 0 {
			t.Errorf("%d locks wait still, want none", c.applied.GrantsLeft)
		}
		wantFreeze(t, c, 0, false)
	})
}
