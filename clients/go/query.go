package tenure

import (
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Query is a prepared query: a question to the catalog that is stored under a name. As a whole it has at most 16 KiB.
//
// If Prefix is set, then Service, Tags, Near, Fallbacks and the values of NodeMeta and ServiceMeta may contain ${name.full}, the
// name that the query is run by; ${name.prefix}, its own name; ${name.suffix}, the rest; and ${match(N)}, what group N of Regexp
// found in the name. $${ stands for ${.
type Query struct {
	// ID is a UUID, which the cluster chooses. Queries.Create ignores it.
	ID string
	// Name is unique, at most 256 bytes, and not a UUID. Without one, the query is run by its ID or, with Prefix, by every name for
	// which there is no other query. No namespace is added to it.
	Name string
	// SessionID is the session with which the query is deleted; empty: it stays until it is deleted. Session.Queries sets it. A session
	// of this library has a secret, so only its own Queries can bind a query to it.
	SessionID string
	// Prefix says that every name that starts with Name runs the query, unless another query has that name, or more of its start.
	Prefix bool
	// Regexp is searched in the name, with the syntax of RE2; at most 1 024 bytes, and only with Prefix.
	Regexp string
	// Service is the name of the service whose instances are found; required.
	Service string
	// Tags are those that an instance must have or, with "!" before them, must not have; at most 64.
	Tags []string
	// OnlyPassing leaves out instances in warning. Critical ones are always left out.
	OnlyPassing bool
	// IgnoreChecks are ids of checks that do not count, at most 64.
	IgnoreChecks []string
	// NodeMeta and ServiceMeta are facts that the node and the instance must have, at most 64 each.
	NodeMeta, ServiceMeta map[string]string
	// Near is a node near which instances are preferred: first those on it, then those in its zone, then the rest. "_agent" stands
	// for the node of the caller: see WithCallerNode. Empty: none are preferred.
	Near string
	// Fallbacks say where to look, in order, if nothing is found; at most 8.
	Fallbacks []QueryFallback
	// RemoveEmptyTags leaves out tags that are empty once they are filled in. Otherwise no instance has them.
	RemoveEmptyTags bool
	// Meta are facts about the query, which Queries.Execute returns; at most 64.
	Meta map[string]string
	// CreateRevision and ModRevision are the revisions that created and last changed the query. Requests ignore them.
	CreateRevision, ModRevision uint64
}

// QueryFallback says where a query looks if it has found nothing so far.
type QueryFallback struct {
	// Service is the name of the service; empty: that of the query.
	Service string
	// Tags replace those of the query; at most 64.
	Tags []string
	// Zone limits it to nodes of this zone; empty: any zone.
	Zone string
}

// QueryResult is what a prepared query finds.
type QueryResult struct {
	// QueryID is the id of the query that was run.
	QueryID string
	// Service is the name of the service in which the instances were found, or else of the last one that was looked at.
	Service string
	// Fallback is the number of the fallback that found them, or of the last one that was tried; 0: the query itself.
	Fallback int
	// Instances are in random order or, with a near node, in random order within each distance.
	Instances []Instance
	// Meta are the facts about the query.
	Meta map[string]string
}

// message returns the query as the API has it.
func (q *Query) message() *tenurev1.Query {
	m := &tenurev1.Query{
		Name: q.Name, SessionId: q.SessionID, Match: tenurev1.QueryMatch_QUERY_MATCH_NAME, Regexp: q.Regexp, Service: q.Service, Tags: q.Tags,
		OnlyPassing: q.OnlyPassing, IgnoreChecks: q.IgnoreChecks, NodeMeta: q.NodeMeta, ServiceMeta: q.ServiceMeta, Near: q.Near,
		RemoveEmptyTags: q.RemoveEmptyTags, Meta: q.Meta,
	}
	if q.Prefix {
		m.Match = tenurev1.QueryMatch_QUERY_MATCH_PREFIX
	}
	for _, f := range q.Fallbacks {
		m.Fallbacks = append(m.Fallbacks, &tenurev1.QueryFallback{Service: f.Service, Tags: f.Tags, Zone: f.Zone})
	}
	return m
}

// query returns a query as the API has it; nil for none.
func query(m *tenurev1.Query) *Query {
	if m == nil {
		return nil
	}
	q := &Query{
		ID: m.GetQueryId(), Name: m.GetName(), SessionID: m.GetSessionId(), Prefix: m.GetMatch() == tenurev1.QueryMatch_QUERY_MATCH_PREFIX,
		Regexp: m.GetRegexp(), Service: m.GetService(), Tags: m.GetTags(), OnlyPassing: m.GetOnlyPassing(), IgnoreChecks: m.GetIgnoreChecks(),
		NodeMeta: m.GetNodeMeta(), ServiceMeta: m.GetServiceMeta(), Near: m.GetNear(), RemoveEmptyTags: m.GetRemoveEmptyTags(), Meta: m.GetMeta(),
		CreateRevision: m.GetCreateRevision(), ModRevision: m.GetModRevision(),
	}
	for _, f := range m.GetFallbacks() {
		q.Fallbacks = append(q.Fallbacks, QueryFallback{Service: f.GetService(), Tags: f.GetTags(), Zone: f.GetZone()})
	}
	return q
}
