package lock

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// waitGraph is who waits for whom. A session waits for those who hold what it queues for, for those who stand before it in
// the queue, and for the sessions that its own command opened, because the command waits for them.
type waitGraph struct {
	locks    map[string]*tenurev1.Lock
	names    map[string]string
	places   map[string][]*tenurev1.Place // By session, in order of the keys.
	children map[string][]string          // By session.
	stuck    map[string]bool              // Sessions that cannot go on.
}

// waitEdge says why one session cannot go on before another does.
type waitEdge struct {
	// From waits for To; both are sessions.
	From string `json:"sessionId"`
	// FromName is From's name.
	FromName string `json:"sessionName"`
	// Key is the lock that is waited for; empty if To is a session of From's own command.
	Key string `json:"key"`
	// Because says how To stands in the way: as "holder", "waiter" or "command".
	Because string `json:"because"`
	// To is the session waited for.
	To string `json:"waitsForSessionId"`
	// ToName is To's name.
	ToName string `json:"waitsForSessionName"`
}

// newWaitGraph returns the graph of some locks, with their holders and queues, and the sessions that live.
func newWaitGraph(locks map[string]*tenurev1.Lock, sessions []*tenurev1.Session) *waitGraph {
	g := &waitGraph{
		locks: locks, names: map[string]string{}, places: map[string][]*tenurev1.Place{},
		children: map[string][]string{}, stuck: map[string]bool{},
	}
	for _, s := range sessions {
		g.names[s.GetSessionId()] = s.GetName()
	}
	for _, s := range sessions {
		for parent := range strings.SplitSeq(s.GetMetadata()[session.ParentsEntry], ",") {
			if _, lives := g.names[parent]; lives {
				g.children[parent] = append(g.children[parent], s.GetSessionId())
				g.stuck[parent] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(locks)) {
		for _, p := range locks[key].GetPlaces() {
			g.places[p.GetSessionId()] = append(g.places[p.GetSessionId()], p)
			g.stuck[p.GetSessionId()] = true
		}
	}
	g.reduce()
	return g
}

// reduce leaves in stuck only those that cannot go on even if all others do, and give up what they hold, in the best order.
func (g *waitGraph) reduce() {
	for changed := true; changed; {
		changed = false
		for id := range g.stuck {
			if _, stuck := g.edge(id); !stuck {
				delete(g.stuck, id)
				changed = true
			}
		}
	}
}

// edge returns a reason why a session cannot go on, if there is one.
func (g *waitGraph) edge(id string) (waitEdge, bool) {
	for _, place := range g.places[id] {
		if to, because := g.blocker(place); to != "" {
			return g.newEdge(id, place.GetKey(), because, to), true
		}
	}
	for _, child := range g.children[id] {
		if g.stuck[child] {
			return g.newEdge(id, "", "command", child), true
		}
	}
	return waitEdge{}, false
}

func (g *waitGraph) newEdge(from, key, because, to string) waitEdge {
	return waitEdge{From: from, FromName: g.names[from], Key: key, Because: because, To: to, ToName: g.names[to]}
}

// blocker returns a stuck session that keeps a place from being granted; nothing if none does. What another owner of the
// same session holds is not counted: it may well give it back.
func (g *waitGraph) blocker(place *tenurev1.Place) (session, because string) {
	lock := g.locks[place.GetKey()]
	var permits uint32
	for _, hold := range lock.GetHolds() {
		holder := hold.GetSequencer().GetSessionId()
		shared := place.GetMode() == tenurev1.LockMode_LOCK_MODE_SHARED && hold.GetMode() == tenurev1.LockMode_LOCK_MODE_SHARED
		if holder == place.GetSessionId() || shared || !g.stuck[holder] {
			continue
		}
		if place.GetMode() == tenurev1.LockMode_LOCK_MODE_SEMAPHORE {
			permits += hold.GetPermits()
			if permits+place.GetPermits() <= lock.GetLimit() {
				continue
			}
		}
		return holder, "holder"
	}
	for _, before := range lock.GetPlaces() {
		waiter := before.GetSessionId()
		if before.GetPlace() < place.GetPlace() && waiter != place.GetSessionId() && g.stuck[waiter] {
			return waiter, "waiter"
		}
	}
	return "", ""
}

// cycles returns rings of sessions each of which waits for the next, every session in at most one.
func (g *waitGraph) cycles() [][]waitEdge {
	var rings [][]waitEdge
	seen := map[string]int{} // In which walk.
	for walk, start := range slices.Sorted(maps.Keys(g.stuck)) {
		var path []waitEdge
		at := start
		for seen[at] == 0 {
			seen[at] = walk + 1
			edge, _ := g.edge(at)
			path = append(path, edge)
			at = edge.To
		}
		if seen[at] != walk+1 {
			continue // Leads into a ring, or a part, that is known.
		}
		first := slices.IndexFunc(path, func(e waitEdge) bool { return e.From == at })
		rings = append(rings, path[first:])
	}
	return rings
}

// bothSeen returns what two looks at the same locks have in common. What was there both times was there all the time
// between, because holds and places have numbers that are never used again.
func bothSeen(one, two map[string]*tenurev1.Lock) map[string]*tenurev1.Lock {
	common := map[string]*tenurev1.Lock{}
	for key, before := range one {
		after := two[key]
		lock := &tenurev1.Lock{Key: key, Limit: before.GetLimit()}
		for _, h := range before.GetHolds() {
			if slices.ContainsFunc(after.GetHolds(), func(x *tenurev1.Hold) bool {
				return x.GetSequencer().GetFencingToken() == h.GetSequencer().GetFencingToken() &&
					x.GetSequencer().GetLockIndex() == h.GetSequencer().GetLockIndex()
			}) {
				lock.Holds = append(lock.Holds, h)
			}
		}
		for _, p := range before.GetPlaces() {
			if slices.ContainsFunc(after.GetPlaces(), func(x *tenurev1.Place) bool {
				return x.GetPlace() == p.GetPlace() && x.GetSessionId() == p.GetSessionId()
			}) {
				lock.Places = append(lock.Places, p)
			}
		}
		common[key] = lock
	}
	return common
}
