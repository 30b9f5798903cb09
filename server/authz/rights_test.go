package authz

import (
	"strings"
	"testing"
)

// rights returns the rights of a policy's text.
func rights(t testing.TB, principal, node, text string) *Rights {
	t.Helper()
	p, err := ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return NewRights(principal, node, p)
}

func TestCovers(t *testing.T) {
	key := func(match Match, text, end string) Need {
		return Need{Kind: Key, Verb: Read, Match: match, Text: text, End: end}
	}
	session := func(verb Verb, s SessionFacts) Need {
		n, _ := Need{Kind: Session, Verb: verb, By: BySession, ID: "id"}.OfSession(s)
		return n
	}
	unknown, _ := Need{Kind: Session, Verb: Write, By: BySession, ID: "id"}.OfUnknownSession()
	tests := map[string]struct {
		rules string
		need  Need
		want  bool
	}{
		"an exact rule covers its name":                {`key "a" read`, key(Exact, "a", ""), true},
		"and no neighbour":                             {`key "a" read`, key(Exact, "a0", ""), false},
		"and no prefix":                                {`key "a" read`, key(Prefix, "a", ""), false},
		"and no range":                                 {`key "a" read`, key(Range, "a", "a\x00"), false},
		"a prefix covers what begins with it":          {`key "a/"* read`, key(Exact, "a/b", ""), true},
		"a prefix covers itself":                       {`key "a/"* read`, key(Prefix, "a/", ""), true},
		"a prefix covers no shorter one":               {`key "a/"* read`, key(Prefix, "a", ""), false},
		"a prefix covers a range in it":                {`key "a/"* read`, key(Range, "a/1", "a/2"), true},
		"a prefix covers a range up to its end":        {`key "a/"* read`, key(Range, "a/", "a0"), true},
		"and none beyond it":                           {`key "a/"* read`, key(Range, "a/", "a0\x00"), false},
		"and none that begins before it":               {`key "a/"* read`, key(Range, "a", "a/1"), false},
		"and none without end":                         {`key "a/"* read`, key(Range, "a/", ""), false},
		"all covers a range without end":               {`key * read`, key(Range, "", ""), true},
		"two rules do not cover together":              {"key \"a\"* read\nkey \"b\"* read", key(Range, "a", "c"), false},
		"write of keys does not include read":          {`key "a" write`, key(Exact, "a", ""), false},
		"write of others does":                         {`operator write`, Need{Kind: Operator, Verb: Read}, true},
		"but not backup":                               {`operator write read`, Need{Kind: Operator, Verb: Backup}, false},
		"an operator does not rule":                    {`operator write`, Need{Kind: Admin, Verb: Read}, false},
		"lock is enough for a guard":                   {`key "a" lock`, Need{Kind: Key, Verb: Read, Or: Lock, Match: Exact, Text: "a"}, true},
		"any rule is any right":                        {`query "x" read`, Need{Kind: Any}, true},
		"no rule is none":                              {``, Need{Kind: Any}, false},
		"a session by name":                            {`session "web-"* write`, session(Write, SessionFacts{Name: "web-1"}), true},
		"not by another":                               {`session "web-"* write`, session(Write, SessionFacts{Name: "db"}), false},
		"write of sessions does not break":             {`session * write`, session(Break, SessionFacts{}), false},
		"a session by node":                            {`session node "H1" write`, session(Write, SessionFacts{Node: "h1"}), true},
		"a session without node has none":              {`session node * write`, session(Write, SessionFacts{}), false},
		"a session of the own node":                    {`session node self write`, session(Write, SessionFacts{Node: "Here"}), true},
		"not of another":                               {`session node self write`, session(Write, SessionFacts{Node: "there"}), false},
		"one's own session":                            {`session own write`, session(Write, SessionFacts{Maker: "token:me"}), true},
		"not another's":                                {`session own write`, session(Write, SessionFacts{Maker: "token:you"}), false},
		"nobody's":                                     {`session own write`, session(Write, SessionFacts{}), false},
		"one that was not looked up needs all":         {`session "a"* write`, Need{Kind: Session, Verb: Write, By: BySession, ID: "id"}, false},
		"all will do":                                  {`session * write`, Need{Kind: Session, Verb: Write, By: BySession, ID: "id"}, true},
		"one that is not there needs any session rule": {`session own read`, unknown, true},
		"and no other rule":                            {`key * rw`, unknown, false},
		"making a session does not go by own":          {`session own write`, Need{Kind: Session, Verb: Write, Match: Exact, Text: "x"}, false},
		"a list of a node's sessions":                  {`session node "h1" read`, Need{Kind: Session, Verb: Read, Match: Prefix, Node: "h1"}, true},
		"a token acts on itself":                       {``, Need{Kind: Admin, Verb: Write, By: ByToken, ID: "me"}, true},
		"not on another":                               {`key * rw`, Need{Kind: Admin, Verb: Write, By: ByToken, ID: "you"}, false},
		"a service that was not looked up":             {`service "a"* write`, Need{Kind: Service, Verb: Write, By: ByService, ID: "a"}, false},
		"a service that was":                           {`service "a"* write`, Need{Kind: Service, Verb: Write, By: ByService, ID: "x"}.OfService("a1"), true},
		"nothing is covered by nothing":                {`admin write`, Need{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := rights(t, "token:me", "here", test.rules).Covers(test.need); got != test.want {
				t.Errorf("%q covers %+v: %v, want %v", test.rules, test.need, got, test.want)
			}
		})
	}
}

