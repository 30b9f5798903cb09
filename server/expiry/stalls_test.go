package expiry_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tenure-io/tenure/server/expiry"
)

// late lets ticks come, each so long after the one before.
func (c *cluster) late(t *testing.T, gaps ...time.Duration) {
	t.Helper()
	for _, gap := range gaps {
		c.jump(gap - expiry.TickInterval)
		sleep(t, expiry.TickInterval)
	}
}

// starved are the gaps between the ticks of leaders whose process gets too little CPU, one after another, again and again.
var starved = map[string][]time.Duration{
	"every tick is a little late":      {260 * time.Millisecond},
	"every tick is very late":          {time.Second},
	"every second tick is late":        {expiry.TickInterval, 260 * time.Millisecond},
	"every tick is late, but not much": {250 * time.Millisecond},
}

func TestATimeToLiveRunsOutThoughTicksAreLate(t *testing.T) {
	for name, gaps := range starved {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const ttl = 2 * time.Second
				c := newCluster(t)
				defer c.lead()()
				sleep(t, 10*time.Second)
				c.create(ttl, sid(1))
				c.begin(1, ttl)
				// Each tick counts for 50 ms at least, and a timer that has run out waits for five more.
				for range int(ttl/expiry.TickInterval) + 7 {
					c.late(t, gaps...)
				}
				if _, ok := c.ended(sid(1)); !ok {
					left, _, _ := c.timers.SessionLeft(sid(1))
					t.Errorf("session whose client is gone: got no end, and %v left of its TTL", left)
				}
				wantNamed(t, c, "in the end", 1)
			})
		})
	}
}

func TestWhoRenewsIsKeptThoughTicksAreLate(t *testing.T) {
	for name, gaps := range starved {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const ttl = 4 * time.Second
				c := newCluster(t)
				defer c.lead()()
				c.create(ttl, sid(1))
				renewed := c.now()
				for c.now() < 5*time.Minute {
					c.late(t, gaps...)
					// What came during the stall is read after the tick.
					if c.now() < renewed+ttl/3 {
						continue
					}
					renewed = c.now()
					if v := c.renew(sid(1)); v != expiry.Renewed {
						t.Fatalf("at %v: got verdict %d, want Renewed", renewed, v)
					}
				}
			})
		})
	}
}

// TestStallsInARowEndNobodyWhoWaitsToBeRead has a process that is stopped again before it has read anything.
func TestStallsInARowEndNobodyWhoWaitsToBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.lead()()
		c.create(4*time.Second, sid(1))
		sleep(t, 3990*time.Millisecond)
		c.late(t, 5*time.Second, 5*time.Second, time.Second, 300*time.Millisecond)
		if v := c.renew(sid(1)); v != expiry.Renewed {
			t.Errorf("got verdict %d, want Renewed", v)
		}
	})
}

// TestALongPauseIsAWarning has ticks that are late because the machine is busy, which needs nobody's attention, and a pause that a client may have felt.
func TestALongPauseIsAWarning(t *testing.T) {
	for name, test := range map[string]struct {
		gap  time.Duration
		want zapcore.Level
	}{
		"of some tenths of a second": {expiry.TickInterval + 999*time.Millisecond, zap.InfoLevel},
		"of a second":                {expiry.TickInterval + time.Second, zap.WarnLevel},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				defer c.lead()()
				c.late(t, test.gap)
				told := c.logs.FilterMessage("this process was paused; all timers are extended").All()
				if len(told) != 1 || told[0].Level != test.want {
					t.Errorf("got %v, want one line of level %v", told, test.want)
				}
			})
		})
	}
}

// TestATermBeginsAfterStalls has a member that leads again after stalls right after its start: lease time is far behind its clock.
func TestATermBeginsAfterStalls(t *testing.T) {
	for name, gaps := range starved {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				stop := c.lead()
				c.create(4*time.Second, sid(1))
				for range 10 {
					c.late(t, gaps...)
				}
				stop()
				began := c.now()
				defer c.lead()()
				sleep(t, 5*time.Second)
				wantEnd(t, c, sid(1), began+4*time.Second)
			})
		})
	}
}

func TestCatchingUpAgainAndAgainStopsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 2 * time.Second
		c := newCluster(t)
		defer c.lead()()
		c.create(ttl, sid(1))
		// In each 350 ms its state is found to stand behind once.
		for n := range uint64(12) {
			c.commit.Store(n + 1)
			sleep(t, 300*time.Millisecond)
			c.done.Store(n + 1)
			sleep(t, expiry.TickInterval)
		}
		left, _, _ := c.timers.SessionLeft(sid(1))
		if _, ok := c.ended(sid(1)); !ok {
			t.Errorf("got no end by %v, and %v left of a TTL of %v", c.now(), left, ttl)
		}
	})
}

func TestAClockMayStartAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusterAt(t, -time.Hour)
		defer c.lead()()
		began := c.now()
		c.create(2*time.Second, sid(1))
		c.begin(1, time.Second)
		sleep(t, 4*time.Second)
		wantEnd(t, c, sid(1), began+2*time.Second)
		wantNamed(t, c, "in the end", 1)
	})
}
