package catalog

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

const (
	// QueriesMax is how many prepared queries there may be.
	QueriesMax = 10_000
	// QueryNameBytesMax is how long the name of a prepared query may be.
	QueryNameBytesMax = 256
	// QueryBytesMax is how many bytes a prepared query may have.
	QueryBytesMax = 16 << 10
	// NearBytesMax is how long the name of a node near which instances are preferred may be.
	NearBytesMax = nodeNameBytesMax
	// RegexpBytesMax is how long the regular expression of a query may be.
	RegexpBytesMax = 1024
	// QueryTagBytesMax is how long a tag of a query may be: that of an instance, with "!" before it.
	QueryTagBytesMax = textBytesMax + 1

	queryChecksMax    = 64
	queryFallbacksMax = 8
)

// CheckQuery refuses a prepared query that is out of bounds. What its texts mean it does not ask, nor whether its session lives.
func CheckQuery(q *storev1.Query) error {
	if err := checkText("name", q.GetName(), QueryNameBytesMax); err != nil {
		return err
	}
	switch {
	case isUUID(q.GetName()):
		return malformed("name", "must not be a UUID, which would be taken for an id")
	case q.GetMatch() != storev1.QueryMatch_QUERY_MATCH_NAME && q.GetMatch() != storev1.QueryMatch_QUERY_MATCH_PREFIX:
		return malformed("match", "is not known")
	case q.GetRegexp() != "" && q.GetMatch() != storev1.QueryMatch_QUERY_MATCH_PREFIX:
		return malformed("regexp", "has no effect unless match is PREFIX")
	case len(q.GetIgnoreChecks()) > queryChecksMax:
		return malformed("ignore_checks", "must be at most %d", queryChecksMax)
	case len(q.GetFallbacks()) > queryFallbacksMax:
		return malformed("fallbacks", "must be at most %d", queryFallbacksMax)
	}
	if err := checkText("regexp", q.GetRegexp(), RegexpBytesMax); err != nil {
		return err
	}
	if err := CheckID("service", q.GetService()); err != nil {
		return err
	}
	if err := checkQueryTags("tags", q.GetTags()); err != nil {
		return err
	}
	for i, id := range q.GetIgnoreChecks() {
		if err := CheckID(fmt.Sprintf("ignore_checks[%d]", i), id); err != nil {
			return err
		}
	}
	if err := checkText("near", q.GetNear(), NearBytesMax); err != nil {
		return err
	}
	for i, f := range q.GetFallbacks() {
		if err := checkFallback(f); err != nil {
			return under(fmt.Sprintf("fallbacks[%d]", i), err)
		}
	}
	return checkQueryMeta(q)
}

// checkQueryMeta refuses facts that are out of bounds, and a query that is too large.
func checkQueryMeta(q *storev1.Query) error {
	for _, list := range []struct {
		field string
		pairs []*storev1.MetadataEntry
	}{{"node_meta", q.GetNodeMeta()}, {"service_meta", q.GetServiceMeta()}, {"meta", q.GetMeta()}} {
		if err := checkPairs(list.field, list.pairs, metaMax, metaNameBytesMax); err != nil {
			return err
		}
	}
	if proto.Size(q) > QueryBytesMax {
		return malformed("query", "must be at most %d bytes", QueryBytesMax)
	}
	return nil
}

// checkFallback refuses a fallback that is out of bounds.
func checkFallback(f *storev1.QueryFallback) error {
	if err := checkText("service", f.GetService(), textBytesMax); err != nil {
		return err
	}
	if err := checkText("zone", f.GetZone(), ZoneBytesMax); err != nil {
		return err
	}
	return checkQueryTags("tags", f.GetTags())
}

// checkQueryTags refuses tags that no instance can have.
func checkQueryTags(field string, tags []string) error {
	if len(tags) > tagsMax {
		return malformed(field, "must be at most %d", tagsMax)
	}
	for i, tag := range tags {
		name := fmt.Sprintf("%s[%d]", field, i)
		if tag == "" || tag == "!" {
			return malformed(name, "must not be empty")
		}
		if err := checkText(name, tag, QueryTagBytesMax); err != nil {
			return err
		}
	}
	return nil
}

// isUUID reports whether a text looks like a UUID, in either case of letters.
func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}
