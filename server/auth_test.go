package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

const (
	modeWarn    = tenurev1.AuthMode_AUTH_MODE_WARN
	modeEnforce = tenurev1.AuthMode_AUTH_MODE_ENFORCE
)

// alone has a member listen to no other, as one with tokens on loopback must.
func alone(c *server.Config) { c.PeerAddr = "off" }

func (m *member) auth() tenurev1.AuthServiceClient { return tenurev1.NewAuthServiceClient(m.conn) }

// as returns a context whose calls show a token; empty for none.
func as(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// bootstrap makes the first token, and returns its text.
func (m *member) bootstrap(t *testing.T, mode tenurev1.AuthMode) string {
	t.Helper()
	token := identity.NewToken()
	await(t, "all members have said how they listen", func() bool {
		_, err := m.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: token, Mode: mode})
		if code := status.Code(err); err != nil && code != codes.Unimplemented && code != codes.Unavailable {
			t.Fatal(err)
		}
		return err == nil
	})
	return token
}

// token makes a policy, and a token with it.
func (m *member) token(t *testing.T, admin, name, rules string) *tenurev1.CreateTokenResponse {
	t.Helper()
	ctx := as(t.Context(), admin)
	if _, err := m.auth().PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: name, Rules: rules}); err != nil {
		t.Fatal(err)
	}
	made, err := m.auth().CreateToken(ctx, &tenurev1.CreateTokenRequest{Name: name, Policies: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func wantDenied(t *testing.T, err error, needs string) {
	t.Helper()
	if status.Code(err) != codes.PermissionDenied || infoOf(err).GetMetadata()["needs"] != needs || infoOf(err).GetMetadata()["applied"] != "no" {
		t.Errorf("got %v, %v, want PERMISSION_DENIED that needs %s", err, infoOf(err).GetMetadata(), needs)
	}
}

// TestATokenDoesWhatItsPolicyAllows is the procedure of a service: a session, its lock and keys below a prefix, and nothing else.
func TestATokenDoesWhatItsPolicyAllows(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	web := m.token(t, admin, "web", "session \"web-\"* write\nkey \"service/\"* rw\n").GetText()
	ctx := as(t.Context(), web)
	s, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "web-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.AcquireNow(ctx, "service/web", s.GetSessionId()); err != nil {
		t.Fatal(err)
	}
	if _, err = m.Put(ctx, &tenurev1.PutRequest{Key: "service/web", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	if _, err = m.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: s.GetSessionId()}); err != nil {
		t.Fatal(err)
	}
	_, err = m.Put(ctx, &tenurev1.PutRequest{Key: "other", Content: text("v")})
	wantDenied(t, err, `key "other" write`)
	_, err = m.Get(ctx, &tenurev1.GetRequest{Key: "other"})
	wantDenied(t, err, `key "other" read`)
	_, err = m.List(ctx, &tenurev1.ListRequest{Prefix: "serv"})
	wantDenied(t, err, `key "serv"* read list`)
	_, err = m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "db-1"})
	wantDenied(t, err, `session "db-1" write`)
	_, err = m.GetStatus(ctx, &tenurev1.GetStatusRequest{})
	wantDenied(t, err, "operator read")
	_, err = m.Get(t.Context(), &tenurev1.GetRequest{Key: "service/web"})
	wantDenied(t, err, `key "service/web" read`)

	one := m.token(t, admin, "half", `session "web-"* write`).GetText()
	_, err = m.AcquireNow(as(t.Context(), one), "service/web", s.GetSessionId())
	wantDenied(t, err, `key "service/web" lock`)
	acquire := &tenurev1.PutRequest{Key: "service/web", Content: text("v"), Acquire: s.GetSessionId()}
	_, err = m.Put(as(t.Context(), one), acquire)
	wantDenied(t, err, `key "service/web" write lock`)
	other := m.token(t, admin, "keys", `key "service/"* rw`).GetText()
	_, err = m.AcquireNow(as(t.Context(), other), "service/web", s.GetSessionId())
	wantDenied(t, err, "session id "+s.GetSessionId()+" write")
}

// AcquireNow takes a lock for a session if it is free.
func (m *member) AcquireNow(ctx context.Context, key, session string) (*tenurev1.TryAcquireLockResponse, error) {
	return m.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: key, SessionId: session})
}

