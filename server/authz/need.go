package authz

import (
	"slices"
	"strings"
)

// Need is one right that a message needs. Its zero fields have no meaning of their own. Every call has one or more of them, so it is small.
type Need struct {
	Kind  Kind
	Verb  Verb
	Match Match
	// Or is another verb that is enough in place of Verb; 0: none is.
	Or Verb
	// By says what ID names; 0: there is no ID.
	By By
	// Part says that it may be met in part: that it is not met denies nothing, but what the call shows is only what the caller sees.
	Part bool

	// Text is the name, the prefix, or the first name of a range.
	Text string
	// End of a range, exclusive; empty: it has no end.
	End string
	// ID names what the need is about, where its name is not known.
	ID string
	// Node is the node of a session, or of the instance or the check that ID names; there perhaps by its id: see NodeID. With ByNode it is the
	// name that the message gives the node, if it gives one.
	Node string
	// Maker is the principal that made the session, or all sessions that are listed. With the kind Admin it is one whose sessions somebody asks for, who
	// needs nothing else if it is the caller's own.
	Maker string
}

// By says what the id of a need names.
type By uint8

// What ids of needs name.
const (
	// BySession is a session, which somebody has to look up: see OfSession.
	BySession By = iota + 1
	// ByService is an instance on a node, whose service somebody has to look up: see OfService.
	ByService
	// ByCheck is a check on a node, whose service somebody has to look up: see OfService.
	ByCheck
	// ByQuery is a prepared query, whose name somebody has to look up: see OfQuery.
	ByQuery
	// ByToken is a token, by its accessor. A token needs nothing else to act on itself.
	ByToken
	// ByNode is a node, by its node_id, whose name somebody has to look up: see OfNode.
	ByNode
)

// SessionFacts are what rules ask of a session.
type SessionFacts struct {
	Name, Node string
	// Maker is the principal that made it; empty: none is known.
	Maker string
	// Deletes says that the keys of its locks are deleted when it ends.
	Deletes bool
}

// OfSession completes a need that names a session by id. applies is false if there is no need for this session after all.
func (n Need) OfSession(s SessionFacts) (need Need, applies bool) {
	n.By, n.ID = 0, ""
	if n.Kind == Key {
		return n, s.Deletes
	}
	n.Match, n.Text, n.Node, n.Maker = Exact, s.Name, lowerASCII(s.Node), s.Maker
	return n, true
}

// OfUnknownSession completes a need that names a session that does not exist: any rule about sessions will do, so that its
// caller learns that the session is not there. applies is as for OfSession.
func (n Need) OfUnknownSession() (need Need, applies bool) {
	if n.Kind == Key {
		return n, false
	}
	return Need{Kind: Session, Match: All}, true
}

// OfService completes a need that names an instance or a check by id with the name of its service. If there is no such entry, or
// if it is a check of a node and not of a service, there is no such need.
func (n Need) OfService(name string) Need {
	return Need{Kind: Service, Verb: n.Verb, Match: Exact, Text: name}
}

// idMark begins the node of a need that is named by its node_id. No node's name has it.
const idMark = "\x00"

// NodeID returns the node_id of the node of a need; false: the need has its name.
func (n Need) NodeID() (id string, is bool) { return strings.CutPrefix(n.Node, idMark) }

// OfNode completes a need that names a node by its node_id with the node's name, in lower case; empty if there is no such node. A message about a
// node with an id that another node has is about that one, too. applies is false where the message says the name already, or makes the node.
func (n Need) OfNode(name string) (need Need, applies bool) {
	switch {
	case name == "" && n.Node == "":
		return Need{Kind: Any}, true // Its caller learns that there is no such node.
	case name == "" || name == n.Node:
		return n, false
	}
	return Need{Kind: Node, Verb: n.Verb, Match: Exact, Text: name}, true
}

// QueryNeed returns what it takes to read or write a prepared query. To write one that longer names run takes the right to write all
// of them, and so does one without a name.
func QueryNeed(verb Verb, name string, byPrefix bool) Need {
	n := Need{Kind: Query, Verb: verb, Match: Exact, Text: name}
	if name == "" || byPrefix && verb == Write {
		n.Match = Prefix
	}
	return n
}

