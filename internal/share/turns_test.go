package share

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func callerAt(address string) Caller { return Caller{address: netip.MustParseAddr(address)} }

// take has somebody wait for a turn, and end it at once; who had turns is in order.
func take(t *testing.T, turns *Turns, order *[]string, mu *sync.Mutex, name string, caller Caller) {
	t.Helper()
	go func() {
		done, err := turns.Take(t.Context(), caller)
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		*order = append(*order, name)
		mu.Unlock()
		done()
	}()
	synctest.Wait()
}

func TestCallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many, few, turns := callerAt("192.0.2.1"), callerAt("192.0.2.2"), NewTurns(1)
		first, err := turns.Take(t.Context(), many)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var mu sync.Mutex
		for _, name := range []string{"many 1", "many 2", "many 3"} {
			take(t, turns, &order, &mu, name, many)
		}
		take(t, turns, &order, &mu, "few 1", few)
		take(t, turns, &order, &mu, "few 2", few)
		if len(order) > 0 {
			t.Fatalf("%v had turns while another one lasted", order)
		}
		first()
		first() // A turn ends once.
		synctest.Wait()
		if want := []string{"many 1", "few 1", "many 2", "few 2", "many 3"}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
		if turns.free != 1 || len(turns.callers) > 0 || len(turns.waiting) > 0 {
			t.Errorf("afterwards %d are free, and %v wait", turns.free, turns.callers)
		}
	})
}

func TestWhoGivesUpItsPlaceHasNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, turns := callerAt("192.0.2.1"), callerAt("192.0.2.2"), NewTurns(1)
		first, err := turns.Take(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, takeErr := turns.Take(ctx, a)
			left <- takeErr
		}()
		synctest.Wait()
		cancel()
		if err = <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("it returned %v", err)
		}
		var order []string
		var mu sync.Mutex
		take(t, turns, &order, &mu, "b", b)
		first()
		synctest.Wait()
		if !slices.Equal(order, []string{"b"}) || turns.free != 1 || len(turns.callers) > 0 || len(turns.waiting) > 0 {
			t.Errorf("%v had turns; %d are free, and %v wait", order, turns.free, turns.callers)
		}
	})
}

// However turns are taken, given up and ended, never are more taken than there may be, and none is lost.
func TestTurnsAreNeitherLostNorDoubled(t *testing.T) {
	const atOnce, workers, each = 3, 32, 200
	turns := NewTurns(atOnce)
	var mu sync.Mutex
	var all sync.WaitGroup
	now, most, served := 0, 0, 0
	for worker := range workers {
		all.Go(func() {
			caller := Caller{address: netip.AddrFrom4([4]byte{192, 0, 2, byte(worker % 5)})}
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				done, err := turns.Take(ctx, caller)
				if err == nil {
					mu.Lock()
					now++
					most, served = max(most, now), served+1
					mu.Unlock()
					mu.Lock()
					now--
					mu.Unlock()
					done()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if most > atOnce || served < workers*each/2 || turns.free != atOnce || len(turns.callers) > 0 || len(turns.waiting) > 0 {
		t.Errorf("%d at once of %d, %d served; afterwards %d are free, and %v wait", most, atOnce, served, turns.free, turns.callers)
	}
}
