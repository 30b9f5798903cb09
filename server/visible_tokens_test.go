package server_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// whole returns what a caller sees of lists with pages of a size, by list: how many items each page has, and whether another follows.
func (m *member) whole(ctx context.Context, t *testing.T, size uint32) map[string]string {
	t.Helper()
	shown := map[string]string{}
	ask := func(list string, page func(token string) (int, string, error)) {
		t.Helper()
		token := ""
		for again := true; again; again = token != "" {
			items, next, err := page(token)
			if err != nil {
				t.Fatal(list, err)
			}
			token, shown[list] = next, fmt.Sprintf("%s %d,%v", shown[list], items, next != "")
		}
	}
	ask("keys", func(token string) (int, string, error) {
		r, err := m.List(ctx, &tenurev1.ListRequest{PageSize: size, PageToken: token, VisibleOnly: true})
		return len(r.GetKvs()), r.GetNextPageToken(), err
	})
	ask("sessions", func(token string) (int, string, error) {
		r, err := m.ListSessions(ctx, &tenurev1.ListSessionsRequest{PageSize: size, PageToken: token, VisibleOnly: true})
		return len(r.GetSessions()), r.GetNextPageToken(), err
	})
	ask("queries", func(token string) (int, string, error) {
		r, err := m.queries().ListQueries(ctx, &tenurev1.ListQueriesRequest{PageSize: size, PageToken: token, VisibleOnly: true})
		return len(r.GetQueries()), r.GetNextPageToken(), err
	})
	ask("a node", func(token string) (int, string, error) {
		r, err := m.catalog().GetNode(ctx, &tenurev1.GetNodeRequest{Node: "n1", PageToken: token, VisibleOnly: true})
		return len(r.GetServices()) + len(r.GetChecks()), r.GetNextPageToken(), err
	})
	ask("nodes", func(token string) (int, string, error) {
		r, err := m.catalog().ListNodes(ctx, &tenurev1.ListNodesRequest{PageSize: size, PageToken: token, VisibleOnly: true})
		return len(r.GetNodes()), r.GetNextPageToken(), err
	})
	ask("services", func(token string) (int, string, error) {
		r, err := m.catalog().ListServices(ctx, &tenurev1.ListServicesRequest{PageSize: size, PageToken: token, VisibleOnly: true})
		return len(r.GetServices()), r.GetNextPageToken(), err
	})
	for _, of := range []*tenurev1.ListInstancesRequest{{Service: "web"}, {Node: "n1"}} {
		ask("instances of "+of.String(), func(token string) (int, string, error) {
			of.PageSize, of.PageToken, of.VisibleOnly = size, token, true
			r, err := m.catalog().ListInstances(ctx, of)
			return len(r.GetInstances()), r.GetNextPageToken(), err
		})
	}
	for _, of := range []*tenurev1.ListChecksRequest{{}, {Node: "n1"}, {Service: "web"}} {
		ask("checks of "+of.String(), func(token string) (int, string, error) {
			of.PageSize, of.PageToken, of.VisibleOnly = size, token, true
			r, err := m.catalog().ListChecks(ctx, of)
			return len(r.GetChecks()), r.GetNextPageToken(), err
		})
	}
	return shown
}

// TestPagesAreTheSameWhateverIsHidden lists before something is there that its caller does not see, and after: before, between and behind what it sees. No
// page has fewer items, and none has a token that it had not.
func TestPagesAreTheSameWhateverIsHidden(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	ctx := as(t.Context(), admin)
	who := as(t.Context(), m.token(t, admin, "p", strings.Join([]string{
		`key "k"* ro`, `session "s" read`, `query "q"* read`, `node "n1" read`, `node "n2" read`, `service "web"* read`,
	}, "\n")).GetText())
	add := func(key, session, query, node, id, service string) {
		t.Helper()
		_, err := m.Put(ctx, &tenurev1.PutRequest{Key: key})
		if err == nil {
			_, err = m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: session})
		}
		if err == nil {
			_, err = m.queries().CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{Name: query, Service: "web"}})
		}
		if err == nil {
			_, err = m.catalog().RegisterNode(ctx, &tenurev1.RegisterNodeRequest{
				Node: &tenurev1.Node{Name: node}, Services: []*tenurev1.Service{{ServiceId: id, Name: service}},
				Checks: []*tenurev1.Check{{CheckId: id, Name: id, ServiceId: id}},
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("k1", "s", "q1", "n1", "b", "web")
	add("k2", "s", "q2", "n1", "d", "web2")
	add("k3", "s", "q3", "n2", "b", "web")
	sizes := []uint32{1, 2, 3, 4, 0}
	var before []map[string]string
	for _, size := range sizes {
		before = append(before, m.whole(who, t, size))
	}
	for i := range 8 { // Ids of sessions and queries are drawn: with so many, some are behind all that is seen, almost always.
		add(fmt.Sprint("a", i), "hidden", fmt.Sprint("a", i), "n0", fmt.Sprint("a", i), "web")
		add(fmt.Sprint("x", i), "hidden", fmt.Sprint("x", i), "n9", fmt.Sprint("z", i), "web")
		for _, id := range []string{"a", "c", "e"} {
			add(fmt.Sprint("z", id, i), "hidden", fmt.Sprint("z", id, i), "n1", fmt.Sprint(id, i), []string{"a", "v", "z"}[i%3])
		}
	}
	for i, size := range sizes {
		if after := m.whole(who, t, size); !maps.Equal(after, before[i]) {
			t.Errorf("pages of %d:\n got %v\nwant %v", size, after, before[i])
		}
	}
}

// TestManyRulesCostAListLittle lists for a caller with rules for many services and many nodes. What it may see of the nodes is found once, not for each
// service.
func TestManyRulesCostAListLittle(t *testing.T) {
	const policies, rules, bytesMax = 16, 128, 64 << 20
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	ctx := as(t.Context(), admin)
	var all []string
	for p := range policies {
		var text strings.Builder
		for i := range rules {
			fmt.Fprintf(&text, "service \"s%05d\" read\nnode \"n%05d\" read\n", p*rules+i, p*rules+i)
		}
		all = append(all, fmt.Sprint("p", p))
		if _, err := m.auth().PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: all[p], Rules: text.String()}); err != nil {
			t.Fatal(err)
		}
	}
	made, err := m.auth().CreateToken(ctx, &tenurev1.CreateTokenRequest{Name: "many", Policies: all})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.catalog().RegisterNode(ctx, &tenurev1.RegisterNodeRequest{
		Node: &tenurev1.Node{Name: "n00007"}, Services: []*tenurev1.Service{{Name: "s00008"}},
	}); err != nil {
		t.Fatal(err)
	}
	var begin, end runtime.MemStats
	runtime.ReadMemStats(&begin)
	list, err := m.catalog().ListServices(as(t.Context(), made.GetText()), &tenurev1.ListServicesRequest{VisibleOnly: true})
	runtime.ReadMemStats(&end)
	if err != nil || len(list.GetServices()) != 1 {
		t.Fatal(list, err)
	}
	if took := end.TotalAlloc - begin.TotalAlloc; took > bytesMax {
		t.Errorf("a list of one service took %d MiB, want at most %d", took>>20, bytesMax>>20)
	}
}
