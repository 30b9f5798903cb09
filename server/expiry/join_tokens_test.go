package expiry_test

import (
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// makeToken makes a join token; of a name there is one.
func (c *cluster) makeToken(name, sha256 string, ttl time.Duration, member uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var others []storage.JoinToken
	for _, t := range c.tokens {
		if t.Name != name {
			others = append(others, t)
		}
	}
	c.tokens = append(others, storage.JoinToken{Name: name, JoinTokenRecord: &storev1.JoinTokenRecord{
		TokenSha256: []byte(sha256), TtlMs: ttl.Milliseconds(), MemberId: member,
	}})
}

// wantTokens fails unless there are the tokens of these names, in order.
func wantTokens(t *testing.T, c *cluster, when string, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := len(c.tokens) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = c.tokens[i].Name == want[i]
	}
	if !ok {
		t.Errorf("%s: got tokens %v, want %v", when, c.tokens, want)
	}
}

func TestJoinTokensEndByTheLeadersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.makeToken("a", "1", time.Minute, 0)
		c.makeToken("used", "2", time.Second, 7)
		stop := c.lead()
		sleep(t, 59*time.Second)
		wantTokens(t, c, "before its time", "a", "used")
		stop()
		// Another term starts it again in full.
		defer c.lead()()
		sleep(t, 59*time.Second)
		wantTokens(t, c, "before its time in another term", "a", "used")
		c.jump(10 * time.Second) // This process stood still for so long.
		sleep(t, 900*time.Millisecond)
		wantTokens(t, c, "after a stall that is no time of its", "a", "used")
		c.makeToken("b", "3", 10*time.Second, 0)
		sleep(t, 3*time.Second)
		wantTokens(t, c, "after its time", "used", "b")
		// Made again, it is another token with a time of its own.
		sleep(t, 6*time.Second)
		c.makeToken("b", "4", 10*time.Second, 0)
		sleep(t, 9*time.Second)
		wantTokens(t, c, "before the time of the second", "used", "b")
		sleep(t, 3*time.Second)
		wantTokens(t, c, "in the end", "used")
		commands := 0
		for _, p := range c.proposed() {
			for range p.GetEndJoinTokens().GetTokens() {
				commands++
			}
		}
		if commands != 2 {
			t.Errorf("%d tokens were named, want 2", commands)
		}
	})
}

func TestJoinTokensOfAnotherTermAreNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.makeToken("a", "1", time.Second, 0)
		defer c.lead()()
		c.mu.Lock()
		c.term++ // Somebody else leads, and this member has not heard of it yet.
		c.mu.Unlock()
		sleep(t, 5*time.Second)
		wantTokens(t, c, "of an old leader", "a")
	})
}
