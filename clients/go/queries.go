package tenure

import (
	"context"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Queries stores and runs prepared queries: without a session from Client.Queries, under a session from Session.Queries. Its methods
// can be called concurrently.
type Queries struct {
	caller  caller
	session *Session // Nil without one.
}

// Queries returns the prepared queries of the cluster.
func (c *Client) Queries() *Queries { return &Queries{caller: c} }

// Queries returns the prepared queries of the cluster, for calls under the session: those that it creates or updates are deleted in the
// revision in which the session ends.
func (s *Session) Queries() *Queries { return &Queries{caller: &s.calls, session: s} }

// ExecuteOption configures Queries.Execute.
type ExecuteOption func(*tenurev1.ExecuteQueryRequest)

// WithNear prefers instances near this node, in place of Query.Near. "_agent" stands for WithCallerNode.
func WithNear(node string) ExecuteOption {
	return func(r *tenurev1.ExecuteQueryRequest) { r.Near = node }
}

// WithCallerNode names the node of the caller, for which "_agent" stands. Without it, "_agent" has no effect.
func WithCallerNode(node string) ExecuteOption {
	return func(r *tenurev1.ExecuteQueryRequest) { r.CallerNode = node }
}

// WithLimit sets how many instances to return at most, 1 to 1 000. The default is 1 000.
func WithLimit(instances uint32) ExecuteOption {
	return func(r *tenurev1.ExecuteQueryRequest) { r.Limit = instances }
}

// WithOnlyPassing leaves out instances in warning, too, also if the query has them.
func WithOnlyPassing() ExecuteOption {
	return func(r *tenurev1.ExecuteQueryRequest) { r.Passing = true }
}

// WithStale lets a member answer from its own data, which may be old, even while it knows no leader. Without it the answer reflects
// every change that was committed before.
func WithStale() ExecuteOption {
	return func(r *tenurev1.ExecuteQueryRequest) {
		r.Read = &tenurev1.ReadOptions{Stale: true, MinRevision: r.GetRead().GetMinRevision()}
	}
}

// WithMinRevision demands that the answer shows this revision, or a later one. A member that is asked for its own data waits until it has it;
// without WithStale, a revision that the cluster has not reached is refused with ErrFutureRevision.
func WithMinRevision(revision uint64) ExecuteOption {
	return func(r *tenurev1.ExecuteQueryRequest) {
		r.Read = &tenurev1.ReadOptions{Stale: r.GetRead().GetStale(), MinRevision: revision}
	}
}

// bound returns a query as it is sent.
func (q *Queries) bound(query *Query) (*tenurev1.Query, error) {
	m := query.message()
	if q.session != nil {
		m.SessionId = q.session.id
	}
	return m, sendable(m)
}

// Create stores a new query, and returns its id. If another one has its name, it fails with ErrQueryNameTaken. Of options, WithGuard and
// WithHeld apply.
func (q *Queries) Create(ctx context.Context, query Query, options ...WriteOption) (id string, err error) {
	m, err := q.bound(&query)
	if err != nil {
		return "", err
	}
	o, err := write(options)
	if err != nil {
		return "", err
	}
	var answer *tenurev1.CreateQueryResponse
	err = q.caller.change(ctx, func(ctx context.Context, l *conn.Link, call *tenurev1.CallOptions) (err error) {
		call.Guards = o.guards
		answer, err = tenurev1.NewQueryServiceClient(l).CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: m, Options: call})
		return err
	})
	return answer.GetQueryId(), err
}

// Update replaces the query with the ID of this one, and returns its ModRevision: what is not set gets its zero value. A query that is already
// so does not change. If there is none, it fails with ErrQueryNotFound. Of options, IfRevision, WithGuard and WithHeld apply.
func (q *Queries) Update(ctx context.Context, query Query, options ...WriteOption) (revision uint64, err error) {
	m, err := q.bound(&query)
	if err != nil {
		return 0, err
	}
	request := &tenurev1.UpdateQueryRequest{QueryId: query.ID, Query: m}
	if err = sendable(request); err != nil {
		return 0, err
	}
	o, err := write(options)
	if err != nil {
		return 0, err
	}
	request.IfRevision = o.ifRevision
	var answer *tenurev1.UpdateQueryResponse
	err = q.caller.change(ctx, func(ctx context.Context, l *conn.Link, call *tenurev1.CallOptions) (err error) {
		call.Guards = o.guards
		request.Options = call
		answer, err = tenurev1.NewQueryServiceClient(l).UpdateQuery(ctx, request)
		return err
	})
	return answer.GetModRevision(), err
}

