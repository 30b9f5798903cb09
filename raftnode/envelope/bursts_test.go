package envelope

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

// TestBurstsAreApart adds 200 commands a second for two seconds: the first is queued immediately, and all of them in at most 21 entries, at least
// BurstEvery apart.
func TestBurstsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(7, 1, 1<<20)
		var entries []core.Proposal
		var last time.Time
		rung := make(chan struct{}, 1000)
		b := NewBursts(q, func() { rung <- struct{}{} })
		take := func() {
			for len(rung) > 0 {
				<-rung
				if now := time.Now(); !last.IsZero() && now.Sub(last) < BurstEvery {
					t.Errorf("bursts are %v apart", now.Sub(last))
				}
				last = time.Now()
				entries = q.Take(1, entries)
			}
		}
		for i := range 400 {
			if _, err := b.Add(command(t, "k", 10), false); err != nil {
				t.Fatal(err)
			}
			if i == 0 && len(rung) != 1 {
				t.Error("the first command waits")
			}
			take()
			<-time.After(5 * time.Millisecond)
			synctest.Wait()
			take()
		}
		<-time.After(BurstEvery)
		synctest.Wait()
		take()
		n := 0
		for _, e := range entries {
			env, err := storage.DecodeEnvelope(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			n += len(env.GetCommands())
		}
		if len(entries) > 21 || n != 400 {
			t.Errorf("got %d commands in %d entries, want 400 in at most 21", n, len(entries))
		}
	})
}

// TestWhatIsHeldEndsWithTheQueue closes a queue while commands wait for a burst, and takes one of them back.
func TestWhatIsHeldEndsWithTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(7, 1, 1<<20)
		b := NewBursts(q, func() {})
		var all []*Proposal
		for range 3 {
			p, err := b.Add(command(t, "k", 10), false)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		if q.Take(1, nil); q.Pending() != 3 || !all[2].Cancel() {
			t.Errorf("%d commands are under way, or one that waits cannot be taken back", q.Pending())
		}
		q.Close(errStopped)
		<-all[1].Done()
		if _, err := all[1].Result(); !errors.Is(err, errStopped) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("what waited: got %v, want that it was not proposed", err)
		}
		<-time.After(BurstEvery)
		synctest.Wait()
		if _, err := b.Add(command(t, "k", 10), false); !errors.Is(err, errStopped) || q.Pending() != 0 {
			t.Errorf("after the end: got %v, and %d commands are under way", err, q.Pending())
		}
	})
}

// TestABurstBeginsWithWhatIsToBeFirst adds commands to a burst that is to come.
func TestABurstBeginsWithWhatIsToBeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(7, 1, 1<<20)
		b := NewBursts(q, func() {})
		for i, first := range []bool{false, false, true, false, true} {
			if _, err := b.Add(command(t, string(rune('a'+i)), 10), first); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(BurstEvery)
		synctest.Wait()
		got := ""
		for _, e := range q.Take(1, nil) {
			env, err := storage.DecodeEnvelope(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			for _, cmd := range env.GetCommands() {
				got += cmd.GetPut().GetKey()
			}
		}
		if got != "acebd" {
			t.Errorf("got the order %s, want acebd: the first one immediately, then those that are to be first", got)
		}
	})
}
