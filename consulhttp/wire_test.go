package consulhttp_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/server"
)

// wire is a request, and how its answer must begin.
type wire struct {
	method, path, body string
	status             int
	text               string // that the answer begins with; with "=" before it, all of the answer
}

// check sends the request.
func (w wire) check(t *testing.T, r *rig) {
	t.Helper()
	got := r.send(w.method, w.path, w.body)
	whole, all := strings.CutPrefix(w.text, "=")
	if got.status != w.status || all && got.body != whole || !strings.HasPrefix(got.body, whole) {
		t.Errorf("got %d %s, want %d %s", got.status, got.body, w.status, w.text)
	}
	if got.status >= http.StatusBadRequest && got.status != http.StatusConflict &&
		!strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		t.Errorf("the error is %s, want text/plain", got.header.Get("Content-Type"))
	}
}

// TestWhatEveryRequestMustHave is the table of §13.1: what any request may say, and what it must not.
func TestWhatEveryRequestMustHave(t *testing.T) {
	r := newRig(t)
	r.want("PUT", "/v1/kv/a", "1", http.StatusOK, "true")
	long := strings.Repeat("k", 1024)
	for name, w := range map[string]wire{
		"a path that does not exist":               {"GET", "/v1/keys", "", 404, "There is no such path."},
		"the root":                                 {"GET", "/", "", 404, "There is no such path."},
		"another version":                          {"GET", "/v2/kv/a", "", 404, "There is no such path."},
		"a path in capitals":                       {"GET", "/V1/kv/a", "", 404, "There is no such path."},
		"a slash too many":                         {"GET", "/v1/session/list/", "", 404, "There is no such path."},
		"a doubled slash before the noun":          {"GET", "/v1//kv/a", "", 404, "There is no such path."},
		"dots are not cleaned":                     {"GET", "/v1/status/../kv/a", "", 404, "There is no such path."},
		"dots in a key are the key":                {"PUT", "/v1/kv/x/../y", "1", 200, "=true"},
		"a wrong method":                           {"POST", "/v1/kv/a", "1", 405, "method POST not allowed"},
		"a wrong method of a session":              {"GET", "/v1/session/create", "", 405, "method GET not allowed"},
		"HEAD":                                     {"HEAD", "/v1/kv/a", "", 405, ""},
		"OPTIONS":                                  {"OPTIONS", "/v1/kv/a", "", 200, "="},
		"the own datacenter":                       {"GET", "/v1/kv/a?raw&dc=dc1", "", 200, "=1"},
		"the own datacenter, in other letters":     {"GET", "/v1/kv/a?raw&dc=DC1", "", 200, "=1"},
		"another datacenter":                       {"GET", "/v1/kv/a?dc=dc2", "", 500, "=No path to datacenter"},
		"a write in another datacenter":            {"PUT", "/v1/session/create?dc=dc2", "", 500, "=No path to datacenter"},
		"the default namespace":                    {"GET", "/v1/kv/a?raw&ns=default&partition=&peer=", "", 200, "=1"},
		"another namespace":                        {"GET", "/v1/kv/a?ns=team", "", 400, "Parameter ns must be empty or default"},
		"another partition":                        {"PUT", "/v1/kv/a?partition=team", "1", 400, "Parameter partition must be empty or default"},
		"another peer":                             {"GET", "/v1/session/list?peer=other", "", 400, "Parameter peer must be empty or default"},
		"a filter":                                 {"GET", "/v1/session/list?filter=Name==a", "", 400, "Parameter filter is not supported"},
		"a parameter that nobody knows":            {"GET", "/v1/kv/a?raw&cached&relay-factor=3", "", 200, "=1"},
		"a damaged escape in the query":            {"GET", "/v1/kv/a?raw=%zz", "", 400, "The query of this request cannot be decoded."},
		"stale":                                    {"GET", "/v1/kv/a?raw&stale", "", 200, "=1"},
		"consistent":                               {"GET", "/v1/kv/a?raw&consistent", "", 200, "=1"},
		"stale and consistent":                     {"GET", "/v1/kv/a?raw&stale&consistent", "", 400, "Parameters stale and consistent must not be given together."},
		"a max_stale":                              {"GET", "/v1/kv/a?raw&max_stale=10s", "", 200, "=1"},
		"a max_stale with stale":                   {"GET", "/v1/kv/a?raw&stale&max_stale=10s", "", 200, "=1"},
		"a max_stale with consistent":              {"GET", "/v1/kv/a?consistent&max_stale=10s", "", 400, "Parameters max_stale and consistent must not be given together."},
		"a max_stale of 0 with consistent":         {"GET", "/v1/kv/a?raw&consistent&max_stale=0s", "", 200, "=1"},
		"a negative max_stale with consistent":     {"GET", "/v1/kv/a?raw&consistent&max_stale=-1s", "", 200, "=1"},
		"a max_stale that is no duration":          {"GET", "/v1/kv/a?max_stale=soon", "", 400, "Parameter max_stale must be a duration"},
		"an index that is no number":               {"GET", "/v1/kv/a?index=soon", "", 400, "Parameter index must be a number"},
		"a negative index":                         {"GET", "/v1/kv/a?index=-1", "", 400, "Parameter index must be a number"},
		"a wait that is no duration":               {"GET", "/v1/kv/a?index=1&wait=5", "", 400, "Parameter wait must be a duration"},
		"a wait without an index does not wait":    {"GET", "/v1/kv/a?raw&wait=10m", "", 200, "=1"},
		"an index of 0 does not wait":              {"GET", "/v1/kv/a?raw&index=0&wait=10m", "", 200, "=1"},
		"a key that is not UTF-8":                  {"PUT", "/v1/kv/%ff", "1", 400, "The key is not valid UTF-8."},
		"a get of a key that is not UTF-8":         {"GET", "/v1/kv/%ff", "", 400, "The key is not valid UTF-8."},
		"a delete of a key that is not UTF-8":      {"DELETE", "/v1/kv/%ff", "", 400, "The key is not valid UTF-8."},
		"a key of 1 024 bytes":                     {"PUT", "/v1/kv/" + long, "1", 200, "=true"},
		"a key of 1 025 bytes":                     {"PUT", "/v1/kv/" + long + "k", "1", 400, "The key is 1025 bytes long; at most 1024 are allowed."},
		"no key":                                   {"GET", "/v1/kv/", "", 400, "=Missing key name"},
		"no key, nor a slash":                      {"GET", "/v1/kv", "", 400, "=Missing key name"},
		"a near that is not UTF-8":                 {"GET", "/v1/catalog/nodes?near=%ff", "", 400, "Parameter near is not valid UTF-8."},
		"a node to leave that is not UTF-8":        {"PUT", "/v1/agent/force-leave/%ff", "", 400, "The node name is not valid UTF-8."},
		"a put without a key":                      {"PUT", "/v1/kv/", "1", 400, "=Missing key name"},
		"a delete without a key":                   {"DELETE", "/v1/kv/", "", 400, "=Missing key name"},
		"only slashes are no key":                  {"PUT", "/v1/kv///", "1", 400, "=Missing key name"},
		"a damaged escape in a path":               {"GET", "/v1/kv/100%25", "", 404, "="},
		"tokens are not looked at in mode off":     {"GET", "/v1/kv/a?raw&token=secret", "", 200, "=1"},
		"flags that are no number":                 {"PUT", "/v1/kv/b?flags=x", "1", 400, "Parameter flags must be a number"},
		"a cas that is no number":                  {"PUT", "/v1/kv/b?cas=x", "1", 400, "Parameter cas must be a number"},
		"a negative cas":                           {"DELETE", "/v1/kv/b?cas=-1", "", 400, "Parameter cas must be a number"},
		"two of cas, acquire and release":          {"PUT", "/v1/kv/b?cas=0&acquire=x", "1", 400, "Conflicting flags"},
		"acquire and release":                      {"PUT", "/v1/kv/b?acquire=x&release=y", "1", 400, "Conflicting flags"},
		"cas and recurse of a delete":              {"DELETE", "/v1/kv/b?cas=0&recurse", "", 400, "Conflicting flags"},
		"access control is not there":              {"GET", "/v1/acl/tokens", "", 401, "=ACL support disabled"},
		"access control, whatever the method":      {"PUT", "/v1/acl/login", "{}", 401, "=ACL support disabled"},
		"a body of 512 KiB":                        {"PUT", "/v1/kv/big", strings.Repeat("x", 512<<10), 200, "=true"},
		"a body of a byte more":                    {"PUT", "/v1/kv/big", strings.Repeat("x", 512<<10+1), 413, "Request body too large, max size: 524288 bytes."},
		"a form is the value, and not its fields":  {"PUT", "/v1/kv/form", "cas=0&flags=7", 200, "=true"},
		"nothing may stand in for a path's method": {"GET", "/v1/session/renew/x", "", 405, "method GET not allowed"},
	} {
		t.Run(name, func(t *testing.T) { w.check(t, &rig{t: t, base: r.base, client: r.client}) })
	}
	if got := r.row("form"); string(got.Value) != "cas=0&flags=7" || got.Flags != 0 {
		t.Errorf("got %+v, want the form as the value", got)
	}
	for path, allow := range map[string]string{"/v1/kv/a": "OPTIONS,DELETE,GET,PUT", "/v1/session/create": "OPTIONS,PUT", "/v1/session/list": "OPTIONS,GET"} {
		for _, method := range []string{"OPTIONS", "PATCH"} {
			if got := r.send(method, path, ""); got.header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, got.header.Get("Allow"), allow)
			}
		}
	}
}

