package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/issuer"
	"github.com/tenure-io/tenure/server"
)

// provided is a member that enforces, with a provider whose keys it finds by discovery.
type provided struct {
	*member
	*issuer.Issuer
	admin context.Context // It carries the first token.
}

// provide starts a member with a provider, and binds the subjects of ci:web to a policy.
func provide(t *testing.T) provided {
	t.Helper()
	return provideIn(t, alone)
}

// provideIn is provide for a member with a configuration.
func provideIn(t *testing.T, config func(*server.Config)) provided {
	t.Helper()
	i := issuer.New()
	keys := httptest.NewServer(i)
	t.Cleanup(keys.Close)
	i.At(keys.URL)
	m := start(t, config)
	p := provided{m, i, as(t.Context(), m.bootstrap(t, modeEnforce))}
	for _, err := range []error{
		second(m.auth().PutProvider(p.admin, &tenurev1.PutProviderRequest{Name: "ci", Issuer: i.URL(), Audiences: []string{issuer.Audience}})),
		second(m.auth().PutPolicy(p.admin, &tenurev1.PutPolicyRequest{Name: "web", Rules: "session own write\nsession \"web\" write\nkey \"web/\"* rw"})),
		second(m.auth().PutBinding(p.admin, bindingOf("web"))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func second[T any](_ T, err error) error { return err }

// bindingOf gives a policy to the jobs of a project.
func bindingOf(policy string) *tenurev1.PutBindingRequest {
	return &tenurev1.PutBindingRequest{
		Name: policy, Kind: tenurev1.BindingKind_BINDING_KIND_JWT, Principal: "jwt:ci/project:web:", Policies: []string{policy},
	}
}

// token returns a token of the provider that lasts for a time.
func (p provided) token(subject string, life time.Duration) string {
	now := time.Now()
	return p.Sign(map[string]any{"sub": subject, "iat": now.Unix(), "exp": now.Add(life).Unix()})
}

func (p provided) put(ctx context.Context, token string) error {
	return second(p.Put(as(ctx, token), &tenurev1.PutRequest{Key: "web/a", Content: text("v")}))
}

func wantUnauthenticated(t *testing.T, err error, cause string) {
	t.Helper()
	if status.Code(err) != codes.Unauthenticated || !strings.Contains(infoOf(err).GetMetadata()["cause"], cause) {
		t.Errorf("got %v, %v, want UNAUTHENTICATED with %q", err, infoOf(err).GetMetadata(), cause)
	}
}

func TestACallerWithAJWTHasWhatItsBindingsGive(t *testing.T) {
	p := provide(t)
	good := p.token("project:web:1", time.Hour)
	if err := p.put(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	who, err := p.auth().WhoAmI(as(t.Context(), good), &tenurev1.WhoAmIRequest{})
	if err != nil || who.GetPrincipal() != "jwt:ci/project:web:1" || who.GetCredential() != "jwt" || who.GetExpireTime() == nil ||
		strings.Join(who.GetPolicies(), " ") != "web" {
		t.Errorf("got %v, %v", who, err)
	}
	wantDenied(t, second(p.Get(as(t.Context(), good), &tenurev1.GetRequest{Key: "other"})), `key "other" read`)
	wantDenied(t, p.put(t.Context(), p.token("project:db:1", time.Hour)), `key "web/a" write`)
	wantUnauthenticated(t, p.put(t.Context(), p.token("project:web:1", -time.Minute)), "expired")
	wantUnauthenticated(t, p.put(t.Context(), p.token("project:web:1", 48*time.Hour)), "24 hours")
	wantUnauthenticated(t, p.put(t.Context(), strings.TrimSuffix(good, good[len(good)-4:])+"AAAA"), "signature")
	p.At("https://elsewhere.test")
	wantUnauthenticated(t, p.put(t.Context(), p.token("project:web:1", time.Hour)), "no provider")
}

// TestALeakedJWTIsRevoked revokes what was issued so far, and then all of the provider.
func TestALeakedJWTIsRevoked(t *testing.T) {
	p := provide(t)
	leaked := p.Sign(map[string]any{"sub": "project:web:1", "iat": time.Now().Add(-time.Minute).Unix(), "exp": time.Now().Add(time.Hour).Unix()})
	without := p.Sign(map[string]any{"sub": "project:web:1", "exp": time.Now().Add(time.Hour).Unix()})
	for _, token := range []string{leaked, without} {
		if err := p.put(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	after := bindingOf("web")
	after.IssuedAfter = timestamppb.New(time.Now().Add(-time.Second).Truncate(time.Second))
	if _, err := p.auth().PutBinding(p.admin, after); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{leaked, without} {
		wantDenied(t, p.put(t.Context(), token), `key "web/a" write`)
	}
	fresh := p.token("project:web:1", time.Hour)
	if err := p.put(t.Context(), fresh); err != nil {
		t.Error(err)
	}
	stream, err := tenurev1.NewWatchServiceClient(p.conn).Watch(as(t.Context(), fresh), &tenurev1.WatchRequest{Keys: []string{"web/a"}})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.auth().DeleteProvider(p.admin, &tenurev1.DeleteProviderRequest{Name: "ci"}); err != nil {
		t.Fatal(err)
	}
	wantUnauthenticated(t, p.put(t.Context(), fresh), "no provider")
	for err == nil {
		_, err = stream.Recv()
	}
	wantUnauthenticated(t, err, "no provider")
}

// TestSessionsLiveOnWhileTokensEnd renews a session with one short token after another.
func TestSessionsLiveOnWhileTokensEnd(t *testing.T) {
	p := provide(t)
	s, err := p.CreateSession(as(t.Context(), p.token("project:web:1", time.Minute)), &tenurev1.CreateSessionRequest{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // A token that ended half a minute ago is refused; the next one of the same caller renews.
		_, err = p.RenewSession(as(t.Context(), p.token("project:web:1", -time.Minute)), &tenurev1.RenewSessionRequest{SessionId: s.GetSessionId()})
		wantUnauthenticated(t, err, "expired")
		_, err = p.RenewSession(as(t.Context(), p.token("project:web:1", time.Minute)), &tenurev1.RenewSessionRequest{SessionId: s.GetSessionId()})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestProvidersThatAreNone(t *testing.T) {
	p := provide(t)
	good := func(edit func(*tenurev1.PutProviderRequest)) *tenurev1.PutProviderRequest {
		r := &tenurev1.PutProviderRequest{Name: "k8s", Issuer: "https://k8s.test", Audiences: []string{"tenure"}}
		edit(r)
		return r
	}
	for field, r := range map[string]*tenurev1.PutProviderRequest{
		"name":            good(func(r *tenurev1.PutProviderRequest) { r.Name = "K8s" }),
		"issuer":          good(func(r *tenurev1.PutProviderRequest) { r.Issuer = p.URL() }),
		"audiences":       good(func(r *tenurev1.PutProviderRequest) { r.Audiences = nil }),
		"audiences[1]":    good(func(r *tenurev1.PutProviderRequest) { r.Audiences = []string{"a", ""} }),
		"jwks":            good(func(r *tenurev1.PutProviderRequest) { r.Jwks = `{"keys":[]}` }),
		"jwks_url":        good(func(r *tenurev1.PutProviderRequest) { r.JwksUrl = "http://k8s.test/keys" }),
		"ca_certificates": good(func(r *tenurev1.PutProviderRequest) { r.CaCertificates = "no PEM" }),
		"algorithms[0]":   good(func(r *tenurev1.PutProviderRequest) { r.Algorithms = []string{"HS256"} }),
	} {
		_, err := p.auth().PutProvider(p.admin, r)
		wantField(t, err, field)
	}
	for field, edit := range map[string]func(*tenurev1.PutBindingRequest){
		"principal":    func(r *tenurev1.PutBindingRequest) { r.Principal = "jwt:" },
		"issued_after": func(r *tenurev1.PutBindingRequest) { r.IssuedAfter = &timestamppb.Timestamp{Seconds: -1} },
		"kind":         func(r *tenurev1.PutBindingRequest) { r.Kind = 99 },
	} {
		r := bindingOf("web")
		edit(r)
		_, err := p.auth().PutBinding(p.admin, r)
		wantField(t, err, field)
	}
	listed, err := p.auth().ListProviders(p.admin, &tenurev1.ListProvidersRequest{})
	if err != nil || len(listed.GetProviders()) != 1 || listed.GetProviders()[0].GetName() != "ci" || listed.GetKeys()[0].GetProvider() != "ci" {
		t.Errorf("got %v, %v", listed, err)
	}
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	if got := fieldOf(err); status.Code(err) != codes.InvalidArgument || got != field {
		t.Errorf("got %v about %q, want INVALID_ARGUMENT about %q", err, got, field)
	}
}

// TestTheTextOfAJWTIsNowhere sends tokens of a provider that are accepted, denied and refused over each way: no part of their texts that
// could be used is in an error, a log, an audit line or a backup.
func TestTheTextOfAJWTIsNowhere(t *testing.T) {
	lines := newAuditLines()
	p := provideIn(t, audited(lines, "denied", "admin", "changes", "reads"))
	good := p.token("project:web:1", time.Hour)
	texts := map[string]string{
		"one that is accepted": good, "one without rights": p.token("project:db:1", time.Hour), "one that has ended": p.token("project:web:1", -time.Minute),
		"one with another signature": good[:len(good)-8] + "AAAAAAAA", "one that lasts too long": p.token("project:web:1", 48*time.Hour),
	}
	var shown strings.Builder
	for name, token := range texts {
		err := p.put(t.Context(), token)
		if (err == nil) != (name == "one that is accepted") {
			t.Errorf("%s: got %v", name, err)
		}
		fmt.Fprintln(&shown, err, infoOf(err))
		_, err = p.auth().WhoAmI(as(t.Context(), token), &tenurev1.WhoAmIRequest{})
		fmt.Fprintln(&shown, err, infoOf(err))
		stream, err := tenurev1.NewWatchServiceClient(p.conn).Watch(as(t.Context(), token), &tenurev1.WatchRequest{Keys: []string{"web/a"}})
		if err == nil {
			_, err = stream.Recv()
		}
		fmt.Fprintln(&shown, err, infoOf(err))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.at.HTTP+"/v1/kv/web/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&shown, string(body), answer.Header)
	}
	backup, err := tenurev1.NewClusterServiceClient(p.conn).Backup(p.admin, &tenurev1.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var saved bytes.Buffer
	for {
		chunk, err := backup.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		saved.Write(chunk.GetData())
	}
	rest := 0
	lines.all(t, func(l auditLine) bool {
		if l.Via == "rest" {
			rest++
		}
		return rest == len(texts)
	})
	var logged strings.Builder
	for _, entry := range p.logs.All() {
		fmt.Fprintln(&logged, entry.Message, entry.ContextMap())
	}
	for where, what := range map[string]string{
		"an answer or an error": shown.String(), "the log": logged.String(), "the audit log": lines.String(), "the backup": saved.String(),
	} {
		if what == "" {
			t.Errorf("%s is empty", where)
		}
		for name, token := range texts {
			for part, secret := range map[string]string{
				"text": token, "claims": strings.Split(token, ".")[1], "signature": strings.Split(token, ".")[2],
			} {
				if strings.Contains(what, secret) {
					t.Errorf("%s has the %s of %s", where, part, name)
				}
			}
		}
	}
}
