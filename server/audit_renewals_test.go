package server_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
)

// renewing renews sessions on a stream, one message for all, and waits for the verdicts.
type renewing struct {
	stream tenurev1.SessionService_KeepAliveClient
	number uint64
}

// renewOn opens a stream of renewals.
func (m *member) renewOn(ctx context.Context, t *testing.T) *renewing {
	t.Helper()
	stream, err := m.KeepAlive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &renewing{stream: stream}
}

// renew renews sessions with a secret, and returns why each is refused.
func (r *renewing) renew(t *testing.T, secret []byte, ids ...string) map[string]string {
	t.Helper()
	r.number++
	message := &tenurev1.KeepAliveRequest{}
	for _, id := range ids {
		message.Renewals = append(message.Renewals, &tenurev1.SessionRenewal{SessionId: id, Number: r.number, Secret: secret})
	}
	if err := r.stream.Send(message); err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{}
	for len(refused) < len(ids) {
		answer, err := r.stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range answer.GetVerdicts() {
			refused[v.GetSessionId()] = strings.TrimPrefix(v.GetRefused().String(), "ERROR_REASON_")
		}
	}
	return refused
}

// renewalLines returns the lines of a log about streams of renewals, by session, once a denied read of a key is a line, too.
func (m *member) renewalLines(ctx context.Context, t *testing.T, lines *auditLines, key string) map[string][]auditLine {
	t.Helper()
	_, _ = m.Get(ctx, &tenurev1.GetRequest{Key: key})
	last := `key "` + key + `" read`
	found := map[string][]auditLine{}
	for _, l := range lines.all(t, func(l auditLine) bool { return slices.Equal(l.Needs, []string{last}) }) {
		if strings.HasSuffix(l.Method, "/KeepAlive") {
			found[l.Session] = append(found[l.Session], l)
		}
	}
	return found
}

// made creates sessions, and returns their ids by name.
func (m *member) made(ctx context.Context, t *testing.T, names ...string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, name := range names {
		s, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = s.GetSessionId()
	}
	return ids
}

// TestADeniedRenewalOfAStreamIsALine takes away the right to renew one session of a stream of two.
func TestADeniedRenewalOfAStreamIsALine(t *testing.T) {
	lines := newAuditLines()
	m := start(t, audited(lines))
	admin := m.bootstrap(t, modeEnforce)
	made := m.token(t, admin, "keeper", "session \"web\" write\nsession \"db\" write")
	ctx := as(t.Context(), made.GetText())
	ids := m.made(ctx, t, "web", "db")
	r := m.renewOn(ctx, t)
	both := slices.Collect(maps.Values(ids))
	if got := r.renew(t, nil, both...); got[ids["db"]] != "UNSPECIFIED" {
		t.Fatalf("with both rights: got %v", got)
	}
	if got := m.renewalLines(ctx, t, lines, "before"); len(got) != 0 {
		t.Errorf("renewals that are served are lines: %v", got)
	}
	m.token(t, admin, "keeper", `session "web" write`)
	for range 3 {
		if got := r.renew(t, nil, both...); got[ids["db"]] != "PERMISSION_DENIED" || got[ids["web"]] != "UNSPECIFIED" {
			t.Fatalf("with one right: got %v", got)
		}
	}
	got := m.renewalLines(ctx, t, lines, "after")
	if len(got) != 1 || len(got[ids["db"]]) != 1 {
		t.Fatalf("got %v, want one line about %s", got, ids["db"])
	}
	l := got[ids["db"]][0]
	if l.Decision != "denied" || l.Reason != "PERMISSION_DENIED" || l.Principal != "token:"+made.GetToken().GetAccessor() ||
		!slices.Equal(l.Needs, []string{"session id " + ids["db"] + " write"}) || l.Credential != "token" || l.Via != "grpc" {
		t.Errorf("got %+v", l)
	}
}

// TestARenewalOfAStreamThatWouldBeDeniedIsALine has a caller with the right to renew one session of two, where nothing is enforced.
func TestARenewalOfAStreamThatWouldBeDeniedIsALine(t *testing.T) {
	lines := newAuditLines()
	m := start(t, audited(lines))
	admin := m.bootstrap(t, modeWarn)
	ids := m.made(as(t.Context(), admin), t, "web", "db")
	ctx, cancel := context.WithCancel(as(t.Context(), m.token(t, admin, "keeper", `session "web" write`).GetText()))
	defer cancel()
	r := m.renewOn(ctx, t)
	for range 3 {
		if got := r.renew(t, nil, ids["web"], ids["db"]); got[ids["web"]] != "UNSPECIFIED" || got[ids["db"]] != "UNSPECIFIED" {
			t.Fatalf("got %v, want that both are renewed", got)
		}
	}
	if err := r.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for err := error(nil); err == nil; {
		_, err = r.stream.Recv()
	}
	got := m.renewalLines(as(t.Context(), identity.NewToken()), t, lines, "after")
	if len(got) != 1 || len(got[ids["db"]]) != 1 || got[ids["db"]][0].Decision != "would_deny" || got[ids["db"]][0].Reason != "" {
		t.Errorf("got %v, want one line about %s", got, ids["db"])
	}
}

// TestARenewalWithAWrongSecretIsALine has it on a stream, as it is with a call.
func TestARenewalWithAWrongSecretIsALine(t *testing.T) {
	lines := newAuditLines()
	m := start(t, audited(lines))
	m.bootstrap(t, modeWarn)
	s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Name: "web", WantSecret: true})
	if err != nil {
		t.Fatal(err)
	}
	r := m.renewOn(t.Context(), t)
	if got := r.renew(t, make([]byte, 32), s.GetSessionId()); got[s.GetSessionId()] != "SESSION_SECRET_WRONG" {
		t.Fatalf("got %v, want that the secret is wrong", got)
	}
	got := m.renewalLines(t.Context(), t, lines, "after")[s.GetSessionId()]
	if !slices.ContainsFunc(got, func(l auditLine) bool { return l.Decision == "denied" && l.Reason == "SESSION_SECRET_WRONG" }) {
		t.Errorf("got %v, want a denial", got)
	}
}
