package consulhttp_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// filteredHeader is the header of an answer that shows a part.
const filteredHeader = "X-Consul-Results-Filtered-By-ACLs"

// names selects names: nil none, "a" this one, "a*" what begins with it.
type names []string

// has reports whether a name is selected.
func (n names) has(name string) bool {
	return slices.ContainsFunc(n, func(s string) bool {
		prefix, is := strings.CutSuffix(s, "*")
		return s == name || is && strings.HasPrefix(name, prefix)
	})
}

// all reports whether all names with a prefix are selected.
func (n names) all(prefix string) bool {
	return slices.ContainsFunc(n, func(s string) bool {
		selected, is := strings.CutSuffix(s, "*")
		return is && strings.HasPrefix(prefix, selected)
	})
}

// holder is a caller by what its rules select.
type holder struct{ keys, sessions, sessionNodes, nodes, services, queries names }

// rules are the rules of the caller.
func (h holder) rules() string {
	var out strings.Builder
	add := func(kind, verbs string, of names) {
		for _, s := range of {
			selector := fmt.Sprintf("%q", s)
			switch prefix, is := strings.CutSuffix(s, "*"); {
			case s == "*":
				selector = s
			case is:
				selector = fmt.Sprintf("%q*", prefix)
			}
			fmt.Fprintln(&out, kind, selector, verbs)
		}
	}
	add("key", "ro", h.keys)
	add("session", "read", h.sessions)
	add("session node", "read", h.sessionNodes)
	add("node", "read", h.nodes)
	add("service", "read", h.services)
	add("query", "read", h.queries)
	return out.String()
}

// holders are callers: each sees something else.
var holders = map[string]holder{
	"nothing of these": {keys: names{"other"}},
	"exact":            {keys: names{"a/1"}, sessions: names{"s"}, nodes: names{"n"}, services: names{"web"}, queries: names{"q"}},
	"neighbours":       {keys: names{"a/10", "a", "a0"}, sessions: names{"s0"}, nodes: names{"n0"}, services: names{"web0"}, queries: names{"q0"}},
	"prefix":           {keys: names{"a/*"}, sessions: names{"s*"}, nodes: names{"n*"}, services: names{"web*"}, queries: names{"q*"}},
	"nodes":            {nodes: names{"*"}},
	"services":         {services: names{"*"}},
	"sessions of n":    {sessionNodes: names{"n"}},
	"two":              {keys: names{"a/1", "b/*"}, sessions: names{"s0"}, sessionNodes: names{"m"}, nodes: names{"n", "m"}, services: names{"web0", "db"}, queries: names{"q", "r"}},
	"all":              {keys: names{"*"}, sessions: names{"*"}, nodes: names{"*"}, services: names{"*"}, queries: names{"*"}},
}

// world is what there is. What is shown of each thing has a mark.
var (
	worldKeys  = []string{"a", "a/1", "a/10", "a/2", "a0", "b/1", "c"}
	worldNodes = []string{"m", "n", "n0"}
	// worldSessions are names of sessions, each on a node.
	worldSessions = map[string]string{"s": "n", "s0": "n0", "x": "m", "y": "n"}
	worldQueries  = []string{"q", "q0", "r"}
	// worldServices are services by the nodes on which they run.
	worldServices = map[string][]string{"n": {"db", "web"}, "n0": {"web", "web0"}, "m": {"db", "web0"}}
)

// marked is the mark of a thing.
func marked(kind string, name ...string) string {
	return "mark:" + kind + ":" + strings.Join(name, ":") + ";"
}

// allMarks are the marks of all things.
func allMarks() []string {
	var out []string
	for _, key := range worldKeys {
		out = append(out, marked("key", key))
	}
	for name := range worldSessions {
		out = append(out, marked("session", name))
	}
	for _, query := range worldQueries {
		out = append(out, marked("query", query))
	}
	for _, node := range worldNodes {
		out = append(out, marked("node", node), marked("check", node))
		for _, service := range worldServices[node] {
			out = append(out, marked("service", node, service), marked("check", node, service))
		}
	}
	return out
}

