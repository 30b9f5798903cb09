package main

import (
	"context"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// queries returns the prepared queries of the client or session that a request is about.
func (c *call) queries() (*tenure.Queries, error) {
	if s, err := get[*tenure.Session](c, c.On); err == nil {
		return s.Queries(), nil
	}
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	return client.Queries(), nil
}

// query returns the prepared query that the arguments describe.
func (a *args) query() tenure.Query {
	q := tenure.Query{
		ID: a.ID, Name: a.Name, Prefix: a.ByPrefix, Regexp: a.Regexp, Service: a.Service, Tags: a.Tags, OnlyPassing: a.Passing, Near: a.Near,
		Meta: a.Metadata,
	}
	for _, f := range a.Fallbacks {
		q.Fallbacks = append(q.Fallbacks, tenure.QueryFallback{Service: f.Service, Tags: f.Tags, Zone: f.Zone})
	}
	return q
}

func queryValue(q *tenure.Query) value {
	fallbacks := []value{}
	for _, f := range q.Fallbacks {
		fallbacks = append(fallbacks, value{"service": f.Service, "tags": texts(f.Tags), "zone": f.Zone})
	}
	return value{
		"id": q.ID, "name": q.Name, "session": q.SessionID, "by_prefix": q.Prefix, "regexp": q.Regexp, "service": q.Service,
		"tags": texts(q.Tags), "passing": q.OnlyPassing, "near": q.Near, "metadata": q.Meta, "fallbacks": fallbacks, "revision": q.ModRevision,
	}
}

// texts returns a list that JSON shows as one, also if it is empty.
func texts(list []string) []string { return append([]string{}, list...) }

func createQuery(ctx context.Context, c *call) (value, error) {
	queries, err := c.queries()
	if err != nil {
		return nil, err
	}
	options, err := c.writeOptions()
	if err != nil {
		return nil, err
	}
	id, err := queries.Create(ctx, c.args.query(), options...)
	return value{"id": id}, err
}

func updateQuery(ctx context.Context, c *call) (value, error) {
	queries, err := c.queries()
	if err != nil {
		return nil, err
	}
	options, err := c.writeOptions()
	if err != nil {
		return nil, err
	}
	revision, err := queries.Update(ctx, c.args.query(), options...)
	return value{"revision": revision}, err
}

func getQuery(ctx context.Context, c *call) (value, error) {
	queries, err := c.queries()
	if err != nil {
		return nil, err
	}
	q, err := queries.Get(ctx, c.args.Name)
	if err != nil {
		return nil, err
	}
	return queryValue(q), nil
}

func explainQuery(ctx context.Context, c *call) (value, error) {
	queries, err := c.queries()
	if err != nil {
		return nil, err
	}
	q, err := queries.Explain(ctx, c.args.Name)
	if err != nil {
		return nil, err
	}
	return queryValue(q), nil
}

func listQueries(ctx context.Context, c *call) (value, error) {
	queries, err := c.queries()
	if err != nil {
		return nil, err
	}
	list, err := queries.List(ctx, c.args.Prefix)
	shown := []value{}
	for _, q := range list {
		shown = append(shown, queryValue(q))
	}
	return value{"queries": shown}, err
}

func deleteQuery(ctx context.Context, c *call) (value, error) {
	queries, err := c.queries()
	if err != nil {
		return nil, err
	}
	options, err := c.writeOptions()
	if err != nil {
		return nil, err
	}
	deleted, err := queries.Delete(ctx, c.args.ID, options...)
	return value{"deleted": deleted}, err
}

func executeQuery(ctx context.Context, c *call) (value, error) {
	queries, err := c.queries()
	if err != nil {
		return nil, err
	}
	options := []tenure.ExecuteOption{tenure.WithNear(c.args.Near), tenure.WithCallerNode(c.args.CallerNode), tenure.WithLimit(c.args.Limit)}
	if c.args.Passing {
		options = append(options, tenure.WithOnlyPassing())
	}
	if c.args.MinRevision > 0 {
		options = append(options, tenure.WithMinRevision(c.args.MinRevision))
	}
	if c.args.Stale {
		options = append(options, tenure.WithStale())
	}
	result, err := queries.Execute(ctx, c.args.Name, options...)
	if err != nil {
		return nil, err
	}
	instances := []value{}
	for _, i := range result.Instances {
		instances = append(instances, value{"id": i.ID, "node": i.Node, "status": i.Status.String()})
	}
	return value{
		"id": result.QueryID, "service": result.Service, "fallback": result.Fallback, "metadata": result.Meta, "instances": instances,
	}, nil
}
