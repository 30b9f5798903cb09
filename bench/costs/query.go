package main

import (
	"fmt"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// queryCases are commands about prepared queries.
func queryCases() []cost {
	return []cost{
		{kind: "put_query", name: "a query of nearly 16 KiB that changes its name and its session", build: func(b *builder) *storev1.Command {
			b.apply(putQuery(b, "before", true))
			return putQuery(b, "after", false)
		}},
		{kind: "delete_query", name: "a query of nearly 16 KiB", build: func(b *builder) *storev1.Command {
			b.apply(putQuery(b, "query", true))
			return &storev1.Command{Kind: &storev1.Command_DeleteQuery{DeleteQuery: &storev1.DeleteQuery{QueryId: machineID}}}
		}},
	}
}

// putQuery writes a large query of a new session.
func putQuery(b *builder, name string, create bool) *storev1.Command {
	const tags, tagBytes = 60, 250
	s := b.session()
	q := &storev1.Query{
		Name: name, Match: storev1.QueryMatch_QUERY_MATCH_NAME, Service: "service", SessionId: s.GetSessionId(),
	}
	for i := range tags {
		q.Tags = append(q.Tags, fmt.Sprint(i)+strings.Repeat("t", tagBytes))
	}
	return &storev1.Command{Kind: &storev1.Command_PutQuery{PutQuery: &storev1.PutQuery{
		QueryId: machineID, Create: create, Query: q, Session: s,
	}}}
}
