package watch

import (
	"math"
	"sort"
	"sync"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
)

const (
	// eventBytes is what an event costs in memory beside what it says: about what its messages take when decoded.
	eventBytes = 384
	// ringSlotsMin is the size of an empty ring.
	ringSlotsMin = 1024
	// unwatchedBytesMax bounds the ring while there are no watches. It is what one that is opened again soon may have missed; older
	// events are read from the store.
	unwatchedBytesMax = 4 << 20
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
	watched             func() bool // reports whether there are watches
	moves               *moves

	mu        sync.RWMutex // guards what follows
	events    []slot
	tail      uint64
	head      uint64
	bytes     int
	base      uint64 // every event of a later revision that was published is there
	revision  uint64 // of the last outcome
	published bool
}

// slot holds an event and its size.
type slot struct {
	event *storev1.Event
	bytes int
}

func newRing(bytesMax, eventsMax int, watched func() bool) *ring {
	return &ring{bytesMax: bytesMax, eventsMax: eventsMax, watched: watched, moves: newMoves(), events: make([]slot, ringSlotsMin)}
}

func (r *ring) at(n uint64) *slot { return &r.events[n&uint64(len(r.events)-1)] }

// size returns what an event counts in bytes: at least what it keeps in memory.
func size(e *storev1.Event) int {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_KeyPut: // What is left out is small, and this is by far the most frequent.
		return eventBytes + len(kind.KeyPut.GetKey()) + len(kind.KeyPut.GetValue())
	default:
		return eventBytes + proto.Size(e)
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
		// Who read the store before now goes on at the end of the ring; a snapshot may have been installed since.
		r.published = true
		r.skip(before)
	case before > r.revision:
		r.skip(before)
	}
	invariants.That(revision >= r.revision || r.head == r.tail, "revision %d is published after %d", revision, r.revision)
	r.revision = revision
	for i, e := range events {
		invariants.That(e.GetRevision() <= revision, "an event of revision %d is published with revision %d", e.GetRevision(), revision)
		if i > 0 {
			invariants.That((Position{Revision: events[i-1].GetRevision(), Index: events[i-1].GetIndex()}).before(e),
				"event %d of revision %d follows %d of %d", e.GetIndex(), e.GetRevision(), events[i-1].GetIndex(), events[i-1].GetRevision())
		}
		if r.head-r.tail == uint64(len(r.events)) {
			r.grow()
		}
		r.moves.count(e)
		newest := slot{event: e, bytes: size(e)}
		*r.at(r.head) = newest
		r.head++
		r.bytes += newest.bytes
	}
	bytesMax := r.bytesMax
	if !r.watched() {
		bytesMax = min(bytesMax, unwatchedBytesMax)
	}
	for r.bytes > bytesMax || int(r.head-r.tail) > r.eventsMax {
		oldest := r.at(r.tail)
		r.bytes -= oldest.bytes
		invariants.That(r.bytes >= 0 && r.tail < r.head, "the ring of events has %d bytes in %d events", r.bytes, r.head-r.tail)
		r.base = oldest.event.GetRevision()
		*oldest = slot{}
		r.tail++
	}
}

// skip drops everything, because revisions up to base were never published: a snapshot was installed. One slot stays
// empty, so that all who went on at the end of the ring find that something is gone.
func (r *ring) skip(base uint64) {
	r.moves.all.Add(1)
	clear(r.events)
	r.head++
	r.tail = r.head
	r.bytes = 0
	r.base = base
}

func (r *ring) grow() {
	events := make([]slot, 2*len(r.events))
	for n := r.tail; n < r.head; n++ {
		events[n&uint64(len(events)-1)] = *r.at(n)
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
	n := sort.Search(int(r.head-r.tail), func(i int) bool { return p.before(r.at(r.tail + uint64(i)).event) })
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
	for i, n := range slots {
		events[i] = r.at(n).event
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
		s := r.at(c.to)
		e := s.event
		if (len(c.events) >= eventsMax || bytes >= bytesMax) && e.GetRevision() != c.revision {
			return c
		}
		c.events = append(c.events, e)
		c.revision = e.GetRevision()
		bytes += s.bytes
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
