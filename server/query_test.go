package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const byPrefix = tenurev1.QueryMatch_QUERY_MATCH_PREFIX

func (m *member) queries() tenurev1.QueryServiceClient { return tenurev1.NewQueryServiceClient(m.conn) }

// prepareQuery stores a query.
func (m *member) prepareQuery(t *testing.T, q *tenurev1.Query) string {
	t.Helper()
	answer, err := m.queries().CreateQuery(t.Context(), &tenurev1.CreateQueryRequest{Query: q})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetQueryId()
}

// execute runs a query, and returns the nodes of what it found, in order.
func (m *member) execute(t *testing.T, r *tenurev1.ExecuteQueryRequest) (*tenurev1.ExecuteQueryResponse, []string) {
	t.Helper()
	answer, err := m.queries().ExecuteQuery(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, i := range answer.GetInstances() {
		nodes = append(nodes, i.GetNode().GetName())
	}
	return answer, nodes
}

// registerWeb registers instances of web on nodes n1 to n4 in zones a, a, b and b; db runs on n4. n2 is in warning, n3 critical.
func (m *member) registerWeb(t *testing.T) {
	t.Helper()
	for i, status := range []tenurev1.CheckStatus{passing, warning, critical, passing} {
		n := i + 1
		r := &tenurev1.RegisterNodeRequest{
			Node: &tenurev1.Node{
				Name: fmt.Sprint("N", n), Zone: []string{"a", "a", "b", "b"}[i], Meta: map[string]string{"odd": fmt.Sprint(n%2 == 1)},
			},
			Services: []*tenurev1.Service{{Name: "web", Tags: []string{"v1", fmt.Sprint("n", n)}, Meta: map[string]string{"number": fmt.Sprint(n)}}},
			Checks:   []*tenurev1.Check{{Name: "up", ServiceId: "web", Status: status}},
		}
		if n == 4 {
			r.Services = append(r.Services, &tenurev1.Service{Name: "db"})
		}
		if _, err := m.catalog().RegisterNode(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQueriesSelectInstances runs queries over the same instances.
func TestQueriesSelectInstances(t *testing.T) {
	m := start(t)
	m.registerWeb(t)
	tests := map[string]struct {
		query    *tenurev1.Query
		run      *tenurev1.ExecuteQueryRequest // its name is filled in, unless it has one
		nodes    string                        // sorted, unless near is given
		service  string                        // empty: web
		fallback uint32
	}{
		"what is critical is left out": {query: &tenurev1.Query{Service: "web"}, nodes: "N1 N2 N4"},
		"only what passes":             {query: &tenurev1.Query{Service: "web", OnlyPassing: true}, nodes: "N1 N4"},
		"only what passes, if asked": {
			query: &tenurev1.Query{Service: "web"}, run: &tenurev1.ExecuteQueryRequest{Passing: true}, nodes: "N1 N4",
		},
		"checks that do not count": {
			query: &tenurev1.Query{Service: "web", OnlyPassing: true, IgnoreChecks: []string{"up"}}, nodes: "N1 N2 N3 N4",
		},
		"tags":                 {query: &tenurev1.Query{Service: "web", Tags: []string{"v1", "!n1"}}, nodes: "N2 N4"},
		"tags in another case": {query: &tenurev1.Query{Service: "web", Tags: []string{"V1", "!N1"}}, nodes: "N2 N4"},
		"no such tag":          {query: &tenurev1.Query{Service: "web", Tags: []string{"v2"}}, nodes: ""},
		"node meta":            {query: &tenurev1.Query{Service: "web", NodeMeta: map[string]string{"odd": "false"}}, nodes: "N2 N4"},
		"service meta":         {query: &tenurev1.Query{Service: "web", ServiceMeta: map[string]string{"number": "4"}}, nodes: "N4"},
		"no such meta":         {query: &tenurev1.Query{Service: "web", ServiceMeta: map[string]string{"letter": ""}}, nodes: ""},
		"near a node": {
			query: &tenurev1.Query{Service: "web", IgnoreChecks: []string{"up"}, Near: "n3", Tags: []string{"!n2"}}, nodes: "N3 N4 N1",
		},
		"near another node, if asked": {
			query: &tenurev1.Query{Service: "web", Near: "n4", Tags: []string{"!n3"}},
			run:   &tenurev1.ExecuteQueryRequest{Near: "n2"}, nodes: "N2 N1 N4",
		},
		"near whoever asks": {
			query: &tenurev1.Query{Service: "web", Near: "_agent"}, run: &tenurev1.ExecuteQueryRequest{CallerNode: "N2"}, nodes: "N2 N1 N4",
		},
		"the first": {
			query: &tenurev1.Query{Service: "web", Near: "n4"}, run: &tenurev1.ExecuteQueryRequest{Limit: 1}, nodes: "N4",
		},
		"a fallback": {
			query: &tenurev1.Query{Service: "web", Tags: []string{"v2"}, Fallbacks: []*tenurev1.QueryFallback{
				{Tags: []string{"v1"}, Zone: "c"}, {Zone: "b"}, {Service: "db"},
			}}, nodes: "N4", fallback: 2,
		},
		"a fallback to another service": {
			query: &tenurev1.Query{Service: "gone", Fallbacks: []*tenurev1.QueryFallback{{Service: "db"}}}, nodes: "N4", service: "db", fallback: 1,
		},
		"nothing anywhere": {
			query: &tenurev1.Query{Service: "gone", Fallbacks: []*tenurev1.QueryFallback{{Service: "gone too"}}}, service: "gone too", fallback: 1,
		},
		"a beginning of a name": {
			query: &tenurev1.Query{Name: "tag-", Match: byPrefix, Regexp: "^tag-(.*)-(.*)$", Service: "${match(1)}", Tags: []string{"${match(2)}"}},
			run:   &tenurev1.ExecuteQueryRequest{IdOrName: "tag-web-n2"}, nodes: "N2",
		},
		"the longest beginning": {
			query: &tenurev1.Query{Name: "tag-db", Match: byPrefix, Service: "${name.suffix}"},
			run:   &tenurev1.ExecuteQueryRequest{IdOrName: "tag-dbdb"}, nodes: "N4", service: "db",
		},
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range tests {
			if !yield(name) {
				return
			}
		}
	})
	for _, name := range names {
		tc := tests[name]
		t.Run(name, func(t *testing.T) {
			if tc.query.GetName() == "" {
				tc.query.Name = name
			}
			tc.query.Meta = map[string]string{"of": name}
			id := m.prepareQuery(t, tc.query)
			run := tc.run
			if run == nil {
				run = &tenurev1.ExecuteQueryRequest{}
			}
			if run.GetIdOrName() == "" {
				run.IdOrName = name
			}
			answer, nodes := m.execute(t, run)
			if tc.query.GetNear() == "" {
				slices.Sort(nodes)
			}
			service := tc.service
			if service == "" {
				service = "web"
			}
			if got := strings.Join(nodes, " "); got != tc.nodes || answer.GetService() != service || answer.GetFallback() != tc.fallback ||
				answer.GetQueryId() != id || answer.GetMeta()["of"] != name {
				t.Errorf("got %s of %s, fallback %d, %v; want %s of %s, fallback %d", got, answer.GetService(), answer.GetFallback(), answer.GetMeta(),
					tc.nodes, service, tc.fallback)
			}
		})
	}
}

// TestQueryIsExplained says what a name runs, and what that means.
func TestQueryIsExplained(t *testing.T) {
	m := start(t)
	id := m.prepareQuery(t, &tenurev1.Query{Name: "geo-", Match: byPrefix, Service: "${name.suffix}", Tags: []string{"a"}})
	for name, want := range map[string]string{"geo-db": "db", id: ""} {
		answer, err := m.queries().ExplainQuery(t.Context(), &tenurev1.ExplainQueryRequest{IdOrName: name})
		if err != nil || answer.GetQuery().GetService() != want || answer.GetQuery().GetQueryId() != id || answer.GetQuery().GetName() != "geo-" {
			t.Errorf("%s: got %v, %v", name, answer, err)
		}
	}
	stored, err := m.queries().GetQuery(t.Context(), &tenurev1.GetQueryRequest{IdOrName: "geo-"})
	if err != nil || stored.GetQuery().GetService() != "${name.suffix}" {
		t.Errorf("got %v, %v", stored, err)
	}
	for _, missing := range []string{"geo", unusedSession} {
		_, err = m.queries().ExplainQuery(t.Context(), &tenurev1.ExplainQueryRequest{IdOrName: missing})
		wantError(t, err, codes.NotFound, "QUERY_NOT_FOUND")
		_, err = m.queries().ExecuteQuery(t.Context(), &tenurev1.ExecuteQueryRequest{IdOrName: missing})
		wantError(t, err, codes.NotFound, "QUERY_NOT_FOUND")
	}
	_, err = m.queries().GetQuery(t.Context(), &tenurev1.GetQueryRequest{IdOrName: "geo-db"})
	wantError(t, err, codes.NotFound, "QUERY_NOT_FOUND")
}

// TestQueryGoesWithItsSession ends a session: a watch sees its query go in the same revision. A query of another session stays.
func TestQueryGoesWithItsSession(t *testing.T) {
	m := start(t)
	session, other := m.openBound(t, ""), m.openBound(t, "")
	id := m.prepareQuery(t, &tenurev1.Query{Name: "mine", Service: "web", SessionId: session})
	stays := m.prepareQuery(t, &tenurev1.Query{Name: "other", Service: "web", SessionId: other})
	w := m.watch(t, &tenurev1.WatchRequest{AllQueries: true, SessionIds: []string{session}, Initial: true})
	var initial []string
	for done := false; !done; {
		r := w.next()
		for _, q := range r.GetInitial().GetQueries() {
			initial = append(initial, q.GetName())
		}
		done = r.GetInitial().GetComplete()
	}
	if slices.Sort(initial); strings.Join(initial, " ") != "mine other" {
		t.Errorf("a watch begins with %q", initial)
	}
	ended, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: session})
	if err != nil {
		t.Fatal(err)
	}
	var events []*tenurev1.Event
	for len(events) < 2 {
		events = append(events, w.next().GetEvents().GetEvents()...)
	}
	deleted := events[1].GetQuery()
	if len(events) != 2 || events[0].GetType() != tenurev1.EventType_EVENT_TYPE_SESSION_ENDED ||
		events[1].GetType() != tenurev1.EventType_EVENT_TYPE_QUERY_DELETED || deleted.GetQueryId() != id || deleted.GetName() != "mine" ||
		deleted.GetSessionId() != session || events[0].GetRevision() != ended.GetHeader().GetRevision() ||
		events[1].GetRevision() != ended.GetHeader().GetRevision() {
		t.Errorf("got %v, want the end of the session and of its query in revision %d", events, ended.GetHeader().GetRevision())
	}
	left, err := m.queries().ListQueries(t.Context(), &tenurev1.ListQueriesRequest{})
	if err != nil || len(left.GetQueries()) != 1 || left.GetQueries()[0].GetQueryId() != stays {
		t.Errorf("got %v, %v, want the query of the other session", left, err)
	}
	_, err = m.queries().CreateQuery(t.Context(), &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{Service: "web", SessionId: session}})
	wantError(t, err, codes.FailedPrecondition, "SESSION_EXPIRED")
}