// newWorld runs a member that has all things, and enforces rules. It returns a context of its first token.
func newWorld(t *testing.T, mode tenurev1.AuthMode) (*rig, context.Context) {
	t.Helper()
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	for _, key := range worldKeys {
		r.want("PUT", "/v1/kv/"+key, marked("key", key), 200, "true")
	}
	for _, node := range worldNodes {
		r.want("PUT", "/v1/catalog/register", fmt.Sprintf(`{"Node":%q,"Address":"192.0.2.1","NodeMeta":{"mark":%q,"all":"1"},`+
			`"Check":{"CheckID":"up","Name":"up","Status":"passing","Output":%q}}`, node, marked("node", node), marked("check", node)), 200, "true")
		for _, service := range worldServices[node] {
			r.want("PUT", "/v1/catalog/register", fmt.Sprintf(`{"Node":%q,"SkipNodeUpdate":true,"Service":{"Service":%q,"Tags":[%q],"Meta":{"mark":%[3]q}},`+
				`"Check":{"CheckID":"up-%[2]s","Name":"up","ServiceID":%[2]q,"Status":"passing","Output":%[4]q}}`,
				node, service, marked("service", node, service), marked("check", node, service)), 200, "true")
		}
	}
	for name, node := range worldSessions {
		r.session(fmt.Sprintf(`{"Name":%q,"Node":%q,"TTL":"1h","Checks":[]}`, name, node))
	}
	for _, query := range worldQueries {
		r.query(fmt.Sprintf(`{"Name":%q,"Service":{"Service":"web","NodeMeta":{"mark":%q}}}`, query, marked("query", query)))
	}
	admin := identity.NewToken()
	auth := tenurev1.NewAuthServiceClient(r.grpc)
	if _, err := auth.BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: mode}); err != nil {
		t.Fatal(err)
	}
	return r, metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+admin)
}

// policy makes a policy, or makes it another one.
func (r *rig) policy(ctx context.Context, name, rules string) {
	r.t.Helper()
	if _, err := tenurev1.NewAuthServiceClient(r.grpc).PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: name, Rules: rules}); err != nil {
		r.t.Fatal(err)
	}
}

// token makes a token with policies. It returns what shows it.
func (r *rig) token(ctx context.Context, policies ...string) func(*http.Request) {
	r.t.Helper()
	made, err := tenurev1.NewAuthServiceClient(r.grpc).CreateToken(ctx, &tenurev1.CreateTokenRequest{Name: "program", Policies: policies})
	if err != nil {
		r.t.Fatal(err)
	}
	return shows(made.GetText())
}

// shows shows a token.
func shows(token string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
}

// seen is what a caller sees of a list.
type seen struct {
	denied bool
	part   bool
	marks  []string
	texts  []string // names that are shown without a mark
}

// expectation says what a caller sees of a path.
type expectation func(h holder) seen

// ofKeys expects keys with a prefix.
func ofKeys(prefix string) expectation {
	return func(h holder) seen {
		out := seen{part: !h.keys.all(prefix)}
		for _, key := range worldKeys {
			if strings.HasPrefix(key, prefix) && h.keys.has(key) {
				out.marks = append(out.marks, marked("key", key))
			}
		}
		return out
	}
}

// ofNames expects the names of keys with a prefix.
func ofNames(prefix, separator string) expectation {
	return func(h holder) seen {
		out := seen{part: !h.keys.all(prefix)}
		for _, key := range worldKeys {
			if !strings.HasPrefix(key, prefix) || !h.keys.has(key) {
				continue
			}
			if before, _, is := strings.Cut(key[len(prefix):], separator); separator != "" && is {
				key = prefix + before + separator
			}
			out.texts = append(out.texts, key)
		}
		out.texts = slices.Compact(out.texts)
		return out
	}
}

