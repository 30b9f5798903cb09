package tenure_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func TestTenThousandClientsMoveToNewMembersEvenlyAndUnnoticed(t *testing.T) {
	clients := 10_000
	if testing.Short() || underRace {
		clients = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCluster(3)
		var suspended atomic.Int64
		listen := func(c tenure.StateChange) {
			if c.State == tenure.StateSuspended || c.State == tenure.StateJeopardy {
				suspended.Add(1)
			}
		}
		target := "tenure://" + strings.Join(f.list, ",") + "/app"
		all := make([]*tenure.Client, clients)
		begun := time.Now()
		clock := func() time.Duration { return time.Since(begun) }
		for i := range all {
			c, err := tenure.Open(target, tenure.OverMemory(f.net), tenure.WithClock(clock), tenure.WithSeed(uint64(i+1)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.OpenSession(t.Context(), tenure.WithTTL(time.Minute), tenure.WithStateListener(listen)); err != nil {
				t.Fatal(err)
			}
			all[i] = c
		}
		pass(12 * time.Second)
		demandEven(t, f, clients)
		f.grow()
		f.grow()
		before := make([]int, 3)
		for i, m := range f.members[:3] {
			before[i] = m.Connected()
		}
		pass(12 * time.Second)
		demandEven(t, f, clients)
		for i, m := range f.members[:3] {
			if m.Connected() != before[i] {
				t.Errorf("%s got %d new connections, although it is not new", m.address, m.Connected()-before[i])
			}
		}
		pass(2 * time.Minute)
		demandEven(t, f, clients)
		if n := suspended.Load(); n > 0 {
			t.Errorf("%d clients saw SUSPENDED or worse", n)
		}
		var closing sync.WaitGroup
		for _, c := range all {
			closing.Go(func() { _ = c.Close() })
		}
		closing.Wait()
		f.each(func(m *fakeMember) {
			if n := m.Conns(); n > 0 {
				t.Errorf("%s has %d connections left", m.address, n)
			}
		})
		for id, s := range f.sessions {
			if s.over == 0 {
				t.Fatalf("%s was left behind", id)
			}
		}
	})
}

func demandEven(t *testing.T, f *fakeCluster, clients int) {
	t.Helper()
	tolerance := 0.1
	if clients < 10_000 {
		tolerance = 0.35
	}
	counts := ""
	bad := false
	f.each(func(m *fakeMember) {
		share := float64(m.Conns()) * float64(len(f.list)) / float64(clients)
		bad = bad || share < 1-tolerance || share > 1+tolerance
		counts += fmt.Sprintf(" %s:%d", m.address, m.Conns())
	})
	if bad {
		t.Errorf("not even:%s", counts)
	}
}
