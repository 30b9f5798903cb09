package watch

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// Selectors say which events a watch is about. They add up; without any, every key is selected.
type Selectors struct {
	// Keys are keys, exactly; Prefixes are beginnings of keys.
	Keys, Prefixes []string
	// RangeStart and RangeEnd select the keys from the first to before the second. An empty RangeEnd selects none.
	RangeStart, RangeEnd string
	// Locks are keys of locks, exactly; LockPrefixes are beginnings of such.
	Locks, LockPrefixes []string
	// Places are places in queues of locks: their grant, or that they were left.
	Places []Place
	// Sessions are sessions.
	Sessions []storage.SessionID
	// AllSessions selects every session.
	AllSessions bool
	// Nodes are names of nodes in lower case: they, their services and their checks. Services are names of services: their
	// instances, every check that counts for one, and changes of nodes on which one runs.
	Nodes, Services []string
	// AllNodes and AllServices select all of them, AllQueries all prepared queries.
	AllNodes, AllServices, AllQueries bool
	// NoPuts, NoDeletes, NoHolderChanges and NoQueue leave out kinds of events.
	NoPuts, NoDeletes, NoHolderChanges, NoQueue bool
}

// Place names one place in the queue of a lock.
type Place struct {
	Key    string
	Number uint64
}

// Normal returns the selectors in the one form that all equal selections have.
func (s Selectors) Normal() Selectors {
	s.Keys = sorted(s.Keys)
	s.Prefixes = sorted(s.Prefixes)
	s.Locks = sorted(s.Locks)
	s.LockPrefixes = sorted(s.LockPrefixes)
	s.Places = slices.Clone(s.Places)
	slices.SortFunc(s.Places, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.Number, b.Number))
	})
	s.Places = slices.Compact(s.Places)
	s.Sessions = slices.Clone(s.Sessions)
	slices.SortFunc(s.Sessions, func(a, b storage.SessionID) int { return strings.Compare(string(a[:]), string(b[:])) })
	s.Sessions = slices.Compact(s.Sessions)
	s.Nodes, s.Services = sorted(s.Nodes), sorted(s.Services)
	if s.RangeEnd == "" {
		s.RangeStart = ""
	}
	keys := len(s.Keys) + len(s.Prefixes) + len(s.RangeEnd)
	others := len(s.Locks) + len(s.LockPrefixes) + len(s.Places) + len(s.Sessions) + len(s.Nodes) + len(s.Services)
	if keys+others == 0 && !s.AllSessions && !s.AllNodes && !s.AllServices && !s.AllQueries {
		s.Prefixes = []string{""}
	}
	return s
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// Key returns bytes that are equal for equal normal selectors and different for different ones.
func (s Selectors) Key() string {
	var b []byte
	for _, texts := range [][]string{s.Keys, s.Prefixes, {s.RangeStart, s.RangeEnd}, s.Locks, s.LockPrefixes} {
		b = binary.AppendUvarint(b, uint64(len(texts)))
		for _, t := range texts {
			b = binary.AppendUvarint(b, uint64(len(t)))
			b = append(b, t...)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.Places)))
	for _, p := range s.Places {
		b = binary.AppendUvarint(b, uint64(len(p.Key)))
		b = append(b, p.Key...)
		b = binary.AppendUvarint(b, p.Number)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Sessions)))
	for _, id := range s.Sessions {
		b = append(b, id[:]...)
	}
	for _, flag := range []bool{s.AllSessions, s.NoPuts, s.NoDeletes, s.NoHolderChanges, s.NoQueue} {
		if flag {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	if !s.SelectsCatalog() && !s.AllQueries {
		return string(b) // As it was before there was a catalog, so that older tokens stay good.
	}
	for _, texts := range [][]string{s.Nodes, s.Services} {
		b = binary.AppendUvarint(b, uint64(len(texts)))
		for _, t := range texts {
			b = binary.AppendUvarint(b, uint64(len(t)))
			b = append(b, t...)
		}
	}
	for _, flag := range []bool{s.AllNodes, s.AllServices} {
		if flag {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	if s.AllQueries {
		b = append(b, 1)
	}
	return string(b)
}

// SelectsCatalog reports whether nodes or services are selected.
func (s Selectors) SelectsCatalog() bool {
	return len(s.Nodes)+len(s.Services) > 0 || s.AllNodes || s.AllServices
}

// class says which selectors an event is for.
type class uint8

const (
	classNone class = iota
	classKey
	classLock
	classSession
	classCatalog
	classQuery
)

// subject is what an event is about.
type subject struct {
	class    class
	key      string
	session  storage.SessionID
	node     string   // in lower case
	services []string // for which the event counts
}

// subjectOf returns what an event is about.
func subjectOf(e *storev1.Event) subject {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_KeyPut:
		return subject{class: classKey, key: kind.KeyPut.GetKey()}
	case *storev1.Event_KeyDeleted:
		return subject{class: classKey, key: kind.KeyDeleted.GetKey()}
	case *storev1.Event_LockQueued:
		return subject{class: classLock, key: kind.LockQueued.GetKey()}
	case *storev1.Event_LockLeft:
		return subject{class: classLock, key: kind.LockLeft.GetKey()}
	case *storev1.Event_LockGranted:
		return subject{class: classLock, key: kind.LockGranted.GetKey()}
	case *storev1.Event_LockReleased:
		return subject{class: classLock, key: kind.LockReleased.GetKey()}
	case *storev1.Event_LockLost:
		return subject{class: classLock, key: kind.LockLost.GetKey()}
	case *storev1.Event_LockDelayBegun:
		return subject{class: classLock, key: kind.LockDelayBegun.GetKey()}
	case *storev1.Event_LockDelayEnded:
		return subject{class: classLock, key: kind.LockDelayEnded.GetKey()}
	case *storev1.Event_SessionBegun:
		return sessionSubject(kind.SessionBegun.GetSessionId())
	case *storev1.Event_SessionTakenOver:
		return sessionSubject(kind.SessionTakenOver.GetSessionId())
	case *storev1.Event_SessionEnded:
		return sessionSubject(kind.SessionEnded.GetSessionId())
	default:
		return catalogSubject(e)
	}
}

// catalogSubject returns what an event of the catalog is about.
func catalogSubject(e *storev1.Event) subject {
	of := func(node string, services ...string) subject {
		return subject{class: classCatalog, node: storage.NodeKey(node), services: services}
	}
	switch kind := e.GetKind().(type) {
	case *storev1.Event_NodePut:
		return of(kind.NodePut.GetNode().GetName(), kind.NodePut.GetServiceNames()...)
	case *storev1.Event_NodeDeleted:
		return of(kind.NodeDeleted.GetNode())
	case *storev1.Event_ServicePut:
		p := kind.ServicePut
		if p.GetPreviousName() != "" {
			return of(p.GetNode(), p.GetService().GetName(), p.GetPreviousName())
		}
		return of(p.GetNode(), p.GetService().GetName())
	case *storev1.Event_ServiceDeleted:
		return of(kind.ServiceDeleted.GetNode(), kind.ServiceDeleted.GetName())
	case *storev1.Event_CheckPut:
		return of(kind.CheckPut.GetNode(), kind.CheckPut.GetServiceNames()...)
	case *storev1.Event_CheckStatus:
		return of(kind.CheckStatus.GetNode(), kind.CheckStatus.GetServiceNames()...)
	case *storev1.Event_CheckDeleted:
		return of(kind.CheckDeleted.GetNode(), kind.CheckDeleted.GetServiceNames()...)
	case *storev1.Event_QueryPut, *storev1.Event_QueryDeleted:
		return subject{class: classQuery}
	default:
		return subject{}
	}
}

// placeOf returns the place whose wait an event ends; 0 for others.
func placeOf(e *storev1.Event) uint64 {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_LockGranted:
		return kind.LockGranted.GetPlace()
	case *storev1.Event_LockLeft:
		return kind.LockLeft.GetPlace()
	default:
		return 0
	}
}

func sessionSubject(b []byte) subject {
	id, err := storage.SessionIDFromBytes(b)
	if err != nil {
		return subject{}
	}
	return subject{class: classSession, session: id}
}

// passes reports whether the filter lets an event through, whatever it is about.
func (s *Selectors) passes(e *storev1.Event) bool {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_KeyPut:
		if kind.KeyPut.GetChange() == storev1.KeyChange_KEY_CHANGE_PUT {
			return !s.NoPuts
		}
		return !s.NoHolderChanges
	case *storev1.Event_KeyDeleted:
		return !s.NoDeletes
	case *storev1.Event_LockQueued, *storev1.Event_LockLeft:
		return !s.NoQueue
	default:
		return true
	}
}

