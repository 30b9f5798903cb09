package authz

import (
	"math/rand/v2"
	"testing"
)

// TestARuleSetCoversWhatOneOfItsRulesDoes compares the walk through a set with a look at each rule.
func TestARuleSetCoversWhatOneOfItsRulesDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		letters := make([]byte, random.IntN(5))
		for i := range letters {
			letters[i] = "ab\x00\xff"[random.IntN(4)]
		}
		return string(letters)
	}
	for range 20_000 {
		rules := make([]Rule, random.IntN(12))
		for i := range rules {
			rules[i] = Rule{Kind: Key, Match: []Match{All, Exact, Prefix, Prefix, Prefix}[random.IntN(5)], Verbs: Verb(1 << random.IntN(3))}
			if rules[i].Match != All {
				rules[i].Text = text()
			}
		}
		half := random.IntN(len(rules) + 1)
		set := ruleSet(nil).with(rules[:half]).with(rules[half:])
		for range 20 {
			n := Need{Kind: Key, Verb: Verb(1 << random.IntN(3)), Or: Verb(random.IntN(2) << random.IntN(3)), Match: Match(random.IntN(4)), Text: text(), End: text()}
			want := false
			for _, rule := range rules {
				want = want || rule.Verbs&(n.Verb|n.Or) != 0 && rule.contains(n.Match, n.Text, n.End)
			}
			if got := set.covers(n.Verb|n.Or, n.Match, n.Text, n.End); got != want {
				t.Fatalf("%+v cover %+v: %v, want %v", rules, n, got, want)
			}
		}
	}
}
