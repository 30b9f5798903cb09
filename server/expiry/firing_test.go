package expiry_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// begin begins a lock-delay and a wait of the same length, named by a number.
func (c *cluster) begin(n uint64, length time.Duration) {
	session := sid(9)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publish(
		&storev1.Event{Kind: &storev1.Event_LockDelayBegun{LockDelayBegun: &storev1.LockDelayBegun{
			Key: "k", LockIndex: n, FencingToken: n, DelayMs: length.Milliseconds(),
		}}},
		&storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{
			Key: "k", Place: n, SessionId: session[:], WaitMs: length.Milliseconds(),
		}}},
	)
}

// named returns what the commands so far named, one after another.
func (c *cluster) named() (delays, waits []uint64) {
	for _, command := range c.proposed() {
		for _, d := range command.GetEndDelays().GetDelays() {
			delays = append(delays, d.GetLockIndex())
		}
		for _, p := range command.GetEndWaits().GetPlaces() {
			waits = append(waits, p.GetPlace())
		}
	}
	return delays, waits
}

func wantNamed(t *testing.T, c *cluster, when string, want ...uint64) {
	t.Helper()
	if delays, waits := c.named(); !slices.Equal(delays, want) || !slices.Equal(waits, want) {
		t.Errorf("%s: named delays %v and waits %v, want %v", when, delays, waits, want)
	}
}

func TestWhatACommandThatFailedNamedIsNamedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var fails atomic.Bool
		fails.Store(true)
		c.propose = func(context.Context, *storev1.Command) error {
			if fails.Load() {
				return errors.New("no answer")
			}
			return nil
		}
		defer c.lead()()
		c.begin(1, time.Second)
		sleep(t, 1200*time.Millisecond)
		failed, _ := c.named()
		if len(failed) == 0 {
			t.Fatal("nothing was named when it was due")
		}
		fails.Store(false)
		sleep(t, 2*time.Second)
		wantNamed(t, c, "after the failures", append(failed, 1)...)
		sleep(t, 10*time.Second)
		wantNamed(t, c, "after the end", append(failed, 1)...)
	})
}

func TestWhatAStallExtendedIsNotNamedWithWhatWasDueBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		release := make(chan struct{})
		c.propose = func(context.Context, *storev1.Command) error { <-release; return nil }
		defer c.lead()()
		// One is proposed; the other gets due while the command is under way, and then the process stops.
		c.begin(1, time.Second)
		c.begin(2, 1200*time.Millisecond)
		sleep(t, 1260*time.Millisecond)
		c.jump(5 * time.Second)
		sleep(t, 60*time.Millisecond)
		close(release)
		sleep(t, 60*time.Millisecond)
		wantNamed(t, c, "right after the stall", 1)
		sleep(t, time.Second)
		wantNamed(t, c, "in the end", 1, 2)
	})
}

func TestACommandNamesABoundedNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const begun = 2500
		c := newCluster(t)
		defer c.lead()()
		for n := range uint64(begun) {
			c.begin(n+1, time.Second)
		}
		sleep(t, 3*time.Second)
		delays, waits := c.named()
		if len(delays) != begun || len(waits) != begun {
			t.Errorf("named %d delays and %d waits, want %d of each", len(delays), len(waits), begun)
		}
		for _, command := range c.proposed() {
			if n := max(len(command.GetEndDelays().GetDelays()), len(command.GetEndWaits().GetPlaces())); n > 256 {
				t.Errorf("a command names %d", n)
			}
		}
		if left, runs := c.timers.DelayLeft("k", begun); runs {
			t.Errorf("DelayLeft: got %v of a delay that ended", left)
		}
	})
}
