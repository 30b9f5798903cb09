package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// auditLines takes the lines of an audit log.
type auditLines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
	more chan struct{} // has something after lines came
}

func newAuditLines() *auditLines { return &auditLines{more: make(chan struct{}, 1)} }

func (a *auditLines) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case a.more <- struct{}{}:
	default:
	}
	return a.text.Write(p)
}

func (a *auditLines) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.String()
}

// auditLine is what a test looks at.
type auditLine struct {
	Seq                                                                    uint64
	Method, Principal, Credential, Via, Address, Decision, Reason, Session string
	Needs                                                                  []string
	Applied                                                                string
	Revision                                                               uint64
	Target                                                                 struct{ Token string }
}

// all returns the lines once there is one that a condition wants.
func (a *auditLines) all(t *testing.T, until func(auditLine) bool) (all []auditLine) {
	t.Helper()
	for {
		select {
		case <-a.more:
		case <-time.After(patience):
			t.Fatalf("the line does not come:\n%s", a)
		}
		all = nil
		found := false
		for text := range strings.Lines(a.String()) {
			var line auditLine
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			all = append(all, line)
			found = found || until(line)
		}
		if found {
			return all
		}
	}
}

// audited has a member write its audit log into lines.
func audited(lines *auditLines, classes ...string) func(*server.Config) {
	return func(c *server.Config) {
		alone(c)
		c.Audit = server.Audit{Path: "-", Classes: classes, Stdout: lines}
	}
}

// TestAuditNamesTheCallerAndShowsNoSecret makes calls over every way with canaries in what no line may have.
func TestAuditNamesTheCallerAndShowsNoSecret(t *testing.T) {
	lines := newAuditLines()
	m := start(t, audited(lines, "denied", "admin", "changes", "reads"))
	admin := m.bootstrap(t, modeEnforce)
	made := m.token(t, admin, "web", "session \"web-\"* write\nkey \"service/\"* rw\n")
	ctx := as(t.Context(), made.GetText())
	const canary = "canary-7f3a"
	s, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{
		Name: "web-1", Metadata: map[string]string{"m": canary + "-metadata"}, WantSecret: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.Put(ctx, &tenurev1.PutRequest{
		Key: "service/a", Content: text(canary + "-value"), Options: &tenurev1.CallOptions{IdempotencyKey: []byte(canary + "-idempotency-key")},
	}); err != nil {
		t.Fatal(err)
	}
	_, err = m.Get(ctx, &tenurev1.GetRequest{Key: "other"})
	wantDenied(t, err, `key "other" read`)
	unknown := identity.NewToken()
	if _, err = m.Get(as(t.Context(), unknown), &tenurev1.GetRequest{Key: "other"}); err == nil {
		t.Error("an unknown token is accepted")
	}
	if _, err = m.RenewSession(ctx, &tenurev1.RenewSessionRequest{
		SessionId: s.GetSessionId(), Options: &tenurev1.CallOptions{SessionSecret: s.GetSecret(), Epoch: s.GetEpoch()},
	}); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+m.at.HTTP+"/v1/kv/service/rest",
		strings.NewReader(canary+"-body"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+made.GetText())
	request.Header.Set("Content-Type", "application/octet-stream")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("PUT over REST: %s %s", answer.Status, body)
	}
	all := lines.all(t, func(l auditLine) bool { return l.Via == "rest" })
	principal := "token:" + made.GetToken().GetAccessor()
	for sentence, is := range map[string]func(auditLine) bool{
		"a change names its token, key and revision": func(l auditLine) bool {
			return l.Method == "tenure.v1.KVService/Put" && l.Principal == principal && l.Credential == "token" && l.Decision == "allowed" &&
				l.Applied == "yes" && l.Revision > 0 && len(l.Needs) == 1 && l.Needs[0] == `key "service/a" write` && l.Via == "grpc"
		},
		"a denied read is a line": func(l auditLine) bool {
			return l.Method == "tenure.v1.KVService/Get" && l.Principal == principal && l.Decision == "denied" && l.Reason == "PERMISSION_DENIED"
		},
		"so is an unknown token": func(l auditLine) bool {
			return l.Decision == "denied" && l.Reason == "UNAUTHENTICATED" && l.Principal == ""
		},
		"what an administrator does is a line": func(l auditLine) bool {
			return l.Method == "tenure.v1.AuthService/CreateToken" && l.Principal != "" && l.Decision == "allowed"
		},
		"so is the first token": func(l auditLine) bool { return l.Method == "tenure.v1.AuthService/BootstrapAuth" },
		"a call over REST names its client": func(l auditLine) bool {
			return l.Via == "rest" && l.Principal == principal && strings.HasPrefix(l.Address, "127.0.0.1:")
		},
	} {
		found := false
		for _, l := range all {
			found = found || is(l)
		}
		if !found {
			t.Errorf("%s: not in\n%s", sentence, lines)
		}
	}
	for i, l := range all {
		if l.Seq != uint64(i+1) {
			t.Errorf("line %d has the number %d", i+1, l.Seq)
		}
		if strings.HasSuffix(l.Method, "RenewSession") {
			t.Error("a renewal is a line")
		}
	}
	for name, secret := range map[string]string{
		"a value, metadata or idempotency key": canary, "a token": made.GetText(), "the first token": admin, "an unknown token": unknown,
		"the scheme of a token": "tnr1_", "a session's secret": string(s.GetSecret()),
	} {
		if strings.Contains(lines.String(), secret) {
			t.Errorf("the log has %s:\n%s", name, lines)
		}
	}
}

