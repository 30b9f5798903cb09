package tenure_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// away returns the index of a member that the client is not connected to.
func (b *bubble) away() int {
	_, current := b.client.Members()
	for i, m := range b.members {
		if m.address != current {
			return i
		}
	}
	return -1
}

// lead makes a member the leader, and waits until the client knows.
func (b *bubble) lead(i int) {
	b.mu.Lock()
	b.leader = b.members[i].address
	b.mu.Unlock()
	<-time.After(15 * time.Second)
}

// put puts a key, and returns where that arrived, and how often each put was sent.
func (b *bubble) put(t *testing.T) (at []string, sent []int) {
	t.Helper()
	b.mu.Lock()
	b.putAt, b.results = nil, map[string]int{}
	b.mu.Unlock()
	if _, err := b.client.KV().Put(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.session.KV().Put(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.results {
		sent = append(sent, n)
	}
	return slices.Clone(b.putAt), sent
}

func TestChangesGoToTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, 3)
		defer b.close(t)
		_, own := b.client.Members()
		if at, _ := b.put(t); !slices.Equal(at, []string{own, own}) {
			t.Errorf("nobody leads: puts arrived at %v, want %s", at, own)
		}
		leader := b.away()
		b.lead(leader)
		b.put(t) // It asks for the connection, and does not wait for it.
		address := b.members[leader].address
		if at, _ := b.put(t); !slices.Equal(at, []string{address, address}) {
			t.Errorf("puts arrived at %v, want %s", at, address)
		}
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if n := b.members[leader].Conns(); n != 0 {
			t.Errorf("the leader has %d connections after two minutes without changes, want none", n)
		}

		b.put(t)
		other := 3 - leader - slices.IndexFunc(b.members, func(m *fakeMember) bool { return m.address == own })
		b.lead(other)
		b.put(t)
		address = b.members[other].address
		if at, _ := b.put(t); !slices.Equal(at, []string{address, address}) {
			t.Errorf("after a change of the leader puts arrived at %v, want %s", at, address)
		}
		if n := b.members[leader].Conns(); n != 0 {
			t.Errorf("the member that led has %d connections, want none", n)
		}
		if _, now := b.client.Members(); now != own {
			t.Errorf("the client moved to %s, want %s", now, own)
		}
	})
}

func TestAChangeThatFailsAtTheLeaderIsMadeOnceByAnotherMember(t *testing.T) {
	tests := map[string]struct {
		fail   func(b *bubble, leader int)
		sent   []int  // How often each put was sent.
		at     string // Where: at the leader, or at the client's own member.
		within time.Duration
	}{
		"the leader is dead":        {func(b *bubble, leader int) { b.members[leader].Cut(); b.members[leader].Refuse(true) }, []int{1, 1}, "own own", time.Second},
		"the answer was lost":       {func(b *bubble, _ int) { b.loseNext = 1 }, []int{2, 1}, "leader own leader", time.Second},
		"the leader falls silent":   {func(b *bubble, leader int) { b.members[leader].Silence(true) }, []int{1, 1}, "own own", 1500 * time.Millisecond},
		"another one leads by then": {func(b *bubble, leader int) { b.members[leader].Silence(true); b.leader = "" }, []int{1, 1}, "own own", 1500 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, 3)
				defer b.close(t)
				leader := b.away()
				b.lead(leader)
				b.put(t)
				b.mu.Lock()
				test.fail(b, leader)
				b.mu.Unlock()
				began := time.Now()
				at, sent := b.put(t)
				names := make([]string, len(at))
				for i, address := range at {
					names[i] = "own"
					if address == b.members[leader].address {
						names[i] = "leader"
					}
				}
				if got := strings.Join(names, " "); got != test.at {
					t.Errorf("puts arrived at %s, want %s", got, test.at)
				}
				slices.Sort(sent)
				slices.Sort(test.sent)
				if !slices.Equal(sent, test.sent) {
					t.Errorf("puts were sent %v times, to %v, want %v", sent, at, test.sent)
				}
				if took := time.Since(began); took > test.within {
					t.Errorf("two puts took %v, want at most %v", took, test.within)
				}
				b.members[leader].Silence(false)
			})
		})
	}
}

// What the cluster says of its members may be of no use where the client is.
func TestALeaderThatCannotBeReachedIsSeldomTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, 3)
		defer b.close(t)
		b.mu.Lock()
		b.leader = "10.9.9.9:7400"
		b.list = append(b.list, b.leader)
		b.mu.Unlock()
		<-time.After(15 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		for n := 0; ctx.Err() == nil; n++ {
			began := time.Now()
			if _, sent := b.put(t); slices.Max(sent) > 1 {
				t.Fatalf("puts were sent %v times, want once", sent)
			}
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Fatalf("put %d took %v", n, took)
			}
			<-time.After(time.Second)
		}
	})
}
