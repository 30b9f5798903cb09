package watch

import (
	"testing"

	"github.com/tenure-io/tenure/storage"
)

// An index keeps nothing of watches that have ended, whatever they selected and in whichever order they end.
func TestAnIndexForgetsTheWatchesThatEnded(t *testing.T) {
	of := func() *group {
		return &group{selectors: Selectors{
			Keys: []string{"k", "l"}, Prefixes: []string{"p", "pq"}, RangeStart: "a", RangeEnd: "b", Locks: []string{"k"},
			LockPrefixes: []string{"p"}, Places: []Place{{}}, Sessions: []storage.SessionID{{1}}, AllSessions: true,
		}}
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		x, groups := newIndex(), []*group{of(), of(), of()}
		for _, g := range groups {
			x.add(g)
		}
		for _, i := range order {
			x.remove(groups[i])
		}
		left := len(x.keys) + len(x.locks) + len(x.keyPrefixes) + len(x.lockPrefixes) + len(x.places) + len(x.ranges) + len(x.sessions) + len(x.allSessions)
		if left != 0 {
			t.Errorf("removed in the order %v: %d places are left: %+v", order, left, x)
		}
	}
}
