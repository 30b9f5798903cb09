package share_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tenure-io/tenure/internal/share"
)

// callerAt returns a caller by the end of its address.
func callerAt(i int) share.Caller { return share.Callers{}.OfText(fmt.Sprintf("10.0.0.%d:1", i)) }

// work lets a request of a caller take a turn, says so, and gives it back when it is told to.
func work(ctx context.Context, turns *share.Turns, c share.Caller, took func(), done <-chan struct{}) {
	go func() {
		end, err := turns.Take(ctx, c)
		if err != nil {
			return
		}
		took()
		<-done
		end()
	}()
}

// TestTurnsAreDividedBetweenCallers lets one caller ask for more than there are, and then others: each gets its share as turns end, and never are more
// taken than there are.
func TestTurnsAreDividedBetweenCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, done := share.NewTurns(8), make(chan struct{})
		got := make([]int, 3)
		ask := func(who, n int) {
			for range n {
				work(t.Context(), turns, callerAt(who), func() { got[who]++ }, done)
				synctest.Wait()
			}
		}
		ask(0, 100)
		if !slices.Equal(got, []int{4, 0, 0}) {
			t.Errorf("one alone: %v have turns, want half of 8", got)
		}
		ask(1, 3)
		ask(2, 3)
		if !slices.Equal(got, []int{4, 2, 1}) {
			t.Errorf("with two others: %v have turns, want that there is one for each", got)
		}
		const more = 8
		for range more {
			done <- struct{}{}
			synctest.Wait()
		}
		if got[1] != 3 || got[2] != 3 || turns.Used() > 8 {
			t.Errorf("after %d more turns %v have had one, and %d have one; want that the two others are served", more, got, turns.Used())
		}
		for range 106 - more {
			done <- struct{}{}
			synctest.Wait()
		}
		if got[0] != 100 || turns.Used() != 0 {
			t.Errorf("in the end %v have had a turn, and %d have one", got, turns.Used())
		}
	})
}

// TestACallerHasOneTurn lets each caller have one of many turns, and one that is exempt as many as there are.
func TestACallerHasOneTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		callers, err := share.ParseExempt([]string{"10.0.0.3/32"})
		if err != nil {
			t.Fatal(err)
		}
		turns, done := share.NewTurnsEach(8, 1), make(chan struct{})
		got := make([]int, 4)
		for who := 1; who < len(got); who++ {
			for range 10 {
				work(t.Context(), turns, callers.OfText(fmt.Sprintf("10.0.0.%d:1", who)), func() { got[who]++ }, done)
				synctest.Wait()
			}
		}
		if !slices.Equal(got, []int{0, 1, 1, 6}) {
			t.Errorf("%v have turns, want one for each caller, and the rest for the one that is exempt", got)
		}
		for range 30 {
			done <- struct{}{}
			synctest.Wait()
			if turns.Used() > 8 {
				t.Fatalf("%d turns are taken, of 8", turns.Used())
			}
		}
		if !slices.Equal(got, []int{0, 10, 10, 10}) || turns.Used() != 0 {
			t.Errorf("in the end %v have had a turn, and %d have one", got, turns.Used())
		}
	})
}

// TestWhoLeavesTheQueueTakesNoTurn ends requests that wait.
func TestWhoLeavesTheQueueTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, done := share.NewTurns(2), make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		var took []string
		work(t.Context(), turns, callerAt(1), func() { took = append(took, "first") }, done)
		synctest.Wait()
		for i := range 5 {
			work(ctx, turns, callerAt(1), func() { took = append(took, fmt.Sprint("left ", i)) }, done)
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		work(t.Context(), turns, callerAt(1), func() { took = append(took, "last") }, done)
		synctest.Wait()
		done <- struct{}{}
		synctest.Wait()
		if !slices.Equal(took, []string{"first", "last"}) {
			t.Errorf("turns were taken by %v", took)
		}
		done <- struct{}{}
		synctest.Wait()
		if turns.Used() != 0 {
			t.Errorf("%d turns are taken in the end", turns.Used())
		}
	})
}

// TestExemptCallersGetEveryTurn asks from an address that stands for many.
func TestExemptCallersGetEveryTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		callers, err := share.ParseExempt([]string{"10.0.0.0/24"})
		if err != nil {
			t.Fatal(err)
		}
		turns, done := share.NewTurns(8), make(chan struct{})
		for range 10 {
			work(t.Context(), turns, callers.OfText("10.0.0.1:1"), func() {}, done)
		}
		synctest.Wait()
		if turns.Used() != 8 {
			t.Errorf("%d turns are taken, want all 8", turns.Used())
		}
		close(done)
		synctest.Wait()
	})
}

// TestCallersThatWaitTakeTurns has two callers wait for a turn that a third one has: they come one after the other, and each caller's in order.
func TestCallersThatWaitTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, done := share.NewTurns(1), make(chan struct{})
		var took []string
		ask := func(name string, who int) {
			work(t.Context(), turns, callerAt(who), func() { took = append(took, name) }, done)
			synctest.Wait()
		}
		ask("first", 0)
		for _, name := range []string{"many 1", "many 2", "many 3"} {
			ask(name, 1)
		}
		ask("few 1", 2)
		ask("few 2", 2)
		for range 6 {
			done <- struct{}{}
			synctest.Wait()
		}
		if want := []string{"first", "many 1", "few 1", "many 2", "few 2", "many 3"}; !slices.Equal(took, want) || turns.Used() != 0 {
			t.Errorf("turns were taken by %v, want %v; %d are taken in the end", took, want, turns.Used())
		}
	})
}

// TestTurnsAreNeitherLostNorDoubled takes turns, gives places up and ends turns from many goroutines: never are more taken than there are, and in the
// end none is.
func TestTurnsAreNeitherLostNorDoubled(t *testing.T) {
	const total, workers, each = 3, 32, 200
	turns := share.NewTurns(total)
	var all sync.WaitGroup
	var mu sync.Mutex // guards what follows
	now, most, served := 0, 0, 0
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		now += by
		most, served = max(most, now), served+max(by, 0)
	}
	for worker := range workers {
		all.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				if end, err := turns.Take(ctx, callerAt(worker%5)); err == nil {
					count(1)
					count(-1)
					end()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if most > total || served < workers*each/2 || turns.Used() != 0 {
		t.Errorf("%d at once of %d, and %d were served; in the end %d are taken", most, total, served, turns.Used())
	}
}
