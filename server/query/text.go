package query

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// part is a part of a text of a query: a literal, or what stands for a part of the name that the query is run by.
type part struct {
	literal  string
	variable string // empty: it is literal
	group    int    // of match
}

const (
	nameFull   = "name.full"
	namePrefix = "name.prefix"
	nameSuffix = "name.suffix"
	matchGroup = "match"
	// groupsMax is how many groups of a regular expression can be named.
	groupsMax = 99
)

var (
	errOpen     = errors.New(`has "${" without "}"; "$${" means "${"`)
	errVariable = errors.New("has something other than ${name.full}, ${name.prefix}, ${name.suffix} or ${match(N)}")
)

// parse takes a text apart.
func parse(text string) ([]part, error) {
	var parts []part
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			return append(parts, part{literal: text}), nil
		}
		if escaped, isEscaped := strings.CutSuffix(before, "$"); isEscaped {
			parts = append(parts, part{literal: escaped + "${"})
			text = rest
			continue
		}
		variable, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, errOpen
		}
		p, err := variableOf(strings.TrimSpace(variable))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{literal: before}, p)
		text = after
	}
}

// variableOf returns what stands between the braces.
func variableOf(text string) (part, error) {
	switch text {
	case nameFull, namePrefix, nameSuffix:
		return part{variable: text}, nil
	}
	number, isMatch := strings.CutPrefix(text, matchGroup+"(")
	number, isClosed := strings.CutSuffix(number, ")")
	group, err := strconv.ParseUint(number, 10, 8)
	if !isMatch || !isClosed || err != nil || group > groupsMax {
		return part{}, errVariable
	}
	return part{variable: matchGroup, group: int(group)}, nil
}

// filled returns a query as it is run by a name: one that longer names run with all its texts filled in.
func filled(q *storev1.Query, name string) (*storev1.Query, error) {
	if q.GetMatch() != storev1.QueryMatch_QUERY_MATCH_PREFIX {
		return q, nil
	}
	var groups []string
	if q.GetRegexp() != "" {
		search, err := regexp.Compile(q.GetRegexp())
		if err != nil {
			return nil, err //nolint:wrapcheck // Its text says what is wrong; it was checked when the query was stored.
		}
		groups = search.FindStringSubmatch(name)
	}
	q = proto.CloneOf(q)
	var failed error
	eachText(q, func(_, text string) string {
		parts, err := parse(text)
		if err != nil && failed == nil {
			failed = err
		}
		return fill(parts, q.GetName(), name, groups)
	})
	q.Tags = tagsLeft(q, q.GetTags())
	for _, f := range q.GetFallbacks() {
		f.Tags = tagsLeft(q, f.GetTags())
	}
	return q, failed
}

// fill puts the parts of a text together.
func fill(parts []part, prefix, name string, groups []string) string {
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.variable == "":
			b.WriteString(p.literal)
		case p.variable == nameFull:
			b.WriteString(name)
		case p.variable == namePrefix:
			b.WriteString(prefix)
		case p.variable == nameSuffix:
			b.WriteString(strings.TrimPrefix(name, prefix))
		case p.group < len(groups):
			b.WriteString(groups[p.group])
		}
	}
	return b.String()
}

// tagsLeft returns tags without those that are empty, if the query says so.
func tagsLeft(q *storev1.Query, tags []string) []string {
	if !q.GetRemoveEmptyTags() {
		return tags
	}
	var left []string
	for _, tag := range tags {
		if tag != "" && tag != "!" {
			left = append(left, tag)
		}
	}
	return left
}