// ofSessions expects sessions of a node, or all.
func ofSessions(node string) expectation {
	return func(h holder) seen {
		out := seen{part: !h.sessions.all("") && (node == "" || !h.sessionNodes.has(node))}
		for name, on := range worldSessions {
			if (node == "" || on == node) && (h.sessions.has(name) || h.sessionNodes.has(on)) {
				out.texts = append(out.texts, name)
			}
		}
		return out
	}
}

// ofNodes expects nodes.
func ofNodes(h holder) seen {
	out := seen{part: !h.nodes.all("")}
	for _, node := range worldNodes {
		if h.nodes.has(node) {
			out.marks = append(out.marks, marked("node", node))
		}
	}
	return out
}

// ofServices expects the tags of services. Whoever may read all of them sees their tags on all nodes, unless the nodes select.
func ofServices(selected bool) expectation {
	return func(h holder) seen {
		out := seen{part: !h.services.all("") || selected && !h.nodes.all("")}
		for _, node := range worldNodes {
			for _, service := range worldServices[node] {
				if h.services.has(service) && (h.nodes.has(node) || !selected && h.services.all("")) {
					out.marks = append(out.marks, marked("service", node, service))
				}
			}
		}
		return out
	}
}

// ofInstances expects what is shown of the instances of a service.
func ofInstances(service string, shown func(node string) []string) expectation {
	return func(h holder) seen {
		out := seen{denied: !h.services.has(service), part: !h.nodes.all("")}
		for _, node := range worldNodes {
			if slices.Contains(worldServices[node], service) && h.nodes.has(node) {
				out.marks = append(out.marks, shown(node)...)
			}
		}
		return out
	}
}

// ofNode expects what is shown of a node, and of the services on it.
func ofNode(node string, whole []string, shown func(service string) string) expectation {
	return func(h holder) seen {
		out := seen{denied: !h.nodes.has(node), part: !h.services.all(""), marks: whole}
		for _, service := range worldServices[node] {
			if h.services.has(service) {
				out.marks = append(slices.Clip(out.marks), shown(service))
			}
		}
		return out
	}
}

// ofChecks expects all checks.
func ofChecks(h holder) seen {
	out := seen{part: !h.nodes.all("") || !h.services.all("")}
	for _, node := range worldNodes {
		if !h.nodes.has(node) {
			continue
		}
		out.marks = append(out.marks, marked("check", node))
		for _, service := range worldServices[node] {
			if h.services.has(service) {
				out.marks = append(out.marks, marked("check", node, service), marked("service", node, service))
			}
		}
	}
	return out
}

// ofQueries expects queries.
func ofQueries(h holder) seen {
	out := seen{part: !h.queries.all("")}
	for _, query := range worldQueries {
		if h.queries.has(query) {
			out.marks = append(out.marks, marked("query", query))
		}
	}
	return out
}

// lists are the paths that show lists.
var lists = map[string]expectation{
	"kv/?recurse":                      ofKeys(""),
	"kv/a?recurse":                     ofKeys("a"),
	"kv/a/?recurse":                    ofKeys("a/"),
	"kv/a/1?recurse":                   ofKeys("a/1"),
	"kv/?keys":                         ofNames("", ""),
	"kv/?keys&separator=/":             ofNames("", "/"),
	"kv/a?keys":                        ofNames("a", ""),
	"kv/a/?keys":                       ofNames("a/", ""),
	"session/list":                     ofSessions(""),
	"session/node/n":                   ofSessions("n"),
	"session/node/M":                   ofSessions("m"),
	"session/node/none":                ofSessions("none"),
	"catalog/nodes":                    ofNodes,
	"catalog/nodes?near=m":             ofNodes,
	"catalog/nodes?node-meta=all:1":    ofNodes,
	"catalog/services":                 ofServices(false),
	"catalog/services?node-meta=all:1": ofServices(true),
	"catalog/service/web": ofInstances("web", func(node string) []string {
		return []string{marked("node", node), marked("service", node, "web")}
	}),
	"catalog/service/web?near=m&node-meta=all:1": ofInstances("web", func(node string) []string {
		return []string{marked("node", node), marked("service", node, "web")}
	}),
	"catalog/node/n":          ofNode("n", []string{marked("node", "n")}, func(service string) string { return marked("service", "n", service) }),
	"catalog/node-services/n": ofNode("n", []string{marked("node", "n")}, func(service string) string { return marked("service", "n", service) }),
	"health/service/web": ofInstances("web", func(node string) []string {
		return []string{marked("node", node), marked("service", node, "web"), marked("check", node), marked("check", node, "web")}
	}),
	"health/checks/web": ofInstances("web", func(node string) []string {
		return []string{marked("check", node, "web"), marked("service", node, "web")}
	}),
	"health/state/any":                     ofChecks,
	"health/state/passing?node-meta=all:1": ofChecks,
	"query":                                ofQueries,
}

