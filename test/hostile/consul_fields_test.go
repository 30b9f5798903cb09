package hostile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// consulEndpoint is a path of Consul's HTTP, with an argument at {}, its parameters, and a body as it should be.
type consulEndpoint struct {
	method, path string
	parameters   string
	body         string
}

// consulReads are parameters of every read that has an index.
const consulReads = "index wait max_stale "

// consulEndpoints are all that there are. What a member has not is an agent's.
var consulEndpoints = []consulEndpoint{
	{"PUT", "session/create", "dc ns token", `{"Name":"n","Node":"machine","TTL":"15s","LockDelay":"1s","Behavior":"release","NodeChecks":["a"],"Checks":[],"ServiceChecks":[{"ID":"x","Namespace":""}]}`},
	{"PUT", "session/destroy/{}", "", ""},
	{"PUT", "session/renew/{}", "", ""},
	{"GET", "session/info/{}", consulReads, ""},
	{"GET", "session/node/{}", consulReads, ""},
	{"GET", "session/list", consulReads + "filter partition peer pretty", ""},
	{"GET", "kv/{}", consulReads, ""},
	{"GET", "kv/{}?recurse", consulReads, ""},
	{"GET", "kv/{}?keys", consulReads + "separator seperator", ""},
	{"PUT", "kv/{}", "cas flags acquire release", "v"},
	{"DELETE", "kv/{}", "cas recurse", ""},
	{"PUT", "txn", "", `[{"KV":{"Verb":"set","Key":"hostile/txn","Value":"dg==","Flags":1,"Index":1,"Session":"s"}}]`},
	{"PUT", "txn", "", `[{"Node":{"Verb":"set","Node":{"ID":"","Node":"n","Address":"10.0.0.1","Datacenter":"dc1","TaggedAddresses":{"a":"b"},"Meta":{"a":"b"}}}}]`},
	{"PUT", "txn", "", `[{"Service":{"Verb":"set","Node":"n","Service":{"ID":"s","Service":"s","Tags":["t"],"Address":"a","Meta":{"a":"b"},"Port":1,"Weights":{"Passing":1,"Warning":1}}}}]`},
	{"PUT", "txn", "", `[{"Check":{"Verb":"set","Check":{"Node":"n","CheckID":"c","Name":"c","Status":"passing","Notes":"n","Output":"o","ServiceID":"s","Definition":{"HTTP":"http://a/","Interval":"1s"}}}}]`},
	{"PUT", "catalog/register", "", `{"ID":"","Node":"n","Address":"10.0.0.1","Datacenter":"dc1","TaggedAddresses":{"a":"b"},"NodeMeta":{"a":"b"},"Service":{"ID":"s","Service":"s","Tags":["t"],"Address":"a","Meta":{"a":"b"},"Port":1},"Check":{"Node":"n","CheckID":"c","Name":"c","Status":"passing","Notes":"n","Output":"o","ServiceID":"s"},"Checks":[],"SkipNodeUpdate":false}`},
	{"PUT", "catalog/deregister", "", `{"Node":"n","Address":"a","Datacenter":"dc1","ServiceID":"s","CheckID":"c"}`},
	{"GET", "catalog/datacenters", "", ""},
	{"GET", "catalog/nodes", consulReads + "near node-meta", ""},
	{"GET", "catalog/services", consulReads + "node-meta", ""},
	{"GET", "catalog/service/{}", consulReads + "tag near node-meta", ""},
	{"GET", "catalog/node/{}", consulReads, ""},
	{"GET", "catalog/node-services/{}", consulReads, ""},
	{"GET", "health/node/{}", consulReads, ""},
	{"GET", "health/checks/{}", consulReads + "near node-meta", ""},
	{"GET", "health/service/{}", consulReads + "tag near node-meta passing", ""},
	{"GET", "health/state/{}", consulReads + "near node-meta", ""},
	{"GET", "status/leader", "", ""},
	{"GET", "status/peers", "", ""},
	{"GET", "operator/raft/configuration", "stale", ""},
	{"GET", "agent/self", "", ""},
	{"GET", "agent/version", "", ""},
	{"GET", "agent/members", "wan segment", ""},
	{"GET", "agent/connect/ca/roots", "index", ""},
	{"PUT", "agent/force-leave/{}", "prune", ""},
	{"GET", "agent/services", "hash filter", ""},
	{"GET", "agent/service/{}", "hash wait", ""},
	{"GET", "agent/checks", "filter", ""},
	{"GET", "agent/health/service/id/{}", "format", ""},
	{"GET", "agent/health/service/name/{}", "format", ""},
	{"PUT", "agent/service/register", "replace-existing-checks", `{"ID":"s","Name":"s","Tags":["t"],"Address":"a","Meta":{"a":"b"},"Port":1,"EnableTagOverride":false,"Weights":{"Passing":1,"Warning":1},"Check":{"TTL":"15s","CheckID":"c","Name":"c","Notes":"n","Status":"passing","DeregisterCriticalServiceAfter":"90m"},"Checks":[{"HTTP":"http://127.0.0.1:1/","Method":"GET","Interval":"1h","Timeout":"1s","Header":{"a":["b"]}}]}`},
	{"PUT", "agent/service/deregister/{}", "", ""},
	{"PUT", "agent/service/maintenance/{}", "enable reason", ""},
	{"PUT", "agent/maintenance", "enable reason", ""},
	{"PUT", "agent/check/register", "", `{"ID":"k","Name":"k","Notes":"n","ServiceID":"","Status":"warning","TTL":"1h"}`},
	{"PUT", "agent/check/deregister/{}", "", ""},
	{"PUT", "agent/check/pass/{}", "note", ""},
	{"PUT", "agent/check/warn/{}", "note", ""},
	{"PUT", "agent/check/fail/{}", "note", ""},
	{"PUT", "agent/check/update/{}", "", `{"Status":"passing","Output":"o"}`},
	{"GET", "query", "", ""},
	{"POST", "query", "", `{"Name":"q","Session":"","Token":"","Service":{"Service":"s","Tags":["t"],"Near":"","OnlyPassing":true,"NodeMeta":{"a":"b"},"ServiceMeta":{"a":"b"},"IgnoreCheckIDs":["c"],"Failover":{"NearestN":0,"Datacenters":[]}},"DNS":{"TTL":"1s"},"Template":{"Type":"","Regexp":""}}`},
	{"GET", "query/{}", "index wait", ""},
	{"PUT", "query/{}", "", `{"Name":"q","Service":{"Service":"s"}}`},
	{"DELETE", "query/{}", "", ""},
	{"GET", "query/{}/execute", "limit near passing", ""},
	{"GET", "query/{}/explain", "", ""},
	{"GET", "acl/{}", "", ""},
	{"PUT", "event/fire/{}", "", "payload"},
}

