package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

func TestSessionGetsWhatTheRulesGrant(t *testing.T) {
	// The shortest TTL is that of the defaults.
	m := start(t, func(c *server.Config) { c.Tick = min(c.Tick, 50*time.Millisecond) })
	tests := map[string]struct {
		request   *tenurev1.CreateSessionRequest
		ttl       time.Duration
		lockDelay time.Duration
		keepalive time.Duration
	}{
		"nothing asked":                {&tenurev1.CreateSessionRequest{}, 0, 15 * time.Second, 0},
		"zero means none":              {&tenurev1.CreateSessionRequest{Ttl: seconds(0), LockDelay: seconds(0)}, 0, 0, 0},
		"a TTL in range":               {&tenurev1.CreateSessionRequest{Ttl: seconds(15)}, 15 * time.Second, 15 * time.Second, 5 * time.Second},
		"a TTL too short is raised":    {&tenurev1.CreateSessionRequest{Ttl: seconds(0.001)}, 2 * time.Second, 15 * time.Second, 2 * time.Second / 3},
		"a TTL too long is cut":        {&tenurev1.CreateSessionRequest{Ttl: seconds(1e8)}, 24 * time.Hour, 15 * time.Second, 10 * time.Second},
		"the longest duration is cut":  {&tenurev1.CreateSessionRequest{Ttl: &durationpb.Duration{Seconds: 315_576_000_000}}, 24 * time.Hour, 15 * time.Second, 10 * time.Second},
		"parts of a ms are rounded up": {&tenurev1.CreateSessionRequest{Ttl: seconds(2.0001)}, 2001 * time.Millisecond, 15 * time.Second, 667 * time.Millisecond},
		"the longest lock-delay":       {&tenurev1.CreateSessionRequest{LockDelay: seconds(60)}, 0, time.Minute, 0},
		"checks that are empty":        {&tenurev1.CreateSessionRequest{Checks: &tenurev1.SessionChecks{}}, 0, 15 * time.Second, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := m.CreateSession(t.Context(), tc.request)
			if err != nil {
				t.Fatal(err)
			}
			if s.GetTtl().AsDuration() != tc.ttl || s.GetLockDelay().AsDuration() != tc.lockDelay ||
				s.GetKeepaliveInterval().AsDuration() != tc.keepalive || s.GetEpoch() != 1 || len(s.GetSecret()) != 0 {
				t.Errorf("got %v, want TTL %v, lock-delay %v, keepalive %v", s, tc.ttl, tc.lockDelay, tc.keepalive)
			}
			got, err := m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: s.GetSessionId()})
			if err != nil {
				t.Fatal(err)
			}
			if g := got.GetSession(); g.GetTtl().AsDuration() != tc.ttl || g.GetLockDelay().AsDuration() != tc.lockDelay ||
				g.GetCreateRevision() != s.GetCreateRevision() || g.GetBehavior() != tenurev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE {
				t.Errorf("GetSession shows %v, want what was granted", g)
			}
		})
	}
}

func TestSessionIsRefused(t *testing.T) {
	m := start(t)
	tests := map[string]struct {
		request *tenurev1.CreateSessionRequest
		code    codes.Code
		reason  string
	}{
		"a behavior nobody knows": {&tenurev1.CreateSessionRequest{Behavior: 9}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a node too long":         {&tenurev1.CreateSessionRequest{Node: strings.Repeat("n", 257)}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"an instance id too long": {&tenurev1.CreateSessionRequest{InstanceId: make([]byte, 65)}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"too much metadata":       {&tenurev1.CreateSessionRequest{Metadata: map[string]string{"k": strings.Repeat("v", 4096)}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"metadata without a name": {&tenurev1.CreateSessionRequest{Metadata: map[string]string{"": "v"}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a short secret":          {&tenurev1.CreateSessionRequest{Secret: []byte("short")}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a secret that a retry could not return": {
			&tenurev1.CreateSessionRequest{WantSecret: true, Options: &tenurev1.CallOptions{IdempotencyKey: make([]byte, 16)}},
			codes.InvalidArgument, "INVALID_ARGUMENT",
		},
		"a request id before there is a session": {
			&tenurev1.CreateSessionRequest{Options: &tenurev1.CallOptions{RequestId: &tenurev1.RequestID{Sequence: 1}}},
			codes.InvalidArgument, "INVALID_ARGUMENT",
		},
		"checks without a node": {
			&tenurev1.CreateSessionRequest{Checks: &tenurev1.SessionChecks{ServiceChecks: []string{"web"}}},
			codes.InvalidArgument, "INVALID_ARGUMENT",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := m.CreateSession(t.Context(), tc.request)
			wantError(t, err, tc.code, tc.reason)
		})
	}
}

