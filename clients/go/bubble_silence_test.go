package tenure_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// own returns the index of the member that the client is connected to.
func (b *bubble) own() int {
	_, current := b.client.Members()
	return slices.IndexFunc(b.members, func(m *fakeMember) bool { return m.address == current })
}

// TestASilentMemberIsLeftSoon has the client's own member stopped while it has calls to answer, and cut off for a while when it has none.
func TestASilentMemberIsLeftSoon(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		silent := b.own()
		b.members[silent].Silence(true)
		began := time.Now()
		at, sent := b.put(t)
		if took := time.Since(began); took > 1500*time.Millisecond {
			t.Errorf("two puts took %v, want at most 1.5 s", took)
		}
		if slices.Contains(at, b.members[silent].address) || !slices.Equal(sent, []int{1, 1}) {
			t.Errorf("puts arrived at %v, %v times; want another member than %s, once each", at, sent, b.members[silent].address)
		}
		b.members[silent].Silence(false)

		own := b.own()
		b.members[own].Silence(true)
		pass(2 * time.Second)
		b.members[own].Silence(false)
		if b.put(t); b.own() != own {
			t.Error("the client left a member that owed it nothing")
		}
	})
}

// TestASlowMemberIsNotLeft has a member that takes four seconds for a call, which is the only one, and answers nothing else meanwhile.
func TestASlowMemberIsNotLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, 3)
		defer b.close(t)
		own := b.own()
		connected := b.members[own].Connected()
		b.mu.Lock()
		b.pause = 4 * time.Second
		b.mu.Unlock()
		began := time.Now()
		if _, err := b.client.KV().Put(t.Context(), "k", nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 4*time.Second || b.own() != own || b.members[own].Connected() != connected {
			t.Errorf("the put took %v; connected to member %d, which had %d connections; want 4 s, and the same one of %d",
				took, b.own(), b.members[own].Connected(), own)
		}
	})
}
