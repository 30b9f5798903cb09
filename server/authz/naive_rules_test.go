package authz

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// person is a caller of these tests: its principal, the node of its token, and the texts of its policies and of those of the token's
// parent; nil: it has none.
type person struct {
	principal, node, rules string
	parent                 *string
}

// rights are those of the caller.
func (w person) rights(t *testing.T) *Rights {
	t.Helper()
	policy, err := ParsePolicy(w.rules)
	if err != nil {
		t.Fatalf("%s: %v", w.rules, err)
	}
	own := NewRights(w.principal, w.node, policy)
	if w.parent == nil {
		return own
	}
	return own.Within(person{w.principal, w.node, *w.parent, nil}.rights(t))
}

// allowed reports whether one of the caller's rules meets an ask, by looking at each line of their text, and one of the parent's.
func (w person) allowed(a ask) bool {
	if w.parent != nil && !(person{w.principal, w.node, *w.parent, nil}).allowed(a) {
		return false
	}
	if a.noun == "admin" && a.name != "" && w.principal == "token:"+a.name {
		return true
	}
	for line := range strings.Lines(w.rules) {
		rule := strings.TrimSpace(line)
		if w.node == "" && strings.HasPrefix(rule, "session node self ") {
			continue // Self is nobody.
		}
		if w.line(rule, a) {
			return true
		}
	}
	return false
}

func (w person) line(rule string, a ask) bool {
	switch a.noun {
	case "any":
		return rule != ""
	case "unknown session":
		return strings.HasPrefix(rule, "session ")
	}
	verbs := func(text string) bool {
		text = strings.NewReplacer("rw", "read list watch write lock", "ro", "read list watch").Replace(text)
		has := strings.Fields(text)
		if a.noun != "key" && slices.Contains(has, "write") {
			has = append(has, "read")
		}
		return slices.ContainsFunc(strings.Fields(a.verbs), func(verb string) bool { return slices.Contains(has, verb) })
	}
	if a.by != nil {
		node, own := a.by.node, a.by.maker
		if rest, ok := strings.CutPrefix(rule, "session own "); ok {
			return own != "" && own == w.principal && verbs(rest)
		}
		if rest, ok := strings.CutPrefix(rule, "session node self "); ok {
			return node != "" && node == strings.ToLower(w.node) && verbs(rest)
		}
		if rest, ok := strings.CutPrefix(rule, "session node "); ok {
			selector, text, _ := strings.Cut(rest, " ")
			return node != "" && selects(strings.ToLower(selector), "", node, "") && verbs(text)
		}
	}
	rest, ok := strings.CutPrefix(rule, a.noun+" ")
	if !ok || a.noun == "session" && (strings.HasPrefix(rest, "node ") || strings.HasPrefix(rest, "own ")) {
		return false
	}
	if a.noun == "operator" || a.noun == "admin" {
		return verbs(rest)
	}
	selector, text, _ := strings.Cut(rest, " ")
	if a.noun == "node" {
		selector = strings.ToLower(selector)
	}
	return selects(selector, a.which, a.name, a.end) && verbs(text)
}

// selects reports whether a selector has all that is asked about: "x" one name, "x"* all that begin with it, * all.
func selects(selector, which, name, end string) bool {
	if selector == "*" {
		return true
	}
	text := strings.Trim(strings.TrimSuffix(selector, "*"), `"`)
	starts := strings.HasSuffix(selector, "*")
	switch which {
	case "":
		return name == text || starts && strings.HasPrefix(name, text)
	case "prefix":
		return starts && strings.HasPrefix(name, text)
	default:
		last := text[:len(text)-1] + string(text[len(text)-1]+1)
		return starts && strings.HasPrefix(name, text) && end != "" && end <= last
	}
}

// grant returns a rule that meets an ask and little else.
func (a ask) grant() string {
	verb, _, _ := strings.Cut(a.verbs, " ")
	switch {
	case a.noun == "any":
		return `query "other" read`
	case a.noun == "unknown session":
		return `session "other" read`
	case a.noun == "operator", a.noun == "admin":
		return a.noun + " " + verb
	case a.name == "", a.which == "range":
		return a.noun + " * " + verb
	case a.which == "prefix":
		return fmt.Sprintf("%s %q* %s", a.noun, a.name, verb)
	default:
		return fmt.Sprintf("%s %q %s", a.noun, a.name, verb)
	}
}
