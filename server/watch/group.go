package watch

import (
	"slices"
	"sort"
	"sync"
	"weak"
)

const (
	// roundsMax is how many rounds a group remembers; a watcher further behind searches the ring.
	roundsMax = 64
	// roundSlotsMax is how many events they may have together.
	roundSlotsMax = 4096
	// coalesceFrom is how many rounds behind a watcher stops taking them one by one.
	coalesceFrom = 8
)

// Shared keeps what members of a group have in common about a batch, so that one of them works it out for all.
type Shared struct {
	mu     sync.Mutex // guards values
	values [sharedVariants]any
}

// sharedVariants is how many values a Shared keeps.
const sharedVariants = 4

// Value returns the value of a variant (0 to 3), made by the first who asks. While it is made, others wait.
func (s *Shared) Value(variant int, build func() (any, error)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.values[variant]; v != nil {
		return v, nil
	}
	v, err := build()
	if err == nil {
		s.values[variant] = v
	}
	return v, err
}

// round is what one pass over new events found for a group.
type round struct {
	slots    []uint64 // in the ring, growing
	to       uint64   // behind all events of the pass
	revision uint64   // everything up to it came before to
	// shared lives while somebody sends it.
	shared weak.Pointer[Shared]
}

// last returns the slot of the last event; a round has one at least.
func (r *round) last() uint64 { return r.slots[len(r.slots)-1] }

// group is all watches with the same selectors.
type group struct {
	key       string
	selectors Selectors
	ring      *ring
	members   int // guarded by the hub's mu

	found []uint64 // of the present pass; belongs to the hub's notifier

	mu     sync.Mutex // guards what follows; a leaf
	wait   chan struct{}
	floor  uint64 // rounds have every selected event at this slot or later
	rounds []*round
	slots  int // of all rounds

	sleepers sleepers
}

// waiter returns a channel that is closed after the next round.
func (g *group) waiter() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait == nil {
		g.wait = make(chan struct{})
	}
	return g.wait
}

// add remembers a round, and forgets old ones.
func (g *group) add(r *round, tail uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rounds = append(g.rounds, r)
	g.slots += len(r.slots)
	n := 0
	for n < len(g.rounds)-1 &&
		(len(g.rounds)-n > roundsMax || g.slots > roundSlotsMax || g.rounds[n].slots[0] < tail) {
		g.slots -= len(g.rounds[n].slots)
		g.floor = g.rounds[n].to
		n++
	}
	if n > 0 {
		g.rounds = slices.Delete(g.rounds, 0, n)
	}
}

// reset forgets all rounds: events before floor may have been missed.
func (g *group) reset(floor uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rounds, g.slots, g.floor = nil, 0, floor
}

// part is what a member takes of the rounds.
type part struct {
	slots    []uint64
	to       uint64
	revision uint64
	round    *round // set if the part is exactly this round
}

// next returns the first events at or after a slot: one round, or many for a member that is far behind. known is false if
// the rounds do not reach back so far.
func (g *group) next(from uint64) (p part, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if from < g.floor {
		return part{}, false
	}
	i := sort.Search(len(g.rounds), func(i int) bool { return g.rounds[i].last() >= from })
	rest := g.rounds[i:]
	if len(rest) == 0 {
		return part{}, true
	}
	first := rest[0]
	if len(rest) < coalesceFrom {
		p = part{slots: first.slots, to: first.to, revision: first.revision, round: first}
		if k := sort.Search(len(first.slots), func(k int) bool { return first.slots[k] >= from }); k > 0 {
			p.slots, p.round = first.slots[k:], nil
		}
		return p, true
	}
	for _, r := range rest {
		if len(p.slots) > 0 && len(p.slots)+len(r.slots) > batchEventsMax {
			break
		}
		for _, slot := range r.slots {
			if slot >= from {
				p.slots = append(p.slots, slot)
			}
		}
		p.to, p.revision = r.to, r.revision
	}
	return p, true
}

// sharedOf returns what the members share about a round.
func (g *group) sharedOf(r *round) *Shared {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := r.shared.Value(); s != nil {
		return s
	}
	s := &Shared{}
	r.shared = weak.Make(s)
	return s
}
