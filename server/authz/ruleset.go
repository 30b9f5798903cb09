package authz

import (
	"cmp"
	"slices"
	"strings"
)

// ruleSet are rules of one kind, in the order of their texts. It does not change.
//
// The text of a rule that contains a selector begins the selector's text. Of the texts that do, each begins all longer ones, and all texts
// between it and the selector's in the order. So they are found from the last text that is not after the selector's: that one, the longest
// other one that begins it, and so on.
type ruleSet []placedRule

// placedRule is a rule, with the place of the longest other rule that begins its text; negative: there is none.
type placedRule struct {
	Rule

	outer int
}

// with returns a set with further rules.
func (s ruleSet) with(more []Rule) ruleSet {
	if len(more) == 0 {
		return s
	}
	all := make(ruleSet, 0, len(s)+len(more))
	all = append(all, s...)
	for _, rule := range more {
		if rule.Match == All {
			rule.Text = ""
		}
		all = append(all, placedRule{Rule: rule})
	}
	slices.SortStableFunc(all, func(a, b placedRule) int {
		return cmp.Or(strings.Compare(a.Text, b.Text), cmp.Compare(a.Match, b.Match))
	})
	merged := all[:0]
	for _, rule := range all {
		if last := len(merged) - 1; last >= 0 && merged[last].Match == rule.Match && merged[last].Text == rule.Text {
			merged[last].Verbs |= rule.Verbs
		} else {
			merged = append(merged, rule)
		}
	}
	for i := range merged {
		outer := i - 1
		for outer >= 0 && !strings.HasPrefix(merged[i].Text, merged[outer].Text) {
			outer = merged[outer].outer
		}
		merged[i].outer = outer
	}
	return merged
}

// covers reports whether one of the rules, which are of the need's kind, meets a need for one of several verbs on what is selected.
func (s ruleSet) covers(verbs Verb, match Match, text, end string) bool {
	at, last := 0, len(s)
	for at < last {
		if middle := (at + last) / 2; s[middle].Text <= text {
			at = middle + 1
		} else {
			last = middle
		}
	}
	for i := at - 1; i >= 0; i = s[i].outer {
		if rule := &s[i]; rule.Verbs&verbs != 0 && rule.contains(match, text, end) {
			return true
		}
	}
	return false
}