// KeyOf returns the key that an event is about, or whose lock it is about; false for other events.
func KeyOf(e *storev1.Event) (key string, ok bool) {
	sub := subjectOf(e)
	return sub.key, sub.class == classKey || sub.class == classLock
}

// SessionOf returns the session that an event is about; false for other events.
func SessionOf(e *storev1.Event) (id storage.SessionID, ok bool) {
	sub := subjectOf(e)
	return sub.session, sub.class == classSession
}

// Names reports whether the selectors have the very key, lock or session that an event is about, besides what they select by prefixes, a range or all
// at once.
func (s *Selectors) Names(e *storev1.Event) bool {
	switch sub := subjectOf(e); sub.class {
	case classKey:
		return slices.Contains(s.Keys, sub.key)
	case classLock:
		return slices.Contains(s.Locks, sub.key)
	case classSession:
		return slices.Contains(s.Sessions, sub.session)
	default:
		return false
	}
}

// SelectsOn reports whether something on a node is selected that counts for some services. The node is in lower case.
func (s *Selectors) SelectsOn(node string, services ...string) bool {
	return s.AllNodes || slices.Contains(s.Nodes, node) || s.AllServices && len(services) > 0 ||
		slices.ContainsFunc(services, func(name string) bool { return slices.Contains(s.Services, name) })
}

// match reports whether an event is selected. The index finds the same by other means.
func (s *Selectors) match(e *storev1.Event) bool {
	sub := subjectOf(e)
	var selected bool
	switch sub.class {
	case classKey:
		selected = slices.Contains(s.Keys, sub.key) || hasPrefix(sub.key, s.Prefixes) || s.inRange(sub.key)
	case classLock:
		selected = slices.Contains(s.Locks, sub.key) || hasPrefix(sub.key, s.LockPrefixes) ||
			len(s.Places) > 0 && slices.Contains(s.Places, Place{sub.key, placeOf(e)})
	case classSession:
		selected = s.AllSessions || slices.Contains(s.Sessions, sub.session)
	case classCatalog:
		selected = s.SelectsOn(sub.node, sub.services...)
	case classQuery:
		selected = s.AllQueries
	case classNone:
	}
	return selected && s.passes(e)
}

func (s *Selectors) inRange(key string) bool {
	return s.RangeEnd != "" && s.RangeStart <= key && key < s.RangeEnd
}

func hasPrefix(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}
