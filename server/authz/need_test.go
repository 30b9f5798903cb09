package authz

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// widest returns the narrowest selector that contains a range, as whoever has all the time in the world finds it.
func widest(start, end string) (Match, string) {
	for n := len(start); n > 0; n-- {
		if endsWithin(end, start[:n]) {
			return Prefix, start[:n]
		}
	}
	return All, ""
}

// TestTheSelectorOfARangeIsTheNarrowest compares it with what a search finds, for short ranges of few letters.
func TestTheSelectorOfARangeIsTheNarrowest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		const letters = "ab\xfe\xff"
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 200_000 {
		start, end := word(), word()
		match, text := commonPrefix(start, end)
		if wantMatch, want := widest(start, end); match != wantMatch || text != want {
			t.Fatalf("from %q to %q: got %v %q, want %v %q", start, end, match, text, wantMatch, want)
		}
	}
}

// TestTheNeedOfALongRangeIsToldAtOnce has ranges for which a search for the selector would look at each byte as often as there are bytes.
func TestTheNeedOfALongRangeIsToldAtOnce(t *testing.T) {
	const n = 1 << 20
	half := strings.Repeat("a", n/2)
	for name, r := range map[string][2]string{
		"it ends in its middle":              {half + strings.Repeat("b", n/2), half + half},
		"it has bytes that nothing is above": {half + strings.Repeat("\xff", n/2), half + half},
	} {
		began := time.Now()
		if text := (Need{Kind: Key, Verb: Watch, Match: Range, Text: r[0], End: r[1]}).String(); len(text) > 2*nameBytesMax {
			t.Errorf("%s: a text of %d bytes", name, len(text))
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

func TestTheTextOfANeedIsShort(t *testing.T) {
	const textMax = 3 * nameBytesMax
	for _, letter := range []string{"a", "\x01", "\"", "\\", "é", "€", "\u2028", "😀", "\xff"} {
		long := strings.Repeat(letter, 1<<20)
		for i, n := range []Need{
			{Kind: Key, Verb: Read, Match: Exact, Text: long},
			{Kind: Key, Verb: Read, Match: Prefix, Text: long},
			{Kind: Key, Verb: Read, Match: Range, Text: long, End: long + "a"},
			{Kind: Session, Verb: Write, By: BySession, ID: long},
			{Kind: Session, Verb: Write, Match: Prefix, Node: long},
			{Kind: Service, Verb: Write, By: ByService, ID: long, Node: long},
			{Kind: Service, Verb: Write, By: ByCheck, ID: long, Node: idMark + long},
			{Kind: Node, Verb: Write, By: ByNode, ID: long},
			{Kind: Query, Verb: Write, By: ByQuery, ID: long},
		} {
			text := n.String()
			if len(text) > textMax || utf8.ValidString(letter) && !utf8.ValidString(text) {
				t.Errorf("%q, need %d: %d bytes: %q", letter, i, len(text), text)
			}
			if !strings.Contains(text, cutMark) || !strings.HasSuffix(text, n.Verb.String()) {
				t.Errorf("%q, need %d: got %q, want a mark where it is cut, and its verb", letter, i, text)
			}
			if _, err := ParsePolicy(text); err == nil {
				t.Errorf("%q, need %d: a name that was cut is a rule: %s", letter, i, text)
			}
		}
	}
}

func TestANameThatFitsIsWhole(t *testing.T) {
	for letter, fits := range map[string]int{"a": 256, "\x01": 42, "\"": 128, "€": 85} {
		for n, cut := range map[int]bool{fits: false, fits + 1: true} {
			name := strings.Repeat(letter, n)
			got := Need{Kind: Key, Verb: Read, Match: Exact, Text: name}.String()
			want := fmt.Sprintf("key %s read", quoted(name))
			if cut {
				want = fmt.Sprintf("key %s… read", quoted(strings.Repeat(letter, fits)))
			}
			if got != want {
				t.Errorf("%d times %q: got %s, want %s", n, letter, got, want)
			}
		}
	}
}

func TestANeedNamesWhatElseIsMissing(t *testing.T) {
	key := func(verb Verb) Need { return Need{Kind: Key, Verb: verb, Match: Exact, Text: "a"} }
	node := func(verb Verb) Need { return Need{Kind: Node, Verb: verb, Match: Exact, Text: "n"} }
	session := func(verb Verb) Need { return Need{Kind: Session, Verb: verb, By: BySession, ID: "s"} }
	guard := Need{Kind: Key, Verb: Read, Or: Lock, Match: Exact, Text: "a"}
	tests := map[string]struct {
		rules  string
		first  Need
		others []Need
		want   string
	}{
		"alone":                                {"", key(Write), nil, `key "a" write`},
		"two of the same key":                  {"", key(Write), []Need{key(Lock), key(Write)}, `key "a" write lock`},
		"in the order of rules":                {"", key(Lock), []Need{key(Write), key(Read)}, `key "a" read write lock`},
		"one of two is met":                    {`key "a" lock`, key(Write), []Need{key(Lock)}, `key "a" write`},
		"another key":                          {"", key(Write), []Need{{Kind: Key, Verb: Lock, Match: Exact, Text: "b"}}, `key "a" write`},
		"the prefix is another name":           {"", key(Write), []Need{{Kind: Key, Verb: List, Match: Prefix, Text: "a"}}, `key "a" write`},
		"another kind":                         {"", key(Write), []Need{session(Write)}, `key "a" write`},
		"a guard, and nothing in its place":    {"", guard, []Need{key(Write)}, `key "a" read write`},
		"a guard, and what is in its place":    {"", guard, []Need{key(Lock)}, `key "a" lock`},
		"what is in the place of a later one":  {"", key(Lock), []Need{guard}, `key "a" lock`},
		"a node: write has read":               {"", node(Read), []Need{node(Write)}, `node "n" write`},
		"what an id names is not said further": {"", session(Read), []Need{session(Write)}, "session id s read"},
		"a key if the session deletes":         {"", key(Lock), []Need{{Kind: Key, Verb: Write, Match: Exact, Text: "a", By: BySession, ID: "s"}}, `key "a" lock`},
		"all of the operator":                  {"", Need{Kind: Operator, Verb: Read}, []Need{{Kind: Operator, Verb: Backup}}, "operator read backup"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			policy, err := ParsePolicy(test.rules)
			if err != nil {
				t.Fatal(err)
			}
			if got := test.first.With(test.others, NewRights("", "", policy).Covers).String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
