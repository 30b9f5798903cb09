package consulhttp_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// mark is in what callers without rights may not see.
const mark = "mark-51c0a9"

// need says what an endpoint asks of its caller, where rules are enforced.
type need int

const (
	needsRight      need = iota // A right of its own.
	needsAny                    // Any right at all.
	needsPart                   // Any right at all, and it shows only what its caller may read.
	needsNothing                // Not even a credential that is good.
	needsRightToEnd             // A right of its own; who has it ends what the others ask about, and so is not asked to.
	notServed                   // It says what Tenure has in its place, whoever asks.
)

// asked is a request of an endpoint, about what the matrix has made.
type asked struct {
	endpoint, path, body string
	need                 need
}

// askings are requests of all endpoints. SESSION and QUERY stand for ids.
var askings = []asked{
	{"GET acl/token/self", "", "", needsAny},
	{"GET acl/", "acl/tokens", "", notServed},
	{"PUT acl/", "acl/token", "{}", notServed},
	{"POST acl/", "acl/login", "{}", notServed},
	{"DELETE acl/", "acl/token/x", "", notServed},
	{"GET agent/connect/ca/roots", "", "", needsNothing},
	{"PUT agent/force-leave/", "agent/force-leave/h9", "", needsRight},
	{"GET agent/members", "", "", needsRight},
	{"GET agent/self", "", "", needsAny},
	{"GET agent/version", "", "", needsNothing},
	{"GET catalog/datacenters", "", "", needsNothing},
	{"PUT catalog/deregister", "", `{"Node":"h9"}`, needsRight},
	{"GET catalog/node-services/", "catalog/node-services/h1", "", needsRight},
	{"GET catalog/node/", "catalog/node/h1", "", needsRight},
	{"GET catalog/nodes", "", "", needsPart},
	{"PUT catalog/register", "", `{"Node":"h1","Address":"192.0.2.1"}`, needsRight},
	{"GET catalog/service/", "catalog/service/web", "", needsRight},
	{"GET catalog/services", "", "", needsPart},
	{"GET health/checks/", "health/checks/web", "", needsRight},
	{"GET health/node/", "health/node/h1", "", needsRight},
	{"GET health/service/", "health/service/web", "", needsRight},
	{"GET health/state/", "health/state/any", "", needsPart},
	{"GET kv/", "kv/secret/a", "", needsRight},
	{"GET kv/", "kv/secret/a?raw", "", needsRight},
	{"GET kv/", "kv/secret/none", "", needsRight},
	{"GET kv/", "kv/secret/?recurse", "", needsPart},
	{"GET kv/", "kv/?keys", "", needsPart},
	{"GET kv/", "kv/?keys&separator=/", "", needsPart},
	{"PUT kv/", "kv/secret/b", "v", needsRight},
	{"PUT kv/", "kv/secret/b?cas=0", "v", needsRight},
	{"PUT kv/", "kv/secret/b?acquire=SESSION", "v", needsRight},
	{"PUT kv/", "kv/secret/b?release=SESSION", "v", needsRight},
	{"DELETE kv/", "kv/secret/b", "", needsRight},
	{"DELETE kv/", "kv/secret/b?recurse", "", needsRight},
	{"GET operator/raft/configuration", "", "", needsRight},
	{"GET query", "", "", needsPart},
	{"POST query", "", `{"Name":"y","Service":{"Service":"web"}}`, needsRight},
	{"GET query/", "query/QUERY", "", needsRight},
	{"PUT query/", "query/QUERY", `{"Name":"x","Service":{"Service":"web","NodeMeta":{"k":"` + mark + `"}}}`, needsRight},
	{"DELETE query/", "query/QUERY", "", needsRightToEnd},
	{"GET query//execute", "query/x/execute", "", needsRight},
	{"GET query//explain", "query/x/explain", "", needsRight},
	{"PUT session/create", "", `{"Name":"secret"}`, needsRight},
	{"PUT session/destroy/", "session/destroy/SESSION", "", needsRightToEnd},
	{"GET session/info/", "session/info/SESSION", "", needsRight},
	{"GET session/list", "", "", needsPart},
	{"GET session/node/", "session/node/h1", "", needsPart},
	{"PUT session/renew/", "session/renew/SESSION", "", needsRight},
	{"GET status/leader", "", "", needsAny},
	{"GET status/peers", "", "", needsAny},
	{"PUT txn", "", `[{"KV":{"Verb":"get","Key":"secret/a"}}]`, needsRight},
	{"PUT txn", "", `[{"KV":{"Verb":"set","Key":"secret/b","Value":"dg=="}}]`, needsRight},
	{"PUT txn", "", `[{"Node":{"Verb":"get","Node":{"Node":"h1"}}}]`, needsRight},
}

