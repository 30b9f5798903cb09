package server_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
)

// firstToken is the first token of a cluster under test.
var firstToken = identity.NewToken()

// TestMetricsNeedARight asks for what shows how a member is, in all modes.
func TestMetricsNeedARight(t *testing.T) {
	m := start(t, alone)
	get := func(path, token string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.at.HTTP+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if code, _ := get("/metrics", ""); code != http.StatusOK {
		t.Errorf("before the bootstrap: got %d", code)
	}
	admin := m.bootstrap(t, modeWarn)
	if code, _ := get("/metrics", ""); code != http.StatusOK {
		t.Errorf("in mode warn: got %d", code)
	}
	monitoring := m.token(t, admin, "monitoring", "operator read").GetText()
	web := m.token(t, admin, "web", `key "a" read`).GetText()
	if _, err := m.auth().SetAuthMode(as(t.Context(), admin), &tenurev1.SetAuthModeRequest{Mode: modeEnforce}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/metrics", "/readyz?verbose=true"} {
		for name, want := range map[string]struct {
			token string
			code  int
		}{
			"nothing":       {"", http.StatusForbidden},
			"no token":      {"nonsense", http.StatusUnauthorized},
			"another right": {web, http.StatusForbidden},
			"operator read": {monitoring, http.StatusOK},
		} {
			code, body := get(path, want.token)
			if shows := strings.Contains(body, "tenure_") || strings.Contains(body, "ok     "); code != want.code || shows != (code == http.StatusOK) {
				t.Errorf("%s with %s: got %d, want %d", path, name, code, want.code)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/version"} {
		if code, _ := get(path, ""); code != http.StatusOK {
			t.Errorf("%s: got %d, want 200", path, code)
		}
	}
}
