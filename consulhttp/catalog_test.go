package consulhttp_test

import (
	"fmt"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Ids of nodes of these tests, and what is registered on one of them.
const (
	idA = "11111111-2222-3333-4444-555555555555"
	idB = "66666666-7777-8888-9999-000000000000"

	registerA = `{"ID":"` + idA + `","Node":"web-A","Address":"10.0.0.1","TaggedAddresses":{"lan":"10.0.0.1"},"NodeMeta":{"rack":"r1"},` +
		`"Service":{"ID":"web-1","Service":"web","Tags":["v1","blue","v1"],"Port":80,"Meta":{"a":"b"},"Weights":{"Passing":3,"Warning":1}},` +
		`"Checks":[{"CheckID":"serfHealth","Name":"alive","Status":"passing"},` +
		`{"Node":"web-a","CheckID":"up","Name":"web up","ServiceID":"web-1","Status":"passing","Notes":"n","Output":"ok",` +
		`"Definition":{"HTTP":"http://10.0.0.1/health","Method":"GET","Interval":"10s","Timeout":"2s","DeregisterCriticalServiceAfter":"0s"}}]}`
)

// nodeA returns the golden node of registerA.
func nodeA(create, modify int) string {
	return fmt.Sprintf(`{"ID":"%s","Node":"web-A","Address":"10.0.0.1","Datacenter":"dc1","TaggedAddresses":{"lan":"10.0.0.1"},"Meta":{"rack":"r1"},`+
		`"CreateIndex":%d,"ModifyIndex":%d}`, idA, create, modify)
}

const (
	serviceA = `{"ID":"web-1","Service":"web","Tags":["blue","v1"],"Address":"","Meta":{"a":"b"},"Port":80,"Weights":{"Passing":3,"Warning":1},` +
		`"EnableTagOverride":false,"CreateIndex":1,"ModifyIndex":1}`
	aliveA = `{"Node":"web-A","CheckID":"serfHealth","Name":"alive","Status":"passing","Notes":"","Output":"","ServiceID":"","ServiceName":"",` +
		`"ServiceTags":[],"Type":"","Interval":"","Timeout":"","ExposedPort":0,"Definition":{},"CreateIndex":1,"ModifyIndex":1}`
	upA = `{"Node":"web-A","CheckID":"up","Name":"web up","Status":"passing","Notes":"n","Output":"ok","ServiceID":"web-1","ServiceName":"web",` +
		`"ServiceTags":["blue","v1"],"Type":"","Interval":"10s","Timeout":"2s","ExposedPort":0,"Definition":{"HTTP":"http://10.0.0.1/health","Method":"GET",` +
		`"Interval":"10s","Timeout":"2s"},"CreateIndex":1,"ModifyIndex":1}`
)

// TestTheCatalogIsShownAsConsulShowsIt is golden.
func TestTheCatalogIsShownAsConsulShowsIt(t *testing.T) {
	r := newRig(t)
	for path, want := range map[string]string{
		"catalog/nodes": "[]", "catalog/services": "{}", "catalog/service/web": "[]", "catalog/node/web-A": "null",
		"catalog/node-services/web-A": `{"Node":null,"Services":[]}`, "health/node/web-A": "[]", "health/checks/web": "[]",
		"health/service/web": "[]", "health/state/any": "[]",
	} {
		r.want("GET", "/v1/"+path, "", 200, want)
	}
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	node := nodeA(1, 1)
	shown := `{"ID":"` + idA + `","Node":"web-A","Address":"10.0.0.1","Datacenter":"dc1","TaggedAddresses":{"lan":"10.0.0.1"},"NodeMeta":{"rack":"r1"},` +
		`"ServiceKind":"","ServiceID":"web-1","ServiceName":"web","ServiceTags":["blue","v1"],"ServiceAddress":"","ServiceWeights":{"Passing":3,"Warning":1},` +
		`"ServiceMeta":{"a":"b"},"ServicePort":80,"ServiceEnableTagOverride":false,"CreateIndex":1,"ModifyIndex":1}`
	health := `{"Node":` + node + `,"Service":` + serviceA + `,"Checks":[` + aliveA + `,` + upA + `]}`
	for path, want := range map[string]string{
		"catalog/nodes":                              "[" + node + "]",
		"catalog/nodes?node-meta=rack:r1":            "[" + node + "]",
		"catalog/nodes?node-meta=rack:r2":            "[]",
		"catalog/services":                           `{"web":["blue","v1"]}`,
		"catalog/services?node-meta=rack:r1":         `{"web":["blue","v1"]}`,
		"catalog/services?node-meta=rack:r2":         `{}`,
		"catalog/service/web":                        "[" + shown + "]",
		"catalog/service/web?tag=V1&tag=blue":        "[" + shown + "]",
		"catalog/service/web?tag=v1&tag=red":         "[]",
		"catalog/service/web?node-meta=rack:r2":      "[]",
		"catalog/node/WEB-a":                         `{"Node":` + node + `,"Services":{"web-1":` + serviceA + `}}`,
		"catalog/node-services/web-a":                `{"Node":` + node + `,"Services":[` + serviceA + `]}`,
		"health/node/web-a":                          "[" + aliveA + "," + upA + "]",
		"health/checks/web":                          "[" + upA + "]",
		"health/service/web":                         "[" + health + "]",
		"health/service/web?passing&tag=blue&near=x": "[" + health + "]",
		"health/service/web?tag=red":                 "[]",
		"health/service/web?stale":                   "[" + health + "]",
		"health/state/any":                           "[" + aliveA + "," + upA + "]",
		"health/state/passing":                       "[" + aliveA + "," + upA + "]",
		"health/state/critical":                      "[]",
	} {
		got := r.want("GET", "/v1/"+path, "", 200, want)
		if got.index(t) != 1 || got.header.Get("X-Consul-KnownLeader") != "true" {
			t.Errorf("%s: the headers are %v", path, got.header)
		}
	}
	r.want("PUT", "/v1/catalog/register", `{"Node":"web-a","SkipNodeUpdate":true,"Check":{"CheckID":"up","ServiceID":"web-1","Status":"warning"}}`, 200, "true")
	if got := r.send("GET", "/v1/health/service/web?passing=1", ""); got.body != "[]" {
		t.Errorf("an instance in warning passes: %s", got.body)
	}
	for _, body := range []string{
		`{"Node":"web-a","CheckID":"none"}`, `{"Node":"web-a","CheckID":"up"}`, `{"node":"web-a","serviceid":"web-1"}`, `{"Node":"WEB-A"}`,
		`{"Node":"none"}`,
	} {
		r.want("PUT", "/v1/catalog/deregister", body, 200, "true")
	}
	for _, path := range []string{"health/checks/web", "catalog/service/web", "health/node/web-a", "catalog/nodes", "health/state/any"} {
		r.want("GET", "/v1/"+path, "", 200, "[]")
	}
}

// TestRegistrationsThatAreWrong is the table of what is refused; nothing is registered.
func TestRegistrationsThatAreWrong(t *testing.T) {
	r := newRig(t)
	for name, w := range map[string]wire{
		"no JSON":                      {"PUT", "/v1/catalog/register", "node", 400, "Request decode failed"},
		"no body":                      {"PUT", "/v1/catalog/register", "", 400, "Request decode failed"},
		"no node":                      {"PUT", "/v1/catalog/register", `{"Address":"a"}`, 400, "=Must provide node and address"},
		"no address":                   {"PUT", "/v1/catalog/register", `{"Node":"a"}`, 400, "=Must provide node and address"},
		"a node that has no name":      {"PUT", "/v1/catalog/register", `{"Node":"a b","Address":"a"}`, 400, "node"},
		"an id that is no UUID":        {"PUT", "/v1/catalog/register", `{"ID":"x","Node":"a","Address":"a"}`, 400, "node.node_id"},
		"another datacenter":           {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Datacenter":"dc2"}`, 500, "=No path to datacenter"},
		"a service without name":       {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Service":{"ID":"x"}}`, 400, "Must provide service name"},
		"a port that is none":          {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Service":{"Service":"x","Port":-1}}`, 400, "Request decode failed"},
		"a port that is too large":     {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Service":{"Service":"x","Port":65536}}`, 400, "services[0].port"},
		"a check of another node":      {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Check":{"Node":"b","CheckID":"c"}}`, 400, `check node "b" does not match node "a"`},
		"a check without id":           {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Check":{}}`, 400, "checks[0].check_id"},
		"a status that is none":        {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Check":{"CheckID":"c","Status":"fine"}}`, 400, `the status of check "c" must be`},
		"liveness":                     {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Check":{"CheckID":"liveness"}}`, 400, `"liveness" cannot be the id`},
		"a check of no service":        {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Check":{"CheckID":"c","ServiceID":"x"}}`, 400, `node "a" has no service`},
		"a duration that is none":      {"PUT", "/v1/catalog/register", `{"Node":"a","Address":"a","Check":{"CheckID":"c","Definition":{"Interval":"soon"}}}`, 400, "Request decode failed"},
		"deregister nothing":           {"PUT", "/v1/catalog/deregister", `{}`, 400, "=Must provide node"},
		"deregister no JSON":           {"PUT", "/v1/catalog/deregister", `x`, 400, "Request decode failed"},
		"deregister elsewhere":         {"PUT", "/v1/catalog/deregister", `{"Node":"a","Datacenter":"x"}`, 500, "=No path to datacenter"},
		"deregister liveness":          {"PUT", "/v1/catalog/deregister", `{"Node":"a","CheckID":"liveness"}`, 400, `"liveness" cannot be the id`},
		"a wrong method":               {"POST", "/v1/catalog/register", `{}`, 405, "method POST not allowed"},
		"a list with a wrong method":   {"PUT", "/v1/catalog/nodes", "", 405, "method PUT not allowed"},
		"no name of a service":         {"GET", "/v1/catalog/service/", "", 400, "=Missing service name"},
		"no name of a node":            {"GET", "/v1/catalog/node/", "", 400, "=Missing node name"},
		"no service of checks":         {"GET", "/v1/health/checks/", "", 400, "=Missing service name"},
		"no state":                     {"GET", "/v1/health/state/", "", 400, "The state must be"},
		"a state that is none":         {"GET", "/v1/health/state/fine", "", 400, "The state must be"},
		"a node that cannot be":        {"GET", "/v1/health/node/a%20b", "", 400, "node"},
		"a service that cannot be":     {"GET", "/v1/health/service/%ff?index=1", "", 400, "The service name is not valid UTF-8."},
		"checks of one that cannot be": {"GET", "/v1/health/checks/%ff", "", 400, "The service name is not valid UTF-8."},
		"an index that is none":        {"GET", "/v1/catalog/nodes?index=x", "", 400, "Parameter index must be a number"},
		"a filter":                     {"GET", "/v1/catalog/nodes?filter=a", "", 400, "Parameter filter is not supported"},
	} {
		t.Run(name, func(t *testing.T) { w.check(t, r) })
	}
	r.want("GET", "/v1/catalog/nodes", "", 200, "[]")
}

// TestNearNodesComeFirst lists nodes and instances near a node: itself, its zone, the others.
func TestNearNodesComeFirst(t *testing.T) {
	r := newRig(t)
	nodes := tenurev1.NewCatalogServiceClient(r.grpc)
	for _, n := range []struct{ name, zone string }{{"a", ""}, {"b", "z1"}, {"c", "z2"}, {"d", "z2"}, {"node-1", "z1"}} {
		_, err := nodes.RegisterNode(t.Context(), &tenurev1.RegisterNodeRequest{
			Node: &tenurev1.Node{Name: n.name, Zone: n.zone}, Services: []*tenurev1.Service{{Name: "web"}},
			Checks: []*tenurev1.Check{{CheckId: "up", ServiceId: "web", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// Consul knows no zone, so a registration over its HTTP keeps it.
	r.want("PUT", "/v1/catalog/register", `{"Node":"d","Address":"10.0.0.4"}`, 200, "true")
	for path, want := range map[string]string{
		"catalog/nodes":                   "node-1 a b c d",
		"catalog/nodes?near=d":            "d c a b node-1",
		"catalog/nodes?near=_agent":       "node-1 b a c d",
		"catalog/nodes?near=unknown":      "a b c d node-1",
		"catalog/service/web":             "a b c d node-1",
		"catalog/service/web?near=D":      "d c a b node-1",
		"health/service/web?near=_agent":  "node-1 b a c d",
		"health/checks/web?near=b":        "b node-1 a c d",
		"health/service/web?near=not+one": "a b c d node-1",
	} {
		var got []string
		for part := range strings.SplitSeq(r.send("GET", "/v1/"+path, "").body, `"Node":"`) {
			if name, _, ok := strings.Cut(part, `"`); ok && !strings.Contains(part[:1], "[") && name != "" {
				if len(got) == 0 || got[len(got)-1] != name {
					got = append(got, name)
				}
			}
		}
		if text := strings.TrimPrefix(strings.Join(got, " "), "[{ "); !strings.HasSuffix(text, want) {
			t.Errorf("%s: got %s, want %s", path, text, want)
		}
	}
}

// TestTheCatalogWakesWhoWaits changes what each request shows, after changes that it does not show.
func TestTheCatalogWakesWhoWaits(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/first", "1", 200, "true")
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	put := func(body string) func() {
		return func() { r.want("PUT", "/v1/catalog/register", body, 200, "true") }
	}
	n := 0
	status := func(check, status, service string) func() {
		return put(`{"Node":"web-A","SkipNodeUpdate":true,"Check":{"CheckID":"` + check + `","Name":"alive","ServiceID":"` + service + `","Status":"` + status + `"}}`)
	}
	// Neither output alone, nor other nodes, services and checks, wake anybody.
	output := func() {
		n++
		put(fmt.Sprintf(`{"Node":"web-A","SkipNodeUpdate":true,"Checks":[{"CheckID":"serfHealth","Name":"alive","Status":"passing","Output":"%d"}]}`, n))()
	}
	other := func() { n++; put(fmt.Sprintf(`{"Node":"other","Address":"%d"}`, n))() }
	otherService := func() {
		n++
		put(fmt.Sprintf(`{"Node":"other","Address":"a","Service":{"Service":"api","Port":%d},"Check":{"CheckID":"x","Status":"passing","Notes":"%d"}}`, n, n))()
	}
	sameNode := func() {
		n++
		put(fmt.Sprintf(`{"Node":"web-A","SkipNodeUpdate":true,"Service":{"Service":"api","Port":%d},"Check":{"CheckID":"api","ServiceID":"api","Notes":"%d","Status":"passing"}}`, n, n))()
	}
	node := func() { n++; put(fmt.Sprintf(`{"ID":"%s","Node":"web-A","Address":"10.1.0.%d"}`, idA, n))() }
	service := func() {
		n++
		put(fmt.Sprintf(`{"Node":"web-A","SkipNodeUpdate":true,"Service":{"ID":"web-1","Service":"web","Port":%d}}`, n))()
	}
	for _, w := range []struct {
		path      string
		unrelated []func()
		change    func()
	}{
		{"catalog/nodes", []func(){output, sameNode}, node},
		{"catalog/nodes", nil, put(`{"Node":"new","Address":"a"}`)},
		{"catalog/services", []func(){output, other, node}, service},
		{"catalog/service/web", []func(){output, other, otherService, sameNode}, service},
		{"catalog/service/web", []func(){status("up", "warning", "web-1")}, node},
		{"catalog/service/none", []func(){other, sameNode, node}, put(`{"Node":"new","Address":"a","Service":{"Service":"none"}}`)},
		{"catalog/node/web-a", []func(){output, other, otherService, status("up", "passing", "web-1")}, service},
		{"catalog/node/not-yet", []func(){node, other}, put(`{"Node":"not-yet","Address":"a"}`)},
		{"catalog/node-services/web-a", []func(){output, other}, node},
		{"health/node/web-a", []func(){output, other, otherService, node}, status("up", "warning", "web-1")},
		{"health/checks/web", []func(){output, other, otherService, sameNode, node}, status("up", "passing", "web-1")},
		{"health/state/any", []func(){output, other, node}, status("up", "critical", "web-1")},
		{"health/state/any", nil, service},
		{"health/service/web", []func(){output, other, otherService, sameNode}, status("serfHealth", "warning", "")},
		{"health/service/web", nil, status("up", "warning", "web-1")},
		{"health/service/web?passing", []func(){other}, node},
		{"health/state/critical", []func(){status("serfHealth", "passing", "")}, status("up", "critical", "web-1")},
	} {
		separator := "?"
		if strings.Contains(w.path, "?") {
			separator = "&"
		}
		before := r.send("GET", "/v1/"+w.path, "").index(t)
		waiting := r.block(fmt.Sprintf("/v1/%s%sindex=%d&wait=10m", w.path, separator, before))
		r.awaitBlocked(1)
		woken := r.counter("tenure_consul_wakes_total")
		for _, unrelated := range w.unrelated {
			unrelated()
		}
		if got := r.counter("tenure_consul_wakes_total") - woken; got != 0 {
			t.Errorf("%s: %v unrelated changes woke it", w.path, got)
		}
		w.change()
		if got := await(t, waiting); got.status != 200 || got.index(t) <= before {
			t.Errorf("%s: got %d %s with index %d, want one after %d", w.path, got.status, got.body, got.index(t), before)
		}
		if got := r.counter("tenure_consul_wakes_total") - woken; got != 1 {
			t.Errorf("%s: it counts %v wakes, want 1", w.path, got)
		}
	}
}

// TestAVainWaitForTheCatalogEndsWithItsIndex waits for changes that do not come.
func TestAVainWaitForTheCatalogEndsWithItsIndex(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/first", "1", 200, "true")
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	r.want("PUT", "/v1/kv/first", "2", 200, "true")
	for _, path := range []string{
		"catalog/nodes", "catalog/services", "catalog/service/web", "catalog/service/none", "catalog/node/web-a", "catalog/node/none",
		"health/node/web-a", "health/checks/web", "health/service/web", "health/state/any",
	} {
		for _, stale := range []string{"", "&stale"} {
			index := r.send("GET", "/v1/"+path, "").index(t)
			got := r.send("GET", fmt.Sprintf("/v1/%s?index=%d&wait=20ms%s", path, index, stale), "")
			if got.status != 200 || got.index(t) != index {
				t.Errorf("%s%s: got %d with index %d, want %d", path, stale, got.status, got.index(t), index)
			}
		}
	}
}

// TestSessionsAreBoundToTheCatalog is the table of checks that a new session names, and of what becomes of them.
func TestSessionsAreBoundToTheCatalog(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	r.want("PUT", "/v1/catalog/register", `{"Node":"bare","Address":"a","Checks":[{"CheckID":"disk","Status":"warning"},{"CheckID":"bad"}]}`, 200, "true")
	const none = "null"
	for body, want := range map[string]string{
		`{"Node":"WEB-a"}`:                                               `["serfHealth"] ` + none,
		`{"Node":"web-a","NodeChecks":[]}`:                               `[] ` + none,
		`{"Node":"web-a","Checks":[]}`:                                   `[] ` + none,
		`{"Node":"web-a","Checks":["serfHealth"],"NodeChecks":[]}`:       `[] ` + none,
		`{"Node":"web-a","NodeChecks":["serfHealth","serfHealth"]}`:      `["serfHealth"] ` + none,
		`{"Node":"web-a","ServiceChecks":[{"ID":"up"}]}`:                 `["serfHealth"] [{"ID":"up","Namespace":""}]`,
		`{"Node":"web-a","Checks":["up"]}`:                               `["serfHealth"] [{"ID":"up","Namespace":""}]`,
		`{"Node":"web-a","NodeChecks":[],"ServiceChecks":[{"ID":"up"}]}`: `[] [{"ID":"up","Namespace":""}]`,
		`{"Node":"bare"}`:                                                `[] ` + none,
		`{"Node":"bare","Checks":["disk"]}`:                              `["disk"] ` + none,
		`{"Node":"node-1"}`:                                              `[] ` + none,
	} {
		id := r.session(body)
		got := r.send("GET", "/v1/session/info/"+id, "").body
		node, service, _ := strings.Cut(want, " ")
		if !strings.Contains(got, `"NodeChecks":`+node+`,"ServiceChecks":`+service+`,`) {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"Node":"none"}`:                                  "Missing node registration",
		`{"Node":"a b"}`:                                   "Missing node registration",
		`{"Node":"none","NodeChecks":["x"]}`:               "Missing node registration",
		`{"Node":"web-a","NodeChecks":["none"]}`:           "Missing check 'none' registration",
		`{"Node":"web-a","Checks":["up","none"]}`:          "Missing check 'none' registration",
		`{"Node":"bare","NodeChecks":["serfHealth"]}`:      "Missing check 'serfHealth' registration",
		`{"NodeChecks":["serfHealth"]}`:                    "Missing check 'serfHealth' registration",
		`{"Node":"bare","NodeChecks":["disk","bad"]}`:      "Check 'bad' is in critical state",
		`{"Node":"bare","ServiceChecks":[{"ID":"bad"}]}`:   "Check 'bad' is in critical state",
		`{"Node":"bare","NodeChecks":["disk"],"TTL":"1s"}`: "Invalid Session TTL '1s'",
	} {
		if got := r.send("PUT", "/v1/session/create", body); got.status != 500 || !strings.HasPrefix(got.body, want) {
			t.Errorf("%s: got %d %s, want 500 %s", body, got.status, got.body, want)
		}
	}
	r.want("PUT", "/v1/session/create", `{"Node":"web-a","NodeChecks":["liveness"]}`, 400, `"liveness" cannot be the id of a check here: it is called "serfHealth"`)
	// A critical check ends the sessions that are bound to it, and frees what they hold.
	id := r.session(`{"Node":"web-a","NodeChecks":[],"ServiceChecks":[{"ID":"up"}],"LockDelay":"1ms"}`)
	alive := r.session(`{"Node":"web-a","LockDelay":"0s"}`)
	r.want("PUT", "/v1/kv/lock?acquire="+id, "1", 200, "true")
	r.want("PUT", "/v1/catalog/register", `{"Node":"web-a","SkipNodeUpdate":true,"Check":{"CheckID":"up","ServiceID":"web-1","Status":"critical"}}`, 200, "true")
	if got := r.row("lock"); got.Session != "" || r.info(id) != nil || r.info(alive) == nil {
		t.Errorf("after the check turned critical: %+v, %v, %v", got, r.info(id), r.info(alive))
	}
	r.want("PUT", "/v1/session/create", `{"Node":"web-a","ServiceChecks":[{"ID":"up"}]}`, 500, "Check 'up' is in critical state")
	r.want("PUT", "/v1/catalog/deregister", `{"Node":"web-a"}`, 200, "true")
	if r.info(alive) != nil {
		t.Error("a session outlived its node")
	}
}

// TestTransactionsOnTheCatalog is the table of verbs.
func TestTransactionsOnTheCatalog(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/txn", `[{"Node":{"Verb":"set","Node":{"ID":"`+idA+`","Node":"web-A","Address":"10.0.0.1","TaggedAddresses":{"lan":"10.0.0.1"},"Meta":{"rack":"r1"}}}},`+
		`{"Node":{"Verb":"get","Node":{"Node":"web-A"}}}]`, 200, `{"Results":[{"Node":`+nodeA(1, 1)+`},{"Node":`+nodeA(1, 1)+`}],"Errors":null}`)
	service := strings.ReplaceAll(serviceA, "Index\":1", "Index\":2")
	r.want("PUT", "/v1/txn", `[{"Service":{"Verb":"set","Node":"web-a","Service":{"ID":"web-1","Service":"web","Tags":["v1","blue"],"Port":80,"Meta":{"a":"b"},`+
		`"Weights":{"Passing":3,"Warning":1}}}},{"KV":{"Verb":"set","Key":"k","Value":"dg=="}}]`, 200,
		`{"Results":[{"Service":`+service+`},{"KV":{"LockIndex":0,"Key":"k","Flags":0,"Value":null,"CreateIndex":2,"ModifyIndex":2}}],"Errors":null}`)
	r.want("PUT", "/v1/txn", `[{"Service":{"Verb":"get","Node":"web-a","Service":{"ID":"web-1"}}}]`, 200, `{"Results":[{"Service":`+service+`}],"Errors":null}`)
	r.want("PUT", "/v1/txn", `[{"Check":{"Verb":"set","Check":{"Node":"web-A","CheckID":"serfHealth","Name":"alive","Status":"passing"}}}]`, 200,
		`{"Results":[{"Check":`+strings.ReplaceAll(aliveA, "Index\":1", "Index\":3")+`}],"Errors":null}`)
	for name, w := range map[string]wire{
		"get of a missing node":        {"PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"k","Value":"eA=="}},{"Node":{"Verb":"get","Node":{"Node":"none"}}}]`, 409, `={"Results":null,"Errors":[{"OpIndex":1,"What":"node \"none\" doesn't exist"}]}`},
		"get of a missing service":     {"PUT", "/v1/txn", `[{"Service":{"Verb":"get","Node":"web-a","Service":{"ID":"none"}}}]`, 409, `={"Results":null,"Errors":[{"OpIndex":0,"What":"service \"none\" on node \"web-a\" doesn't exist"}]}`},
		"get of a missing check":       {"PUT", "/v1/txn", `[{"Check":{"Verb":"get","Check":{"Node":"web-a","CheckID":"none"}}}]`, 409, `={"Results":null,"Errors":[{"OpIndex":0,"What":"check \"none\" on node \"web-a\" doesn't exist"}]}`},
		"cas of a node":                {"PUT", "/v1/txn", `[{"Node":{"Verb":"cas","Node":{"Node":"web-a","Address":"x","ModifyIndex":9}}}]`, 409, `={"Results":null,"Errors":[{"OpIndex":0,"What":"failed to set node \"web-a\", index is stale"}]}`},
		"delete-cas of a check":        {"PUT", "/v1/txn", `[{"Check":{"Verb":"delete-cas","Check":{"Node":"web-a","CheckID":"serfHealth","ModifyIndex":9}}}]`, 409, `={"Results":null,"Errors":[{"OpIndex":0,"What":"failed to delete check \"serfHealth\" on node \"web-a\", index is stale"}]}`},
		"a check of a missing node":    {"PUT", "/v1/txn", `[{"Check":{"Verb":"set","Check":{"Node":"none","CheckID":"c"}}}]`, 409, `={"Results":null,"Errors":[{"OpIndex":0,"What":"Missing node registration"}]}`},
		"a check of a missing service": {"PUT", "/v1/txn", `[{"Check":{"Verb":"set","Check":{"Node":"web-a","CheckID":"c","ServiceID":"none"}}}]`, 409, `={"Results":null,"Errors":[{"OpIndex":0,"What":"Missing service registration"}]}`},
		"an unknown verb":              {"PUT", "/v1/txn", `[{"Node":{"Verb":"lock","Node":{"Node":"web-a"}}}]`, 400, `=unknown node verb "lock"`},
		"a service without id":         {"PUT", "/v1/txn", `[{"Service":{"Verb":"delete","Node":"web-a"}}]`, 400, "=Must provide the id of the service"},
		"a check without id":           {"PUT", "/v1/txn", `[{"Check":{"Verb":"delete","Check":{"Node":"web-a"}}}]`, 400, "=Must provide the id of the check"},
		"a check called liveness":      {"PUT", "/v1/txn", `[{"Check":{"Verb":"set","Check":{"Node":"web-a","CheckID":"liveness"}}}]`, 400, `"liveness" cannot be`},
		"a bad status":                 {"PUT", "/v1/txn", `[{"Check":{"Verb":"set","Check":{"Node":"web-a","CheckID":"c","Status":"x"}}}]`, 400, `the status of check "c"`},
		"an operation without kind":    {"PUT", "/v1/txn", `[{"Intention":{}}]`, 400, "Operation 0 has no kind"},
	} {
		t.Run(name, func(t *testing.T) { w.check(t, r) })
	}
	if got := r.row("k"); string(got.Value) != "v" {
		t.Errorf("a transaction that failed wrote %q", got.Value)
	}
	r.want("PUT", "/v1/txn", `[{"Check":{"Verb":"delete","Check":{"Node":"web-a","CheckID":"serfHealth"}}},{"Service":{"Verb":"delete-cas","Node":"web-a","Service":{"ID":"web-1","ModifyIndex":2}}}]`,
		200, `{"Results":[],"Errors":null}`)
	r.want("PUT", "/v1/txn", `[{"Node":{"Verb":"delete","Node":{"Node":"web-a"}}}]`, 200, `{"Results":[],"Errors":null}`)
	r.want("GET", "/v1/catalog/nodes", "", 200, "[]")
}