// TestListsShowThePartThatTheirCallerMayRead asks for each list by each caller, linearizable and stale: it shows what the caller may read and nothing else, and
// its header says whether that may be a part. What the path names itself the caller must be allowed to read, and without any rule it gets no list.
func TestListsShowThePartThatTheirCallerMayRead(t *testing.T) {
	r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
	r.policy(ctx, "empty", "")
	empty := r.token(ctx, "empty")
	for who, h := range holders {
		r.policy(ctx, "holder", h.rules())
		show := r.token(ctx, "holder")
		for path, expected := range lists {
			for _, stale := range []string{"", "stale"} {
				separator := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
				got, want := r.sendAs("GET", "/v1/"+path+separator+stale, "", show), expected(h)
				r.checkPart(who+": "+path, got, want)
			}
		}
	}
	for path := range lists {
		for who, show := range map[string]func(*http.Request){"no rule": empty, "nobody": func(*http.Request) {}} {
			r.checkPart(who+": "+path, r.sendAs("GET", "/v1/"+path, "", show), seen{denied: true})
		}
	}
}

// checkPart fails unless an answer shows what its caller sees, and nothing else.
func (r *rig) checkPart(what string, got *reply, want seen) {
	r.t.Helper()
	if want.denied {
		if got.status != http.StatusForbidden || got.header.Get(filteredHeader) != "" {
			r.t.Errorf("%s: got %d %s, want 403", what, got.status, got.body)
		}
		want = seen{}
	} else if got.status != 200 && (got.status != 404 || len(want.marks)+len(want.texts) > 0) {
		r.t.Errorf("%s: got %d %s, want 200", what, got.status, got.body)
	}
	if filtered := got.header.Get(filteredHeader); (filtered == "true") != want.part || filtered != "" && filtered != "true" {
		r.t.Errorf("%s: the header says %q, want that it is a part: %v", what, filtered, want.part)
	}
	shown := unmarked(got)
	for _, mark := range allMarks() {
		if has := strings.Contains(shown, mark); has != slices.Contains(want.marks, mark) {
			r.t.Errorf("%s: it shows %s: %v, want %v: %s", what, mark, has, !has, shown)
		}
	}
	if strings.Contains(what, "session") {
		for name := range worldSessions {
			if has := strings.Contains(shown, fmt.Sprintf(`"Name":%q`, name)); has != slices.Contains(want.texts, name) {
				r.t.Errorf("%s: it shows session %s: %v, want %v: %s", what, name, has, !has, shown)
			}
		}
	} else if strings.Contains(what, "?keys") && !want.denied && got.status == 200 && got.body != list(want.texts...) {
		r.t.Errorf("%s: got %s, want %q", what, got.body, want.texts)
	}
}

// unmarked returns all that an answer says, headers and body, with the values of keys as text.
func unmarked(got *reply) string {
	out := fmt.Sprint(got.header) + got.body
	for _, key := range worldKeys {
		out = strings.ReplaceAll(out, base64.StdEncoding.EncodeToString([]byte(marked("key", key))), marked("key", key))
	}
	return out
}
