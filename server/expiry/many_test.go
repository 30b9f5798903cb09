package expiry_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/expiry"
)

// TestManyAtOnceDisturbNoTimer lets sessions and lock-delays begin while others are renewed, looked at and run out, each on a goroutine of its own: the race detector
// looks on. Who renews is alive at the end, and all others ended.
func TestManyAtOnceDisturbNoTimer(t *testing.T) {
	const (
		renewed = 64 // sessions that are renewed
		brief   = 64 // that begin one after the other, and are not
		given   = 64 // that begin and are destroyed
		rounds  = 40
		ttl     = 2 * time.Second
		pause   = 97 * time.Millisecond
	)
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		for n := range renewed {
			c.create(ttl, sid(n))
		}
		var all sync.WaitGroup
		each := func(do func(round int)) {
			all.Go(func() {
				for round := range rounds {
					do(round)
					<-time.After(pause)
				}
			})
		}
		for part := range 4 {
			each(func(int) {
				for n := part; n < renewed; n += 4 {
					if v := c.renew(sid(n)); v != expiry.Renewed {
						t.Errorf("session %d: got %v, want that it is renewed", n, v)
					}
				}
			})
		}
		each(func(round int) {
			for n := range brief {
				if n%rounds == round {
					c.create(ttl, sid(renewed+n))
				}
			}
		})
		each(func(round int) {
			for n := range given {
				switch id := sid(renewed + brief + n); n % rounds {
				case round:
					c.create(ttl, id)
				case round - 1:
					c.destroy(id)
				}
			}
		})
		each(func(round int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.publish(&storev1.Event{Kind: &storev1.Event_LockDelayBegun{LockDelayBegun: &storev1.LockDelayBegun{
				Key: fmt.Sprint(round), LockIndex: 1, FencingToken: 1, DelayMs: 90,
			}}})
		})
		each(func(round int) {
			for n := range renewed + brief + given {
				c.timers.SessionLeft(sid(n))
			}
			c.timers.DelayLeft(fmt.Sprint(round), 1)
		})
		all.Wait()
		for n := range renewed {
			if at, ok := c.ended(sid(n)); ok {
				t.Errorf("session %d: ended at %v, want it alive", n, at)
			}
		}
		sleep(t, ttl+tolerance)
		for n := range renewed + brief {
			if _, ok := c.ended(sid(n)); !ok {
				t.Errorf("session %d: got no end", n)
			}
		}
		delays := 0
		for _, cmd := range c.proposed() {
			delays += len(cmd.GetEndDelays().GetDelays())
		}
		if delays != rounds {
			t.Errorf("%d lock-delays ended, want %d", delays, rounds)
		}
	})
}