// TestAChildMayDoWhatItsParentMayDoToo decides by all tokens in a line. Sessions of its own are those that the child made, by all of them.
func TestAChildMayDoWhatItsParentMayDoToo(t *testing.T) {
	key := func(name string) Need { return Need{Kind: Key, Verb: Read, Match: Exact, Text: name} }
	child := rights(t, "token:me", "here", "key \"a\"* read\nsession own write").
		Within(rights(t, "token:me", "here", "key \"ab\"* read\nsession own write").Within(rights(t, "token:me", "", "key * read\nsession * write")))
	for sentence, c := range map[string]struct {
		need Need
		want bool
	}{
		"what all allow":              {key("ab"), true},
		"what the parent lacks":       {key("a"), false},
		"what the child lacks":        {key("b"), false},
		"a prefix that none has":      {Need{Kind: Key, Verb: Read, Match: Prefix, Text: "a"}, false},
		"its own session":             {Need{Kind: Session, Verb: Write, Match: Exact, Text: "x", Maker: "token:me"}, true},
		"a session of its parent":     {Need{Kind: Session, Verb: Write, Match: Exact, Text: "x", Maker: "token:you"}, false},
		"any right":                   {Need{Kind: Any}, true},
		"a token acts on itself":      {Need{Kind: Admin, Verb: Write, By: ByToken, ID: "me"}, true},
		"a child not on its parent":   {Need{Kind: Admin, Verb: Write, By: ByToken, ID: "you"}, false},
		"a right that only one lacks": {Need{Kind: Operator, Verb: Read}, false},
	} {
		if got := child.Covers(c.need); got != c.want {
			t.Errorf("%s: got %v, want %v", sentence, got, c.want)
		}
	}
	if none := rights(t, "token:me", "", "key * read").Within(rights(t, "token:me", "", "")); none.Covers(key("a")) || none.Covers(Need{Kind: Any}) {
		t.Error("a child of a parent without any right has one")
	}
}

func TestNobodyOwnsWhatNobodyMade(t *testing.T) {
	if rights(t, "", "", `session own write`).Covers(Need{Kind: Session, Verb: Write, Match: Exact, Text: "x"}) {
		t.Error("an anonymous caller owns sessions that no principal made")
	}
}

func TestAdminMayDoEverything(t *testing.T) {
	admin := NewRights("token:a", "", AdminPolicy())
	for _, kind := range []Kind{Key, Session, Node, Service, Query, Operator, Admin, Any} {
		for _, v := range verbs {
			if kind.allowed()&v.verb != 0 && !admin.Covers(Need{Kind: kind, Verb: v.verb, Match: Range}) {
				t.Errorf("admin may not %s %s", v.word, words[kind])
			}
		}
	}
	for _, r := range AdminPolicy().Rules {
		for _, n := range r.Needs() {
			if !admin.Covers(n) || NewRights("token:a", "").Covers(n) {
				t.Errorf("%v of %v", n, r)
			}
		}
	}
}

// alphabet is of what brute force makes names.
const alphabet = "ab/0\xff"

// names returns all names of up to three bytes.
func names() []string {
	out := []string{""}
	for begin := 0; len(out[len(out)-1]) < 3; {
		end := len(out)
		for _, name := range out[begin:end] {
			for i := range len(alphabet) {
				out = append(out, name+alphabet[i:i+1])
			}
		}
		begin = end
	}
	return out
}

// FuzzCover compares what a rule covers with a look at each name: if it covers a need, it selects every name of it. It covers all
// that it selects, but for what may be longer than the names tried.
func FuzzCover(f *testing.F) {
	f.Add(uint8(2), "a/", uint8(3), "a/", "a0")
	f.Add(uint8(1), "a", uint8(3), "a", "a\x00")
	f.Add(uint8(2), "a\xff", uint8(3), "a\xff", "b")
	all := names()
	f.Fuzz(func(t *testing.T, ruleMatch uint8, ruleText string, match uint8, text, end string) {
		r := Rule{Kind: Key, Match: Match(ruleMatch % 3), Text: limited(ruleText), Verbs: Read}
		n := Need{Kind: Key, Verb: Read, Match: 1 + Match(match%3), Text: limited(text), End: limited(end)}
		if r.Match == Prefix && r.Text == "" || n.Match == Range && n.End != "" && n.End <= n.Text {
			t.Skip()
		}
		want := n.Match == Exact || r.Match != Exact // An exact rule covers neither prefixes nor ranges.
		if n.Match == Range && n.End == "" {
			want = r.Match == All
		}
		for _, name := range all {
			needed := n.Match == Exact && name == n.Text || n.Match == Prefix && strings.HasPrefix(name, n.Text) ||
				n.Match == Range && name >= n.Text && (n.End == "" || name < n.End)
			selected := r.Match == All || r.Match == Exact && name == r.Text || r.Match == Prefix && strings.HasPrefix(name, r.Text)
			if needed && !selected {
				want = false
			}
		}
		got := NewRights("", "", Policy{Rules: []Rule{r}}).Covers(n)
		if got && !want || want && !got && !reaches(n, r) {
			t.Errorf("%+v covers %+v: %v, brute force says %v", r, n, got, want)
		}
	})
}

// limited returns a text over the alphabet, at most two bytes long.
func limited(text string) string {
	text = text[:min(len(text), 2)]
	return strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("ab/0", r) {
			return r
		}
		return 'b'
	}, text)
}

// reaches reports whether names longer or between those that were tried may be of the need and not of the rule.
func reaches(n Need, r Rule) bool {
	return n.Match == Range && r.Match == Prefix && (!strings.HasPrefix(n.Text, r.Text) || !strings.HasPrefix(n.End, r.Text))
}
