package line

import (
	"sync"
	"testing"
)

// TestCreditIsGivenWhileItIsSpent is for the race detector too.
func TestCreditIsGivenWhileItIsSpent(t *testing.T) {
	const rounds = 1000
	c := newCredit(1, 1)
	var all sync.WaitGroup
	all.Go(func() {
		for range rounds {
			_ = c.enough()
			c.add(1, 3)
		}
	})
	all.Go(func() {
		for range rounds {
			c.spend(3)
			_ = c.enough()
		}
	})
	all.Wait()
	if c.messages != 1 || c.bytes != 1 {
		t.Errorf("%d messages and %d bytes are left, want 1 of each", c.messages, c.bytes)
	}
}