// TestQueriesChange lists, replaces and deletes queries.
func TestQueriesChange(t *testing.T) {
	m := start(t)
	session := m.openBound(t, "")
	ids := map[string]string{}
	for i := range 5 {
		name := fmt.Sprint("q", i)
		q := &tenurev1.Query{Name: name, Service: "web"}
		if i == 3 {
			q.SessionId = session
		}
		ids[name] = m.prepareQuery(t, q)
	}
	list := func(r *tenurev1.ListQueriesRequest) string {
		t.Helper()
		var names []string
		for {
			page, err := m.queries().ListQueries(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range page.GetQueries() {
				names = append(names, q.GetName())
			}
			if r.PageToken = page.GetNextPageToken(); r.GetPageToken() == "" {
				slices.Sort(names)
				return strings.Join(names, " ")
			}
		}
	}
	for want, r := range map[string]*tenurev1.ListQueriesRequest{
		"q0 q1 q2 q3 q4": {PageSize: 2}, "q3": {SessionId: strings.ToUpper(session)}, "q4": {NamePrefix: "q4"}, "": {NamePrefix: "x"},
	} {
		if got := list(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	stored, err := m.queries().GetQuery(t.Context(), &tenurev1.GetQueryRequest{IdOrName: strings.ToUpper(ids["q0"])})
	if err != nil {
		t.Fatal(err)
	}
	update := func(q *tenurev1.Query, revision *uint64) (*tenurev1.UpdateQueryResponse, error) {
		return m.queries().UpdateQuery(t.Context(), &tenurev1.UpdateQueryRequest{QueryId: ids["q0"], Query: q, IfRevision: revision})
	}
	at := stored.GetQuery().GetModRevision()
	answer, err := update(&tenurev1.Query{Name: "renamed", Service: "db"}, &at)
	if err != nil || answer.GetModRevision() != answer.GetHeader().GetRevision() {
		t.Errorf("got %v, %v", answer, err)
	}
	_, err = update(&tenurev1.Query{Name: "again", Service: "db"}, &at)
	wantError(t, err, codes.FailedPrecondition, "COMPARE_FAILED")
	_, err = update(&tenurev1.Query{Name: "q1", Service: "db"}, nil)
	wantError(t, err, codes.FailedPrecondition, "QUERY_NAME_TAKEN")
	_, err = m.queries().UpdateQuery(t.Context(), &tenurev1.UpdateQueryRequest{QueryId: unusedSession, Query: &tenurev1.Query{Service: "db"}})
	wantError(t, err, codes.NotFound, "QUERY_NOT_FOUND")
	for _, want := range []bool{true, false} {
		deleted, err := m.queries().DeleteQuery(t.Context(), &tenurev1.DeleteQueryRequest{QueryId: ids["q0"]})
		if err != nil || deleted.GetDeleted() != want {
			t.Errorf("got %v, %v, want deleted %t", deleted, err, want)
		}
	}
	key := []byte("0123456789abcdef")
	once := func() string {
		answer, err := m.queries().CreateQuery(t.Context(), &tenurev1.CreateQueryRequest{
			Query: &tenurev1.Query{Name: "once", Service: "web"}, Options: &tenurev1.CallOptions{IdempotencyKey: key},
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetQueryId()
	}
	if first, again := once(), once(); first != again {
		t.Errorf("the same call created %s and %s", first, again)
	}
}

// TestBadQueriesAreRefusedByField stores what is out of bounds, field by field: each is refused by name, and nothing changes.
func TestBadQueriesAreRefusedByField(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n+1) }
	many := slices.Repeat([]string{"a"}, 65)
	tests := map[string]func(q *tenurev1.Query){
		"query.name":                 func(q *tenurev1.Query) { q.Name = long(256) },
		"query.name ":                func(q *tenurev1.Query) { q.Name = unusedSession },
		"query.name  ":               func(q *tenurev1.Query) { q.Name = "a\n" },
		"query.session_id":           func(q *tenurev1.Query) { q.SessionId = "x" },
		"query.match":                func(q *tenurev1.Query) { q.Match = 9 },
		"query.regexp":               func(q *tenurev1.Query) { q.Regexp = "a" },
		"query.regexp ":              func(q *tenurev1.Query) { q.Match, q.Regexp = byPrefix, "(" },
		"query.regexp  ":             func(q *tenurev1.Query) { q.Match, q.Regexp = byPrefix, long(1024) },
		"query.service":              func(q *tenurev1.Query) { q.Service = "" },
		"query.service ":             func(q *tenurev1.Query) { q.Service = long(255) },
		"query.service  ":            func(q *tenurev1.Query) { q.Match, q.Service = byPrefix, "${" },
		"query.tags":                 func(q *tenurev1.Query) { q.Tags = many },
		"query.tags[1]":              func(q *tenurev1.Query) { q.Tags = []string{"a", "!"} },
		"query.tags[0]":              func(q *tenurev1.Query) { q.Match, q.Tags = byPrefix, []string{"${node}"} },
		"query.ignore_checks":        func(q *tenurev1.Query) { q.IgnoreChecks = many },
		"query.ignore_checks[0]":     func(q *tenurev1.Query) { q.IgnoreChecks = []string{""} },
		"query.node_meta":            func(q *tenurev1.Query) { q.NodeMeta = pairsOf(65) },
		"query.node_meta ":           func(q *tenurev1.Query) { q.Match, q.NodeMeta = byPrefix, map[string]string{"a": "${x}"} },
		"query.service_meta":         func(q *tenurev1.Query) { q.ServiceMeta = map[string]string{"": "a"} },
		"query.service_meta ":        func(q *tenurev1.Query) { q.Match, q.ServiceMeta = byPrefix, map[string]string{"a": "${x}"} },
		"query.meta":                 func(q *tenurev1.Query) { q.Meta = map[string]string{"a": long(512)} },
		"query.near":                 func(q *tenurev1.Query) { q.Near = long(253) },
		"query.near ":                func(q *tenurev1.Query) { q.Match, q.Near = byPrefix, "${x}" },
		"query.fallbacks":            func(q *tenurev1.Query) { q.Fallbacks = slices.Repeat([]*tenurev1.QueryFallback{{}}, 9) },
		"query.fallbacks[0].service": func(q *tenurev1.Query) { q.Fallbacks = []*tenurev1.QueryFallback{{Service: long(255)}} },
		"query.fallbacks[0].tags[0]": func(q *tenurev1.Query) { q.Fallbacks = []*tenurev1.QueryFallback{{Tags: []string{""}}} },
		"query.fallbacks[0].zone":    func(q *tenurev1.Query) { q.Fallbacks = []*tenurev1.QueryFallback{{Zone: long(128)}} },
		"query.fallbacks[0].zone ": func(q *tenurev1.Query) {
			q.Match, q.Fallbacks = byPrefix, []*tenurev1.QueryFallback{{Zone: "${x}"}}
		},
		"query": func(q *tenurev1.Query) { q.Tags = slices.Repeat([]string{long(254)}, 64) },
	}
	m := start(t)
	id := m.prepareQuery(t, &tenurev1.Query{Name: "before", Service: "web"})
	for name, set := range tests {
		q := &tenurev1.Query{Name: "bad", Service: "web"}
		set(q)
		_, err := m.queries().CreateQuery(t.Context(), &tenurev1.CreateQueryRequest{Query: q})
		if got := fieldOf(err); got != strings.TrimSpace(name) {
			t.Errorf("%s: got %v, which names %q", name, err, got)
		}
		_, err = m.queries().UpdateQuery(t.Context(), &tenurev1.UpdateQueryRequest{QueryId: id, Query: q})
		if got := fieldOf(err); got != strings.TrimSpace(name) {
			t.Errorf("%s of an update: got %v, which names %q", name, err, got)
		}
	}
	calls := map[string]func() error{
		"query": func() error {
			_, err := m.queries().CreateQuery(t.Context(), &tenurev1.CreateQueryRequest{})
			return err
		},
		"query_id": func() error {
			_, err := m.queries().UpdateQuery(t.Context(), &tenurev1.UpdateQueryRequest{})
			return err
		},
		"query_id ": func() error {
			_, err := m.queries().DeleteQuery(t.Context(), &tenurev1.DeleteQueryRequest{QueryId: "x"})
			return err
		},
		"id_or_name": func() error { _, err := m.queries().GetQuery(t.Context(), &tenurev1.GetQueryRequest{}); return err },
		"id_or_name ": func() error {
			_, err := m.queries().ExecuteQuery(t.Context(), &tenurev1.ExecuteQueryRequest{})
			return err
		},
		"id_or_name  ": func() error {
			_, err := m.queries().ExplainQuery(t.Context(), &tenurev1.ExplainQueryRequest{IdOrName: long(256)})
			return err
		},
		"name_prefix": func() error {
			_, err := m.queries().ListQueries(t.Context(), &tenurev1.ListQueriesRequest{NamePrefix: long(256)})
			return err
		},
		"session_id": func() error {
			_, err := m.queries().ListQueries(t.Context(), &tenurev1.ListQueriesRequest{SessionId: "x"})
			return err
		},
		"page_size": func() error {
			_, err := m.queries().ListQueries(t.Context(), &tenurev1.ListQueriesRequest{PageSize: 1001})
			return err
		},
		"limit": func() error {
			_, err := m.queries().ExecuteQuery(t.Context(), &tenurev1.ExecuteQueryRequest{IdOrName: "a", Limit: 1001})
			return err
		},
		"near": func() error {
			_, err := m.queries().ExecuteQuery(t.Context(), &tenurev1.ExecuteQueryRequest{IdOrName: "a", Near: long(253)})
			return err
		},
		"caller_node": func() error {
			_, err := m.queries().ExecuteQuery(t.Context(), &tenurev1.ExecuteQueryRequest{IdOrName: "a", CallerNode: long(253)})
			return err
		},
	}
	for name, call := range calls {
		if err := call(); fieldOf(err) != strings.TrimSpace(name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	left, err := m.queries().ListQueries(t.Context(), &tenurev1.ListQueriesRequest{})
	if err != nil || len(left.GetQueries()) != 1 || left.GetQueries()[0].GetModRevision() != left.GetQueries()[0].GetCreateRevision() {
		t.Errorf("got %v, %v, want nothing changed", left, err)
	}
}
