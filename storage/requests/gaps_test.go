package requests

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestGapsKnowNothingThatIsRemembered remembers requests in random order, with numbers that are far apart now and then, and compares what is
// known to be new with what was remembered.
func TestGapsKnowNothingThatIsRemembered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g, window := NewGaps(), []byte("window")
	remembered, highest, known := map[uint64]bool{}, uint64(0), 0
	check := func(sequence uint64) {
		t.Helper()
		missing := g.missing(window, highest, sequence)
		if missing && (remembered[sequence] || sequence > highest) {
			t.Fatalf("request %d is taken for new; the highest is %d", sequence, highest)
		}
		if missing {
			known++
		}
	}
	for range 3000 {
		sequence := highest + 1 + uint64(r.IntN(4))
		switch r.IntN(20) {
		case 0:
			sequence += uint64(r.IntN(3 * gapDepth))
		case 1, 2, 3, 4, 5, 6, 7, 8:
			sequence = highest - min(highest, uint64(r.IntN(2*gapDepth)))
		}
		if sequence == 0 || remembered[sequence] {
			continue
		}
		check(sequence)
		g.remembered(window, highest, sequence)
		remembered[sequence] = true
		highest = max(highest, sequence)
		for back := range uint64(2 * gapDepth) {
			check(highest - min(highest, back) + 1)
		}
	}
	if known < 10_000 {
		t.Errorf("%d times a request was known to be new: too few to show anything", known)
	}
}

// TestGapsTellWhatWasOvertaken has a few requests come out of order in windows of which more or less is known.
func TestGapsTellWhatWasOvertaken(t *testing.T) {
	g, window := NewGaps(), []byte("window")
	g.remembered(window, 10, 14)
	for sequence, want := range map[uint64]bool{9: false, 10: false, 11: true, 12: true, 13: true, 14: false, 15: false, 11 + gapDepth: false} {
		if got := g.missing(window, 14, sequence); got != want {
			t.Errorf("request %d, after 10 and 14: known to be new is %t, want %t", sequence, got, want)
		}
	}
	g.remembered(window, 14, 12)
	if g.missing(window, 14, 12) || !g.missing(window, 14, 13) {
		t.Error("after request 12, it is known to be new, or 13 is not")
	}
	if g.missing(window, 15, 13) || g.missing([]byte("another"), 14, 13) {
		t.Error("what is known of one window is taken for true in another, or in one that has gone on since")
	}
	g.remembered(window, 14, 13+gapDepth)
	if g.missing(window, 13+gapDepth, 13) || !g.missing(window, 13+gapDepth, 15) {
		t.Error("the deepest of all requests that were overtaken is not known to be new, or one below it is")
	}
	g.remembered(window, 0, 2)
	if g.missing(window, 2, 1) {
		t.Error("request 1 is known to be new in a window of which nothing is known before 2")
	}
	for n := uint64(2); n < 13+gapDepth; n++ {
		g.remembered(window, n, n+1)
	}
	if g.missing(window, 13+gapDepth, 15) {
		t.Error("of a window that begins anew, a request is known to be new for what was there before")
	}
	g.remembered(window, 13+gapDepth, 16+gapDepth)
	g.remembered([]byte("in order"), 7, 8)
	if len(g.windows) != 1 {
		t.Errorf("%d windows are remembered, want the one whose requests were overtaken", len(g.windows))
	}
	for n := range gapWindowsMax + 1 {
		g.remembered(fmt.Append(nil, n), 1, 3)
	}
	if len(g.windows) > gapWindowsMax {
		t.Errorf("%d windows are remembered, want at most %d", len(g.windows), gapWindowsMax)
	}
	g = nil
	g.remembered(window, 1, 3)
	if g.missing(window, 3, 2) {
		t.Error("gaps that are nil know something")
	}
}
