package requests

const (
	// gapWindowsMax is how many windows are remembered whose requests came out of order. At it, all are forgotten.
	gapWindowsMax = 4096
	// gapDepth is how far below the highest number of a window a request may be to be known as new.
	gapDepth = 256
)

// Gaps remembers which requests were overtaken by others of their window, and are new when they come: those of many callers of one session
// come a little out of order, and each would be looked for on disk. It says nothing that the rows do not say, so it has no part in what a
// command does, and a store that was just opened has none. It belongs to the goroutine of Apply. A nil one knows nothing.
type Gaps struct {
	windows map[string]*gap // by the row of the head
}

// gap is what is known of the last numbers of one window.
type gap struct {
	highest uint64                // that was remembered
	missing [gapDepth / 64]uint64 // whether a number was not, in the bit of its remainder
}

// NewGaps returns one that knows nothing yet.
func NewGaps() *Gaps { return &Gaps{windows: map[string]*gap{}} }

// of returns what is known of a window whose highest number is the given one, or nil.
func (g *Gaps) of(window []byte, highest uint64) *gap {
	if g == nil || len(g.windows) == 0 {
		return nil
	}
	if w := g.windows[string(window)]; w != nil && w.highest == highest {
		return w
	}
	return nil
}

// missing reports whether nothing was ever remembered of a request below the highest one of its window.
func (g *Gaps) missing(window []byte, highest, sequence uint64) bool {
	w := g.of(window, highest)
	return w != nil && sequence < highest && highest-sequence < gapDepth && w.missing[sequence%gapDepth/64]&(1<<(sequence%64)) != 0
}

// remembered notes that a request is remembered, in a window of which highest was the highest number before.
func (g *Gaps) remembered(window []byte, highest, sequence uint64) {
	if g != nil && highest == 0 {
		delete(g.windows, string(window)) // It begins anew.
	}
	w := g.of(window, highest)
	if w == nil {
		if g == nil || highest == 0 || sequence <= highest+1 {
			return
		}
		if len(g.windows) >= gapWindowsMax {
			clear(g.windows)
		}
		w = &gap{highest: highest}
		g.windows[string(window)] = w
	}
	for ; w.highest < sequence; w.highest++ {
		if skip := sequence - w.highest; skip > gapDepth {
			w.highest += skip - gapDepth
		}
		at := w.highest + 1
		w.missing[at%gapDepth/64] |= 1 << (at % 64)
	}
	w.missing[sequence%gapDepth/64] &^= 1 << (sequence % 64)
}
