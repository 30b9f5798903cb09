package process_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/test/rig"
)

// TestNoSecretIsLeftBehind uses tokens and secrets of sessions over every port of a member that logs and audits all that it can, rightly and
// wrongly. Then their texts are nowhere but in the answers that make them: not in the log, the audit log, errors, metrics, lists, a backup, or a file
// of the member. What is stored, such as a value, is found by the same search where it belongs, and not in logs, errors and metrics.
func TestNoSecretIsLeftBehind(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	authority, err := rig.NewAuthority("clients")
	if err = errors.Join(err, authority.Write(dir)); err != nil {
		t.Fatal(err)
	}
	audit := filepath.Join(dir, "audit.log")
	c := rig.StartSecuredCluster(ctx, t, binary, 1, dir, func(int) []string {
		return append(rig.SecuredPeers(dir), "--client-auth", "verify", "--consul-http", "127.0.0.1:0", "--log-level", "debug",
			"--audit-log", audit, "--audit", "denied,admin,changes,reads")
	})
	s := &spilling{t: t, m: c.Members[0], hidden: map[string][]byte{}, found: map[string]map[string]bool{}, value: []byte(identity.NewToken()[5:])}
	s.conn = s.m.Dial()
	defer func() { _ = s.conn.Close() }()
	first := bootstrapped(ctx, t, c)
	s.hide("the first token", first)
	s.grpc(ctx, first)
	s.http(ctx, authority.Pool())
	s.look("the log", func(what []byte) bool { return s.m.Logged(string(what)) != "" })
	s.backup(withToken(ctx, first))
	s.file("the audit log", audit)
	if err = s.m.Stop(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(s.m.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			s.file("the data directory", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"the log", "the audit log", "an error", "an answer over HTTP", "a list", "metrics"} {
		if s.found[place]["the value"] {
			t.Errorf("%s has the value of a key", place)
		}
	}
	for _, place := range []string{"the backup", "the data directory"} {
		if !s.found[place]["the value"] {
			t.Errorf("the value is not found in %s, so that the search finds nothing", place)
		}
	}
	for place, found := range s.found {
		for what := range found {
			if what != "the value" {
				t.Errorf("%s has %s", place, what)
			}
		}
	}
	t.Logf("%d secrets, %d places: none is left behind", len(s.hidden), len(s.found))
}

// spilling is a member with secrets, and where they were found.
type spilling struct {
	t      *testing.T
	m      *rig.Member
	conn   *grpc.ClientConn
	value  []byte // of a key: no secret of the member's, but nothing for logs either
	hidden map[string][]byte
	found  map[string]map[string]bool // by place
}

// hide adds a secret that must be nowhere. Of a token, what comes after its scheme is searched for.
func (s *spilling) hide(name, text string) {
	s.hidden[name] = []byte(strings.TrimPrefix(text, "tnr1_"))
}

// look notes which secrets a place has, as they are and in the ways in which bytes are written as text.
func (s *spilling) look(place string, has func(what []byte) bool) {
	found := s.found[place]
	if found == nil {
		found = map[string]bool{}
		s.found[place] = found
	}
	written := func(secret []byte) bool {
		return has(secret) || has([]byte(hex.EncodeToString(secret))) || has([]byte(base64.RawStdEncoding.EncodeToString(secret))) ||
			has([]byte(base64.RawURLEncoding.EncodeToString(secret)))
	}
	for name, secret := range s.hidden {
		found[name] = found[name] || written(secret)
	}
	found["the value"] = found["the value"] || written(s.value)
	for name, is := range found {
		if !is {
			delete(found, name)
		}
	}
}

func (s *spilling) text(place, text string) {
	s.look(place, func(what []byte) bool { return strings.Contains(text, string(what)) })
}

func (s *spilling) file(place, path string) {
	s.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.look(place, func(what []byte) bool { return bytes.Contains(data, what) })
}

// refused looks at the error of a call, which must be one.
func (s *spilling) refused(what string, err error) {
	s.t.Helper()
	if err == nil {
		s.t.Errorf("%s was not refused", what)
		return
	}
	s.text("an error", fmt.Sprintf("%v %+v", err, err))
}

// must ends the test with an error.
func (s *spilling) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// grpc makes tokens and sessions, and uses each of them rightly and wrongly.
func (s *spilling) grpc(ctx context.Context, first string) {
	admin := withToken(ctx, first)
	auth, kv := tenurev1.NewAuthServiceClient(s.conn), tenurev1.NewKVServiceClient(s.conn)
	sessions := tenurev1.NewSessionServiceClient(s.conn)
	made, err := auth.CreateToken(admin, &tenurev1.CreateTokenRequest{Name: "web", Policies: []string{"web"}})
	s.must(err)
	s.hide("a token", made.GetText())
	old := withToken(ctx, made.GetText())
	rotated, err := auth.RotateToken(old, &tenurev1.RotateTokenRequest{})
	s.must(err)
	s.hide("a rotated token", rotated.GetText())
	web := withToken(ctx, rotated.GetText())
	_, err = kv.Get(old, &tenurev1.GetRequest{Key: "a"})
	s.refused("a token that was replaced", err)
	unknown := identity.NewToken()
	s.hide("an unknown token", unknown)
	for name, text := range map[string]string{
		"an unknown token": unknown, "a token with more": rotated.GetText() + "x", "two tokens in one": rotated.GetText() + " " + unknown,
	} {
		_, err = kv.Get(withToken(ctx, text), &tenurev1.GetRequest{Key: "a"})
		s.refused(name, err)
	}
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://issuer.example","sub":"` + unknown + `"}`))
	jwt := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256"}`)) + "." + claims + "." + claims
	s.hide("a JSON Web Token", jwt)
	_, err = kv.Get(withToken(ctx, jwt), &tenurev1.GetRequest{Key: "a"})
	s.refused("a JSON Web Token of an unknown issuer", err)
	_, err = kv.Get(withToken(web, unknown), &tenurev1.GetRequest{Key: "a"})
	s.refused("two tokens", err)
	_, err = auth.GetToken(web, &tenurev1.GetTokenRequest{Accessor: rotated.GetText()})
	s.refused("the text of a token as an accessor", err)
	opened, err := sessions.CreateSession(web, &tenurev1.CreateSessionRequest{Name: "s", WantSecret: true})
	s.must(err)
	s.hide("a session's secret", string(opened.GetSecret()))
	wrong := bytes.Clone(opened.GetSecret())
	wrong[0] ^= 1
	s.hide("a wrong secret", string(wrong))
	for secret, want := range map[string]bool{string(opened.GetSecret()): true, string(wrong): false} {
		_, err = kv.Put(web, &tenurev1.PutRequest{
			Key: "owned", Content: &tenurev1.PutRequest_Value{Value: s.value}, BindSession: opened.GetSessionId(),
			Options: &tenurev1.CallOptions{SessionSecret: []byte(secret), Epoch: opened.GetEpoch()},
		})
		if want {
			s.must(err)
		} else {
			s.refused("a wrong secret", err)
		}
	}
	_, err = kv.Put(web, &tenurev1.PutRequest{Key: "a", Content: &tenurev1.PutRequest_Value{Value: s.value}})
	s.must(err)
	none := uint64(0)
	_, err = kv.Put(web, &tenurev1.PutRequest{Key: "a", Content: &tenurev1.PutRequest_Value{Value: s.value}, IfRevision: &none})
	if err == nil {
		s.t.Error("a put of a key that must not exist was made")
	}
	s.text("an error", fmt.Sprint(err))
	_, err = kv.Put(ctx, &tenurev1.PutRequest{Key: "a", Content: &tenurev1.PutRequest_Value{Value: s.value}})
	s.refused("a put without a token", err)
	tokens, err := auth.ListTokens(admin, &tenurev1.ListTokensRequest{})
	s.must(err)
	s.text("a list", tokens.String())
	all, err := sessions.ListSessions(admin, &tenurev1.ListSessionsRequest{})
	s.must(err)
	s.text("a list", all.String())
}

// http brings tokens over REST and Consul's HTTP, in the places where each looks for them, and elsewhere.
func (s *spilling) http(ctx context.Context, trusted *x509.CertPool) {
	s.t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "localhost", MinVersion: tls.VersionTLS13}}
	defer transport.CloseIdleConnections()
	at := s.m.Addresses
	for name, secret := range s.hidden {
		if strings.Contains(name, "secret") {
			continue
		}
		text := string(secret)
		if strings.HasSuffix(name, "token") {
			text = "tnr1_" + text
		}
		for _, call := range []struct{ method, target, header string }{
			{http.MethodGet, at.HTTP + "/v1/nothing/here", "Authorization"},
			{http.MethodGet, at.HTTP + "/v1/locks/a?token=" + text, ""},
			{http.MethodPut, at.HTTP + "/v1/kv/bad?if_revision=" + text, "Authorization"},
			{http.MethodGet, at.Consul + "/v1/kv/none", "X-Consul-Token"},
			{http.MethodGet, at.Consul + "/v1/kv/none?token=" + url.QueryEscape(text), ""},
			{http.MethodGet, at.Consul + "/v1/acl/token/self", "X-Consul-Token"},
			{http.MethodPut, at.Consul + "/v1/session/destroy/" + text, "X-Consul-Token"},
		} {
			request, err := http.NewRequestWithContext(ctx, call.method, "https://"+call.target, strings.NewReader(""))
			s.must(err)
			switch call.header {
			case "Authorization":
				request.Header.Set(call.header, "Bearer "+text)
			case "X-Consul-Token":
				request.Header.Set(call.header, text)
			}
			answer, err := (&http.Client{Transport: transport}).Do(request)
			s.must(err)
			body, err := io.ReadAll(answer.Body)
			s.must(errors.Join(err, answer.Body.Close()))
			s.text("an answer over HTTP", fmt.Sprint(answer.Header)+string(body))
		}
	}
	_, metrics, err := s.m.Fetch(ctx, "/metrics")
	s.must(err)
	s.text("metrics", string(metrics))
}

// backup looks at a backup.
func (s *spilling) backup(ctx context.Context) {
	s.t.Helper()
	stream, err := tenurev1.NewClusterServiceClient(s.conn).Backup(ctx, &tenurev1.BackupRequest{})
	s.must(err)
	var whole []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		s.must(err)
		whole = append(whole, part.GetData()...)
	}
	s.look("the backup", func(what []byte) bool { return bytes.Contains(whole, what) })
}