func TestWrongCredentialsAreNeverAnonymous(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	m.token(t, admin, "all", `key * rw`)
	if _, err := m.auth().PutBinding(as(t.Context(), admin), &tenurev1.PutBindingRequest{
		Name: "everybody", Kind: tenurev1.BindingKind_BINDING_KIND_ANONYMOUS, Policies: []string{"all"},
	}); err != nil {
		t.Fatal(err)
	}
	put := func(ctx context.Context) error {
		_, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("v")})
		return err
	}
	if err := put(t.Context()); err != nil {
		t.Errorf("an anonymous caller with a binding: %v", err)
	}
	good := identity.NewToken()
	for name, value := range map[string][]string{
		"a token that there is not": {"Bearer " + good},
		"a mistyped token":          {"Bearer " + good[:len(good)-1] + "x"},
		"another scheme":            {"Basic YTpi"},
		"nothing behind Bearer":     {"Bearer "},
		"two":                       {"Bearer " + admin, "Bearer " + admin},
	} {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"authorization": value})
		if err := put(ctx); status.Code(err) != codes.Unauthenticated || infoOf(err).GetMetadata()["cause"] == "" {
			t.Errorf("%s: got %v, want UNAUTHENTICATED with a cause", name, err)
		}
	}
}

func TestModes(t *testing.T) {
	m := start(t, alone)
	put := func(token string) error {
		_, err := m.Put(as(t.Context(), token), &tenurev1.PutRequest{Key: "k", Content: text("v")})
		return err
	}
	err := put("whatever")
	if err != nil {
		t.Errorf("before the bootstrap credentials are looked at: %v", err)
	}
	_, err = m.auth().PutPolicy(t.Context(), &tenurev1.PutPolicyRequest{Name: "p", Rules: "admin read"})
	wantError(t, err, codes.PermissionDenied, "PERMISSION_DENIED")
	admin := m.bootstrap(t, modeWarn)
	if err = put(""); err != nil {
		t.Errorf("in mode warn: %v", err)
	}
	if err = put("wrong"); err != nil {
		t.Errorf("in mode warn: %v", err)
	}
	_, err = m.auth().SetAuthMode(t.Context(), &tenurev1.SetAuthModeRequest{Mode: modeEnforce})
	wantDenied(t, err, "admin write")
	for mode, want := range map[tenurev1.AuthMode]codes.Code{modeEnforce: codes.PermissionDenied, tenurev1.AuthMode_AUTH_MODE_OFF: codes.OK} {
		if _, err = m.auth().SetAuthMode(as(t.Context(), admin), &tenurev1.SetAuthModeRequest{Mode: mode}); err != nil {
			t.Fatal(err)
		}
		if err = put(""); status.Code(err) != want {
			t.Errorf("in mode %v: got %v, want %v", mode, err, want)
		}
	}
	_, err = m.auth().ListTokens(t.Context(), &tenurev1.ListTokensRequest{})
	wantDenied(t, err, "admin read")
}

func TestBootstrapHappensOnce(t *testing.T) {
	m := start(t, alone)
	token := identity.NewToken()
	first, err := m.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: token})
	if err != nil || again.GetAccessor() != first.GetAccessor() || again.GetMode() != modeWarn {
		t.Errorf("the same token again: got %v, %v, want %v", again, err, first)
	}
	_, err = m.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: identity.NewToken()})
	wantError(t, err, codes.FailedPrecondition, "AUTH_BOOTSTRAPPED")
	open := startMember(t)
	_, err = open.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: token})
	wantError(t, err, codes.FailedPrecondition, "AUTH_UNSAFE")
}

// TestARevokedTokenDoesNothingMore revokes a token while it writes, watches and waits.
func TestARevokedTokenDoesNothingMore(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	made := m.token(t, admin, "web", "session * write\nkey * rw\n")
	ctx := as(t.Context(), made.GetText())
	s, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "web-1"})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, &tenurev1.WatchRequest{
		Prefixes: []string{"k"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = watch.Recv(); err != nil {
		t.Fatal(err)
	}
	keep, err := m.KeepAlive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	renew := &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: s.GetSessionId(), Number: 1}}}
	if err = keep.Send(renew); err != nil {
		t.Fatal(err)
	}
	if _, err = keep.Recv(); err != nil {
		t.Fatal(err)
	}
	writing := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			_, failed := m.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("v")})
			if n == 0 {
				close(started)
			}
			if failed != nil {
				writing <- failed
				return
			}
		}
	}()
	<-started
	revoked, err := m.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: made.GetToken().GetAccessor()})
	if err != nil || !revoked.GetRevoked() {
		t.Fatalf("got %v, %v", revoked, err)
	}
	before, err := m.Get(as(t.Context(), admin), &tenurev1.GetRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if err = <-writing; status.Code(err) != codes.Unauthenticated {
		t.Errorf("writes end with %v, want UNAUTHENTICATED", err)
	}
	after, err := m.Get(as(t.Context(), admin), &tenurev1.GetRequest{Key: "k"})
	if err != nil || after.GetKv().GetVersion() != before.GetKv().GetVersion() {
		t.Errorf("something was written after the revocation was answered: %v, then %v, %v", before, after, err)
	}
	for err = nil; err == nil; {
		_, err = watch.Recv()
	}
	if status.Code(err) != codes.Unauthenticated || infoOf(err).GetMetadata()["resume_token"] == "" {
		t.Errorf("the watch ends with %v, want UNAUTHENTICATED with a resume token", err)
	}
	for err = nil; err == nil; {
		_, err = keep.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("the renewals end with %v, want UNAUTHENTICATED", err)
	}
}

