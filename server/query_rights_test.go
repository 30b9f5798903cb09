package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestQueriesNeedRights stores and runs queries with few rights: what is not covered is refused, and what is found is shown only as
// far as it may be read.
func TestQueriesNeedRights(t *testing.T) {
	m := start(t, alone)
	adminText := m.bootstrap(t, modeEnforce)
	admin := as(t.Context(), adminText)
	for _, node := range []string{"n1", "n2"} {
		if _, err := m.catalog().RegisterNode(admin, &tenurev1.RegisterNodeRequest{
			Node: &tenurev1.Node{Name: node}, Services: []*tenurev1.Service{{Name: "web"}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	create := func(ctx context.Context, q *tenurev1.Query) (string, error) {
		answer, err := m.queries().CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: q})
		return answer.GetQueryId(), err
	}
	other, err := create(admin, &tenurev1.Query{Name: "db", Service: "db"})
	if err != nil {
		t.Fatal(err)
	}
	const rules = "query \"web-\"* write\nquery \"one\" write\nservice \"web\" read\nnode \"n1\" read"
	web := as(t.Context(), m.token(t, adminText, "web", rules).GetText())
	id, err := create(web, &tenurev1.Query{Name: "web-all", Service: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = create(web, &tenurev1.Query{Name: "web-", Match: byPrefix, Service: "web"}); err != nil {
		t.Error(err)
	}
	for _, q := range []*tenurev1.Query{
		{Service: "web"},
		{Name: "web", Service: "web"},
		{Match: byPrefix, Service: "web"},
		{Name: "one", Match: byPrefix, Service: "web"},
		{Name: "web", Match: byPrefix, Service: "web"},
	} {
		_, err = create(web, q)
		wantError(t, err, codes.PermissionDenied, "PERMISSION_DENIED")
	}
	m.wantQueriesDenied(web, t, id, other)
	if err = m.watchErrorAs(web, &tenurev1.WatchRequest{AllQueries: true}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("watch: got %v, want it denied", err)
	}
	listed, err := m.queries().ListQueries(web, &tenurev1.ListQueriesRequest{NamePrefix: "web-"})
	if err != nil || len(listed.GetQueries()) != 2 {
		t.Errorf("got %v, %v, want two queries", listed, err)
	}
	for _, name := range []string{id, "web-all", "web-any"} {
		found, failed := m.queries().ExecuteQuery(web, &tenurev1.ExecuteQueryRequest{IdOrName: name})
		if failed != nil || len(found.GetInstances()) != 1 || found.GetInstances()[0].GetNode().GetName() != "n1" || found.GetHeader().GetHidden() != 1 {
			t.Errorf("%s: got %v, %v, want the instance on n1 and one hidden", name, found, failed)
		}
	}
	_, err = m.queries().DeleteQuery(web, &tenurev1.DeleteQueryRequest{QueryId: unusedSession})
	if err != nil {
		t.Errorf("a query that is not there: got %v", err)
	}
}

// watchErrorAs returns the error with which a watch under ctx is refused.
func (m *member) watchErrorAs(ctx context.Context, r *tenurev1.WatchRequest) error {
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, r)
	if err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}

// wantQueriesDenied makes calls about a query that the caller may not read, and gives one that it may write a name that it may not.
func (m *member) wantQueriesDenied(ctx context.Context, t *testing.T, id, other string) {
	t.Helper()
	denied := map[string]func() error{
		"read": func() error {
			_, err := m.queries().GetQuery(ctx, &tenurev1.GetQueryRequest{IdOrName: other})
			return err
		},
		"run": func() error {
			_, err := m.queries().ExecuteQuery(ctx, &tenurev1.ExecuteQueryRequest{IdOrName: "db"})
			return err
		},
		"run by id": func() error {
			_, err := m.queries().ExecuteQuery(ctx, &tenurev1.ExecuteQueryRequest{IdOrName: other})
			return err
		},
		"explain": func() error {
			_, err := m.queries().ExplainQuery(ctx, &tenurev1.ExplainQueryRequest{IdOrName: other})
			return err
		},
		"delete": func() error {
			_, err := m.queries().DeleteQuery(ctx, &tenurev1.DeleteQueryRequest{QueryId: other})
			return err
		},
		"list": func() error { _, err := m.queries().ListQueries(ctx, &tenurev1.ListQueriesRequest{}); return err },
		"replace": func() error {
			_, err := m.queries().UpdateQuery(ctx, &tenurev1.UpdateQueryRequest{QueryId: other, Query: &tenurev1.Query{Name: "web-b", Service: "web"}})
			return err
		},
		"rename": func() error {
			_, err := m.queries().UpdateQuery(ctx, &tenurev1.UpdateQueryRequest{QueryId: id, Query: &tenurev1.Query{Name: "db-b", Service: "web"}})
			return err
		},
	}
	for what, call := range denied {
		if err := call(); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: got %v, want it denied", what, err)
		}
	}
}

// TestTheLimitOfAQueryCountsWhatItsCallerSees runs a query for callers with narrow rights, often enough that the order differs.
func TestTheLimitOfAQueryCountsWhatItsCallerSees(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	ctx := as(t.Context(), admin)
	for n := range 6 {
		r := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: fmt.Sprint("n", n)}, Services: []*tenurev1.Service{{Name: "web"}, {Name: "db"}}}
		if _, err := m.catalog().RegisterNode(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.queries().CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{
		Name: "q", Service: "web", Near: "n5", Fallbacks: []*tenurev1.QueryFallback{{Service: "db"}},
	}}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		rules, nodes, service string
		hidden                uint32
	}{
		"one node":           {`service "web" read` + "\n" + `node "n0" read`, "n0", "web", 5},
		"the other service":  {`service "db" read` + "\n" + `node "n1" read`, "n1", "db", 11},
		"all nodes":          {`service "web" read` + "\n" + `node * read`, "n5", "web", 0},
		"no instance at all": {`service "web" read`, "", "db", 12},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			token := m.token(t, admin, strings.ReplaceAll(name, " ", "-"), `query "q" read`+"\n"+tc.rules).GetText()
			for range 10 {
				answer, err := m.queries().ExecuteQuery(as(t.Context(), token), &tenurev1.ExecuteQueryRequest{IdOrName: "q", Limit: 1})
				if err != nil {
					t.Fatal(err)
				}
				var nodes []string
				for _, i := range answer.GetInstances() {
					nodes = append(nodes, i.GetNode().GetName())
				}
				if got := strings.Join(nodes, " "); got != tc.nodes || answer.GetService() != tc.service || answer.GetHeader().GetHidden() != tc.hidden {
					t.Fatalf("got %q of %q, %d hidden, want %q of %q, %d", got, answer.GetService(), answer.GetHeader().GetHidden(), tc.nodes, tc.service, tc.hidden)
				}
			}
		})
	}
}