// oddNumbers are values of parameters that should be numbers or durations.
var oddNumbers = []string{
	"", "-1", "0", "1", "18446744073709551615", "18446744073709551616", "9007199254740993", "1e3", "0x10", "-1s", "99999999h", "9223372036854775807ns",
	"0.0000000001s", "1h1h", "NaN", "5", " 1", "\u0661", "true", "_agent", "a:b:c",
}

// oddJSON are bodies that should be JSON.
func oddJSON() []string {
	const deep = 100_000
	return []string{
		"", "null", "{", "[{}]", "[null]", "[[]]", "{}", "[]", "\"\"", "0", "tru", "{}{}", "\x00", "\xff\xfe{", "{\"a\":\"\xff\"}", `{"Name":1}`, `{"name":"a","NAME":"b","Name":"c"}`,
		strings.Repeat("[", deep), strings.Repeat(`{"KV":`, deep/10), strings.Repeat("[", deep) + strings.Repeat("]", deep),
		"[" + strings.Repeat("{},", deep) + "{}]", `[{"KV":{},"Node":{}}]`, "[" + strings.Repeat(`{"KV":{"Verb":"get-tree","Key":"much/"}},`, 127) + `{"KV":{"Verb":"get","Key":"much/0"}}]`,
	}
}

// oddParts are what stands in every place of a body, as JSON.
func oddParts() []string {
	parts := []string{"null", "true", "-1", "18446744073709551616", "1e999", "1.5", `"\ud800"`, `"a"`, "[]", "{}", `["a",1,null]`, `{"a":{"b":"c"}}`, strings.Repeat("[", 9000) + strings.Repeat("]", 9000)}
	for _, text := range oddTexts() {
		if len(text) < 1_000 {
			quoted, err := json.Marshal(text)
			if err == nil {
				parts = append(parts, string(quoted))
			}
		}
	}
	return append(parts, "\"a\xff\xc3(\"", `"`+strings.Repeat("v", 300_000)+`"`)
}

