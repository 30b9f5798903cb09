package query

import (
	"errors"
	"fmt"
	"regexp"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
	bounds "github.com/tenure-io/tenure/storage/catalog"
)

// fromProto validates a query, but for its session.
func fromProto(q *tenurev1.Query) (*storev1.Query, error) {
	if q == nil {
		return nil, reason.Invalid("query", "is missing")
	}
	out := &storev1.Query{
		Name: q.GetName(), Match: storev1.QueryMatch_QUERY_MATCH_NAME, Regexp: q.GetRegexp(), Service: q.GetService(), Tags: q.GetTags(),
		OnlyPassing: q.GetOnlyPassing(), IgnoreChecks: q.GetIgnoreChecks(), NodeMeta: catalog.Pairs(q.GetNodeMeta()),
		ServiceMeta: catalog.Pairs(q.GetServiceMeta()), Near: q.GetNear(), RemoveEmptyTags: q.GetRemoveEmptyTags(),
		Meta: catalog.Pairs(q.GetMeta()),
	}
	if q.GetMatch() != tenurev1.QueryMatch_QUERY_MATCH_UNSPECIFIED {
		out.Match = storev1.QueryMatch(q.GetMatch()) // The enums are equal, number by number.
	}
	for _, f := range q.GetFallbacks() {
		out.Fallbacks = append(out.Fallbacks, &storev1.QueryFallback{Service: f.GetService(), Tags: f.GetTags(), Zone: f.GetZone()})
	}
	if err := bounds.CheckQuery(out); err != nil {
		if m, ok := errors.AsType[*bounds.MalformedError](err); ok {
			return nil, reason.Invalid(fieldOf(m.Field), "%s", m.Problem)
		}
		return nil, err
	}
	if _, err := regexp.Compile(out.GetRegexp()); err != nil {
		return nil, reason.Invalid("query.regexp", "is not a regular expression: %v", err)
	}
	if out.GetMatch() != storev1.QueryMatch_QUERY_MATCH_PREFIX {
		return out, nil
	}
	return out, checkTexts(out)
}

// fieldOf returns the field of a request that has a field of a query.
func fieldOf(field string) string {
	if field == "query" { // It is too large as a whole.
		return field
	}
	return "query." + field
}

// checkTexts refuses texts that cannot be filled in.
func checkTexts(q *storev1.Query) error {
	var failed error
	eachText(q, func(field, text string) string {
		if _, err := parse(text); err != nil && failed == nil {
			failed = reason.Invalid("query."+field, "%v", err)
		}
		return text
	})
	return failed
}

// eachText replaces every text of a query that is filled in.
func eachText(q *storev1.Query, replace func(field, text string) string) {
	q.Service = replace("service", q.GetService())
	q.Near = replace("near", q.GetNear())
	list := func(field string, texts []string) {
		for i := range texts {
			texts[i] = replace(fmt.Sprintf("%s[%d]", field, i), texts[i])
		}
	}
	list("tags", q.GetTags())
	for _, p := range q.GetNodeMeta() {
		p.Value = replace("node_meta", p.GetValue())
	}
	for _, p := range q.GetServiceMeta() {
		p.Value = replace("service_meta", p.GetValue())
	}
	for i, f := range q.GetFallbacks() {
		f.Service = replace(fmt.Sprintf("fallbacks[%d].service", i), f.GetService())
		f.Zone = replace(fmt.Sprintf("fallbacks[%d].zone", i), f.GetZone())
		list(fmt.Sprintf("fallbacks[%d].tags", i), f.GetTags())
	}
}

// ToProto returns a query.
func ToProto(q storage.QueryEntry) *tenurev1.Query {
	s := q.Record.GetQuery()
	out := &tenurev1.Query{
		QueryId: q.ID.String(), Name: s.GetName(), SessionId: call.SessionText(s.GetSessionId()), Match: tenurev1.QueryMatch(s.GetMatch()),
		Regexp: s.GetRegexp(), Service: s.GetService(), Tags: s.GetTags(), OnlyPassing: s.GetOnlyPassing(), IgnoreChecks: s.GetIgnoreChecks(),
		NodeMeta: catalog.Texts(s.GetNodeMeta()), ServiceMeta: catalog.Texts(s.GetServiceMeta()), Near: s.GetNear(),
		RemoveEmptyTags: s.GetRemoveEmptyTags(), Meta: catalog.Texts(s.GetMeta()),
		CreateRevision: q.Record.GetCreateRevision(), ModRevision: q.Record.GetModRevision(),
	}
	for _, f := range s.GetFallbacks() {
		out.Fallbacks = append(out.Fallbacks, &tenurev1.QueryFallback{Service: f.GetService(), Tags: f.GetTags(), Zone: f.GetZone()})
	}
	return out
}

// AddEvent fills in an event of a query, and reports whether it is one.
func AddEvent(out *tenurev1.Event, e *storev1.Event) bool {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_QueryPut:
		p := kind.QueryPut
		id, err := storage.SessionIDFromBytes(p.GetQueryId())
		if err != nil {
			return false
		}
		out.Type = tenurev1.EventType_EVENT_TYPE_QUERY_PUT
		out.Query = ToProto(storage.QueryEntry{ID: id, Record: &storev1.QueryRecord{
			Query: p.GetQuery(), CreateRevision: p.GetCreateRevision(), ModRevision: e.GetRevision(),
		}})
	case *storev1.Event_QueryDeleted:
		d := kind.QueryDeleted
		out.Type = tenurev1.EventType_EVENT_TYPE_QUERY_DELETED
		out.Query = &tenurev1.Query{
			QueryId: call.SessionText(d.GetQueryId()), Name: d.GetName(), SessionId: call.SessionText(d.GetEndedSessionId()),
		}
	default:
		return false
	}
	return true
}