// Get returns a query as it is stored, by its id or exact name, or ErrQueryNotFound.
func (q *Queries) Get(ctx context.Context, idOrName string) (*Query, error) {
	request := &tenurev1.GetQueryRequest{IdOrName: idOrName}
	if err := sendable(request); err != nil {
		return nil, err
	}
	var answer *tenurev1.GetQueryResponse
	err := q.caller.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewQueryServiceClient(l).GetQuery(ctx, request)
		return err
	})
	return query(answer.GetQuery()), err
}

// List returns all queries whose name has a prefix, ordered by id; those of a session only, if it is from Session.Queries. It reads pages, all
// of them of the same revision.
func (q *Queries) List(ctx context.Context, namePrefix string) ([]*Query, error) {
	request := &tenurev1.ListQueriesRequest{NamePrefix: namePrefix}
	if q.session != nil {
		request.SessionId = q.session.id
	}
	if err := sendable(request); err != nil {
		return nil, err
	}
	var all []*Query
	for {
		var page *tenurev1.ListQueriesResponse
		err := q.caller.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
			page, err = tenurev1.NewQueryServiceClient(l).ListQueries(ctx, request)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, m := range page.GetQueries() {
			all = append(all, query(m))
		}
		if page.GetNextPageToken() == "" {
			return all, nil
		}
		request.PageToken = page.GetNextPageToken()
	}
}

// Delete deletes a query by its id, and reports whether it existed. Of options, WithGuard and WithHeld apply.
func (q *Queries) Delete(ctx context.Context, id string, options ...WriteOption) (bool, error) {
	request := &tenurev1.DeleteQueryRequest{QueryId: id}
	if err := sendable(request); err != nil {
		return false, err
	}
	o, err := write(options)
	if err != nil {
		return false, err
	}
	var answer *tenurev1.DeleteQueryResponse
	err = q.caller.change(ctx, func(ctx context.Context, l *conn.Link, call *tenurev1.CallOptions) (err error) {
		call.Guards = o.guards
		request.Options = call
		answer, err = tenurev1.NewQueryServiceClient(l).DeleteQuery(ctx, request)
		return err
	})
	return answer.GetDeleted(), err
}

// Execute runs a query, and returns the instances that it finds, which may be none. It is found by its id or name, or else it is the one with
// Prefix whose name is the longest with which this name starts; otherwise ErrQueryNotFound.
func (q *Queries) Execute(ctx context.Context, idOrName string, options ...ExecuteOption) (*QueryResult, error) {
	request := &tenurev1.ExecuteQueryRequest{IdOrName: idOrName}
	for _, option := range options {
		option(request)
	}
	if err := sendable(request); err != nil {
		return nil, err
	}
	var answer *tenurev1.ExecuteQueryResponse
	err := q.caller.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewQueryServiceClient(l).ExecuteQuery(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	result := &QueryResult{
		QueryID: answer.GetQueryId(), Service: answer.GetService(), Fallback: int(answer.GetFallback()), Meta: answer.GetMeta(),
	}
	for _, m := range answer.GetInstances() {
		result.Instances = append(result.Instances, instance(m))
	}
	return result, nil
}

// Explain returns the query that Execute would run for an id or a name, with all texts filled in, or ErrQueryNotFound. Its name is its own.
func (q *Queries) Explain(ctx context.Context, idOrName string) (*Query, error) {
	request := &tenurev1.ExplainQueryRequest{IdOrName: idOrName}
	if err := sendable(request); err != nil {
		return nil, err
	}
	var answer *tenurev1.ExplainQueryResponse
	err := q.caller.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewQueryServiceClient(l).ExplainQuery(ctx, request)
		return err
	})
	return query(answer.GetQuery()), err
}
