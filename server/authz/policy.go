package authz

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a policy.
const (
	// RulesMax is how many rules a policy may have.
	RulesMax = 256
	// PolicyBytesMax is how long its text may be.
	PolicyBytesMax = 64 << 10
	// SelectorBytesMax is how long the text of a selector may be: as long as a key.
	SelectorBytesMax = 1024
)

// Policy is a list of rules.
type Policy struct {
	Rules []Rule
}

// String returns the text of the policy, one rule a line.
func (p Policy) String() string {
	var b strings.Builder
	for _, r := range p.Rules {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// AdminPolicy returns the built-in policy that allows everything.
func AdminPolicy() Policy {
	p := Policy{}
	for _, kind := range []Kind{Key, Session, Node, Service, Query, Operator, Admin} {
		p.Rules = append(p.Rules, Rule{Kind: kind, Match: All, Verbs: kind.allowed()})
	}
	return p
}

// SyntaxError says where a policy cannot be read, and why.
type SyntaxError struct {
	Line, Column int
	Problem      string
}

// Error returns the place and the problem.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Problem)
}

// ParsePolicy reads a policy: one rule a line. Empty lines, and lines that begin with #, are skipped. Its errors are
// *SyntaxError.
func ParsePolicy(text string) (Policy, error) {
	if len(text) > PolicyBytesMax {
		return Policy{}, &SyntaxError{Line: 1, Column: 1, Problem: fmt.Sprintf("the policy is longer than %d bytes", PolicyBytesMax)}
	}
	if !utf8.ValidString(text) {
		return Policy{}, &SyntaxError{Line: 1, Column: 1, Problem: "the policy is not UTF-8"}
	}
	var p Policy
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		s := scanner{line: strings.TrimSuffix(line, "\r"), number: number}
		s.space()
		if s.done() || s.line[s.at] == '#' {
			continue
		}
		if len(p.Rules) == RulesMax {
			return Policy{}, s.fail(s.at, "a policy has at most %d rules", RulesMax)
		}
		rule, err := s.rule()
		if err != nil {
			return Policy{}, err
		}
		p.Rules = append(p.Rules, rule)
	}
	return p, nil
}

// scanner reads one line.
type scanner struct {
	line   string
	number int
	at     int
}

// fail returns an error at a byte of the line; columns count characters.
func (s *scanner) fail(at int, format string, args ...any) error {
	return &SyntaxError{Line: s.number, Column: utf8.RuneCountInString(s.line[:at]) + 1, Problem: fmt.Sprintf(format, args...)}
}

// space skips blanks.
func (s *scanner) space() {
	for s.at < len(s.line) && (s.line[s.at] == ' ' || s.line[s.at] == '\t') {
		s.at++
	}
}

// done reports whether the line has ended.
func (s *scanner) done() bool { return s.at == len(s.line) }

// word returns the next run of lower-case letters, and where it begins. It is empty if something else comes.
func (s *scanner) word() (word string, at int) {
	s.space()
	at = s.at
	for s.at < len(s.line) && s.line[s.at] >= 'a' && s.line[s.at] <= 'z' {
		s.at++
	}
	return s.line[at:s.at], at
}

// peek reports whether the next word is the given one, and takes it if so.
func (s *scanner) peek(want string) bool {
	before := s.at
	if got, _ := s.word(); got == want {
		return true
	}
	s.at = before
	return false
}

// rule reads a rule.
func (s *scanner) rule() (Rule, error) {
	kind, err := s.kind()
	if err != nil {
		return Rule{}, err
	}
	r := Rule{Kind: kind}
	if kind.selected() {
		if err = s.selector(&r); err != nil {
			return Rule{}, err
		}
	}
	return r, s.verbs(&r)
}

