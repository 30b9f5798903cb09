package watch

import "context"

// Step looks at all that was published and not looked at yet, as Run does on a goroutine of its own. A hub is driven by
// the one or the other.
func (h *Hub) Step() {
	for h.pass() {
	}
}

// Cursor is one watch for a caller who asks instead of waiting. One goroutine uses it; it must be closed.
type Cursor struct {
	w *watcher
}

// Cursor begins a watch.
func (h *Hub) Cursor(r Request) (*Cursor, error) {
	g, err := h.join(r.Selectors)
	if err != nil {
		return nil, err
	}
	return &Cursor{w: &watcher{hub: h, group: g, after: r.After}}, nil
}

// Next returns what comes next, perhaps nothing. More says that there may be more to look at now. It fails with
// ErrCompacted when history is forgotten before it was delivered.
func (c *Cursor) Next(ctx context.Context) (b Batch, more bool, err error) { return c.w.next(ctx) }

// After returns the position up to which everything was delivered.
func (c *Cursor) After() Position { return c.w.after }

// Close ends the watch.
func (c *Cursor) Close() { c.w.hub.leave(c.w.group) }
