package authz

import (
	"github.com/google/uuid"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// uuidBytes is the length of a UUID as ids are written; others are names.
const uuidBytes = 36

// query adds a need on a prepared query, which is named by its id or by a name that runs it.
func (v *visit) query(idOrName string) {
	if len(idOrName) == uuidBytes && uuid.Validate(idOrName) == nil {
		v.queryID(idOrName, Read)
		return
	}
	v.add(QueryNeed(Read, idOrName, false))
}

// queryID adds a need on the prepared query of an id, which somebody has to look up.
func (v *visit) queryID(id string, verb Verb) {
	n := Need{Kind: Query, Verb: verb}
	if id != "" { // Else its service refuses it.
		n.By, n.ID = ByQuery, id
	}
	v.add(n)
}

// addQueries adds the messages of QueryService.
func addQueries(t *Table) {
	set[*tenurev1.Query](t, with(
		nones("the content of a query that may be written; a caller that runs it sees only what it may read", "query_id", "match", "regexp",
			"service", "tags", "only_passing", "ignore_checks", "node_meta", "service_meta", "near", "fallbacks", "remove_empty_tags",
			"meta", "create_revision", "mod_revision"),
		needs("name", func(v *visit, m *tenurev1.Query) {
			v.add(QueryNeed(Write, m.GetName(), m.GetMatch() == tenurev1.QueryMatch_QUERY_MATCH_PREFIX))
		}),
		needs("session_id", func(v *visit, m *tenurev1.Query) { v.actAs(m.GetSessionId()) }),
	)...)
	set[*tenurev1.CreateQueryRequest](t,
		needs("query", func(v *visit, m *tenurev1.CreateQueryRequest) {
			if m.GetQuery() == nil { // Its service refuses it, to callers that may create something.
				v.add(QueryNeed(Write, "", false))
			}
			part(v, m.GetQuery())
		}),
		options(),
	)
	set[*tenurev1.UpdateQueryRequest](t,
		needs("query_id", func(v *visit, m *tenurev1.UpdateQueryRequest) { v.queryID(m.GetQueryId(), Write) }),
		needs("query", func(v *visit, m *tenurev1.UpdateQueryRequest) { part(v, m.GetQuery()) }),
		none("if_revision", "a condition on a query that may be written"),
		options(),
	)
	set[*tenurev1.DeleteQueryRequest](t,
		needs("query_id", func(v *visit, m *tenurev1.DeleteQueryRequest) { v.queryID(m.GetQueryId(), Write) }),
		options(),
	)
	set[*tenurev1.GetQueryRequest](t,
		needs("id_or_name", func(v *visit, m *tenurev1.GetQueryRequest) { v.query(m.GetIdOrName()) }), read(),
	)
	set[*tenurev1.ExplainQueryRequest](t,
		needs("id_or_name", func(v *visit, m *tenurev1.ExplainQueryRequest) { v.query(m.GetIdOrName()) }), read(),
	)
	set[*tenurev1.ListQueriesRequest](t, with(append(page(), none("session_id", "the query itself shows it")),
		needs("name_prefix", func(v *visit, m *tenurev1.ListQueriesRequest) {
			v.of(m, Need{Kind: Query, Verb: Read, Match: Prefix, Text: m.GetNamePrefix()})
		}),
		read(),
		visible[*tenurev1.ListQueriesRequest](),
	)...)
	set[*tenurev1.ExecuteQueryRequest](t, with(
		nones("the answer has only instances that may be read", "near", "limit", "passing", "caller_node"),
		needs("id_or_name", func(v *visit, m *tenurev1.ExecuteQueryRequest) { v.query(m.GetIdOrName()) }), read(),
	)...)
}

// showQueries adds the answers of QueryService.
func showQueries(a *Answers) {
	const covered = "a request is refused that may not read the query, or has left it out as it asked; a write includes the read"
	tell[*tenurev1.CreateQueryResponse](a, nil, head(), shown(covered, "query_id"))
	tell[*tenurev1.UpdateQueryResponse](a, nil, head(), shown(covered, "mod_revision"))
	tell[*tenurev1.DeleteQueryResponse](a, nil, head(), shown(covered, "deleted"))
	tell[*tenurev1.GetQueryResponse](a, nil, head(), shown(covered, "query"))
	tell[*tenurev1.ExplainQueryResponse](a, nil, head(), shown(covered, "query"))
	tell[*tenurev1.ListQueriesResponse](a, nil, head(), shown(covered, "queries", "next_page_token"))
	tell[*tenurev1.ServiceInstance](a, nil, shown("an answer has only those whose service and node may be read", "service", "node", "checks", "status"))
	tell(a, func(v *view, m *tenurev1.ExecuteQueryResponse) {
		keep(v, &m.Instances, func(i *tenurev1.ServiceInstance) bool { return SeesInstance(v.viewer, i) })
	}, head(), decided("instances"), shown(covered, "query_id", "service", "fallback", "meta"))
}
