package consulhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// query creates a prepared query and returns its id.
func (r *rig) query(body string) string {
	r.t.Helper()
	got := r.send("POST", "/v1/query", body)
	var created struct{ ID string }
	if err := json.Unmarshal([]byte(got.body), &created); err != nil || got.status != 200 || created.ID == "" {
		r.t.Fatalf("create %s: got %d %s", body, got.status, got.body)
	}
	return created.ID
}

// shownQuery is the golden JSON of a query of web; parts is between its name and its times.
func shownQuery(id, parts string, create, modify int) string {
	return fmt.Sprintf(`{"ID":"%s",%s,"CreateIndex":%d,"ModifyIndex":%d}`, id, parts, create, modify)
}

const (
	queryWeb = `{"Name":"web","Session":"","Token":"","Template":{"Type":"","Regexp":""},"Service":{"Service":"web","Failover":{"NearestN":0,"Datacenters":[]},` +
		`"OnlyPassing":true,"IgnoreCheckIDs":["serfHealth"],"Near":"_agent","Tags":["blue","!red"],"NodeMeta":{"rack":"r1"},"ServiceMeta":{"a":"b"}},"DNS":{"TTL":"10s"}}`
	shownWeb = `"Name":"web","Session":"","Token":"","Template":{"Type":"","Regexp":"","RemoveEmptyTags":false},"Service":{"Service":"web","SamenessGroup":"",` +
		`"Failover":{"NearestN":0,"Datacenters":null,"Targets":null},"OnlyPassing":true,"IgnoreCheckIDs":["serfHealth"],"Near":"_agent","Tags":["blue","!red"],` +
		`"NodeMeta":{"rack":"r1"},"ServiceMeta":{"a":"b"},"Connect":false,"Peer":""},"DNS":{"TTL":"10s"}`
	shownPlain = `"Name":"web","Session":"","Token":"","Template":{"Type":"","Regexp":"","RemoveEmptyTags":false},"Service":{"Service":"db","SamenessGroup":"",` +
		`"Failover":{"NearestN":0,"Datacenters":null,"Targets":null},"OnlyPassing":false,"IgnoreCheckIDs":null,"Near":"","Tags":null,` +
		`"NodeMeta":null,"ServiceMeta":null,"Connect":false,"Peer":""},"DNS":{"TTL":""}`
)

// TestQueriesAreShownAsConsulShowsThem is golden.
func TestQueriesAreShownAsConsulShowsThem(t *testing.T) {
	r := newRig(t)
	r.want("GET", "/v1/query", "", 200, "[]")
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	id := r.query(queryWeb)
	web := shownQuery(id, shownWeb, 2, 2)
	r.want("GET", "/v1/query", "", 200, "["+web+"]")
	r.want("GET", "/v1/query/"+id, "", 200, "["+web+"]")
	r.want("GET", "/v1/query/"+strings.ToUpper(id)+"?stale", "", 200, "["+web+"]")
	found := `{"Service":"web","Nodes":[{"Node":` + nodeA(1, 1) + `,"Service":` + serviceA + `,"Checks":[` + aliveA + `,` + upA + `]}],` +
		`"DNS":{"TTL":"10s"},"Datacenter":"dc1","Failovers":0}`
	for _, path := range []string{
		"web/execute", id + "/execute", "web/execute?passing&limit=5", "web/execute?near=web-a", "web/execute?near=_agent&stale", "web/execute?index=2&wait=1m",
		"w%65b/execute", "web/execute?limit=18446744073709551615",
	} {
		r.want("GET", "/v1/query/"+path, "", 200, found)
	}
	r.want("GET", "/v1/query/web/explain", "", 200, `{"Query":`+web+`}`)
	r.want("PUT", "/v1/query/"+id, `{"id":"","name":"web","service":{"service":"db"}}`, 200, "")
	r.want("GET", "/v1/query/"+id, "", 200, "["+shownQuery(id, shownPlain, 2, 3)+"]")
	r.want("GET", "/v1/query/web/execute", "", 200, `{"Service":"db","Nodes":[],"DNS":{"TTL":""},"Datacenter":"dc1","Failovers":0}`)
	r.want("DELETE", "/v1/query/"+id, "", 200, "")
	for _, path := range []string{id, "web/execute", "web/explain", id + "/execute"} {
		r.want("GET", "/v1/query/"+path, "", 404, "Query not found")
		if index := r.send("GET", "/v1/query/"+path, "").index(t); index != 4 {
			t.Errorf("%s: the index is %d, want 4, that of the read", path, index)
		}
	}
	r.want("GET", "/v1/query", "", 200, "[]")
}