// TestChunkedBodiesAreCounted sends bodies that do not say how long they are.
func TestChunkedBodiesAreCounted(t *testing.T) {
	r := newRig(t)
	const most = 512 << 10
	for _, size := range []int{most + 1, 4 << 20, 16 << 20, most} {
		got, err := r.try(t.Context(), "PUT", "/v1/kv/big", io.MultiReader(strings.NewReader(strings.Repeat("x", size))))
		switch {
		case err != nil && size == 16<<20: // The connection was closed before all was sent.
		case err != nil:
			t.Fatal(err)
		case size > most && got.status != 413 || size == most && got.status != 200:
			t.Errorf("%d bytes: got %d %s", size, got.status, got.body)
		}
		if found := r.send("GET", "/v1/kv/big", "").status; (found == 200) != (size == most) {
			t.Errorf("%d bytes: a get answers %d", size, found)
		}
	}
}

// TestEveryReadHasItsHeaders looks at the headers of all reads that clients wait with.
func TestEveryReadHasItsHeaders(t *testing.T) {
	r := newRig(t)
	empty := r.send("GET", "/v1/kv/a", "")
	if empty.status != 404 || empty.index(t) != 1 {
		t.Errorf("a key of an empty store: got %d with index %d, want 404 with 1", empty.status, empty.index(t))
	}
	id := r.session("")
	r.want("PUT", "/v1/kv/a", "1", 200, "true")
	r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	query := r.query(`{"Name":"web","Service":{"Service":"web"}}`)
	for _, path := range []string{
		"/v1/kv/a", "/v1/kv/a?raw", "/v1/kv/none", "/v1/kv/a?recurse", "/v1/kv/none?recurse", "/v1/kv/?keys", "/v1/kv/none?keys",
		"/v1/session/list", "/v1/session/info/" + id, "/v1/session/info/none", "/v1/session/node/node-1", "/v1/agent/connect/ca/roots",
		"/v1/catalog/nodes", "/v1/catalog/services", "/v1/catalog/service/web", "/v1/catalog/service/none", "/v1/catalog/node/web-a", "/v1/catalog/node/none",
		"/v1/catalog/node-services/web-a", "/v1/catalog/node-services/none", "/v1/health/node/web-a", "/v1/health/node/none", "/v1/health/checks/web",
		"/v1/health/service/web", "/v1/health/service/web?passing", "/v1/health/service/none", "/v1/health/state/any", "/v1/health/state/critical",
		"/v1/query", "/v1/query/" + query, "/v1/query/" + idB, "/v1/query/web/execute", "/v1/query/none/execute", "/v1/query/web/explain", "/v1/query/none/explain",
	} {
		for mode, effective := range map[string]string{
			"": "leader", "consistent": "consistent", "stale": "stale", "max_stale=1s": "leader", "stale&max_stale=1s": "leader",
			"max_stale=0": "leader", "stale&max_stale=0": "stale", "consistent&max_stale=0": "consistent",
		} {
			if path == "/v1/agent/connect/ca/roots" && mode != "" {
				continue
			}
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			got := r.send("GET", path+separator+mode, "")
			got.index(t)
			for name, want := range map[string]string{
				"X-Consul-Lastcontact": "0", "X-Consul-Knownleader": "true", "X-Consul-Effective-Consistency": effective,
				"X-Consul-Default-Acl-Policy": "allow",
			} {
				if got.header.Get(name) != want {
					t.Errorf("%s %s: %s is %q, want %q", path, mode, name, got.header.Get(name), want)
				}
			}
		}
	}
	raw := r.send("GET", "/v1/kv/a?raw", "")
	for name, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox",
	} {
		if raw.header.Get(name) != want {
			t.Errorf("raw: %s is %q, want %q", name, raw.header.Get(name), want)
		}
	}
}

