package consulhttp_test

import (
	"net/http"
	"regexp"
	"testing"

	"google.golang.org/grpc/metadata"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// aclPaths are those of Consul's access control.
var aclPaths = []string{
	"acl/tokens", "acl/token", "acl/token/x", "acl/token/x/clone", "acl/bootstrap", "acl/replication", "acl/policies", "acl/policy", "acl/policy/x", "acl/policy/name/x",
	"acl/roles", "acl/role", "acl/role/x", "acl/role/name/x", "acl/auth-methods", "acl/auth-method", "acl/auth-method/x", "acl/binding-rules", "acl/binding-rule",
	"acl/binding-rule/x", "acl/login", "acl/logout", "acl/oidc/auth-url", "acl/oidc/callback", "acl/templated-policies", "acl/templated-policy/name/x",
	"acl/templated-policy/preview/x", "acl/authorize", "acl/rules/translate", "acl/create", "acl/list", "acl/info/x",
}

// TestWhoeverAsksIsToldWhoItIs asks for the token of the request, where credentials are not looked at, and where rules are enforced. The rest of
// Consul's access control is Tenure's own.
func TestWhoeverAsksIsToldWhoItIs(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	for _, path := range append(aclPaths, "acl/token/self") {
		for _, method := range []string{"GET", "PUT"} {
			if method == "PUT" && path == "acl/token/self" {
				continue
			}
			r.want(method, "/v1/"+path, "", 401, "ACL support disabled")
		}
	}
	token := r.bootstrap("key \"web/\"* rw\n")
	show := func(token string) func(*http.Request) {
		return func(q *http.Request) { q.Header.Set("X-Consul-Token", token) }
	}
	got := r.sendAs("GET", "/v1/acl/token/self", "", show(token))
	want := regexp.MustCompile(`^\{"AccessorID":"[0-9a-f-]{36}","SecretID":"","Description":"web","Policies":\[\{"ID":"","Name":"web"\}\],"Local":false,` +
		`"ExpirationTime":"20[0-9T:.-]+Z","CreateTime":"20[0-9T:.-]+Z","Hash":"","CreateIndex":0,"ModifyIndex":0\}$`)
	if got.status != 200 || !want.MatchString(got.body) {
		t.Errorf("got %d %s, want 200 %s", got.status, got.body, want)
	}
	for what, as := range map[string]string{"a token that there is not": identity.NewToken(), "one of Consul": "b1gs33cr3t"} {
		if got = r.sendAs("GET", "/v1/acl/token/self", "", show(as)); got.status != 403 || got.body != "ACL not found" {
			t.Errorf("%s: got %d %s, want 403 ACL not found", what, got.status, got.body)
		}
	}
	if got = r.send("PUT", "/v1/acl/token/self", ""); got.status != 405 || got.header.Get("Allow") != "OPTIONS,GET" {
		t.Errorf("got %d, want 405", got.status)
	}
	for _, path := range aclPaths {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
			for _, as := range []string{token, "", "wrong"} {
				got = r.sendAs(method, "/v1/"+path, "", show(as))
				if got.status != 501 || got.body != `Tenure's tokens and policies are managed with "tenure auth".` {
					t.Errorf("%s %s: got %d %s, want 501 and Tenure's way", method, path, got.status, got.body)
				}
			}
		}
	}
}

// TestOneWithoutATokenIsAnonymous asks where rules only warn: one without any right is not told that, and one with a policy is shown as in Consul.
func TestOneWithoutATokenIsAnonymous(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	auth, admin := tenurev1.NewAuthServiceClient(r.grpc), identity.NewToken()
	if _, err := auth.BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: tenurev1.AuthMode_AUTH_MODE_WARN}); err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+admin)
	if _, err := auth.PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: "read", Rules: "key * ro\n"}); err != nil {
		t.Fatal(err)
	}
	const nobody = `{"AccessorID":"00000000-0000-0000-0000-000000000002","SecretID":"","Description":"Anonymous Token","Policies":`
	const rest = `,"Local":false,"CreateTime":"0001-01-01T00:00:00Z","Hash":"","CreateIndex":0,"ModifyIndex":0}`
	r.want("GET", "/v1/acl/token/self", "", 401, "ACL support disabled")
	if _, err := auth.PutBinding(ctx, &tenurev1.PutBindingRequest{
		Name: "anonymous", Kind: tenurev1.BindingKind_BINDING_KIND_ANONYMOUS, Policies: []string{"read"},
	}); err != nil {
		t.Fatal(err)
	}
	r.want("GET", "/v1/acl/token/self", "", 200, nobody+`[{"ID":"","Name":"read"}]`+rest)
}

// TestOneWithoutRightsIsNotToldThatTokensAreNotLookedAt asks where rules are enforced, and nobody with a right has asked there since.
func TestOneWithoutRightsIsNotToldThatTokensAreNotLookedAt(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	auth, admin := tenurev1.NewAuthServiceClient(r.grpc), identity.NewToken()
	if _, err := auth.BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE}); err != nil {
		t.Fatal(err)
	}
	const denied = "Permission denied: callers without a credential may not make this call: send a token, such as with --token-file or TENURE_TOKEN_FILE"
	r.want("GET", "/v1/acl/token/self", "", 403, denied)
	r.want("GET", "/v1/acl/tokens", "", 501, `Tenure's tokens and policies are managed with "tenure auth".`)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+admin)
	set := func(mode tenurev1.AuthMode) {
		t.Helper()
		if _, err := auth.SetAuthMode(ctx, &tenurev1.SetAuthModeRequest{Mode: mode}); err != nil {
			t.Fatal(err)
		}
	}
	set(tenurev1.AuthMode_AUTH_MODE_OFF)
	show := func(q *http.Request) { q.Header.Set("X-Consul-Token", admin) }
	if got := r.sendAs("GET", "/v1/acl/token/self", "", show); got.status != 401 || got.body != "ACL support disabled" {
		t.Errorf("with the first token, in mode off: got %d %s", got.status, got.body)
	}
	r.want("GET", "/v1/acl/token/self", "", 401, "ACL support disabled")
	set(tenurev1.AuthMode_AUTH_MODE_ENFORCE) // What was seen of the mode is older now.
	r.want("GET", "/v1/acl/token/self", "", 403, denied)
	r.want("GET", "/v1/acl/tokens", "", 501, `Tenure's tokens and policies are managed with "tenure auth".`)
}