func TestAuditSaysWhatEnforceWouldDeny(t *testing.T) {
	lines := newAuditLines()
	m := start(t, audited(lines))
	m.bootstrap(t, modeWarn)
	if _, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"}); err == nil {
		t.Error("there is no such key")
	}
	all := lines.all(t, func(l auditLine) bool { return strings.HasSuffix(l.Method, "/Get") })
	if last := all[len(all)-1]; last.Decision != "would_deny" || last.Reason != "KEY_NOT_FOUND" {
		t.Errorf("got %+v, want would_deny", last)
	}
}

// TestAuditSaysWhatEnforceWouldShowInPart lists keys of which the caller may list some. In mode warn it gets all, and the line says that it would not.
func TestAuditSaysWhatEnforceWouldShowInPart(t *testing.T) {
	lines := newAuditLines()
	m := start(t, audited(lines, "denied", "reads"))
	admin := m.bootstrap(t, modeWarn)
	web := as(t.Context(), m.token(t, admin, "web", `key "a/"* ro`).GetText())
	for prefix, want := range map[string]string{"": "would_deny", "a/": "allowed"} {
		if _, err := m.List(web, &tenurev1.ListRequest{Prefix: prefix, VisibleOnly: true}); err != nil {
			t.Fatal(err)
		}
		isList := func(l auditLine) bool { return strings.HasSuffix(l.Method, "/List") && l.Decision == want }
		if got := lines.all(t, isList); len(got) == 0 {
			t.Errorf("a list of %q has no line that says %s", prefix, want)
		}
	}
}

// TestAuditNamesARevokedToken has a client that revokes its own token, and calls again with it.
func TestAuditNamesARevokedToken(t *testing.T) {
	lines := newAuditLines()
	m := start(t, audited(lines))
	admin := m.bootstrap(t, modeEnforce)
	made := m.token(t, admin, "web", "key \"service/\"* rw\n")
	ctx := as(t.Context(), made.GetText())
	if _, err := m.auth().RevokeToken(ctx, &tenurev1.RevokeTokenRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(ctx, &tenurev1.GetRequest{Key: "service/a"}); err == nil {
		t.Error("a revoked token is accepted")
	}
	accessor := made.GetToken().GetAccessor()
	all := lines.all(t, func(l auditLine) bool { return l.Method == "tenure.v1.KVService/Get" })
	if !slices.ContainsFunc(all, func(l auditLine) bool {
		return l.Method == "tenure.v1.AuthService/RevokeToken" && l.Target.Token == accessor && l.Decision == "allowed"
	}) {
		t.Errorf("no line says that the token %s was revoked:\n%s", accessor, lines)
	}
	if denied := all[len(all)-1]; denied.Principal != "token:"+accessor || denied.Reason != "UNAUTHENTICATED" {
		t.Errorf("got the line %+v, want that the call with the revoked token names it", denied)
	}
}
