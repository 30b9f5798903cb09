package cluster_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// answeredAlike are requests that an agent answers as the member does to which it passes them on: the same status, headers and body.
var answeredAlike = []struct{ method, path, body string }{
	{"GET", "kv/p/1", ""},
	{"GET", "kv/p/1?raw", ""},
	{"GET", "kv/p/1?pretty", ""},
	{"GET", "kv/p/1?consistent", ""},
	{"GET", "kv/p/1?stale", ""},
	{"GET", "kv/p/1?max_stale=1h", ""},
	{"GET", "kv/p/1?index=2&wait=1ms", ""},
	{"GET", "kv/p/1?dc=dc2", ""},
	{"GET", "kv/p/1?ns=other", ""},
	{"GET", "kv/p/1?filter=a", ""},
	{"GET", "kv/p/1?index=x", ""},
	{"GET", "kv/p/1?wait=x", ""},
	{"GET", "kv/p/1?stale&consistent", ""},
	{"GET", "kv/none", ""},
	{"GET", "kv/none?recurse", ""},
	{"GET", "kv/", ""},
	{"GET", "kv/%ff", ""},
	{"GET", "kv/?recurse", ""},
	{"GET", "kv/?keys&separator=/", ""},
	{"GET", "kv/p/?keys&seperator=/", ""},
	{"POST", "kv/p/1", ""},
	{"OPTIONS", "kv/p/1", ""},
	{"PUT", "kv/p/1?cas=999", "no"},
	{"PUT", "kv/p/1?cas=x", "no"},
	{"PUT", "kv/p/1?acquire=none", "no"},
	{"PUT", "kv/p/1?acquire", "no"},
	{"PUT", "kv/p/1?release=none", "no"},
	{"PUT", "kv/p/1?acquire=a&release=b", "no"},
	{"PUT", "kv/p/1", strings.Repeat("v", 512<<10+1)},
	{"DELETE", "kv/p/1?cas=999", ""},
	{"DELETE", "kv/none", ""},
	{"PUT", "txn", `[{"KV":{"Verb":"get","Key":"p/1"}},{"KV":{"Verb":"get-tree","Key":"p/"}}]`},
	{"PUT", "txn", `[{"KV":{"Verb":"check-index","Key":"p/1","Index":1}},{"KV":{"Verb":"lock","Key":"p/1","Session":"none"}}]`},
	{"PUT", "txn", `[{"KV":{"Verb":"sing","Key":"p/1"}}]`},
	{"PUT", "txn", "{"},
	{"PUT", "session/create", "{"},
	{"PUT", "session/create", `{"TTL":"1s"}`},
	{"PUT", "session/create", `{"Node":"none"}`},
	{"PUT", "session/create", `{"NodeChecks":["none"]}`},
	{"PUT", "session/create", `{"Behavior":"sing"}`},
	{"PUT", "session/destroy/none", ""},
	{"PUT", "session/renew/none", ""},
	{"GET", "session/info/none", ""},
	{"GET", "session/list", ""},
	{"GET", "session/node/machine", ""},
	{"PUT", "catalog/register", "{"},
	{"PUT", "catalog/register", `{"Node":"ext"}`},
	{"PUT", "catalog/deregister", `{"Node":"none"}`},
	{"GET", "catalog/datacenters", ""},
	{"GET", "catalog/services", ""},
	{"GET", "catalog/service/web", ""},
	{"GET", "catalog/node/ext", ""},
	{"GET", "catalog/node/none", ""},
	{"GET", "catalog/node-services/ext", ""},
	{"GET", "health/node/ext", ""},
	{"GET", "health/checks/web", ""},
	{"GET", "health/service/web?passing", ""},
	{"GET", "health/service/none", ""},
	{"GET", "health/state/passing", ""},
	{"GET", "health/state/sung", ""},
	{"GET", "query", ""},
	{"GET", "query/none", ""},
	{"GET", "query/none/execute", ""},
	{"POST", "query", `{"Name":"q","Token":"t","Service":{"Service":"web"}}`},
	{"GET", "status/leader", ""},
	{"GET", "status/peers", ""},
	{"GET", "agent/version", ""},
	{"GET", "agent/connect/ca/roots", ""},
	{"PUT", "agent/force-leave/none", ""},
	{"GET", "acl/tokens", ""},
	{"PUT", "event/fire/deploy", ""},
	{"GET", "snapshot", ""},
	{"GET", "no/such/path", ""},
}

