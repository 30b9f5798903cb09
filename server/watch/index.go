package watch

import (
	"cmp"
	"slices"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// index finds the groups that an event is for.
type index struct {
	keys, locks               map[string][]*group
	keyPrefixes, lockPrefixes prefixes
	places                    map[Place][]*group
	ranges                    []*group
	sessions                  map[storage.SessionID][]*group
	allSessions               []*group
	nodes, services           map[string][]*group
	allNodes, allServices     []*group
	allQueries                []*group
}

func newIndex() *index {
	return &index{
		keys:     map[string][]*group{},
		locks:    map[string][]*group{},
		places:   map[Place][]*group{},
		sessions: map[storage.SessionID][]*group{},
		nodes:    map[string][]*group{},
		services: map[string][]*group{},
	}
}

// prefixes finds groups by the prefixes of a key: one look for each length of prefix that is in use.
type prefixes []prefixesOfLength

type prefixesOfLength struct {
	length int
	groups map[string][]*group
}

func (p *prefixes) add(prefix string, g *group) {
	i, found := slices.BinarySearchFunc(*p, len(prefix), func(l prefixesOfLength, n int) int { return cmp.Compare(l.length, n) })
	if !found {
		*p = slices.Insert(*p, i, prefixesOfLength{length: len(prefix), groups: map[string][]*group{}})
	}
	groups := (*p)[i].groups
	groups[prefix] = append(groups[prefix], g)
}

func (p *prefixes) remove(prefix string, g *group) {
	i, found := slices.BinarySearchFunc(*p, len(prefix), func(l prefixesOfLength, n int) int { return cmp.Compare(l.length, n) })
	if !found {
		return
	}
	removeFrom((*p)[i].groups, prefix, g)
	if len((*p)[i].groups) == 0 {
		*p = slices.Delete(*p, i, i+1)
	}
}

func (p prefixes) find(key string, visit func(*group)) {
	for _, l := range p {
		if l.length > len(key) {
			return
		}
		for _, g := range l.groups[key[:l.length]] {
			visit(g)
		}
	}
}

func removeFrom[K comparable](m map[K][]*group, k K, g *group) {
	if left := without(m[k], g); len(left) > 0 {
		m[k] = left
	} else {
		delete(m, k)
	}
}

func without(groups []*group, g *group) []*group {
	if i := slices.Index(groups, g); i >= 0 {
		return slices.Delete(groups, i, i+1)
	}
	return groups
}

func (x *index) add(g *group) {
	s := &g.selectors
	for _, k := range s.Keys {
		x.keys[k] = append(x.keys[k], g)
	}
	for _, p := range s.Prefixes {
		x.keyPrefixes.add(p, g)
	}
	if s.RangeEnd != "" {
		x.ranges = append(x.ranges, g)
	}
	for _, k := range s.Locks {
		x.locks[k] = append(x.locks[k], g)
	}
	for _, p := range s.LockPrefixes {
		x.lockPrefixes.add(p, g)
	}
	for _, p := range s.Places {
		x.places[p] = append(x.places[p], g)
	}
	for _, id := range s.Sessions {
		x.sessions[id] = append(x.sessions[id], g)
	}
	if s.AllSessions {
		x.allSessions = append(x.allSessions, g)
	}
	for _, n := range s.Nodes {
		x.nodes[n] = append(x.nodes[n], g)
	}
	for _, n := range s.Services {
		x.services[n] = append(x.services[n], g)
	}
	if s.AllNodes {
		x.allNodes = append(x.allNodes, g)
	}
	if s.AllServices {
		x.allServices = append(x.allServices, g)
	}
	if s.AllQueries {
		x.allQueries = append(x.allQueries, g)
	}
}

func (x *index) remove(g *group) {
	s := &g.selectors
	for _, k := range s.Keys {
		removeFrom(x.keys, k, g)
	}
	for _, p := range s.Prefixes {
		x.keyPrefixes.remove(p, g)
	}
	if s.RangeEnd != "" {
		x.ranges = without(x.ranges, g)
	}
	for _, k := range s.Locks {
		removeFrom(x.locks, k, g)
	}
	for _, p := range s.LockPrefixes {
		x.lockPrefixes.remove(p, g)
	}
	for _, p := range s.Places {
		removeFrom(x.places, p, g)
	}
	for _, id := range s.Sessions {
		removeFrom(x.sessions, id, g)
	}
	if s.AllSessions {
		x.allSessions = without(x.allSessions, g)
	}
	for _, n := range s.Nodes {
		removeFrom(x.nodes, n, g)
	}
	for _, n := range s.Services {
		removeFrom(x.services, n, g)
	}
	if s.AllNodes {
		x.allNodes = without(x.allNodes, g)
	}
	if s.AllServices {
		x.allServices = without(x.allServices, g)
	}
	if s.AllQueries {
		x.allQueries = without(x.allQueries, g)
	}
}

// find calls visit for the groups that an event is for; for one that selects it twice, twice.
func (x *index) find(e *storev1.Event, visit func(*group)) {
	pass := func(g *group) {
		if g.selectors.passes(e) {
			visit(g)
		}
	}
	each := func(groups []*group) {
		for _, g := range groups {
			pass(g)
		}
	}
	switch sub := subjectOf(e); sub.class {
	case classKey:
		each(x.keys[sub.key])
		x.keyPrefixes.find(sub.key, pass)
		for _, g := range x.ranges {
			if g.selectors.inRange(sub.key) {
				pass(g)
			}
		}
	case classLock:
		each(x.locks[sub.key])
		x.lockPrefixes.find(sub.key, pass)
		if place := placeOf(e); place != 0 && len(x.places) > 0 {
			each(x.places[Place{sub.key, place}])
		}
	case classSession:
		each(x.sessions[sub.session])
		each(x.allSessions)
	case classCatalog:
		each(x.nodes[sub.node])
		each(x.allNodes)
		for _, name := range sub.services {
			each(x.services[name])
		}
		if len(sub.services) > 0 {
			each(x.allServices)
		}
	case classQuery:
		each(x.allQueries)
	case classNone:
	}
}
