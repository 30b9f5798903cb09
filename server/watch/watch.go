package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage"
)

// scanEventsMax is how many events one search of the ring or of history looks at; the last revision may have more.
const scanEventsMax = 8192

// nearEventsMax is how many events a watch that stays near reads of history before it ends with ErrFar.
const nearEventsMax = 1024

// Request says what to watch and from where.
type Request struct {
	// Selectors are the wanted events, in normal form.
	Selectors Selectors
	// After is the position behind which the watch begins. It must not be ahead of the store.
	After Position
	// Progress is how often an empty batch is sent, whether others are or not; 0 is never.
	Progress time.Duration
	// Prove asks whether the store is current. An empty batch then waits for the proof, and until the watch has seen what the
	// proof has; while there is none, none is sent. Nil needs no proof. Prove never waits.
	Prove func() *Proof
	// Taker is asked before a batch is made, and is offered batches that others get, too; nil takes them when they come.
	Taker Taker
	// Near ends the watch with ErrFar where much of history would have to be read, for who can as well look at the present.
	Near bool
	// View returns what is delivered of a batch of events, in place of it; of one that has no events left, nothing is, but the watch has come on. Nil
	// delivers all. Its Taker must not take what others get, too.
	View func(Batch) (Batch, error)
}

// Taker is where the batches of a watch go that cannot always be sent. While a watch waits for it nothing is kept for the watch.
type Taker interface {
	// Ready reports whether a batch may be sent now. It may be wrong: whoever sends then waits.
	Ready() bool
	// Await waits until a batch may be sent.
	Await(ctx context.Context) error
	// Offer sends a batch if that does not wait, and reports whether it did. Goroutines of the hub call it and Flush while Watch sleeps, and never
	// together with anything else of the watch.
	Offer(b Batch) bool
	// Flush has what was offered sent, if it is not yet.
	Flush()
}

// Batch is what a watch delivers.
type Batch struct {
	// Events are selected events of whole revisions, in order. They are shared: nobody may change them. Empty: nothing
	// new up to Through.
	Events []*storev1.Event
	// Through is the revision up to which everything was delivered with this batch.
	Through uint64
	// Behind says of a batch without events that there is more to look at behind Through, which took long: it proves nothing
	// but that the watch comes on.
	Behind bool
	// Proved is when the proof began that a batch without events rests on: everything that was committed before was delivered
	// up to here. Zero: it rests on none.
	Proved time.Time
	// Shared is set if others get the same batch.
	Shared *Shared
}

// watcher is one cursor. While it sleeps it belongs to whoever has its mu, and else to the goroutine of its watch.
type watcher struct {
	hub   *Hub
	group *group
	taker Taker
	pace  *pace
	woken chan struct{} // one slot: it is to look for itself
	told  uint64        // what its group's sleepers were told when it looked
	place int           // among its group's sleepers, which guard it

	mu     sync.Mutex // guards what follows while it sleeps; before the group's
	asleep bool       // and may be offered rounds
	unsent bool       // something was offered, and is not flushed
	after  Position
	// live says that slot is where the ring goes on after the position.
	live bool
	slot uint64
	near bool
	// caughtUp says that the position is the end of what a snapshot of the store showed.
	caughtUp bool
}

