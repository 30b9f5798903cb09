package consulhttp

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/prepared"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

const (
	// textNoQuery is the text that clients look for.
	textNoQuery = "Query not found"
	// updateTriesMax is how often an update reads the query that it replaces, when others change it in between.
	updateTriesMax = 8
	// queryLimitMax is how many instances a query returns at most.
	queryLimitMax = 1000
)

// queryEndpoints serve prepared queries.
type queryEndpoints struct {
	*core
	queries tenurev1.QueryServiceClient
}

// routes returns the paths of prepared queries.
func (e *queryEndpoints) routes() []route {
	return []route{
		{path: "query", methods: map[string]serveFunc{http.MethodGet: e.list, http.MethodPost: e.create}},
		{path: "query/", methods: map[string]serveFunc{http.MethodGet: e.read, http.MethodPut: e.update, http.MethodDelete: e.delete}},
		{path: "query/", suffix: "/execute", methods: get(e.execute)},
		{path: "query/", suffix: "/explain", methods: get(e.explain)},
	}
}

// queryFailure returns the failure of a call about a prepared query.
func queryFailure(err error, session string) error {
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_QUERY_NOT_FOUND:
		return reply.Refusal(http.StatusNotFound, textNoQuery)
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID:
		return reply.Refusal(http.StatusBadRequest, "%s %q", textBadSession, reply.Shown(session))
	default:
		return err
	}
}

// notFound answers a read that finds no query.
func (e *queryEndpoints) notFound(ctx context.Context, r read, waited outcome, err error) (*reply.Answer, error) {
	if errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_QUERY_NOT_FOUND {
		return nil, err
	}
	s, err := e.stateAt(ctx, r, waited, at(reply.RevisionOf(err)))
	if err != nil {
		return nil, err
	}
	return (&reply.Answer{Status: http.StatusNotFound, Text: textNoQuery}).Of(s), nil
}

// queryID returns the id of a stored query that a path names.
func (q *request) queryID() (string, error) {
	if q.Rest == "" {
		return "", reply.Refusal(http.StatusBadRequest, "Missing query ID")
	}
	id := strings.ToLower(q.Rest)
	if !wire.UUIDShaped(id) {
		return "", reply.Refusal(http.StatusNotFound, textNoQuery)
	}
	return id, nil
}

// create serves POST /v1/query.
func (e *queryEndpoints) create(ctx context.Context, q *request) (*reply.Answer, error) {
	var body prepared.Query
	if err := q.decode(&body); err != nil {
		return nil, err
	}
	if body.ID != "" {
		return nil, reply.Refusal(http.StatusBadRequest, "ID must be empty when creating a new prepared query")
	}
	message, err := body.Message(nil)
	if err != nil {
		return nil, reply.Refusal(http.StatusBadRequest, "%v", err)
	}
	created, err := e.queries.CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: message})
	if err != nil {
		return nil, queryFailure(err, body.Session)
	}
	return &reply.Answer{JSON: struct{ ID string }{created.GetQueryId()}}, nil
}

// update serves PUT /v1/query/ID. What the query has beyond Consul's stays as it is, so it replaces the one that was read.
func (e *queryEndpoints) update(ctx context.Context, q *request) (*reply.Answer, error) {
	id, err := q.queryID()
	if err != nil {
		return nil, err
	}
	var body prepared.Query
	if err = q.decode(&body); err != nil {
		return nil, err
	}
	if body.ID != "" && !strings.EqualFold(body.ID, id) {
		return nil, reply.Refusal(http.StatusBadRequest, "ID must be empty, or that of the path")
	}
	for range updateTriesMax {
		found, err := e.queries.GetQuery(ctx, &tenurev1.GetQueryRequest{IdOrName: id})
		if err != nil {
			return nil, queryFailure(err, "")
		}
		message, err := body.Message(found.GetQuery())
		if err != nil {
			return nil, reply.Refusal(http.StatusBadRequest, "%v", err)
		}
		revision := found.GetQuery().GetModRevision()
		_, err = e.queries.UpdateQuery(ctx, &tenurev1.UpdateQueryRequest{QueryId: id, Query: message, IfRevision: &revision})
		switch {
		case err == nil:
			return &reply.Answer{}, nil
		case errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED:
			return nil, queryFailure(err, body.Session)
		}
	}
	return nil, reply.Refusal(http.StatusTooManyRequests, "The query is changed by others all the time; try again.")
}

// delete serves DELETE /v1/query/ID.
func (e *queryEndpoints) delete(ctx context.Context, q *request) (*reply.Answer, error) {
	id, err := q.queryID()
	if err != nil {
		return nil, err
	}
	deleted, err := e.queries.DeleteQuery(ctx, &tenurev1.DeleteQueryRequest{QueryId: id})
	switch {
	case err != nil:
		return nil, err
	case !deleted.GetDeleted():
		return nil, reply.Refusal(http.StatusNotFound, textNoQuery)
	default:
		return &reply.Answer{}, nil
	}
}

// list serves GET /v1/query.
func (e *queryEndpoints) list(ctx context.Context, q *request) (*reply.Answer, error) {
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	r.selection = selection{request: &tenurev1.WatchRequest{AllQueries: true}}
	return e.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		list, err := e.queryPages(ctx, r)
		if err != nil {
			return nil, err
		}
		s, err := e.stateAt(ctx, r, waited, list.Header())
		if err != nil {
			return nil, err
		}
		first := func(*tenurev1.Query) int { return 0 }
		shown := func(p *tenurev1.Query) ([]any, error) { return []any{prepared.Of(p)}, nil }
		return (&reply.Answer{Long: list.Long(), Stream: list.Array(ctx, 1, first, shown)}).Of(s), nil
	})
}

