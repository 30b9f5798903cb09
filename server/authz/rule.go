package authz

import (
	"encoding/json"
	"strings"
)

// Kind says what a rule or a need is about.
type Kind uint8

// Kinds of rules and needs.
const (
	KindUnspecified Kind = iota
	// Key means keys of the store, with their locks.
	Key
	// Session means sessions by name.
	Session
	// SessionNode means sessions by the node that they are bound to.
	SessionNode
	// SessionNodeSelf means sessions bound to the caller's own node.
	SessionNodeSelf
	// SessionOwn means sessions that the caller itself made.
	SessionOwn
	// Node means nodes of the catalog.
	Node
	// Service means services of the catalog.
	Service
	// Query means stored queries of the catalog.
	Query
	// Operator means the cluster itself: members, limits, backups.
	Operator
	// Admin means tokens, policies, bindings and the mode.
	Admin
	// Any is a need that every rule meets, whatever it is about. No rule is of this kind.
	Any
)

// words are how rules begin, by kind.
var words = map[Kind]string{
	Key: "key", Session: "session", SessionNode: "session node", SessionNodeSelf: "session node self", SessionOwn: "session own",
	Node: "node", Service: "service", Query: "query", Operator: "operator", Admin: "admin",
}

// Verb is what may be done, or several verbs at once.
type Verb uint8

// Verbs of rules and needs.
const (
	Read Verb = 1 << iota
	List
	Watch
	Write
	Lock
	Break
	Backup
)

// verbs are the words of verbs, in the order in which rules are printed.
var verbs = []struct {
	verb Verb
	word string
}{{Read, "read"}, {List, "list"}, {Watch, "watch"}, {Write, "write"}, {Lock, "lock"}, {Break, "break"}, {Backup, "backup"}}

// Shorthands for verbs of keys.
const (
	readOnly  = Read | List | Watch
	readWrite = Read | List | Watch | Write | Lock
)

// String returns the words of verbs.
func (v Verb) String() string {
	var out []string
	for _, known := range verbs {
		if v&known.verb != 0 {
			out = append(out, known.word)
		}
	}
	return strings.Join(out, " ")
}

// allowed returns the verbs that rules of a kind may have.
func (k Kind) allowed() Verb {
	switch k {
	case Key:
		return readWrite | Break
	case Session, SessionNode, SessionNodeSelf, SessionOwn:
		return Read | Write | Break
	case Node, Service, Query, Admin:
		return Read | Write
	case Operator:
		return Read | Write | Backup
	default:
		return 0
	}
}

// selected reports whether rules of a kind have a selector.
func (k Kind) selected() bool {
	switch k {
	case Key, Session, SessionNode, Node, Service, Query:
		return true
	default:
		return false
	}
}

// Match says how a text selects names.
type Match uint8

// How texts select.
const (
	// All selects every name; in a rule without selector it stands for the only thing there is.
	All Match = iota
	// Exact selects one name.
	Exact
	// Prefix selects all names that begin with the text.
	Prefix
	// Range selects all names from the text on, up to an end. Only needs have it.
	Range
)

// Rule allows verbs on what its selector contains.
type Rule struct {
	Kind  Kind
	Match Match
	Text  string
	Verbs Verb
}

// String returns the rule as ParsePolicy reads it.
func (r Rule) String() string {
	return ruleText(r.Kind, selectorText(r.Match, r.Text), r.verbText())
}

// verbText returns the verbs of a rule, with the shorthands for keys.
func (r Rule) verbText() string {
	switch {
	case r.Kind == Key && r.Verbs == readOnly:
		return "ro"
	case r.Kind == Key && r.Verbs == readWrite:
		return "rw"
	default:
		return r.Verbs.String()
	}
}

// ruleText joins the parts of a rule.
func ruleText(kind Kind, selector, verbs string) string {
	if !kind.selected() {
		return words[kind] + " " + verbs
	}
	return words[kind] + " " + selector + " " + verbs
}

// selectorText returns a selector as policies have it.
func selectorText(match Match, text string) string {
	switch match {
	case Exact:
		return quoted(text)
	case Prefix:
		return quoted(text) + "*"
	default:
		return "*"
	}
}

// quoted returns a text as a string of JSON, with only those characters escaped that must be.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // A string can always be encoded.
	return strings.TrimSuffix(b.String(), "\n")
}

// contains reports whether a selector contains all that another one selects.
func (r *Rule) contains(match Match, text, end string) bool {
	switch r.Match {
	case All:
		return true
	case Exact:
		return match == Exact && text == r.Text
	case Prefix:
		if !strings.HasPrefix(text, r.Text) {
			return false
		}
		return match == Exact || match == Prefix || match == Range && endsWithin(end, r.Text)
	default:
		return false
	}
}

// endsWithin reports whether everything that begins with a prefix comes before end, or end is among it. An empty end is none.
func endsWithin(end, prefix string) bool {
	if end == "" {
		return false
	}
	if strings.HasPrefix(end, prefix) {
		return true
	}
	for prefix != "" && prefix[len(prefix)-1] == 0xff {
		prefix = prefix[:len(prefix)-1]
	}
	last := len(prefix) - 1
	return last >= 0 && len(end) == len(prefix) && end[:last] == prefix[:last] && end[last] == prefix[last]+1
}
