package check

import (
	"sort"
	"strings"
)

// watches compares what each watch delivered with its part of the events.
func watches(h *History, c *checker) {
	for _, w := range h.Watches {
		c.count("watches", 1)
		checkWatch(h, w, c)
	}
}

// selects says whether a watch is about an event.
func (w *Watch) selects(e *Event) bool {
	switch {
	case strings.HasPrefix(e.Kind, "key_"):
		return w.KeyPrefix != nil && strings.HasPrefix(e.Key, *w.KeyPrefix)
	case strings.HasPrefix(e.Kind, "lock_"):
		return w.LockPrefix != nil && strings.HasPrefix(e.Key, *w.LockPrefix)
	case e.Kind == KindOfCatalog:
		return false
	default:
		return w.Sessions
	}
}

// checkWatch demands that each batch is exactly what is selected of the revisions from the last batch's to its own, and that they
// bring all that is due.
func checkWatch(h *History, w *Watch, c *checker) {
	through := w.After
	next := sort.Search(len(h.Events), func(i int) bool { return h.Events[i].Revision > through })
	newest := uint64(0)
	if n := len(h.Events); n > 0 {
		newest = h.Events[n-1].Revision
	}
	for i, b := range w.Batches {
		if b.Through < through {
			c.fail("watch %d of %s, batch %d: says it is through with revision %d after it was with %d", w.ID, w.Client, i, b.Through, through)
			return
		}
		if b.Through > newest {
			c.fail("watch %d of %s, batch %d: is through with revision %d, the newest is %d", w.ID, w.Client, i, b.Through, newest)
			return
		}
		through = b.Through
		var want []Position
		for ; next < len(h.Events) && h.Events[next].Revision <= through; next++ {
			if e := h.Events[next]; w.selects(e) {
				want = append(want, Position{e.Revision, e.Index})
			}
		}
		c.count("events", len(b.Events))
		c.count("batches", 1)
		if p, text := differ(b.Events, want); text != "" {
			c.fail("watch %d of %s, batch %d through revision %d: event %d.%d %s", w.ID, w.Client, i, through, p.Revision, p.Index, text)
			return
		}
	}
	if w.DueBefore != 0 {
		c.count("watches that were due", 1)
	}
	for _, e := range h.Events[next:] {
		if e.At < w.DueBefore && e.At != 0 && w.selects(e) {
			c.fail("watch %d of %s: event %d.%d was applied at %d, and not delivered; it has all through revision %d",
				w.ID, w.Client, e.Revision, e.Index, e.At, through)
			return
		}
	}
}

func differ(got, want []Position) (Position, string) {
	for i := 0; i < len(got) || i < len(want); i++ {
		switch {
		case i >= len(got):
			return want[i], "is missing"
		case i >= len(want):
			return got[i], "does not belong there"
		case got[i] == want[i]:
		case before(want[i], got[i]):
			return want[i], "is missing"
		default:
			return got[i], "does not belong there, or comes twice"
		}
	}
	return Position{}, ""
}

func before(a, b Position) bool {
	return a.Revision < b.Revision || a.Revision == b.Revision && a.Index < b.Index
}
