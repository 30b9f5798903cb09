package tenure

import (
	"slices"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// holdings is what a session knows of what it has in the cluster. Under one name, a key and an owner, the cluster gives a session one thing at
// most, a hold or a place, and each hold there has a larger token than the one before. So for each name one number tells which answers come too late
// to be believed: they name a hold up to it, which was given back or lost while they were on their way. The number is kept while a call is under way
// that may be told so, and no longer: a request that is made later finds what the cluster has then.
//
// holdings has no lock of its own, and nothing in it waits: the session's mu guards it, so that whatever is decided by it is decided at once.
type holdings struct {
	stakes    map[ownName]*stake
	inherited []*tenurev1.Hold // Taken over, and no Held yet.
	due       []*Held          // To be given back when a member answers again.
	moved     chan struct{}    // Closed and replaced when something was given back.
}

// ownName names what a session has of a lock: a hold or a place.
type ownName struct {
	key   string // With namespace.
	owner string
}

// ownNameOf returns the name of a hold.
func ownNameOf(hold *tenurev1.Hold) ownName {
	return ownName{key: hold.GetSequencer().GetKey(), owner: hold.GetOwner()}
}

// stake is what there is under one name.
type stake struct {
	held    *Held  // What is believed.
	asking  int    // Acquires and tries under way: each may yet be told of a hold.
	leaving int    // What is being given back, or due to be: another request would find it again.
	gone    uint64 // The token up to which holds were given back or lost.
	// owed tells that a call which failed may have left something, or that its last request, by its number, may still do so.
	owed bool
	last uint64
}

func newHoldings() holdings {
	return holdings{stakes: map[ownName]*stake{}, moved: make(chan struct{})}
}

// stake returns what there is under a name, to be changed; tidy it after.
func (h *holdings) stake(own ownName) *stake {
	s := h.stakes[own]
	if s == nil {
		s = &stake{}
		h.stakes[own] = s
	}
	return s
}

// tidy forgets a name under which nothing is left, and no answer can come.
func (h *holdings) tidy(own ownName) {
	if s := h.stakes[own]; s != nil && s.held == nil && s.asking == 0 && s.leaving == 0 && !s.owed {
		delete(h.stakes, own)
	}
}

// any tells whether something is held.
func (h *holdings) any() bool {
	for _, s := range h.stakes {
		if s.held != nil {
			return true
		}
	}
	return false
}

// losable reports whether there is anything that the cluster may have taken away without this process hearing of it: what is held, what was granted
// to a call that does not believe it yet, and what is inherited.
func (h *holdings) losable() bool {
	if len(h.inherited) > 0 {
		return true
	}
	for _, s := range h.stakes {
		if s.held != nil || s.asking > 0 {
			return true
		}
	}
	return false
}

// helds returns all that is held.
func (h *holdings) helds() []*Held {
	var all []*Held
	for _, s := range h.stakes {
		if s.held != nil {
			all = append(all, s.held)
		}
	}
	return all
}

// ask notes a call that asks for a hold.
func (h *holdings) ask(own ownName) { h.stake(own).asking++ }

// asked ends what ask began.
func (h *holdings) asked(own ownName) {
	h.stake(own).asking--
	h.tidy(own)
}

// owe notes that a call may have left something, or that a request of it up to the last may still do so.
func (h *holdings) owe(own ownName, last uint64) {
	s := h.stake(own)
	s.owed, s.last = true, max(s.last, last)
}

// takeOwed returns what is owed, up to which request, if it can be given up now, which the caller then does: left is to be called after.
// As long as somebody has or may be told of it, or it is on its way back, it cannot.
func (h *holdings) takeOwed(own ownName) (last uint64, now bool) {
	s := h.stakes[own]
	if s == nil || !s.owed || s.held != nil || s.asking > 0 || s.leaving > 0 {
		return 0, false
	}
	last = s.last
	s.owed, s.last = false, 0
	s.leaving++
	return last, true
}

// leave notes that something is on its way back.
func (h *holdings) leave(own ownName) { h.stake(own).leaving++ }

// left ends what leave or takeOwed began.
func (h *holdings) left(own ownName) {
	h.stake(own).leaving--
	h.tidy(own)
	close(h.moved)
	h.moved = make(chan struct{})
}

// leaves tells whether something under a name is on its way back.
func (h *holdings) leaves(own ownName) bool {
	s := h.stakes[own]
	return s != nil && s.leaving > 0
}

// anyLeaves tells whether anything is on its way back.
func (h *holdings) anyLeaves() bool {
	for _, s := range h.stakes {
		if s.leaving > 0 {
			return true
		}
	}
	return false
}

// late tells whether an answer that names a hold comes too late to be believed.
func (h *holdings) late(hold *tenurev1.Hold) bool {
	s := h.stakes[ownNameOf(hold)]
	return s != nil && hold.GetSequencer().GetFencingToken() <= s.gone
}

// known returns the Held of a hold, if there is one.
func (h *holdings) known(hold *tenurev1.Hold) *Held {
	s := h.stakes[ownNameOf(hold)]
	if s == nil || s.held == nil || s.held.Token() != hold.GetSequencer().GetFencingToken() {
		return nil
	}
	return s.held
}

// believe notes a hold that is not late. What was held under its name before is given over to the caller to be ended: the cluster knows no more of it.
func (h *holdings) believe(held *Held) (before *Held) {
	s := h.stake(held.name())
	before, s.held = s.held, held
	s.gone = held.Token() - 1
	return before
}

// end notes that a hold ended.
func (h *holdings) end(held *Held) {
	own := held.name()
	s := h.stake(own)
	if s.held == held {
		s.held = nil
	}
	s.gone = max(s.gone, held.Token())
	h.tidy(own)
}

// lost notes that a hold was lost, and returns the Held that has to end, if there is one.
func (h *holdings) lost(hold *tenurev1.Hold) *Held {
	h.disinherit(hold)
	s := h.stakes[ownNameOf(hold)]
	if s == nil {
		return nil // Nobody holds it, or can be told of it any more.
	}
	s.gone = max(s.gone, hold.GetSequencer().GetFencingToken())
	return s.ended()
}

// ended returns what is held though it is gone.
func (s *stake) ended() *Held {
	if s.held != nil && s.held.Token() <= s.gone {
		return s.held
	}
	return nil
}

// compare takes the truth: all holds that the session had at a revision. It returns the Helds that have to end.
func (h *holdings) compare(truth []*tenurev1.Hold, revision uint64) (ended []*Held) {
	tokens := map[ownName]uint64{}
	for _, hold := range truth {
		tokens[ownNameOf(hold)] = hold.GetSequencer().GetFencingToken()
	}
	for own, s := range h.stakes {
		gone := revision // What was granted later cannot be in it.
		if token, there := tokens[own]; there {
			gone = min(gone, token-1)
		}
		s.gone = max(s.gone, gone)
		if held := s.ended(); held != nil {
			ended = append(ended, held)
		}
	}
	h.inherited = slices.DeleteFunc(h.inherited, func(hold *tenurev1.Hold) bool {
		return tokens[ownNameOf(hold)] != hold.GetSequencer().GetFencingToken()
	})
	return ended
}

// inherits tells whether a hold is one that was taken over, and no Held yet: then it is not for those who wait for it to give it up.
func (h *holdings) inherits(hold *tenurev1.Hold) bool {
	return slices.ContainsFunc(h.inherited, is(hold))
}

// disinherit forgets a hold that was taken over, and tells whether it was one.
func (h *holdings) disinherit(hold *tenurev1.Hold) bool {
	before := len(h.inherited)
	h.inherited = slices.DeleteFunc(h.inherited, is(hold))
	return len(h.inherited) < before
}

// is returns what tells whether another message names the same hold.
func is(hold *tenurev1.Hold) func(other *tenurev1.Hold) bool {
	return func(other *tenurev1.Hold) bool {
		return ownNameOf(other) == ownNameOf(hold) && other.GetSequencer().GetFencingToken() == hold.GetSequencer().GetFencingToken()
	}
}