// actsAs returns calls that act as a session.
func (m *member) actsAs(id string) map[string]func(context.Context, *tenurev1.CallOptions) error {
	return map[string]func(context.Context, *tenurev1.CallOptions) error{
		"acquire": func(ctx context.Context, o *tenurev1.CallOptions) error {
			_, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k", Acquire: id, Options: o})
			return err
		},
		"release": func(ctx context.Context, o *tenurev1.CallOptions) error {
			_, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k", Release: id, Options: o})
			return err
		},
		"bind": func(ctx context.Context, o *tenurev1.CallOptions) error {
			_, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k", BindSession: id, Options: o})
			return err
		},
		"renew": func(ctx context.Context, o *tenurev1.CallOptions) error {
			_, err := m.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: id, Options: o})
			return err
		},
		"attach": func(ctx context.Context, o *tenurev1.CallOptions) error {
			_, err := m.AttachSession(ctx, &tenurev1.AttachSessionRequest{SessionId: id, Options: o})
			return err
		},
	}
}

func TestSecretIsNeededToActAsTheSession(t *testing.T) {
	m := start(t)
	created, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Name: "shy", WantSecret: true})
	if err != nil {
		t.Fatal(err)
	}
	id, secret := created.GetSessionId(), created.GetSecret()
	if len(secret) != 32 {
		t.Fatalf("got a secret of %d bytes, want 32", len(secret))
	}
	wrong := bytes.Repeat([]byte{1}, 32)
	for name, act := range m.actsAs(id) {
		t.Run(name, func(t *testing.T) {
			wantError(t, act(t.Context(), nil), codes.PermissionDenied, "SESSION_SECRET_WRONG")
			wantError(t, act(t.Context(), &tenurev1.CallOptions{SessionSecret: wrong, Epoch: 1}), codes.PermissionDenied, "SESSION_SECRET_WRONG")
			wantError(t, act(t.Context(), &tenurev1.CallOptions{SessionSecret: secret}), codes.InvalidArgument, "INVALID_ARGUMENT")
			if failed := act(t.Context(), &tenurev1.CallOptions{SessionSecret: secret, Epoch: 1}); failed != nil {
				t.Errorf("with the secret: %v", failed)
			}
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				ctx := metadata.AppendToOutgoingContext(t.Context(), "tenure-session-secret", encoding.EncodeToString(secret))
				if failed := act(ctx, &tenurev1.CallOptions{Epoch: 1}); failed != nil {
					t.Errorf("with the secret in metadata: %v", failed)
				}
			}
			twice := metadata.AppendToOutgoingContext(t.Context(), "tenure-session-secret", base64.StdEncoding.EncodeToString(wrong))
			wantError(t, act(twice, &tenurev1.CallOptions{SessionSecret: secret, Epoch: 1}), codes.InvalidArgument, "INVALID_ARGUMENT")
		})
	}
	destroy := func(o *tenurev1.CallOptions) (*tenurev1.DestroySessionResponse, error) {
		return m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id, Options: o})
	}
	_, err = destroy(nil)
	wantError(t, err, codes.PermissionDenied, "SESSION_SECRET_WRONG")
	_, err = destroy(&tenurev1.CallOptions{Force: true})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	gone, err := destroy(&tenurev1.CallOptions{Force: true, Reason: "stuck"})
	if err != nil || !gone.GetDestroyed() {
		t.Fatalf("an operator could not destroy it: %v, %v", gone, err)
	}
	got, err := m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	end := got.GetSession().GetEnd()
	if end.GetCause() != tenurev1.SessionEndCause_SESSION_END_CAUSE_FORCED || end.GetReason() != "stuck" || end.GetBy() == "" {
		t.Errorf("the end is %v, want FORCED with reason and address", end)
	}
	again, err := destroy(nil)
	if err != nil || again.GetDestroyed() {
		t.Errorf("destroying again: %v, %v; want that it had ended before", again, err)
	}
	m.checkNoSecretInLogs(t, secret)
}

