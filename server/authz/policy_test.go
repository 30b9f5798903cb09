package authz

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParsePolicy(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"all kinds": {
			`key "a" read
key "a/"* ro
key * rw
key "\"\n\u00e4" read list watch write lock break
session "" read
session "web-"* read write break
session node "h1" write
session node * read
session node self write
session own read
node * read
service "web" write
query "q"* read
operator read write backup
admin write`,
			`key "a" read
key "a/"* ro
key * rw
key "\"\nä" read list watch write lock break
session "" read
session "web-"* read write break
session node "h1" write
session node * read
session node self write
session own read
node * read
service "web" write
query "q"* read
operator read write backup
admin write
`,
		},
		"blanks, comments and ends of lines": {" \tkey\t\"a\"  read  \r\n\n# key \"b\" read\n  # more", "key \"a\" read\n"},
		"verbs in any order":                 {`key "a" watch read list`, "key \"a\" ro\n"},
		"nothing":                            {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePolicy(test.text)
			if err != nil || p.String() != test.want {
				t.Errorf("got %q, %v, want %q", p.String(), err, test.want)
			}
			again, err := ParsePolicy(p.String())
			if err != nil || !slices.Equal(again.Rules, p.Rules) {
				t.Errorf("read again: %v, %v", again, err)
			}
		})
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"deny, by name":          {"key \"a\" read\n  deny key", "line 2, column 3: deny is not a rule"},
		"other kinds":            {`keys "a" read`, "line 1, column 1: a rule starts with"},
		"no selector":            {`key`, "line 1, column 4: want a name"},
		"a bare name":            {`key a read`, "line 1, column 5: want a name"},
		"a string without end":   {`key "a read`, "line 1, column 5: the string has no end"},
		"a string not of JSON":   {`key "\q" read`, "line 1, column 5: the string is not"},
		"an empty prefix":        {`key ""* read`, `line 1, column 5: write * instead`},
		"an empty key":           {`key "" read`, `line 1, column 5: the name is empty`},
		"no verbs":               {`key "a"`, "line 1, column 8: the rule allows nothing"},
		"verbs of others":        {`node "a" lock`, "line 1, column 10: verbs of node are read, write"},
		"shorthands of keys":     {`session "a" rw`, "line 1, column 13: verbs of session are"},
		"backup of keys":         {`key "a" backup`, "line 1, column 9: verbs of key are"},
		"a verb twice":           {`key "a" rw lock`, "line 1, column 12: lock is there already"},
		"a verb with more on it": {`key "a" read,list`, "line 1, column 9: verbs of key are"},
		"no blank":               {`key "a"read`, "line 1, column 8: want a blank"},
		"columns are characters": {`key "ä" x`, "line 1, column 9:"},
		"a selector for admin":   {`admin * write`, "line 1, column 7: verbs of admin are"},
		"a long name":            {`key "` + strings.Repeat("a", SelectorBytesMax+1) + `" read`, "longer than 1024"},
		"a long policy":          {strings.Repeat(" ", PolicyBytesMax+1), "longer than 65536"},
		"too many rules":         {strings.Repeat("admin read\n", RulesMax+1), "line 257, column 1: a policy has at most 256 rules"},
		"not UTF-8":              {"key \"\xff\" read", "not UTF-8"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParsePolicy(test.text)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add("key \"a\\u0000\"* ro\nsession own write")
	f.Add(AdminPolicy().String())
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePolicy(text)
		if err != nil {
			return
		}
		again, err := ParsePolicy(p.String())
		if err != nil && len(p.String()) <= PolicyBytesMax || err == nil && !slices.Equal(p.Rules, again.Rules) {
			t.Errorf("%q is printed as %q: %v", text, p.String(), err)
		}
	})
}