// oddBodies returns a body with each odd part in each place.
func oddBodies(body string) ([]string, error) {
	var whole any
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		return nil, err
	}
	const stand = "\u2603odd\u2603"
	var all []string
	put := func() error {
		text, err := json.Marshal(whole)
		for _, part := range oddParts() {
			all = append(all, strings.Replace(string(text), `"`+stand+`"`, part, 1))
		}
		return err
	}
	var visit func(at any, set func(any)) error
	visit = func(at any, set func(any)) error {
		set(stand)
		if err := put(); err != nil {
			return err
		}
		set(at)
		switch at := at.(type) {
		case map[string]any:
			for name, value := range at {
				if err := visit(value, func(v any) { at[name] = v }); err != nil {
					return err
				}
			}
		case []any:
			for i, value := range at {
				if err := visit(value, func(v any) { at[i] = v }); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return all, visit(whole, func(v any) { whole = v })
}

// oddConsul puts odd texts into every argument, every parameter and every field of every body.
func oddConsul(ctx context.Context, a *attacker) error {
	var all []consulRequest
	for _, e := range consulEndpoints {
		target := func(argument, query string) string {
			path, fixed, _ := strings.Cut(e.path, "?")
			path = "/v1/" + strings.ReplaceAll(path, "{}", argument) + "?" + fixed
			if strings.Contains(e.parameters, "wait") && !strings.HasPrefix(query, "wait=") {
				query += "&wait=10ms"
			}
			return path + "&" + query
		}
		if strings.Contains(e.path, "{}") {
			for _, text := range oddTexts() {
				all = append(all, consulRequest{method: e.method, path: target(url.PathEscape(text), ""), body: e.body})
			}
		}
		for parameter := range strings.FieldsSeq(e.parameters) {
			for _, text := range oddTexts() {
				if len(text) > 100_000 && parameter != "acquire" && parameter != "index" {
					continue // No server of HTTP takes such a header; it takes its time to say so.
				}
				all = append(all, consulRequest{method: e.method, path: target("odd", parameter+"="+url.QueryEscape(text)), body: e.body})
			}
			for _, number := range oddNumbers {
				all = append(all, consulRequest{method: e.method, path: target("odd", parameter+"="+url.QueryEscape(number)), body: e.body})
			}
		}
		if strings.HasPrefix(e.body, "{") || strings.HasPrefix(e.body, "[") {
			bodies, err := oddBodies(e.body)
			if err != nil {
				return fmt.Errorf("%s: %w", e.path, err)
			}
			for _, body := range bodies {
				all = append(all, consulRequest{method: e.method, path: target("odd", ""), body: body})
			}
		}
	}
	const requestsMin = 2000
	if len(all) < requestsMin {
		return fmt.Errorf("%d requests were found, want at least %d", len(all), requestsMin)
	}
	return a.sendConsul(ctx, all)
}
