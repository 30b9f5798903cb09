package hosts

import (
	"math/rand/v2"
	"slices"
)

// List is the members to choose from.
type List struct {
	rng   *rand.Rand
	order []string
	next  int
	last  string // Returned last by Next.
	move  *move  // Set while looking for a member after a change of the list.
}

// move is what is left to try after a change of the list.
type move struct {
	fresh, old []string
	freshShare float64 // Probability of trying a fresh one, while there are both.
}

// New returns a list in random order.
func New(members []string, rng *rand.Rand) *List {
	l := &List{rng: rng}
	l.order = l.shuffled(members)
	return l
}

// InOrder returns a list in the order of the members. It has no source of chance, so it is never updated.
func InOrder(members []string) *List { return &List{order: slices.Clone(members)} }

func (l *List) shuffled(members []string) []string {
	order := slices.Clone(members)
	slices.Sort(order)
	order = slices.Compact(order)
	l.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// Len returns the number of members.
func (l *List) Len() int { return len(l.order) }

// Members returns the members, sorted.
func (l *List) Members() []string {
	members := slices.Clone(l.order)
	slices.Sort(members)
	return members
}

// Next returns the member to try next.
func (l *List) Next() string {
	if l.move != nil {
		if address, ok := l.move.take(l.rng); ok {
			l.last = address
			return address
		}
		l.move = nil
	}
	l.last = l.order[l.next%len(l.order)]
	l.next = (l.next + 1) % len(l.order)
	return l.last
}

// take returns the next member to try, fresh or old by chance while there are both.
func (m *move) take(rng *rand.Rand) (string, bool) {
	from, other := &m.old, &m.fresh
	if rng.Float64() < m.freshShare {
		from, other = other, from
	}
	if len(*from) == 0 {
		from = other
	}
	if len(*from) == 0 {
		return "", false
	}
	address := (*from)[0]
	*from = (*from)[1:]
	return address, true
}

// Moving tells whether Next still has members to try because of a change of the list.
func (l *List) Moving() bool { return l.move != nil && len(l.move.fresh)+len(l.move.old) > 0 }

// Connected notes that the member of the last Next answered; round robin goes on behind it.
func (l *List) Connected() {
	l.move = nil
	if at := slices.Index(l.order, l.last); at >= 0 {
		l.next = (at + 1) % len(l.order)
	}
}

// Update replaces the list, and tells whether the client, connected to a member, should move to the one that Next returns.
// An empty list, or the same one, changes nothing.
func (l *List) Update(members []string, current string) bool {
	order := l.shuffled(members)
	if len(order) == 0 || slices.Equal(sorted(order), l.Members()) {
		return false
	}
	before := l.order
	var fresh, old []string
	for _, address := range order {
		switch {
		case address == current:
		case slices.Contains(before, address):
			old = append(old, address)
		default:
			fresh = append(fresh, address)
		}
	}
	stays := slices.Contains(order, current)
	kept := 0
	for _, address := range before {
		if slices.Contains(order, address) {
			kept++
		}
	}
	share, moves := rule(len(before), len(order), kept, stays, l.rng)
	l.order, l.next = order, 0
	if at := slices.Index(order, current); at >= 0 {
		l.next = (at + 1) % len(order)
	}
	l.move = nil
	if moves {
		l.move = &move{fresh: fresh, old: old, freshShare: share}
	}
	return moves
}

// rule returns whether to move, and then the probability of trying a fresh member.
func rule(before, after, kept int, stays bool, rng *rand.Rand) (freshShare float64, moves bool) {
	switch {
	case stays && after > before:
		return 1, rng.Float64() < 1-float64(before)/float64(after)
	case stays:
		return 0, false
	case after > before:
		return 1, true
	case before == kept:
		return 0, true // The current one was never on the list: any will do.
	default:
		oldShare := float64(kept*(before-after)) / float64(after*(before-kept))
		return 1 - oldShare, true
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