// checkNoSecretInLogs fails if a secret was logged in any spelling.
func (m *member) checkNoSecretInLogs(t *testing.T, secret []byte) {
	t.Helper()
	for _, entry := range m.logs.All() {
		line := entry.Message + fmt.Sprint(entry.ContextMap())
		for _, spelling := range []string{
			string(secret), base64.StdEncoding.EncodeToString(secret), base64.RawURLEncoding.EncodeToString(secret), fmt.Sprintf("%x", secret),
		} {
			if strings.Contains(line, spelling) {
				t.Errorf("the log shows the secret: %s", line)
			}
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	m := start(t)
	created, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Secret: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	if len(created.GetSecret()) != 0 {
		t.Error("a secret chosen by the client was returned")
	}
	got, err := m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: created.GetSessionId()})
	if err != nil {
		t.Fatal(err)
	}
	if !got.GetSession().GetHasSecret() || strings.Contains(got.String(), strings.Repeat(`\x07`, 4)) {
		t.Errorf("got %v, want that there is a secret, not which", got)
	}
}

func TestEpochIsCompared(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "one")
	for _, epoch := range []uint64{0, 1} {
		if _, err := m.Put(t.Context(), &tenurev1.PutRequest{
			Key: "k", Acquire: id, Options: &tenurev1.CallOptions{Epoch: epoch},
		}); err != nil {
			t.Errorf("epoch %d of an open session: %v", epoch, err)
		}
	}
	_, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Acquire: id, Options: &tenurev1.CallOptions{Epoch: 2}})
	wantError(t, err, codes.FailedPrecondition, "EPOCH_MISMATCH")
	if got := infoOf(err).GetMetadata()["epoch"]; got != "1" {
		t.Errorf("the error tells epoch %q, want 1", got)
	}
}

func TestEndedSessionStaysReadable(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "alice")
	for _, key := range []string{"a", "b"} {
		if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: key, Acquire: id}); err != nil {
			t.Fatal(err)
		}
	}
	live, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id})
	if err != nil || len(live.GetHolds()) != 2 || live.GetSession().GetObjects() != 3 {
		t.Fatalf("attach tells %v (%v), want two holds and three objects", live, err)
	}
	gone, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id, Clean: true, Reason: "done"})
	if err != nil || !gone.GetDestroyed() || gone.GetHolds() != 2 {
		t.Fatalf("destroy: %v, %v; want two holds", gone, err)
	}
	got, err := m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	end := got.GetSession().GetEnd()
	if end.GetCause() != tenurev1.SessionEndCause_SESSION_END_CAUSE_DESTROYED || !end.GetClean() || end.GetReason() != "done" ||
		end.GetHolds() != 2 || strings.Join(end.GetHeldKeys(), " ") != "a b" || end.GetRevision() != gone.GetHeader().GetRevision() {
		t.Errorf("the end is %v, want what happened", end)
	}
	_, err = m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id})
	wantError(t, err, codes.FailedPrecondition, "SESSION_EXPIRED")
	_, err = m.Put(t.Context(), &tenurev1.PutRequest{Key: "c", Acquire: id})
	wantError(t, err, codes.FailedPrecondition, "SESSION_EXPIRED")
}