// TestHostsAreChecked sends requests as pages do whose own name points here.
func TestHostsAreChecked(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.AllowedHosts = []string{"consul.example"} })
	for host, status := range map[string]int{"localhost:8500": 200, "127.0.0.1": 200, "consul.example:8500": 200, "evil.example": 403, "a.consul.example": 403} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+"/v1/status/leader", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := r.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status || status != 200 && !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("host %s: got %d %s, want %d", host, response.StatusCode, response.Header.Get("Content-Type"), status)
		}
	}
}

// ways finds what Tenure has, or that it has nothing.
var ways = regexp.MustCompile(`(?i)tenure|^a member runs no checks`)

// TestWhatIsNotOfferedSaysSo asks for the rest of Consul's API: it never answers 500, which clients would repeat.
func TestWhatIsNotOfferedSaysSo(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{
		"/v1/event/fire/x", "/v1/event/list", "/v1/snapshot", "/v1/connect/intentions", "/v1/connect/ca/roots", "/v1/config",
		"/v1/config/service-defaults", "/v1/peering/token", "/v1/peerings", "/v1/namespaces", "/v1/namespace/x", "/v1/coordinate/nodes",
		"/v1/operator/keyring", "/v1/operator/raft/peer", "/v1/operator/autopilot/health", "/v1/internal/ui/nodes", "/v1/agent/join/1.2.3.4",
		"/v1/agent/leave", "/v1/agent/reload", "/v1/agent/metrics", "/v1/agent/monitor", "/v1/agent/connect/ca/leaf/x", "/v1/partitions",
		"/v1/agent/services", "/v1/catalog/connect/x", "/v1/health/connect/x", "/v1/agent/check/pass/x", "/v1/agent/service/register",
		"/v1/discovery-chain/x", "/v1/exported-services", "/v1/agent/token/default", "/v1/agent/host",
		"/v1/agent/metrics/stream", "/v1/agent/checks", "/v1/agent/health/service/id/x", "/v1/agent/health/service/name/x", "/v1/agent/maintenance",
		"/v1/agent/check/register", "/v1/agent/check/update/x", "/v1/agent/service/x", "/v1/agent/service/maintenance/x", "/v1/agent/connect/authorize",
		"/v1/catalog/gateway-services/x", "/v1/health/ingress/x", "/v1/connect/ca/configuration", "/v1/connect/intentions/exact", "/v1/peering", "/v1/peering/x",
		"/v1/imported-services", "/v1/namespace", "/v1/partition", "/v1/partition/x", "/v1/coordinate/datacenters", "/v1/coordinate/node/x",
		"/v1/coordinate/update", "/v1/operator/raft/transfer-leader", "/v1/operator/autopilot/configuration", "/v1/operator/autopilot/state",
		"/v1/operator/usage", "/v1/operator/utilization", "/v1/operator/area", "/v1/operator/license", "/v1/operator/segment",
		"/v1/internal/ui/services", "/v1/internal/service-virtual-ip",
	} {
		for _, method := range []string{"GET", "PUT"} {
			got := r.send(method, path, "")
			if got.status != http.StatusNotImplemented || !strings.HasSuffix(got.body, ".") || !ways.MatchString(got.body) {
				t.Errorf("%s %s: got %d %s, want 501 and a sentence with Tenure's way", method, path, got.status, got.body)
			}
		}
	}
}

// TestHeadersSayWhereAsParametersDo names namespaces and partitions in headers, as some clients do: they are refused, and never ignored.
func TestHeadersSayWhereAsParametersDo(t *testing.T) {
	r := newRig(t)
	for header, values := range map[string]map[string]string{
		"X-Consul-Namespace": {"": "", "default": "", "Default": "", "team": "Header X-Consul-Namespace must be empty or default: Tenure has no namespaces."},
		"X-Consul-Partition": {"": "", "default": "", "team": "Header X-Consul-Partition must be empty or default: Tenure has no admin partitions."},
	} {
		for value, refused := range values {
			got := r.sendAs("PUT", "/v1/kv/a", "1", func(q *http.Request) { q.Header.Set(header, value) })
			if refused != "" && (got.status != 400 || got.body != refused) || refused == "" && got.status != 200 {
				t.Errorf("%s: %s: got %d %s, want %s", header, value, got.status, got.body, refused)
			}
		}
	}
}
