package consulhttp_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// bootstrap makes the first token, has rules enforced, and returns the text of a token with a policy.
func (r *rig) bootstrap(rules string) string {
	r.t.Helper()
	auth, admin := tenurev1.NewAuthServiceClient(r.grpc), identity.NewToken()
	if _, err := auth.BootstrapAuth(r.t.Context(), &tenurev1.BootstrapAuthRequest{
		Token: admin, Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE,
	}); err != nil {
		r.t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(r.t.Context(), "authorization", "Bearer "+admin)
	if _, err := auth.PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: "web", Rules: rules}); err != nil {
		r.t.Fatal(err)
	}
	made, err := auth.CreateToken(ctx, &tenurev1.CreateTokenRequest{Name: "web", Policies: []string{"web"}})
	if err != nil {
		r.t.Fatal(err)
	}
	return made.GetText()
}

// TestTokensAreTakenWhereConsulTakesThem makes a session and takes a lock with a token, in each of the three places.
func TestTokensAreTakenWhereConsulTakesThem(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	token := r.bootstrap("session \"web-\"* write\nkey \"service/\"* rw\nnode * read\nservice * read\n")
	places := map[string]func(*http.Request){
		"?token":         func(q *http.Request) { q.URL.RawQuery += "&token=" + token },
		"X-Consul-Token": func(q *http.Request) { q.Header.Set("X-Consul-Token", token) },
		"Authorization":  func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+token) },
		"all three": func(q *http.Request) {
			q.URL.RawQuery += "&token=" + token
			q.Header.Set("X-Consul-Token", token)
			q.Header.Set("Authorization", "Bearer "+token)
		},
	}
	for place, show := range places {
		if got := r.sendAs("GET", "/v1/kv/service/none?", "", show).header.Get("X-Consul-Default-ACL-Policy"); got != "deny" {
			t.Errorf("%s: the policy is %q, want deny", place, got)
		}
		session := r.sessionAs(`{"Name":"web-1","LockDelay":"0s"}`, show)
		for _, step := range []struct {
			method, path string
			status       int
			text         string
		}{
			{"PUT", "/v1/kv/service/a?acquire=" + session, 200, "true"},
			{"GET", "/v1/kv/service/a?raw", 200, "v"},
			{"GET", "/v1/kv/service/?keys", 200, `["service/a"]`},
			{"PUT", "/v1/session/renew/" + session + "?", 200, `"Name":"web-1"`},
			{"PUT", "/v1/kv/other?", 403, "Permission denied"},
			{"GET", "/v1/kv/other?", 403, "Permission denied"},
			{"GET", "/v1/kv/?keys", 200, `["service/a"]`},
			{"PUT", "/v1/session/destroy/" + session + "?", 200, "true"},
		} {
			if got := r.sendAs(step.method, step.path, "v", show); got.status != step.status || !strings.Contains(got.body, step.text) {
				t.Errorf("%s: %s %s: got %d %s, want %d %s", place, step.method, step.path, got.status, got.body, step.status, step.text)
			}
		}
	}
	for what, show := range map[string]func(*http.Request){
		"a token that there is not": func(q *http.Request) { q.Header.Set("X-Consul-Token", identity.NewToken()) },
		"a token of Consul":         func(q *http.Request) { q.Header.Set("X-Consul-Token", "b1gs33cr3t") },
		"two tokens": func(q *http.Request) {
			q.Header.Set("X-Consul-Token", token)
			q.Header.Set("Authorization", "Bearer x")
		},
		"another scheme":             func(q *http.Request) { q.Header.Set("Authorization", "Basic YTpi") },
		"what cannot be in metadata": func(q *http.Request) { q.URL.RawQuery += "&token=%00" },
	} {
		if got := r.sendAs("GET", "/v1/kv/service/a?raw", "", show); got.status != 403 || got.body != "ACL not found" {
			t.Errorf("%s: got %d %s, want 403 ACL not found", what, got.status, got.body)
		}
	}
	if got := r.send("GET", "/v1/kv/service/a?raw&token=", ""); got.status != 403 || !strings.HasPrefix(got.body, "Permission denied") {
		t.Errorf("no token: got %d %s, want 403 Permission denied", got.status, got.body)
	}
}

// TestASessionHasChecksWithTheRulesOfTheManual has the rules that docs/consul.md gives for sessions.
func TestASessionHasChecksWithTheRulesOfTheManual(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	r.want("PUT", "/v1/catalog/register", `{"Node":"h1","Address":"192.0.2.1","Service":{"Service":"web"},"Checks":[`+
		`{"CheckID":"serfHealth","Name":"alive","Status":"passing"},{"CheckID":"up","Name":"up","ServiceID":"web","Status":"passing"}]}`, 200, "true")
	token := r.bootstrap("session \"web-\"* write\nnode \"h1\" read\nservice \"web\" read\n")
	show := func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	for body, want := range map[string]string{
		`{"Name":"web-1","Node":"h1"}`:                                   `"NodeChecks":["serfHealth"]`,
		`{"Name":"web-1","Node":"h1","Checks":["serfHealth","up"]}`:      `"NodeChecks":["serfHealth"],"ServiceChecks":[{"ID":"up"`,
		`{"Name":"web-1","Node":"h1","NodeChecks":["up"]}`:               `"NodeChecks":[],"ServiceChecks":[{"ID":"up"`,
		`{"Name":"web-1","Node":"h1","NodeChecks":[]}`:                   `"NodeChecks":[]`,
		`{"Name":"web-1","Node":"h1","ServiceChecks":[{"ID":"up"}]}`:     `"NodeChecks":["serfHealth"],"ServiceChecks":[{"ID":"up"`,
		`{"Name":"web-1","Node":"h1","NodeChecks":["serfHealth"],"a":1}`: `"NodeChecks":["serfHealth"]`,
	} {
		session := r.sessionAs(body, show)
		if got := r.sendAs("GET", "/v1/session/info/"+session+"?", "", show); got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%s: got %d %s, want %s", body, got.status, got.body, want)
		}
	}
}

// sendAs sends a request that show adds a credential to.
func (r *rig) sendAs(method, path, body string, show func(*http.Request)) *reply {
	r.t.Helper()
	got, err := r.try(r.t.Context(), method, path, strings.NewReader(body), show)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}