// agentAnswers are how an agent answers for itself.
var agentAnswers = []struct {
	method, path, body string
	code               int
	begins             string
}{
	{"GET", "agent/services", "", 200, "{}"},
	{"GET", "agent/checks", "", 200, "{}"},
	{"GET", "agent/service/none", "", 404, "unknown service ID: none"},
	{"POST", "agent/services", "", 405, "method POST not allowed"},
	{"PUT", "agent/service/register", "{", 400, ""},
	{"PUT", "agent/service/register", `{"ID":"x"}`, 400, "Missing service name"},
	{"PUT", "agent/service/deregister/none", "", 404, "Unknown service ID \"none\""},
	{"PUT", "agent/service/maintenance/none?enable=true", "", 404, "Unknown service ID \"none\""},
	{"PUT", "agent/maintenance", "", 400, ""},
	{"PUT", "agent/check/register", `{"ID":"x"}`, 400, "Missing check name"},
	{"PUT", "agent/check/deregister/none", "", 404, "Unknown check ID \"none\""},
	{"PUT", "agent/check/pass/none", "", 404, "Unknown check ID \"none\""},
	{"PUT", "agent/check/warn/none", "", 404, "Unknown check ID \"none\""},
	{"PUT", "agent/check/fail/none", "", 404, "Unknown check ID \"none\""},
	{"PUT", "agent/check/update/none", `{"Status":"sung"}`, 400, "Invalid check status: 'sung'"},
	{"GET", "agent/health/service/id/none", "", 404, "ServiceId none not found"},
	{"GET", "agent/health/service/name/none", "", 404, "ServiceName none Not Found"},
	{"PUT", "agent/service/register", `{"Name":"own","Check":{"TTL":"1h"}}`, 200, ""},
	{"GET", "agent/health/service/id/own?format=text", "", 503, "critical"},
	{"PUT", "agent/check/warn/service:own", "", 200, ""},
	{"GET", "agent/health/service/id/own?format=text", "", 429, "warning"},
	{"PUT", "agent/check/pass/service:own", "", 200, ""},
	{"GET", "agent/health/service/name/own?format=text", "", 200, "passing"},
	{"GET", "catalog/service/own?cached", "", 200, `[{"ID":"`},
}

// Programs see the same through an agent as at a member, but for what is the agent's own.
func TestAnAgentAnswersConsulsHTTPAsAMember(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const flag, address = "--consul-http", "127.0.0.1:0"
	m := rig.Start(ctx, t, binary, flag, address)
	agent := rig.NewAgent(t, binary, "machine", m.Addresses.GRPC, "--gossip", "off", flag, address)
	agent.Restart(ctx)
	for _, put := range []struct{ path, body string }{
		{"kv/p/1?flags=7", "one"},
		{"kv/p/2", ""},
		{"kv/q", "two"},
		{"session/create", `{"Name":"s","TTL":"15s","NodeChecks":[]}`},
		{"catalog/register", `{"Node":"ext","Address":"10.0.0.1","Service":{"Service":"web","Port":80},"Check":{"CheckID":"c","Status":"passing","ServiceID":"web"}}`},
	} {
		send(ctx, t, m, http.MethodPut, put.path, put.body)
	}
	for _, one := range answeredAlike {
		atMember, atAgent := consulAsk(ctx, t, m.Addresses.Consul, one.method, one.path, one.body), consulAsk(ctx, t, agent.Consul, one.method, one.path, one.body)
		if atMember.code != atAgent.code || atMember.body != atAgent.body {
			t.Errorf("%s %s: a member answers %d %q, an agent %d %q", one.method, one.path, atMember.code, atMember.body, atAgent.code, atAgent.body)
		}
		for _, name := range []string{
			"X-Consul-Index", "X-Consul-KnownLeader", "X-Consul-LastContact", "X-Consul-Effective-Consistency", "X-Consul-Default-ACL-Policy", "Content-Type", "Allow",
			"X-Content-Type-Options", "Content-Security-Policy",
		} {
			if atMember.header.Get(name) != atAgent.header.Get(name) {
				t.Errorf("%s %s: %s of a member is %q, of an agent %q", one.method, one.path, name, atMember.header.Get(name), atAgent.header.Get(name))
			}
		}
	}
	for _, one := range agentAnswers {
		got := consulAsk(ctx, t, agent.Consul, one.method, one.path, one.body)
		if got.code != one.code || !strings.HasPrefix(got.body, one.begins) {
			t.Errorf("%s %s %s: got %d %q, want %d %q", one.method, one.path, one.body, got.code, got.body, one.code, one.begins)
		}
	}
}

// consulAsk sends a request of Consul's HTTP once.
func consulAsk(ctx context.Context, t *testing.T, address, method, path, body string) consulAnswer {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/v1/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = got.Body.Close() }()
	answer, err := io.ReadAll(got.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return consulAnswer{got.StatusCode, got.Header, string(answer)}
}
