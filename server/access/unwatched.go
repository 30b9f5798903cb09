package access

import (
	"strings"

	"github.com/tenure-io/tenure/server/authz"
)

// checkWatched refuses a watch of a part whose caller may list keys among those that it asks for, with their values or keys only, and may not watch
// them: it would wait in vain for changes of what a list shows. So a watch shows the part that a list shows.
func (w *Who) checkWatched(needs []authz.Need, keysOnly bool) error {
	if w.rights == nil {
		return nil
	}
	listed := authz.List
	if !keysOnly {
		listed |= authz.Read
	}
	for _, n := range needs {
		if !n.Part || n.Kind != authz.Key || n.Verb != authz.Watch {
			continue
		}
		for _, part := range listedOf(w.rights, n, listed) {
			missing := part
			for _, verb := range []authz.Verb{authz.Read, authz.Watch} {
				if part.Verb = verb; !w.Covers(part) {
					missing.Verb |= verb
				}
			}
			if missing.Verb != 0 {
				return denial(w, missing)
			}
		}
	}
	return nil
}

// listedOf returns what somebody may list of the keys that a need is about, as needs without verbs, each about keys that some rules cover whole.
func listedOf(rights *authz.Rights, n authz.Need, listed authz.Verb) []authz.Need {
	var parts []authz.Need
	if n.Match != authz.Range {
		for _, s := range rights.Spans(authz.Key, listed, n.Text) {
			parts = append(parts, needOf(s))
		}
		return parts
	}
	for _, s := range authz.SpansFrom(rights.Spans(authz.Key, listed, ""), n.Text) {
		if n.End != "" && s.Text >= n.End {
			break
		}
		part := needOf(s)
		if !s.Exact && (s.Text < n.Text || strings.HasPrefix(n.End, s.Text)) { // The range has not all of it.
			part.Match, part.Text, part.End = authz.Range, max(s.Text, n.Text), authz.PrefixEnd(s.Text)
			if part.End == "" || n.End != "" && n.End < part.End {
				part.End = n.End
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// needOf returns a need of the keys of a span, without a verb.
func needOf(s authz.Span) authz.Need {
	if s.Exact {
		return authz.Need{Kind: authz.Key, Match: authz.Exact, Text: s.Text}
	}
	return authz.Need{Kind: authz.Key, Match: authz.Prefix, Text: s.Text}
}
