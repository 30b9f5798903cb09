package seen

import (
	"cmp"
	"slices"

	"github.com/tenure-io/tenure/server/authz"
)

// span is the keys from start to before end; an empty end is the end of all keys.
type span struct{ start, end string }

// watchedVerbs are what a caller needs to see a key, or its lock, that a watch selects by a prefix or a range.
const watchedVerbs = authz.Read | authz.Watch | authz.List

// spansOf returns disjoint spans in order that cover keys, and what the caller sees of prefixes and of a range, which is empty without an end.
func (i *State) spansOf(keys, prefixes []string, within span) []span {
	var spans []span
	for _, k := range keys {
		spans = append(spans, one(k))
	}
	for _, p := range prefixes {
		if i.Sight == nil {
			spans = append(spans, all(p))
			continue
		}
		for _, s := range i.Sight.Spans(authz.Key, watchedVerbs, p) {
			spans = append(spans, spanOf(s))
		}
	}
	switch {
	case within.end == "":
	case i.Sight == nil:
		spans = append(spans, within)
	default:
		for _, s := range authz.SpansFrom(i.Sight.Spans(authz.Key, watchedVerbs, ""), within.start) {
			if s.Text >= within.end {
				break
			}
			spans = append(spans, spanOf(s).within(within))
		}
	}
	return merged(spans)
}

// one is the span of one key, all that of all keys with a prefix.
func one(key string) span    { return span{start: key, end: key + "\x00"} }
func all(prefix string) span { return span{start: prefix, end: authz.PrefixEnd(prefix)} }

// spanOf returns the span of names that somebody sees.
func spanOf(s authz.Span) span {
	if s.Exact {
		return one(s.Text)
	}
	return all(s.Text)
}

// within returns what a span has in common with another one that has an end.
func (s span) within(o span) span {
	s.start = max(s.start, o.start)
	if s.end == "" || s.end > o.end {
		s.end = o.end
	}
	return s
}

// merged returns disjoint spans in order with the same keys.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var out []span
	for _, s := range spans {
		last := len(out) - 1
		switch {
		case last < 0 || out[last].end != "" && out[last].end < s.start:
			out = append(out, s)
		case out[last].end != "" && (s.end == "" || s.end > out[last].end):
			out[last].end = s.end
		}
	}
	return out
}

// covers reports whether a key comes before the end of the span.
func (s span) covers(key string) bool { return s.end == "" || key < s.end }

// prefix returns the prefix that all keys of the span have, and no others; empty if there is none.
func (s span) prefix() string {
	if s == all(s.start) {
		return s.start
	}
	return ""
}