// TestQueriesAreRefusedByName sends what is wrong, or what Tenure does not have: each is said, and changes nothing.
func TestQueriesAreRefusedByName(t *testing.T) {
	r := newRig(t)
	id := r.query(`{"Name":"web","Service":{"Service":"web"}}`)
	before := r.send("GET", "/v1/query", "").body
	body := func(service, rest string) string {
		return `{"Name":"x","Service":{"Service":"web"` + service + `}` + rest + `}`
	}
	const none = "/v1/query/00000000-0000-0000-0000-000000000001"
	for name, w := range map[string]wire{
		"no JSON":                           {"POST", "/v1/query", "x", 400, "Request decode failed"},
		"no body":                           {"POST", "/v1/query", "", 400, "Request decode failed"},
		"no service":                        {"POST", "/v1/query", `{"Name":"x"}`, 400, "=Must provide a Service name to query"},
		"an id":                             {"POST", "/v1/query", body("", `,"ID":"`+id+`"`), 400, "=ID must be empty when creating a new prepared query"},
		"a token":                           {"POST", "/v1/query", body("", `,"Token":"secret"`), 400, `"Token" must be empty`},
		"the mesh":                          {"POST", "/v1/query", body(`,"Connect":true`, ""), 400, `"Connect" must be false`},
		"a peer":                            {"POST", "/v1/query", body(`,"Peer":"other"`, ""), 400, `"Peer" must be empty`},
		"a sameness group":                  {"POST", "/v1/query", body(`,"SamenessGroup":"all"`, ""), 400, `"SamenessGroup" must be empty`},
		"the nearest datacenters":           {"POST", "/v1/query", body(`,"Failover":{"NearestN":3}`, ""), 400, "Failover.NearestN must be 0"},
		"other datacenters":                 {"POST", "/v1/query", body(`,"Failover":{"Datacenters":["dc2"]}`, ""), 400, "Failover.Datacenters must be empty"},
		"targets":                           {"POST", "/v1/query", body(`,"Failover":{"Targets":[{"Peer":"p"}]}`, ""), 400, "Failover.Targets must be empty"},
		"near an address":                   {"POST", "/v1/query", body(`,"Near":"_ip"`, ""), 400, `near must be a node or "_agent"`},
		"a template of another type":        {"POST", "/v1/query", body("", `,"Template":{"Type":"regexp"}`), 400, "Template.Type must be empty or name_prefix_match"},
		"a template without type":           {"POST", "/v1/query", body("", `,"Template":{"Regexp":"a"}`), 400, "Template.Regexp and RemoveEmptyTags need"},
		"a regular expression that is none": {"POST", "/v1/query", body("", `,"Template":{"Type":"name_prefix_match","Regexp":"("}`), 400, ""},
		"a TTL that is not a duration":      {"POST", "/v1/query", body("", `,"DNS":{"TTL":"soon"}`), 400, "DNS.TTL must be a duration"},
		"a TTL below 0":                     {"POST", "/v1/query", body("", `,"DNS":{"TTL":"-1s"}`), 400, "DNS.TTL must be a duration"},
		"a name that is taken":              {"POST", "/v1/query", `{"Name":"web","Service":{"Service":"db"}}`, 400, ""},
		"a name like an id":                 {"POST", "/v1/query", `{"Name":"` + id + `","Service":{"Service":"db"}}`, 400, ""},
		"a session that does not exist":     {"POST", "/v1/query", body("", `,"Session":"`+id+`"`), 400, "invalid session"},
		"a session that is not an id":       {"POST", "/v1/query", body("", `,"Session":"x"`), 400, "invalid session"},
		"a check with a name of Tenure's":   {"POST", "/v1/query", body(`,"IgnoreCheckIDs":["liveness"]`, ""), 400, `"liveness" cannot be the id of a check here`},
		"a put without id":                  {"PUT", "/v1/query", body("", ""), 405, "method PUT not allowed"},
		"a put with an empty id":            {"PUT", "/v1/query/", body("", ""), 400, "=Missing query ID"},
		"an update of none":                 {"PUT", none, body("", ""), 404, "=Query not found"},
		"an update by name":                 {"PUT", "/v1/query/web", body("", ""), 404, "=Query not found"},
		"an update to another id":           {"PUT", "/v1/query/" + id, body("", `,"ID":"`+idA+`"`), 400, "ID must be empty, or that of the path"},
		"an update to nothing":              {"PUT", "/v1/query/" + id, `{}`, 400, "=Must provide a Service name to query"},
		"an update to what is not offered":  {"PUT", "/v1/query/" + id, body(`,"Connect":true`, ""), 400, `"Connect" must be false`},
		"a delete of none":                  {"DELETE", none, "", 404, "=Query not found"},
		"a get of none":                     {"GET", none, "", 404, "=Query not found"},
		"a get by name":                     {"GET", "/v1/query/web", "", 404, "=Query not found"},
		"a run of none":                     {"GET", "/v1/query/none/execute", "", 404, "=Query not found"},
		"a run near an address":             {"GET", "/v1/query/web/execute?near=_ip", "", 400, `near must be a node or "_agent"`},
		"a run with a limit that is a word": {"GET", "/v1/query/web/execute?limit=some", "", 400, "Parameter limit must be a number"},
		"a run of what is not UTF-8":        {"GET", "/v1/query/%ff/execute", "", 400, "The query name is not valid UTF-8."},
		"an explanation of that":            {"GET", "/v1/query/%ff/explain", "", 400, "The query name is not valid UTF-8."},
		"a run near what is not UTF-8":      {"GET", "/v1/query/web/execute?near=%ff", "", 400, "The node name is not valid UTF-8."},
		"a run in the mesh":                 {"GET", "/v1/query/web/execute?connect=true", "", 400, "Tenure has no service mesh"},
		"a run with a wrong method":         {"PUT", "/v1/query/web/execute", "", 405, "method PUT not allowed"},
		"a query that is called execute":    {"GET", "/v1/query/execute", "", 404, "=Query not found"},
		"a slash in a name is a part of it": {"GET", "/v1/query/a/b/execute", "", 404, "=Query not found"},
		"a run elsewhere":                   {"GET", "/v1/query/web/execute?dc=dc2", "", 500, "=No path to datacenter"},
	} {
		t.Run(name, func(t *testing.T) { w.check(t, &rig{t: t, base: r.base, client: r.client}) })
	}
	if after := r.send("GET", "/v1/query", "").body; after != before {
		t.Errorf("got %s, want that nothing changed: %s", after, before)
	}
	for path, allow := range map[string]string{"query": "OPTIONS,GET,POST", "query/" + id: "OPTIONS,DELETE,GET,PUT", "query/web/execute": "OPTIONS,GET"} {
		if got := r.send("OPTIONS", "/v1/"+path, "").header.Get("Allow"); got != allow {
			t.Errorf("%s: Allow is %q, want %q", path, got, allow)
		}
	}
}