// queryPages reads all queries that the caller may read.
func (e *queryEndpoints) queryPages(ctx context.Context, r read) (*reply.Pages[*tenurev1.Query], error) {
	return reply.NewPages(ctx, func(ctx context.Context, token string) (reply.Page[*tenurev1.Query], error) {
		list, err := e.queries.ListQueries(ctx, &tenurev1.ListQueriesRequest{PageToken: token, Read: ask.ReadOptions(r.consistency), VisibleOnly: true})
		return reply.Page[*tenurev1.Query]{Items: list.GetQueries(), Token: list.GetNextPageToken(), Header: list.GetHeader()}, err
	})
}

// read serves GET /v1/query/ID.
func (e *queryEndpoints) read(ctx context.Context, q *request) (*reply.Answer, error) {
	id, err := q.queryID()
	if err != nil {
		return nil, err
	}
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	get := &tenurev1.GetQueryRequest{IdOrName: id, Read: ask.ReadOptions(r.consistency)}
	r.selection = selection{
		request: &tenurev1.WatchRequest{AllQueries: true},
		counts: func(_ context.Context, event *tenurev1.Event) (bool, error) {
			return event.GetQuery().GetQueryId() == id, nil
		},
		counted: "query " + id,
	}
	r.settled = e.settled(get)
	return e.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		found, err := e.queries.GetQuery(ctx, get)
		if err != nil {
			return e.notFound(ctx, r, waited, err)
		}
		s, err := e.stateAt(ctx, r, waited, found.GetHeader())
		if err != nil {
			return nil, err
		}
		return (&reply.Answer{JSON: []*prepared.Query{prepared.Of(found.GetQuery())}}).Of(s), nil
	})
}

// settled returns what tells up to which revision a query is the same as at an index.
func (e *queryEndpoints) settled(get *tenurev1.GetQueryRequest) func(context.Context, uint64) (uint64, error) {
	return func(ctx context.Context, index uint64) (uint64, error) {
		found, err := e.queries.GetQuery(ctx, get)
		if err != nil || found.GetQuery().GetModRevision() > index || found.GetHeader().GetRevision() < index {
			return 0, ignoring(err, tenurev1.ErrorReason_ERROR_REASON_QUERY_NOT_FOUND)
		}
		return found.GetHeader().GetRevision(), nil
	}
}

// queryName returns the id or the name by which a path runs a query.
func (q *request) queryName() (string, error) {
	if !utf8.ValidString(q.Rest) {
		return "", reply.Refusal(http.StatusBadRequest, "The query name is not valid UTF-8.")
	}
	if wire.UUIDShaped(strings.ToLower(q.Rest)) {
		return strings.ToLower(q.Rest), nil
	}
	return q.Rest, nil
}

// queryRead returns which query a read is about, and how fresh it must be.
func (q *request) queryRead() (name string, r read, err error) {
	if name, err = q.queryName(); err == nil {
		r.consistency, err = q.Consistency()
	}
	return name, r, err
}

// execute serves GET /v1/query/ID-OR-NAME/execute.
func (e *queryEndpoints) execute(ctx context.Context, q *request) (*reply.Answer, error) {
	name, r, err := q.queryRead()
	if err != nil {
		return nil, err
	}
	limit, err := q.Number("limit")
	if err != nil {
		return nil, err
	}
	near := q.Text("near")
	switch {
	case near == "_ip":
		return nil, reply.Refusal(http.StatusBadRequest, "%v", prepared.ErrNearIP)
	case !utf8.ValidString(near):
		return nil, reply.Refusal(http.StatusBadRequest, "The node name is not valid UTF-8.")
	case q.Text("connect") != "" && q.Text("connect") != "false":
		return nil, reply.Refusal(http.StatusBadRequest, "Tenure has no service mesh; leave out connect.")
	}
	own, err := e.ownNode(ctx)
	if err != nil {
		return nil, err
	}
	found, err := e.queries.ExecuteQuery(ctx, &tenurev1.ExecuteQueryRequest{
		IdOrName: name, Near: near, Limit: uint32(min(limit, queryLimitMax)), CallerNode: own,
		Passing: q.Has("passing") && q.Text("passing") != "0" && q.Text("passing") != "false",
		Read:    ask.ReadOptions(r.consistency),
	})
	if err != nil {
		return e.notFound(ctx, r, unknown, err)
	}
	nodes := []*wire.Health{}
	for _, i := range found.GetInstances() {
		nodes = append(nodes, wire.HealthOf(i, e.options.Datacenter))
	}
	s, err := e.stateAt(ctx, r, unknown, found.GetHeader())
	if err != nil {
		return nil, err
	}
	return (&reply.Answer{JSON: struct {
		Service    string
		Nodes      []*wire.Health
		DNS        prepared.DNS
		Datacenter string
		Failovers  uint32
	}{found.GetService(), nodes, prepared.TTLOf(found.GetMeta()), e.options.Datacenter, found.GetFallback()}}).Of(s), nil
}

// explain serves GET /v1/query/ID-OR-NAME/explain.
func (e *queryEndpoints) explain(ctx context.Context, q *request) (*reply.Answer, error) {
	name, r, err := q.queryRead()
	if err != nil {
		return nil, err
	}
	found, err := e.queries.ExplainQuery(ctx, &tenurev1.ExplainQueryRequest{IdOrName: name, Read: ask.ReadOptions(r.consistency)})
	if err != nil {
		return e.notFound(ctx, r, unknown, err)
	}
	s, err := e.stateAt(ctx, r, unknown, found.GetHeader())
	if err != nil {
		return nil, err
	}
	return (&reply.Answer{JSON: struct{ Query *prepared.Query }{prepared.Of(found.GetQuery())}}).Of(s), nil
}
