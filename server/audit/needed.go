package audit

import (
	"slices"

	"github.com/tenure-io/tenure/server/authz"
)

// needsMax is how many needs a line has; the others are only counted.
const needsMax = 8

// needed is what a line says of the needs of a call.
type needed struct {
	first []authz.Need // at most needsMax, and no more memory
	count int          // how many there are
	about string       // the id of the first session among them
}

// firstOf returns what a line says of needs, which it does not keep.
func firstOf(needs []authz.Need) needed {
	n := needed{first: needs, count: len(needs)}
	if len(needs) > needsMax {
		n.first = slices.Clone(needs[:needsMax])
	}
	if i := slices.IndexFunc(needs, func(n authz.Need) bool { return n.By == authz.BySession }); i >= 0 {
		n.about = needs[i].ID
	}
	return n
}

// texts returns the needs as texts that are short and have nothing of the request's memory, and not those with the text of a token.
func (n needed) texts() []string {
	texts := make([]string, 0, len(n.first))
	for i := range n.first {
		text := n.first[i].String()
		if hasToken(n.first[i].Text) || hasToken(n.first[i].ID) || hasToken(n.first[i].Node) {
			text = notWritten
		}
		texts = append(texts, text)
	}
	return texts
}

// session returns the session that a call is about; empty: none.
func (n needed) session() string { return clip(n.about) }