// TestWhatConsulsQueriesDoNotHaveIsKept changes a query of Tenure over Consul's API.
func TestWhatConsulsQueriesDoNotHaveIsKept(t *testing.T) {
	r := newRig(t)
	queries := tenurev1.NewQueryServiceClient(r.grpc)
	made, err := queries.CreateQuery(t.Context(), &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{
		Name: "web", Service: "api", Fallbacks: []*tenurev1.QueryFallback{{Zone: "eu"}, {Service: "web"}}, Meta: map[string]string{"team": "x", "consul-dns-ttl": "5s"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	r.want("PUT", "/v1/query/"+made.GetQueryId(), `{"Name":"web","Service":{"Service":"other"}}`, 200, "")
	found, err := queries.GetQuery(t.Context(), &tenurev1.GetQueryRequest{IdOrName: "web"})
	if q := found.GetQuery(); err != nil || len(q.GetFallbacks()) != 2 || len(q.GetMeta()) != 1 || q.GetMeta()["team"] != "x" {
		t.Errorf("got %v, %v, want both fallbacks, and the facts but for the TTL", found, err)
	}
	got := r.send("GET", "/v1/query/web/execute", "")
	if !strings.HasPrefix(got.body, `{"Service":"web","Nodes":[{"Node":`) || !strings.HasSuffix(strings.TrimSpace(got.body), `"Failovers":2}`) {
		t.Errorf("got %s, want what the second fallback finds", got.body)
	}
}

// TestTemplatesRunForLongerNames runs one that uses parts of the name.
func TestTemplatesRunForLongerNames(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	r.query(`{"Name":"geo-","Template":{"Type":"name_prefix_match","Regexp":"^geo-(.*?)-([^-]+)$","RemoveEmptyTags":true},` +
		`"Service":{"Service":"${match(1)}","Tags":["${match(2)}"]}}`)
	got := r.send("GET", "/v1/query/geo-web-blue/execute", "")
	if !strings.Contains(got.body, `"Node":"web-A"`) {
		t.Errorf("got %d %s, want the instance", got.status, got.body)
	}
	got = r.send("GET", "/v1/query/geo-web-red/explain", "")
	for _, part := range []string{`"Service":"web"`, `"Tags":["red"]`, `"Type":"name_prefix_match","Regexp":"^geo-`, `"RemoveEmptyTags":true`} {
		if !strings.Contains(got.body, part) {
			t.Errorf("got %d %s, want %s", got.status, got.body, part)
		}
	}
}

// TestAQueryEndsWithItsSession waits for that with blocking reads, which other changes do not wake.
func TestAQueryEndsWithItsSession(t *testing.T) {
	r := newRig(t)
	session := r.session("")
	id := r.query(`{"Name":"web","Session":"` + session + `","Service":{"Service":"web"}}`)
	if got := r.send("GET", "/v1/query/"+id, "").body; !strings.Contains(got, `"Session":"`+session+`"`) {
		t.Errorf("got %s, want the session", got)
	}
	index := r.send("GET", "/v1/query", "").index(t)
	list, one := r.block(fmt.Sprintf("/v1/query?index=%d", index)), r.block(fmt.Sprintf("/v1/query/%s?index=%d", id, index))
	r.awaitBlocked(2)
	other := r.query(`{"Name":"db","Service":{"Service":"db"}}`)
	if got := await(t, list); got.index(t) <= index || !strings.Contains(got.body, other) {
		t.Errorf("the list: got %s with index %d, want the new query", got.body, got.index(t))
	}
	r.want("PUT", "/v1/kv/unrelated", "1", 200, "true")
	r.awaitBlocked(1)
	r.want("PUT", "/v1/session/destroy/"+session, "", 200, "true")
	if got := await(t, one); got.status != 404 || got.body != "Query not found" || got.index(t) <= index {
		t.Errorf("the query: got %d %s with index %d, want 404", got.status, got.body, got.index(t))
	}
}

// TestQueriesNeedRights runs a query with and without the right to it.
func TestQueriesNeedRights(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	r.query(`{"Name":"hidden","Service":{"Service":"web"}}`)
	token := r.bootstrap("query \"web\"* write\nservice * read\nnode * read\n")
	show := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	got := r.sendAs("POST", "/v1/query", `{"Name":"web","Service":{"Service":"web"}}`, show)
	if got.status != 200 {
		t.Fatalf("got %d %s, want 200", got.status, got.body)
	}
	if got = r.sendAs("POST", "/v1/query", `{"Name":"db","Service":{"Service":"web"}}`, show); got.status != 403 {
		t.Errorf("got %d %s, want 403", got.status, got.body)
	}
	if got = r.sendAs("GET", "/v1/query/web/execute", "", show); got.status != 200 {
		t.Errorf("got %d %s, want 200", got.status, got.body)
	}
	if got = r.send("GET", "/v1/query/web/execute", ""); got.status != 403 {
		t.Errorf("got %d %s, want 403", got.status, got.body)
	}
	if got = r.sendAs("GET", "/v1/query", "", show); got.status != 200 || !strings.Contains(got.body, `"Name":"web"`) || strings.Contains(got.body, "hidden") {
		t.Errorf("got %d %s, want 200 with the query that may be read", got.status, got.body)
	}
}

// TestOnlyThoseWithARightLearnWhichNodeAnswers asks for what is near it, with no right to anything, at a member with an agent and at one without.
func TestOnlyThoseWithARightLearnWhichNodeAnswers(t *testing.T) {
	for node, agent := range map[string]consulhttp.Agent{"node-1": nil, "web-a": machine{}} {
		r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" }, func(o *consulhttp.Options) { o.Agent = agent })
		r.bootstrap("service * read\n")
		for _, path := range []string{"catalog/nodes?near=_agent", "catalog/service/web?near=_agent", "health/service/web?stale&near=_agent", "query/web/execute"} {
			if got := r.send("GET", "/v1/"+path, ""); got.status != 403 || strings.Contains(strings.ToLower(got.body), node) {
				t.Errorf("%s at %s: got %d %s, want 403 without the name of the node", path, node, got.status, got.body)
			}
		}
		if got := r.send("PUT", "/v1/session/create", ""); got.status != 403 || strings.Contains(strings.ToLower(got.body), node) {
			t.Errorf("a new session at %s: got %d %s, want 403 without the name of the node", node, got.status, got.body)
		}
	}
}
