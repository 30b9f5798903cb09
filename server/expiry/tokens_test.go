package expiry_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// makeAuthTokens makes n tokens of callers that end at a time; the zero time: never.
func (c *cluster) makeAuthTokens(prefix string, n int, end time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		t := &storev1.TokenRecord{Accessor: fmt.Appendf(nil, "%s%015d", prefix, i)}
		if !end.IsZero() {
			t.ExpireTimeMs = end.UnixMilli()
		}
		c.authTokens = append(c.authTokens, t)
	}
}

// wantAuthTokens fails unless there are so many tokens of callers.
func wantAuthTokens(t *testing.T, c *cluster, when string, want int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.authTokens) != want {
		t.Errorf("%s: got %d tokens, want %d", when, len(c.authTokens), want)
	}
}

func TestTokensAreDeletedAWeekAfterTheirEnd(t *testing.T) {
	const day = 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		now := time.Now()
		c.makeAuthTokens("a", 1, now.Add(-7*day-time.Second))
		c.makeAuthTokens("b", 2, now.Add(-6*day))
		c.makeAuthTokens("c", 3, time.Time{})
		defer c.lead()()
		sleep(t, time.Second)
		wantAuthTokens(t, c, "at first", 5)
		sleep(t, day-time.Minute)
		wantAuthTokens(t, c, "before the second's time", 5)
		sleep(t, 12*time.Minute)
		wantAuthTokens(t, c, "after the second's time", 3)
	})
}

func TestTokensAreNotDeletedByAClockThatIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.makeAuthTokens("a", 1, time.Now().Add(-8*24*time.Hour))
		c.ahead = -1
		defer c.lead()()
		sleep(t, time.Hour)
		wantAuthTokens(t, c, "without the clocks of a majority", 1)
		c.mu.Lock()
		c.ahead = 0
		c.mu.Unlock()
		sleep(t, 2*time.Minute)
		wantAuthTokens(t, c, "with them", 0)
	})
}

// TestManyTokensAreDeletedInPages has more than one command names and one page shows, with others in between.
func TestManyTokensAreDeletedInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		old := time.Now().Add(-8 * 24 * time.Hour)
		c.makeAuthTokens("a", 700, old)
		c.makeAuthTokens("b", 1500, time.Time{})
		c.makeAuthTokens("c", 300, old)
		defer c.lead()()
		sleep(t, 5*time.Second)
		wantAuthTokens(t, c, "after a look", 1500)
		for _, p := range c.proposed() {
			if n := len(p.GetEndTokens().GetTokens()); n > 256 {
				t.Errorf("a command names %d tokens, want 256 at most", n)
			}
		}
	})
}