// kind reads what the rule is about.
func (s *scanner) kind() (Kind, error) {
	word, at := s.word()
	switch word {
	case "key":
		return Key, nil
	case "session":
		switch {
		case s.peek("own"):
			return SessionOwn, nil
		case !s.peek("node"):
			return Session, nil
		case s.peek("self"):
			return SessionNodeSelf, nil
		default:
			return SessionNode, nil
		}
	case "node":
		return Node, nil
	case "service":
		return Service, nil
	case "query":
		return Query, nil
	case "operator":
		return Operator, nil
	case "admin":
		return Admin, nil
	case "deny":
		return 0, s.fail(at, "deny is not a rule: rules only allow, and what no rule allows is denied")
	default:
		return 0, s.fail(at, "a rule starts with key, session, node, service, query, operator or admin")
	}
}

// selector reads `"name"`, `"prefix"*` or `*`.
func (s *scanner) selector(r *Rule) error {
	s.space()
	at := s.at
	if s.done() {
		return s.fail(at, `want a name such as "a", a prefix such as "a/"*, or * for all`)
	}
	if s.line[at] == '*' {
		s.at++
		r.Match = All
		return s.blank()
	}
	text, err := s.quoted()
	if err != nil {
		return err
	}
	r.Text, r.Match = text, Exact
	if !s.done() && s.line[s.at] == '*' {
		s.at++
		r.Match = Prefix
	}
	switch {
	case len(text) > SelectorBytesMax:
		return s.fail(at, "the name is longer than %d bytes", SelectorBytesMax)
	case text == "" && r.Match == Prefix:
		return s.fail(at, `write * instead of ""*`)
	case text == "" && r.Kind != Session:
		return s.fail(at, "the name is empty")
	}
	return s.blank()
}

// blank refuses what stands directly behind a selector.
func (s *scanner) blank() error {
	if !s.done() && s.line[s.at] != ' ' && s.line[s.at] != '\t' {
		return s.fail(s.at, "want a blank after the selector")
	}
	return nil
}

// quoted reads a string of JSON.
func (s *scanner) quoted() (string, error) {
	at := s.at
	if s.line[at] != '"' {
		return "", s.fail(at, `want a name such as "a", a prefix such as "a/"*, or * for all`)
	}
	end := at + 1
	for end < len(s.line) && s.line[end] != '"' {
		if s.line[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s.line) {
		return "", s.fail(at, "the string has no end")
	}
	var text string
	if err := json.Unmarshal([]byte(s.line[at:end+1]), &text); err != nil || !utf8.ValidString(text) {
		return "", s.fail(at, "the string is not one of JSON")
	}
	s.at = end + 1
	return text, nil
}

// verbs reads the verbs, up to the end of the line.
func (s *scanner) verbs(r *Rule) error {
	for {
		s.space()
		if s.done() {
			break
		}
		word, at := s.word()
		verb := verbOf(word)
		if r.Kind == Key && word == "ro" {
			verb = readOnly
		}
		if r.Kind == Key && word == "rw" {
			verb = readWrite
		}
		switch {
		case verb == 0 || verb&^r.Kind.allowed() != 0 || !s.done() && s.line[s.at] != ' ' && s.line[s.at] != '\t':
			return s.fail(at, "verbs of %s are %s", words[r.Kind], verbList(r.Kind))
		case r.Verbs&verb != 0:
			return s.fail(at, "%s is there already", word)
		}
		r.Verbs |= verb
	}
	if r.Verbs == 0 {
		return s.fail(s.at, "the rule allows nothing: verbs of %s are %s", words[r.Kind], verbList(r.Kind))
	}
	return nil
}

// verbOf returns the verb of a word; 0 if it is none.
func verbOf(word string) Verb {
	for _, known := range verbs {
		if known.word == word {
			return known.verb
		}
	}
	return 0
}

// verbList returns the verbs that rules of a kind may have, as text.
func verbList(k Kind) string {
	list := strings.ReplaceAll(k.allowed().String(), " ", ", ")
	if k == Key {
		list += ", ro, rw"
	}
	return list
}