// OfQuery completes a need that names a prepared query by its id.
func (n Need) OfQuery(name string, byPrefix bool) Need { return QueryNeed(n.Verb, name, byPrefix) }

// OfUnknownQuery completes a need that names a prepared query that does not exist: any rule will do, so that its caller learns that
// the query is not there.
func (n Need) OfUnknownQuery() Need { return Need{Kind: Any} }

// With returns the need with the verbs of those others that are about the same and that rights do not meet either, as one rule could meet them all.
// Of what is named by an id it says no more than the need itself: whether a call needs the others depends on what the state has.
func (n Need) With(others []Need, met func(Need) bool) Need {
	if _, is := n.NodeID(); is || n.By != 0 {
		return n
	}
	missing := []Need{n}
	for _, other := range others {
		about := other
		about.Verb, about.Or = n.Verb, n.Or
		if about == n && !slices.Contains(missing, other) && !met(other) {
			missing = append(missing, other)
		}
	}
	var verbs Verb
	for _, m := range missing {
		if m.Or == 0 {
			verbs |= m.Verb
		}
	}
	for _, m := range missing {
		if verbs&m.Or == 0 { // What is enough in its place is not named already.
			verbs |= m.Verb
		}
	}
	if n.Kind != Key && verbs&Write != 0 {
		verbs &^= Read // Rules with write have it.
	}
	n.Verb = verbs
	return n
}

// String returns the need as a rule that would meet it, with nothing in it but what the request said. It is bounded, whatever that was: of a long
// name it has the beginning and a mark, with which it is no rule any more.
func (n Need) String() string {
	switch {
	case n.Kind == Any, n.Kind == Session && n.Verb == 0:
		return "any rule"
	case n.Kind == Session && n.By == BySession:
		return "session id " + shortened(n.ID) + " " + n.Verb.String()
	case n.Kind == Session && n.Node != "" && n.Text == "":
		return ruleText(SessionNode, shortName(n.Node), n.Verb.String())
	case n.By == ByService:
		return "service of instance " + shortName(n.ID) + " on node " + n.nodeText() + " " + n.Verb.String()
	case n.By == ByCheck:
		return "service of check " + shortName(n.ID) + " on node " + n.nodeText() + " " + n.Verb.String()
	case n.By == ByNode:
		return "node id " + shortened(n.ID) + " " + n.Verb.String()
	case n.By == ByQuery:
		return "query id " + shortened(n.ID) + " " + n.Verb.String()
	case n.Match == Range:
		return ruleText(n.Kind, shortSelector(commonPrefix(n.Text, n.End)), n.Verb.String())
	case n.Match == Prefix && n.Text == "":
		return ruleText(n.Kind, "*", n.Verb.String())
	default:
		return ruleText(n.Kind, shortSelector(n.Match, n.Text), n.Verb.String())
	}
}

// nodeText returns the node of a need for people.
func (n Need) nodeText() string {
	if id, is := n.NodeID(); is {
		return "id " + shortened(id)
	}
	return shortName(n.Node)
}

// commonPrefix returns the narrowest selector that contains a range, as endsWithin would have it. Whoever is denied may have sent a start and an end of
// any length, so it looks at each byte once.
func commonPrefix(start, end string) (Match, string) {
	same := 0
	for same < len(start) && same < len(end) && start[same] == end[same] {
		same++
	}
	n := same
	if same == len(end)-1 && same < len(start) && start[same] != 0xff && start[same]+1 == end[same] {
		for n++; n < len(start) && start[n] == 0xff; n++ { // The end is right behind what begins with these.
		}
	}
	if n == 0 {
		return All, ""
	}
	return Prefix, start[:n]
}

// lowerASCII returns the name of a node as the catalog compares it.
func lowerASCII(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return 'A' <= r && r <= 'Z' }) < 0 {
		return name
	}
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
