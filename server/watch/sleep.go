package watch

import (
	"context"

	"github.com/tenure-io/tenure/internal/invariants"
)

// offerFrom is how many sleeping watches of a group are offered a round by one goroutine. Fewer are woken, each to look for itself.
const offerFrom = 4

// sleepers are the watches of a group that sleep and have a Taker.
type sleepers struct {
	list []*watcher // those that are to be told of what comes; each knows its place
	// told counts how often they were told of something.
	told uint64
	// news are rounds to be offered by a goroutine, which there is as long as offering says so. Nil: all are to look for themselves.
	news     []*round
	offering bool
}

// add adds a watch. Call it under the group's mu, as remove.
func (s *sleepers) add(w *watcher) {
	w.place = len(s.list)
	s.list = append(s.list, w)
}

// remove removes a watch, if it is there.
func (s *sleepers) remove(w *watcher) {
	if w.place >= len(s.list) || s.list[w.place] != w {
		return
	}
	last := len(s.list) - 1
	s.list[w.place] = s.list[last]
	s.list[w.place].place = w.place
	s.list[last] = nil
	s.list = s.list[:last]
}

// look returns what is closed when there is something new for a watch without a Taker; for others it notes what they were told.
func (w *watcher) look() <-chan struct{} {
	if w.taker == nil {
		return w.group.waiter()
	}
	w.group.mu.Lock()
	defer w.group.mu.Unlock()
	w.told = w.group.sleepers.told
	return nil
}

// ready reports whether a batch may be sent now.
func (w *watcher) ready() bool { return w.taker == nil || w.taker.Ready() }

// await waits until a batch may be sent. How long that takes says nothing of the search.
func (w *watcher) await(ctx context.Context) error {
	err := w.taker.Await(ctx)
	w.pace.sent()
	return err
}

// sleep waits until something changed, or the pace goes on. Meanwhile rounds may be offered, which moves the cursor.
func (w *watcher) sleep(ctx context.Context, changed, passed <-chan struct{}) error {
	if w.taker != nil {
		if !w.lie() {
			return nil
		}
		defer w.rise()
	}
	select {
	case <-changed:
	case <-w.woken:
	case <-passed:
	case <-w.pace.due:
		w.pace.ask()
	case <-w.pace.proved():
		w.pace.look()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.hub.stopped:
		return ErrStopped
	}
	return nil
}

// lie begins the sleep, unless there was news since the watch looked.
func (w *watcher) lie() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.group.mu.Lock()
	defer w.group.mu.Unlock()
	if w.group.sleepers.told != w.told {
		return false
	}
	w.group.sleepers.add(w)
	w.asleep = true
	return true
}

// rise ends the sleep: nothing is offered from then on.
func (w *watcher) rise() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asleep = false
	w.flush()
	w.group.mu.Lock()
	defer w.group.mu.Unlock()
	w.group.sleepers.remove(w)
	select {
	case <-w.woken:
	default:
	}
}

// rouse has the watch look for itself.
func (w *watcher) rouse() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// flush has what was offered sent. Call it under the watch's mu.
func (w *watcher) flush() {
	if w.unsent {
		w.unsent = false
		w.taker.Flush()
	}
}

// offer offers a round, as a batch, if it is known and what comes next; else the watch looks for itself.
func (w *watcher) offer(r *round, b Batch, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asleep || known && w.slot >= r.to {
		return // It looks for itself, or did before it slept.
	}
	if !known || !w.live || w.slot > r.slots[0] || !w.after.before(b.Events[0]) || !w.taker.Offer(b) {
		w.asleep = false
		w.rouse()
		return
	}
	w.unsent = true
	w.slot = r.to
	w.pass(b.Through)
	w.pace.sent()
}

// tell says that there is a round, or much that is not known if it is nil. Watches without a Taker wake up. The others are offered it by a
// goroutine, if they are many; else they wake up, too.
func (g *group) tell(r *round, start func(func())) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait != nil {
		close(g.wait)
		g.wait = nil
	}
	s := &g.sleepers
	s.told++
	switch {
	case s.offering:
		s.news = append(s.news, r)
	case len(s.list) >= offerFrom:
		s.news, s.offering = append(s.news, r), true
		start(g.offer)
	default:
		for _, w := range s.list {
			w.rouse()
		}
		clear(s.list) // They look for themselves from now on, so what comes next is not offered.
		s.list = s.list[:0]
	}
}

// offer offers rounds to all who sleep, until there are no more.
func (g *group) offer() {
	var list []*watcher
	for {
		g.mu.Lock()
		s := &g.sleepers
		news := s.news
		s.news = nil
		s.offering = len(news) > 0
		// Who begins to sleep later has seen these rounds.
		list = append(list[:0], s.list...)
		g.mu.Unlock()
		if len(news) == 0 {
			return
		}
		for _, r := range news {
			g.offerRound(r, list)
		}
	}
}

// offerRound offers a round.
func (g *group) offerRound(r *round, list []*watcher) {
	b, ok := g.batchOf(r)
	for _, w := range list {
		w.offer(r, b, ok)
	}
	for _, w := range list {
		w.mu.Lock()
		w.flush()
		w.mu.Unlock()
	}
}

// batchOf returns a round as a batch; false if it is not in the ring any more.
func (g *group) batchOf(r *round) (Batch, bool) {
	if r == nil {
		return Batch{}, false
	}
	events, ok := g.ring.fetch(r.slots)
	if !ok {
		return Batch{}, false
	}
	invariants.That(events[len(events)-1].GetRevision() <= r.revision, "a round up to revision %d has an event of %d",
		r.revision, events[len(events)-1].GetRevision())
	return Batch{Events: events, Through: r.revision, Shared: g.sharedOf(r)}, true
}