func TestATokenActsOnItself(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	made := m.token(t, admin, "web", `key "a" ro`)
	ctx := as(t.Context(), made.GetText())
	self, err := m.auth().GetToken(ctx, &tenurev1.GetTokenRequest{})
	if err != nil || self.GetToken().GetAccessor() != made.GetToken().GetAccessor() || self.GetToken().GetExpireTime() == nil {
		t.Errorf("got %v, %v", self, err)
	}
	who, err := m.auth().WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
	if err != nil || who.GetPrincipal() != "token:"+made.GetToken().GetAccessor() || who.GetCredential() != "token" || who.GetMode() != modeEnforce {
		t.Errorf("got %v, %v", who, err)
	}
	for rule, want := range map[string]bool{`key "a" read`: true, `key "a" write`: false, `key "a"* read`: false} {
		can, failed := m.auth().CheckAccess(ctx, &tenurev1.CheckAccessRequest{Rule: rule})
		if failed != nil || can.GetAllowed() != want {
			t.Errorf("%s: got %v, %v, want %v", rule, can, failed, want)
		}
	}
	first, err := m.auth().WhoAmI(as(t.Context(), admin), &tenurev1.WhoAmIRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.auth().RevokeToken(ctx, &tenurev1.RevokeTokenRequest{Accessor: strings.TrimPrefix(first.GetPrincipal(), "token:")})
	wantDenied(t, err, "admin write")
	rotated, err := m.auth().RotateToken(ctx, &tenurev1.RotateTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.auth().GetToken(ctx, &tenurev1.GetTokenRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("the old text: got %v, want UNAUTHENTICATED", err)
	}
	if _, err = m.auth().GetToken(as(t.Context(), rotated.GetText()), &tenurev1.GetTokenRequest{}); err != nil {
		t.Errorf("the new text: %v", err)
	}
}

// TestTokensOverREST does over HTTP what the CLI does over gRPC.
func TestTokensOverREST(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	call := func(method, path, body string, want int, authorization ...string) map[string]any {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+m.at.HTTP+path, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range authorization {
			request.Header.Add("Authorization", a)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		data, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("%s %s: got %d %s, want %d", method, path, answer.StatusCode, data, want)
		}
		out := map[string]any{}
		_ = json.Unmarshal(data, &out)
		return out
	}
	by := "Bearer " + admin
	call(http.MethodPut, "/v1/auth/policies/web", `{"rules":"key \"service/\"* rw"}`, http.StatusOK, by)
	made := call(http.MethodPost, "/v1/auth/tokens", `{"name":"web","policies":["web"]}`, http.StatusOK, by)
	token, _ := made["text"].(string)
	web := "Bearer " + token
	call(http.MethodPut, "/v1/kv/service/a", "v", http.StatusOK, web)
	call(http.MethodGet, "/v1/kv/service/a?raw=true", "", http.StatusOK, web)
	denied := call(http.MethodPut, "/v1/kv/other", "v", http.StatusForbidden, web)
	why, _ := denied["error"].(map[string]any)
	if facts, _ := why["metadata"].(map[string]any); facts["needs"] != `key "other" write` {
		t.Errorf("got %v, want what is needed", denied)
	}
	call(http.MethodPut, "/v1/kv/service/a", "v", http.StatusForbidden)
	call(http.MethodPut, "/v1/kv/service/a", "v", http.StatusUnauthorized, web, web)
	call(http.MethodPut, "/v1/kv/service/a", "v", http.StatusUnauthorized, "Bearer \xff")
	call(http.MethodGet, "/v1/kv/service/a?token="+token, "", http.StatusBadRequest)
	call(http.MethodGet, "/v1/admin/backup", "", http.StatusForbidden, web)
	call(http.MethodGet, "/v1/watch?keys=other", "", http.StatusForbidden, web)
	self := call(http.MethodGet, "/v1/auth/self", "", http.StatusOK, web)
	principal, _ := self["principal"].(string)
	accessor := strings.TrimPrefix(principal, "token:")
	child := call(http.MethodPost, "/v1/auth/tokens", `{"name":"job","parent":"`+accessor+`"}`, http.StatusOK, web)
	text, _ := child["text"].(string)
	if self = call(http.MethodGet, "/v1/auth/self", "", http.StatusOK, "Bearer "+text); self["parent"] != accessor {
		t.Errorf("got %v, want the parent %s", self, accessor)
	}
}

// TestNoUnlistedMessageGetsThrough calls every method with an empty message, without a right: none is served but those that need none.
func TestNoUnlistedMessageGetsThrough(t *testing.T) {
	m := start(t, alone)
	m.bootstrap(t, modeEnforce)
	free := map[string]bool{
		tenurev1.AuthService_BootstrapAuth_FullMethodName: true, tenurev1.AuthService_ResetAuth_FullMethodName: true,
	}
	for _, service := range []grpc.ServiceDesc{
		tenurev1.KVService_ServiceDesc, tenurev1.LockService_ServiceDesc, tenurev1.SessionService_ServiceDesc,
		tenurev1.ElectionService_ServiceDesc, tenurev1.WatchService_ServiceDesc, tenurev1.ClusterService_ServiceDesc,
		tenurev1.CatalogService_ServiceDesc, tenurev1.QueryService_ServiceDesc, tenurev1.AuthService_ServiceDesc,
	} {
		for _, method := range service.Methods {
			name := "/" + service.ServiceName + "/" + method.MethodName
			err := m.conn.Invoke(t.Context(), name, &tenurev1.GetStatusRequest{}, &tenurev1.GetStatusResponse{})
			if denied := status.Code(err) == codes.PermissionDenied || status.Code(err) == codes.Unauthenticated; denied == free[name] {
				t.Logf("%s: got %v", name, err)
				t.Fail()
			}
		}
	}
}

// TestTokensInACluster makes a token through one member and uses it at once through the others, where revocation is known at once, too.
func TestTokensInACluster(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	c := startCluster(t, 3, a.securePeers)
	await(t, "the cluster version is in use", func() bool {
		_, err := c.members[0].auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: firstToken, Mode: modeEnforce})
		return err == nil
	})
	for _, m := range c.members { // What a member has begun before it knew of rules may have to be made again.
		await(t, "the member knows that rules are enforced", func() bool {
			_, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")})
			return status.Code(err) == codes.PermissionDenied
		})
	}
	for i := range 3 {
		at, other := c.members[i], c.members[(i+1)%3]
		made := at.token(t, firstToken, "web", `key * rw`)
		ctx := as(t.Context(), made.GetText())
		for _, m := range c.members {
			if _, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("v")}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := other.auth().RevokeToken(as(t.Context(), firstToken), &tenurev1.RevokeTokenRequest{
			Accessor: made.GetToken().GetAccessor(),
		}); err != nil {
			t.Fatal(err)
		}
		for _, m := range c.members {
			if _, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("v")}); status.Code(err) != codes.Unauthenticated {
				t.Errorf("a revoked token: got %v, want UNAUTHENTICATED", err)
			}
		}
	}
}

// TestAWatchFromBeforeThereWereRightsShowsNothingMore opens a watch about which nothing was decided, and has a key written as soon as rights are
// enforced, before the member looks at its streams.
func TestAWatchFromBeforeThereWereRightsShowsNothingMore(t *testing.T) {
	m := start(t, alone)
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(t.Context(), &tenurev1.WatchRequest{Prefixes: []string{"secret/"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = stream.Recv(); err != nil {
		t.Fatal(err)
	}
	admin := m.bootstrap(t, modeEnforce)
	if _, err = m.Put(as(t.Context(), admin), &tenurev1.PutRequest{Key: "secret/a", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			wantError(t, err, codes.Unavailable, "RIGHTS_CHANGED")
			return
		}
		if len(message.GetEvents().GetEvents()) > 0 {
			t.Fatalf("got %v, want RIGHTS_CHANGED", message)
		}
	}
}
