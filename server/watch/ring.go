package watch

import (
	"math"
	"sort"
	"sync"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

const (
	// eventBytes is what an event costs beside its key and value.
	eventBytes = 256
	// ringSlotsMin is the size of an empty ring.
	ringSlotsMin = 1024
)

// Whole is the index of a Position behind all events of its revision.
const Whole = math.MaxUint32

// Position is a place in history: behind the event of a revision and index.
type Position struct {
	Revision uint64
	Index    uint32
}

// before reports whether an event comes after the position.
func (p Position) before(e *storev1.Event) bool {
	return e.GetRevision() > p.Revision || e.GetRevision() == p.Revision && e.GetIndex() > p.Index
}

// ring holds recent events in order. A slot is a number that counts all events since the start; slots from tail to
// before head are there.
type ring struct {
	bytesMax, eventsMax int

	mu        sync.RWMutex // guards what follows
	events    []*storev1.Event
	tail      uint64
	head      uint64
	bytes     int
	base      uint64 // every event of a later revision that was published is there
	revision  uint64 // of the last outcome
	published bool
}

func newRing(bytesMax, eventsMax int) *ring {
	return &ring{bytesMax: bytesMax, eventsMax: eventsMax, events: make([]*storev1.Event, ringSlotsMin)}
}

func (r *ring) at(slot uint64) *storev1.Event { return r.events[slot&uint64(len(r.events)-1)] }

// size returns what an event counts in bytes.
func size(e *storev1.Event) int {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_KeyPut:
		return eventBytes + len(kind.KeyPut.GetKey()) + len(kind.KeyPut.GetValue())
	case *storev1.Event_KeyDeleted:
		return eventBytes + len(kind.KeyDeleted.GetKey())
	default:
		return eventBytes
	}
}

// add appends the events of an outcome, and drops the oldest.
func (r *ring) add(events []*storev1.Event, revision uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := revision
	if len(events) > 0 {
		before = events[0].GetRevision() - 1
	}
	switch {
	case !r.published:
		r.published = true
		r.base = before
	case before > r.revision:
		r.skip(before)
	}
	r.revision = revision
	for _, e := range events {
		if r.head-r.tail == uint64(len(r.events)) {
			r.grow()
		}
		r.events[r.head&uint64(len(r.events)-1)] = e
		r.head++
		r.bytes += size(e)
	}
	for r.bytes > r.bytesMax || int(r.head-r.tail) > r.eventsMax {
		slot := &r.events[r.tail&uint64(len(r.events)-1)]
		r.bytes -= size(*slot)
		r.base = (*slot).GetRevision()
		*slot = nil
		r.tail++
	}
}

// skip drops everything, because revisions up to base were never published: a snapshot was installed. One slot stays
// empty, so that all who went on at the end of the ring find that something is gone.
func (r *ring) skip(base uint64) {
	clear(r.events)
	r.head++
	r.tail = r.head
	r.bytes = 0
	r.base = base
}

func (r *ring) grow() {
	events := make([]*storev1.Event, 2*len(r.events))
	for slot := r.tail; slot < r.head; slot++ {
		events[slot&uint64(len(events)-1)] = r.at(slot)
	}
	r.events = events
}

// find returns the slot of the first event after p. It is false if events after p may be gone from the ring. caughtUp
// says that the caller has seen everything that a snapshot of the store showed; that is enough while nothing was
// published.
func (r *ring) find(p Position, caughtUp bool) (uint64, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.published {
		return r.head, caughtUp
	}
	if p.Revision < r.base || p.Revision == r.base && p.Index != Whole {
		return 0, false
	}
	n := sort.Search(int(r.head-r.tail), func(i int) bool { return p.before(r.at(r.tail + uint64(i))) })
	return r.tail + uint64(n), true
}

// fetch returns the events of some slots, or false if one is gone.
func (r *ring) fetch(slots []uint64) ([]*storev1.Event, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(slots) > 0 && slots[0] < r.tail {
		return nil, false
	}
	events := make([]*storev1.Event, len(slots))
	for i, slot := range slots {
		events[i] = r.at(slot)
	}
	return events, true
}

// chunk is some events of the ring, of whole revisions.
type chunk struct {
	events   []*storev1.Event
	from, to uint64
	revision uint64 // everything up to it is in the ring before to
	gap      bool   // events before from are gone
}

// read returns whole revisions from a slot on, to before end, until there are eventsMax events or bytesMax bytes.
func (r *ring) read(from, end uint64, eventsMax, bytesMax int) chunk {
	r.mu.RLock()
	defer r.mu.RUnlock()
	c := chunk{from: from, revision: r.base}
	if from < r.tail {
		c.gap = true
		c.from = r.tail
	}
	end = min(end, r.head)
	bytes := 0
	for c.to = c.from; c.to < end; c.to++ {
		e := r.at(c.to)
		if (len(c.events) >= eventsMax || bytes >= bytesMax) && e.GetRevision() != c.revision {
			return c
		}
		c.events = append(c.events, e)
		c.revision = e.GetRevision()
		bytes += size(e)
	}
	if c.to == r.head {
		c.revision = r.revision
	}
	return c
}

// start returns the oldest slot that is there.
func (r *ring) start() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.tail
}

// end returns the slot behind the newest event.
func (r *ring) end() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.head
}

// now returns the slot behind the newest event, and the revision there.
func (r *ring) now() (slot, revision uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.head, r.revision
}

// memory returns how many bytes and events are there.
func (r *ring) memory() (bytes, events int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.bytes, int(r.head - r.tail)
}