// Watch delivers batches to emit, one after the other, until ctx ends, emit fails, history is forgotten before it was
// delivered (ErrCompacted), or a watch that stays near is far behind (ErrFar). While emit runs nothing but its batch is kept for this watch.
func (h *Hub) Watch(ctx context.Context, r Request, emit func(Batch) error) error {
	g, err := h.join(r.Selectors)
	if err != nil {
		return err
	}
	defer h.leave(g)
	p := newPace(r)
	defer p.stop()
	w := &watcher{hub: h, group: g, taker: r.Taker, pace: p, after: r.After, near: r.Near}
	if w.taker != nil {
		w.woken = make(chan struct{}, 1)
	}
	for ctx.Err() == nil {
		passed := h.passing(p.behind(w.after))
		changed := w.look()
		batch, more, err := w.next(ctx)
		if err == nil && r.View != nil && len(batch.Events) > 0 {
			batch, err = r.View(batch)
		}
		if err != nil {
			return err
		}
		if len(batch.Events) > 0 {
			if err = emit(batch); err != nil {
				return err
			}
			p.sent()
			p.look()
		}
		sign, ok := p.says(w.after, more)
		switch {
		case ok:
			err = emit(sign)
			p.sent()
		case len(batch.Events) == 0:
			if more {
				p.look()
			} else {
				err = w.sleep(ctx, changed, passed)
			}
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// next returns what comes after the cursor. more says that there may be more to look at now.
func (w *watcher) next(ctx context.Context) (b Batch, more bool, err error) {
	if !w.live {
		slot, covered := w.hub.ring.find(w.after, w.caughtUp)
		if !covered {
			return w.catchUp(ctx)
		}
		w.slot, w.live = slot, true
	}
	end := *w.hub.notified.Load()
	p, known := w.group.next(w.slot)
	switch {
	case !known && !w.ready():
		return Batch{}, true, w.await(ctx)
	case !known:
		return w.search(end)
	case len(p.slots) == 0 || p.slots[0] >= end.slot:
		// Everything before end was looked at by the notifier, and nothing of it was for us.
		if end.slot > w.slot {
			w.slot = end.slot
		}
		w.pass(end.revision)
		return Batch{Through: w.after.Revision}, false, nil
	}
	if !w.ready() {
		return Batch{}, true, w.await(ctx)
	}
	events, ok := w.hub.ring.fetch(p.slots)
	if !ok {
		w.live = false
		return Batch{}, true, nil
	}
	return w.take(events, p), true, nil
}

// take makes a batch of a part of the rounds, and moves the cursor behind it.
func (w *watcher) take(events []*storev1.Event, p part) Batch {
	b := Batch{Through: p.revision}
	if p.round == nil {
		bytes := 0
		for i, e := range events {
			if bytes >= batchBytesMax && e.GetRevision() != events[i-1].GetRevision() {
				// Too much for one batch.
				b.Through = events[i-1].GetRevision()
				p.to, events = p.slots[i], events[:i]
				break
			}
			bytes += size(e)
		}
	}
	b.Events = w.unseen(events)
	if n := len(b.Events); n > 0 {
		invariants.That(w.after.before(b.Events[0]), "a watch delivers revision %d again", b.Events[0].GetRevision())
		invariants.That(b.Events[n-1].GetRevision() <= b.Through, "a watch delivers revision %d, and says that it is at %d",
			b.Events[n-1].GetRevision(), b.Through)
	}
	if p.round != nil && len(b.Events) == len(p.slots) {
		b.Shared = w.group.sharedOf(p.round)
	}
	w.slot = p.to
	w.pass(b.Through)
	b.Through = w.after.Revision
	return b
}

// unseen leaves out events that are not after the cursor.
func (w *watcher) unseen(events []*storev1.Event) []*storev1.Event {
	for i, e := range events {
		if w.after.before(e) {
			return events[i:]
		}
	}
	return nil
}

// pass moves the position behind a revision; it never goes back.
func (w *watcher) pass(revision uint64) {
	if revision > w.after.Revision || revision == w.after.Revision && w.after.Index != Whole {
		w.after = Position{Revision: revision, Index: Whole}
	}
}

// search looks for selected events in the ring itself, where the group's rounds do not reach back so far.
func (w *watcher) search(end mark) (Batch, bool, error) {
	c := w.hub.ring.read(w.slot, end.slot, scanEventsMax, batchBytesMax)
	if c.gap {
		w.live = false
		return Batch{}, true, nil
	}
	var events []*storev1.Event
	for _, e := range c.events {
		if w.after.before(e) && w.group.selectors.match(e) {
			events = append(events, e)
		}
	}
	w.slot = c.to
	if c.to > c.from {
		w.pass(c.events[len(c.events)-1].GetRevision())
	}
	return Batch{Events: events, Through: w.after.Revision}, true, nil
}

// catchUp reads a piece of history. Between two pieces it holds nothing, so a reader that stands still costs nothing.
func (w *watcher) catchUp(ctx context.Context) (Batch, bool, error) {
	if !w.ready() {
		// That it ends needs no room.
		if _, err := w.read(ctx, func(*storev1.Event) bool { return false }); err != nil {
			return Batch{}, false, err
		}
		return Batch{}, true, w.await(ctx)
	}
	w.hub.metrics.catchUps.Inc()
	var (
		events    []*storev1.Event
		bytes     int
		scanned   int
		last      uint64
		exhausted = true
		far       = false
	)
	revision, err := w.read(ctx, func(e *storev1.Event) bool {
		if e.GetRevision() != last && (bytes >= batchBytesMax || scanned >= scanEventsMax) {
			exhausted = false
			return false
		}
		if far = w.near && scanned >= nearEventsMax; far {
			return false
		}
		scanned++
		last = e.GetRevision()
		if w.after.before(e) && w.group.selectors.match(e) {
			events = append(events, e)
			bytes += size(e)
		}
		return true
	})
	switch {
	case err != nil:
		return Batch{}, false, err
	case far:
		return Batch{}, false, ErrFar
	case exhausted:
		last = revision
	}
	w.caughtUp = exhausted
	w.pass(last)
	return Batch{Events: events, Through: w.after.Revision}, true, nil
}

// read walks over history after the position, when it is this watch's turn.
func (w *watcher) read(ctx context.Context, visit func(*storev1.Event) bool) (uint64, error) {
	select {
	case w.hub.readers <- struct{}{}:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-w.hub.stopped:
		return 0, ErrStopped
	}
	defer func() { <-w.hub.readers }()
	revision, err := w.hub.o.History(w.after, visit)
	if errors.Is(err, storage.ErrCompacted) {
		err = fmt.Errorf("%w: %w", ErrCompacted, err)
	}
	return revision, err
}
