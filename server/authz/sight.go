package authz

import (
	"slices"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Coverer is somebody with rights.
type Coverer interface {
	// Covers reports whether it has a right.
	Covers(need Need) bool
}

// SeesKey reports whether somebody has each of several verbs on a key.
func SeesKey(who Coverer, key string, verbs Verb) bool {
	for verb := Read; verb <= Backup; verb <<= 1 {
		if verbs&verb != 0 && !who.Covers(Need{Kind: Key, Verb: verb, Match: Exact, Text: key}) {
			return false
		}
	}
	return true
}

// SeesSession reports whether somebody may read a session.
func SeesSession(who Coverer, s SessionFacts) bool {
	need, _ := Need{Kind: Session, Verb: Read}.OfSession(s)
	return who.Covers(need)
}

// SeesNode reports whether somebody may read a node, whose name may be in any case of letters.
func SeesNode(who Coverer, name string) bool { return who.Covers(nodeNeed(name, Read)) }

// SeesService reports whether somebody may read a service.
func SeesService(who Coverer, name string) bool { return who.Covers(serviceNeed(name, Read)) }

// SeesOn reports whether somebody may see an instance of a service on a node.
func SeesOn(who Coverer, node, service string) bool {
	return SeesNode(who, node) && SeesService(who, service)
}

// SeesInstance reports whether somebody may see an instance, which has its node with it.
func SeesInstance(who Coverer, i *tenurev1.ServiceInstance) bool {
	return SeesOn(who, i.GetNode().GetName(), i.GetService().GetName())
}

// SeesCheck reports whether somebody may see a check on a node. One that is about no service needs the node alone.
func SeesCheck(who Coverer, node, service string) bool {
	return SeesNode(who, node) && (service == "" || SeesService(who, service))
}

// SeesQuery reports whether somebody may read a prepared query. One without a name is for those who may read all.
func SeesQuery(who Coverer, name string) bool { return who.Covers(QueryNeed(Read, name, false)) }

// Span is one name, or all names that begin with a text.
type Span struct {
	Text  string
	Exact bool
}

// Has reports whether a span has a name.
func (s Span) Has(name string) bool {
	if s.Exact {
		return name == s.Text
	}
	return strings.HasPrefix(name, s.Text)
}

// Before reports whether all names of a span come before a name.
func (s Span) Before(name string) bool { return s.Text < name && !s.Has(name) }

// holds reports whether a span has all names of another one.
func (s Span) holds(o Span) bool {
	if s.Exact {
		return o == s
	}
	return strings.HasPrefix(o.Text, s.Text)
}

// Spans returns which of the names that begin with a prefix these rights cover with each of several verbs, in order. Spans do not overlap, and there are
// no more of them than rules. The kind is one whose rules select names: keys, nodes, which are named in lower case, services or queries.
func (r *Rights) Spans(kind Kind, verbs Verb, prefix string) []Span {
	spans := []Span{{Text: prefix}}
	for ; r != nil; r = r.within {
		for verb := Read; verb <= Backup; verb <<= 1 {
			if verbs&verb != 0 {
				spans = both(spans, r.rules[kind].spans(verb))
			}
		}
	}
	return spans
}

// spans returns the names that rules with a verb select, in order and without overlap.
func (s ruleSet) spans(verb Verb) []Span {
	var out []Span
	for i := range s {
		if s[i].Verbs&verb == 0 {
			continue
		}
		next := Span{Text: s[i].Text, Exact: s[i].Match == Exact}
		for len(out) > 0 && next.holds(out[len(out)-1]) { // The rule for one name comes before the one for all that begin with it.
			out = out[:len(out)-1]
		}
		if len(out) == 0 || !out[len(out)-1].holds(next) {
			out = append(out, next)
		}
	}
	return out
}

// both returns the names that are in spans of two lists.
func both(a, b []Span) []Span {
	var out []Span
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].holds(b[0]):
			out, b = append(out, b[0]), b[1:]
		case b[0].holds(a[0]):
			out, a = append(out, a[0]), a[1:]
		case a[0].Text < b[0].Text:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return out
}

// SpansFrom returns those spans that have names from one on: that name, or a later one.
func SpansFrom(spans []Span, name string) []Span {
	at, _ := slices.BinarySearchFunc(spans, name, func(s Span, name string) int {
		if s.Before(name) {
			return -1
		}
		return 1
	})
	return spans[at:]
}

// SeesBeyondNames reports whether a rule is about sessions of a node or about own ones, so that the name of a session may not tell whether it is seen.
func (r *Rights) SeesBeyondNames() bool {
	for ; r != nil; r = r.within {
		if len(r.rules[SessionNode])+len(r.rules[SessionOwn]) > 0 {
			return true
		}
	}
	return false
}

// PrefixEnd returns the first name after all that begin with a prefix; empty if there is none.
func PrefixEnd(prefix string) string {
	for n := len(prefix) - 1; n >= 0; n-- {
		if prefix[n] != 0xff {
			return prefix[:n] + string([]byte{prefix[n] + 1})
		}
	}
	return ""
}

// Same reports whether these rights and others are those of the same caller with the same rules, so that they cover the same needs.
func (r *Rights) Same(other *Rights) bool {
	for r != nil && other != nil && r != other {
		if r.principal != other.principal || r.any != other.any {
			return false
		}
		for kind := range r.rules {
			if !r.rules[kind].same(other.rules[kind]) {
				return false
			}
		}
		r, other = r.within, other.within
	}
	return r == other
}

// same reports whether two sets have the same rules. Those of callers with the same policies are often one.
func (s ruleSet) same(other ruleSet) bool {
	return len(s) == len(other) && (len(s) == 0 || &s[0] == &other[0] || slices.Equal(s, other))
}