// TestEveryEndpointByEveryCaller sends requests of each endpoint that members serve, by each kind of caller, with the credential in each place where
// Consul takes it. A caller that is refused sees nothing of what is there.
func TestEveryEndpointByEveryCaller(t *testing.T) {
	for _, endpoint := range consulhttp.Endpoints() {
		if !slices.ContainsFunc(askings, func(a asked) bool { return a.endpoint == endpoint }) {
			t.Errorf("no caller asks for %s", endpoint)
		}
	}
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	r.want("PUT", "/v1/catalog/register", `{"Node":"h1","Address":"192.0.2.1","NodeMeta":{"k":"`+mark+`"},"Service":{"Service":"web","Meta":{"k":"`+mark+`"}},`+
		`"Check":{"CheckID":"up","Name":"up","Status":"passing","Output":"`+mark+`"}}`, 200, "true")
	r.want("PUT", "/v1/kv/secret/a", mark, 200, "true")
	session := r.session(`{"Name":"` + mark + `","Node":"h1","Checks":[]}`)
	if got := r.send("POST", "/v1/query", `{"Name":"x","Service":{"Service":"web","NodeMeta":{"k":"`+mark+`"}}}`); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	query, err := tenurev1.NewQueryServiceClient(r.grpc).GetQuery(t.Context(), &tenurev1.GetQueryRequest{IdOrName: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.NewReplacer("SESSION", session, "QUERY", query.GetQuery().GetQueryId())
	tokens := r.callers()
	places := map[string]func(q *http.Request, token string){
		"X-Consul-Token": func(q *http.Request, token string) { q.Header.Set("X-Consul-Token", token) },
		"Authorization":  func(q *http.Request, token string) { q.Header.Set("Authorization", "Bearer "+token) },
		"?token": func(q *http.Request, token string) {
			q.URL.RawQuery = strings.TrimPrefix(q.URL.RawQuery+"&token="+token, "&")
		},
	}
	cases, refused := 0, 0
	for _, a := range askings {
		method, path, _ := strings.Cut(a.endpoint, " ")
		if a.path != "" {
			path = a.path
		}
		path = ids.Replace(path)
		for who, token := range tokens {
			for place, put := range places {
				if token == "" && place != "X-Consul-Token" || who == "admin" && a.need == needsRightToEnd {
					continue
				}
				got := r.sendAs(method, "/v1/"+path, a.body, func(q *http.Request) {
					if token != "" {
						put(q, token)
					}
				})
				cases++
				want := wanted(a.need, who)
				if is := outcome(got); is != want {
					t.Errorf("%s %s of %s by %s: got %d %.200s, want %s", method, path, who, place, got.status, got.body, want)
				}
				if want != "served" {
					refused++
				}
				if part := got.header.Get(filteredHeader) != ""; part != (a.need == needsPart && want == "served" && who != "admin") {
					t.Errorf("%s %s of %s by %s: the header says that it is a part: %v", method, path, who, place, part)
				}
				if who != "admin" && (strings.Contains(got.body, mark) || a.need == needsPart && strings.Contains(got.body, "secret")) {
					t.Errorf("%s %s of %s by %s: it shows what is there: %s", method, path, who, place, got.body)
				}
			}
		}
	}
	t.Logf("%d cases of %d requests by %d callers, %d of them refused", cases, len(askings), len(tokens), refused)
}

// outcome tells what a caller got: that it was served or how it was refused.
func outcome(got *reply) string {
	switch {
	case got.status == http.StatusNotImplemented:
		return "not offered"
	case got.status == http.StatusForbidden && strings.HasPrefix(got.body, "Permission denied"):
		return "denied"
	case got.status == http.StatusForbidden:
		return "not known"
	case got.status >= http.StatusInternalServerError || got.status == http.StatusMethodNotAllowed:
		return "failed"
	default:
		return "served"
	}
}

// wanted is the outcome for a caller of an endpoint with such a need.
func wanted(n need, who string) string {
	bad := strings.HasSuffix(who, " token")
	switch {
	case n == notServed:
		return "not offered"
	case n == needsNothing, who == "admin":
		return "served"
	case bad:
		return "not known"
	case (n == needsAny || n == needsPart) && who == "another's rights":
		return "served"
	default:
		return "denied"
	}
}

// callers makes the first token, has rules enforced, and returns a token of each kind of caller; empty is none.
func (r *rig) callers() map[string]string {
	r.t.Helper()
	admin := identity.NewToken()
	auth := tenurev1.NewAuthServiceClient(r.grpc)
	if _, err := auth.BootstrapAuth(r.t.Context(), &tenurev1.BootstrapAuthRequest{
		Token: admin, Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE,
	}); err != nil {
		r.t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(r.t.Context(), "authorization", "Bearer "+admin)
	made := func(ctx context.Context, name, rules string) *tenurev1.CreateTokenResponse {
		if _, err := auth.PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: name, Rules: rules}); err != nil {
			r.t.Fatal(err)
		}
		token, err := auth.CreateToken(ctx, &tenurev1.CreateTokenRequest{Name: name, Policies: []string{name}})
		if err != nil {
			r.t.Fatal(err)
		}
		return token
	}
	revoked := made(ctx, "revoked", "key * rw\nnode * write\nservice * write\nsession * write\n")
	if _, err := auth.RevokeToken(ctx, &tenurev1.RevokeTokenRequest{Accessor: revoked.GetToken().GetAccessor()}); err != nil {
		r.t.Fatal(err)
	}
	return map[string]string{
		"nobody": "", "a bad token": "tnr1_x", "an unknown token": identity.NewToken(), "a revoked token": revoked.GetText(),
		"another's rights": made(ctx, "other", "query \"other-\"* write\nkey \"other/\"* rw\nsession \"other-\"* write\n").GetText(),
		"no rights":        made(ctx, "none", "").GetText(),
		"admin":            admin,
	}
}
