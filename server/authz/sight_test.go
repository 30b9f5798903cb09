package authz

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// namesOf returns all names of at most three of some letters.
func namesOf(letters string) []string {
	names := []string{""}
	for last := names; len(last[0]) < 3; {
		var longer []string
		for _, name := range last {
			for i := range len(letters) {
				longer = append(longer, name+letters[i:i+1])
			}
		}
		names, last = append(names, longer...), longer
	}
	slices.Sort(names)
	return names
}

// pickRule returns a rule for keys at random.
func pickRule(random *rand.Rand, names []string) Rule {
	return Rule{
		Kind: Key, Match: Match(random.IntN(3)), Text: names[random.IntN(len(names))], Verbs: Verb(1 + random.IntN(int(Read|List|Watch))),
	}
}

// TestSpansAreWhatTheRulesCover compares the spans of random rights, of which some are within others, with what the rights say of each name.
func TestSpansAreWhatTheRulesCover(t *testing.T) {
	names := namesOf("a/b\x00\xff")
	shown := 0
	for seed := range uint64(4000) {
		random := rand.New(rand.NewPCG(seed, 3))
		var of *Rights
		for range 1 + random.IntN(2) {
			var p Policy
			for range random.IntN(7) {
				rule := pickRule(random, names)
				if rule.Match == All && random.IntN(4) > 0 {
					rule.Match = Prefix
				}
				p.Rules = append(p.Rules, rule)
			}
			r := NewRights("token:me", "", p)
			if of != nil {
				r = r.Within(of)
			}
			of = r
		}
		verbs, prefix := Verb(1+random.IntN(int(Read|List|Watch))), names[random.IntN(1+random.IntN(len(names)))]
		spans := of.Spans(Key, verbs, prefix)
		for i, s := range spans {
			if i > 0 && (spans[i-1].holds(s) || s.holds(spans[i-1]) || spans[i-1].Text >= s.Text) {
				t.Fatalf("seed %d: %v overlap, or have no order", seed, spans)
			}
		}
		for _, name := range names {
			has := slices.ContainsFunc(spans, func(s Span) bool { return s.Has(name) })
			if want := strings.HasPrefix(name, prefix) && SeesKey(of, name, verbs); has != want {
				t.Fatalf("seed %d: %q is in %v of %v below %q: %v, want %v", seed, name, spans, verbs, prefix, has, want)
			}
			if has {
				shown++
			}
			rest := SpansFrom(spans, name)
			for _, later := range names {
				if had := slices.ContainsFunc(spans, func(s Span) bool { return s.Has(later) }); had && later >= name &&
					!slices.ContainsFunc(rest, func(s Span) bool { return s.Has(later) }) {
					t.Fatalf("seed %d: %q is missing in %v, which are those of %v from %q on", seed, later, rest, spans, name)
				}
			}
			if len(rest) > 0 && rest[0].Before(name) {
				t.Fatalf("seed %d: %v are before %q", seed, rest[0], name)
			}
		}
	}
	if shown < 1000 {
		t.Errorf("only %d names were in spans", shown)
	}
}

func TestSees(t *testing.T) {
	rules := []string{
		`key "a/"* list`, `key "a/b" read`, `session "web-"* read`, `session node self read`, `session own read`,
		`node "H1" read`, `service "web" write`, `query "q"* read`,
	}
	r := rights(t, "token:me", "Here", strings.Join(rules, "\n"))
	slices.Reverse(rules)
	for name, c := range map[string]struct{ got, want bool }{
		"a key that may be listed":          {SeesKey(r, "a/c", List), true},
		"which may not be read":             {SeesKey(r, "a/c", List|Read), false},
		"a key that may be both":            {SeesKey(r, "a/b", List|Read), true},
		"a session by its name":             {SeesSession(r, SessionFacts{Name: "web-1"}), true},
		"by its node":                       {SeesSession(r, SessionFacts{Name: "x", Node: "here"}), true},
		"by who made it":                    {SeesSession(r, SessionFacts{Name: "x", Maker: "token:me"}), true},
		"another one":                       {SeesSession(r, SessionFacts{Name: "x", Node: "h1", Maker: "token:you"}), false},
		"a node in any case of letters":     {SeesNode(r, "h1"), true},
		"its neighbour":                     {SeesNode(r, "h10"), false},
		"an instance":                       {SeesOn(r, "H1", "web"), true},
		"an instance of another service":    {SeesOn(r, "h1", "db"), false},
		"an instance on another node":       {SeesOn(r, "h2", "web"), false},
		"an instance of no service":         {SeesOn(r, "h1", ""), false},
		"a check of a node":                 {SeesCheck(r, "h1", ""), true},
		"a check of a service":              {SeesCheck(r, "h1", "web"), true},
		"a check of another service":        {SeesCheck(r, "h1", "db"), false},
		"a check on another node":           {SeesCheck(r, "h2", ""), false},
		"a query":                           {SeesQuery(r, "q1"), true},
		"another query":                     {SeesQuery(r, "r"), false},
		"a query without a name":            {SeesQuery(r, ""), false},
		"a query without a name, of all":    {SeesQuery(rights(t, "", "", "query * read"), ""), true},
		"the same rights":                   {r.Same(rights(t, "token:me", "Here", strings.Join(rules, "\n"))), true},
		"those of another principal":        {rights(t, "a", "", "query * read").Same(rights(t, "b", "", "query * read")), false},
		"those with a rule more":            {rights(t, "a", "", "query * read").Same(rights(t, "a", "", "query * read\nnode * read")), false},
		"those within others":               {r.Within(r).Same(r), false},
		"those within the same":             {r.Within(rights(t, "a", "", "")).Same(r.Within(rights(t, "a", "", ""))), true},
		"none and some":                     {(*Rights)(nil).Same(r), false},
		"none and none":                     {(*Rights)(nil).Same(nil), true},
		"the same for another node of self": {rights(t, "a", "h1", "session node self read").Same(rights(t, "a", "h2", "session node self read")), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}