func TestSessionsAreListedInPages(t *testing.T) {
	m := start(t)
	want := map[string]bool{}
	for i := range 25 {
		r := &tenurev1.CreateSessionRequest{Name: fmt.Sprintf("web-%d", i), Node: "n1"}
		if i%5 == 0 {
			r.Ttl = seconds(60)
		}
		s, err := m.CreateSession(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if i%5 != 0 {
			want[s.GetSessionId()] = true
		}
	}
	m.openSession(t, "db")
	got := map[string]bool{}
	token, last := "", ""
	for pages := 0; ; pages++ {
		page, err := m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{
			NamePrefix: "web-", Node: "n1", NoTtl: true, PageSize: 7, PageToken: token,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.GetSessions() {
			if s.GetSessionId() <= last {
				t.Errorf("%s comes after %s", s.GetSessionId(), last)
			}
			last = s.GetSessionId()
			got[last] = true
			if s.GetObjects() != 1 {
				t.Errorf("session %s is listed with %d objects, want itself alone", last, s.GetObjects())
			}
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
		if len(page.GetSessions()) != 7 || pages > 10 {
			t.Fatalf("page %d has %d sessions", pages, len(page.GetSessions()))
		}
		if pages == 0 {
			_, err := m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{NamePrefix: "db", PageToken: token})
			wantError(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID")
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %d sessions, want %d", len(got), len(want))
	}
	old, err := m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{OlderThan: seconds(3600)})
	if err != nil || len(old.GetSessions()) != 0 {
		t.Errorf("sessions older than an hour: %v, %v; want none", old, err)
	}
}

func TestAnotherInstanceMustTakeOver(t *testing.T) {
	m := start(t)
	s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{InstanceId: []byte("one")})
	if err != nil {
		t.Fatal(err)
	}
	same := &tenurev1.AttachSessionRequest{SessionId: s.GetSessionId(), InstanceId: []byte("one")}
	if _, err = m.AttachSession(t.Context(), same); err != nil {
		t.Errorf("the same instance: %v", err)
	}
	other := &tenurev1.AttachSessionRequest{SessionId: s.GetSessionId(), InstanceId: []byte("two")}
	_, err = m.AttachSession(t.Context(), other)
	wantError(t, err, codes.FailedPrecondition, "EPOCH_MISMATCH")
}

// TestASessionThatEndedIsRefusedBeforeItIsOrdered has a session act, so that the member remembers it, and then end.
func TestASessionThatEndedIsRefusedBeforeItIsOrdered(t *testing.T) {
	m := start(t)
	created, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	id := created.GetSessionId()
	put := func() error {
		_, failed := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Acquire: id})
		return failed
	}
	for range 2 {
		if err = put(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err = m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id, Clean: true}); err != nil {
		t.Fatal(err)
	}
	if err = put(); !strings.Contains(fmt.Sprint(err), "session "+id+" ended at ") { // What is ordered says less.
		t.Errorf("got %v, want when it ended", err)
	}
}

// TestSessionsOfANodeAreListedInAnySpelling names a node in other letters than its session did, as the catalog allows.
func TestSessionsOfANodeAreListedInAnySpelling(t *testing.T) {
	m := start(t)
	m.register(t, "web1", "web", &tenurev1.Check{CheckId: "k", Status: passing})
	ids := map[string]bool{m.openBound(t, "WEB1", "k"): true, m.openBound(t, "web1", "k"): true}
	m.openBound(t, "")
	token := ""
	for _, node := range []string{"web1", "Web1"} { // The next page may be asked for in other letters, too.
		page, err := m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{Node: node, PageSize: 1, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.GetSessions() {
			delete(ids, s.GetSessionId())
		}
		token = page.GetNextPageToken()
	}
	if len(ids) > 0 {
		t.Errorf("%v are not listed", ids)
	}
}
