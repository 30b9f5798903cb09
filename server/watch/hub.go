package watch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// Defaults of Options.
const (
	ringBytesMaxDefault      = 64 << 20
	ringEventsMaxDefault     = 1 << 18
	catchUpReadersMaxDefault = 16
	watchersMaxDefault       = 100_000
)

const (
	// passEventsMax and passBytesMax bound one pass over new events, and so a round; the last revision may be larger.
	passEventsMax = 512
	passBytesMax  = 1 << 20
	// batchEventsMax and batchBytesMax bound a batch; its last revision may be larger.
	batchEventsMax = 4096
	batchBytesMax  = 1 << 20
)

// History walks over kept events: it calls visit for those after a position, in order, until visit returns false, and
// returns the revision that its view of the store shows. It fails with ErrCompacted if some are forgotten.
type History func(after Position, visit func(*storev1.Event) bool) (revision uint64, err error)

// Options says what a hub works with. History is required.
type Options struct {
	// History reads what the ring has no more.
	History History
	// RingBytesMax bounds recent events in memory while there are watches; 0 is 64 MiB. Without watches at most 4 MiB of them are kept.
	RingBytesMax int
	// RingEventsMax bounds their number; 0 is 262 144.
	RingEventsMax int
	// CatchUpReadersMax is how many watchers read history at once; 0 is 16. Others wait for their turn.
	CatchUpReadersMax int
	// WatchersMax is how many watches there may be; 0 is 100 000. Above it Watch fails with ErrTooMany.
	WatchersMax int
	// Registerer takes the metrics; nil keeps them unseen.
	Registerer prometheus.Registerer
}

// mark says how far the notifier came.
type mark struct {
	slot     uint64
	revision uint64
}

// Hub passes events on. Publish is for one goroutine, Run for another; Watch for any.
type Hub struct {
	o       Options
	ring    *ring
	metrics *metrics
	news    chan struct{} // one slot: there may be something new in the ring
	readers chan struct{} // one element for each watcher that reads history

	notified atomic.Pointer[mark] // watchers look no further
	watchers atomic.Int64
	offers   sync.WaitGroup // goroutines that offer rounds

	mu      sync.Mutex // guards what follows, and members of groups; before a group's mu and the ring's
	groups  map[string]*group
	index   *index
	passed  chan struct{} // closed by the next pass; nil when nobody waits for one
	stopped chan struct{} // closed when Run has ended
}

// New returns a hub without watchers.
func New(o Options) (*Hub, error) {
	setDefault(&o.RingBytesMax, ringBytesMaxDefault)
	setDefault(&o.RingEventsMax, ringEventsMaxDefault)
	setDefault(&o.CatchUpReadersMax, catchUpReadersMaxDefault)
	setDefault(&o.WatchersMax, watchersMaxDefault)
	h := &Hub{
		o:       o,
		news:    make(chan struct{}, 1),
		readers: make(chan struct{}, o.CatchUpReadersMax),
		groups:  map[string]*group{},
		index:   newIndex(),
		stopped: make(chan struct{}),
	}
	h.ring = newRing(o.RingBytesMax, o.RingEventsMax, func() bool { return h.Watchers() > 0 })
	h.notified.Store(&mark{})
	m, err := newMetrics(o.Registerer, h)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	h.metrics = m
	return h, nil
}

func setDefault(n *int, value int) {
	if *n == 0 {
		*n = value
	}
}

// Watchers returns how many watches there are.
func (h *Hub) Watchers() int { return int(h.watchers.Load()) }

// Publish tells what was applied. The apply goroutine calls it for every outcome, in order; it never waits for watchers.
func (h *Hub) Publish(o storage.Outcome) {
	h.ring.add(o.Events, o.Applied.Revision)
	h.metrics.events.Add(float64(len(o.Events)))
	select {
	case h.news <- struct{}{}:
	default: // The notifier will look anyway.
	}
}

// Run wakes watchers until ctx ends; then all watches end with ErrStopped. It is called once.
func (h *Hub) Run(ctx context.Context) error {
	defer close(h.stopped)
	defer h.offers.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.news:
			for h.pass() {
			}
		}
	}
}

// pass finds the groups of some new events and wakes them. It reports whether there may be more.
func (h *Hub) pass() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.notified.Load()
	end := h.ring.end()
	c := h.ring.read(at.slot, end, passEventsMax, passBytesMax)
	if c.gap {
		h.skip()
		return true
	}
	var touched []*group
	for i, e := range c.events {
		slot := c.from + uint64(i)
		h.index.find(e, func(g *group) {
			if len(g.found) == 0 {
				touched = append(touched, g)
			} else if g.found[len(g.found)-1] == slot {
				return
			}
			g.found = append(g.found, slot)
		})
	}
	tail := h.ring.start()
	rounds := make([]*round, len(touched))
	for i, g := range touched {
		rounds[i] = &round{slots: g.found, to: c.to, revision: c.revision}
		g.add(rounds[i], tail)
		g.found = nil
	}
	h.notify(mark{slot: c.to, revision: c.revision})
	h.metrics.wakes.Add(float64(len(touched)))
	for i, g := range touched {
		g.tell(rounds[i], h.offers.Go)
	}
	return c.to < end
}

// notify moves the mark up to which watchers look. The caller holds mu.
func (h *Hub) notify(m mark) {
	h.notified.Store(&m)
	if h.passed != nil {
		close(h.passed)
		h.passed = nil
	}
}

// passing returns a channel that is closed when the mark moves after this call, if that is wanted.
func (h *Hub) passing(wanted bool) <-chan struct{} {
	if !wanted {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.passed == nil {
		h.passed = make(chan struct{})
	}
	return h.passed
}

// skip goes on at the end of the ring when events were dropped before this goroutine saw them. All watchers look for
// themselves what they missed.
func (h *Hub) skip() {
	slot, revision := h.ring.now()
	for _, g := range h.groups {
		g.reset(slot)
	}
	h.notify(mark{slot: slot, revision: revision})
	for _, g := range h.groups {
		g.tell(nil, h.offers.Go)
	}
}

// join adds a watcher to the group of its selectors.
func (h *Hub) join(s Selectors) (*group, error) {
	if h.watchers.Add(1) > int64(h.o.WatchersMax) {
		h.watchers.Add(-1)
		return nil, fmt.Errorf("%w: %d", ErrTooMany, h.o.WatchersMax)
	}
	key := s.Key()
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.groups[key]
	if g == nil {
		g = &group{key: key, selectors: s, ring: h.ring, floor: h.notified.Load().slot}
		h.groups[key] = g
		h.index.add(g)
	}
	g.members++
	return g, nil
}

func (h *Hub) leave(g *group) {
	h.watchers.Add(-1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.members--; g.members == 0 {
		delete(h.groups, g.key)
		h.index.remove(g)
	}
}
