package auth_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// begin is when all tokens of these tests are made.
var begin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func change(c *storev1.ChangeAuth) *storev1.Command {
	return &storev1.Command{WallTimeMs: begin.UnixMilli(), Kind: &storev1.Command_ChangeAuth{ChangeAuth: c}}
}

// record is a token that lasts for a time; zero: for ever.
func record(name, policy string, life time.Duration) *storev1.TokenRecord {
	sum := sha256.Sum256([]byte(name))
	t := &storev1.TokenRecord{Accessor: sum[:16], TokenSha256: sum[:], Name: name, Policies: []string{policy}}
	if life > 0 {
		t.ExpireTimeMs = begin.Add(life).UnixMilli()
	}
	return t
}

func token(name, policy string, life time.Duration) *storev1.Command {
	return change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: record(name, policy, life)}})
}

func revoke(name string) *storev1.Command {
	return change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: record(name, "", 0).GetAccessor()}})
}

func policy(name, rules string) *storev1.Command {
	return change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: name, Rules: rules}}})
}

func binding(policy string) *storev1.Command {
	return change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
		Name: "b", Kind: storev1.BindingKind_BINDING_KIND_CERTIFICATE, Principal: "cert:spiffe://a/b", Policies: []string{policy},
	}}})
}

// bootstrap are the commands of a cluster with a first token.
func bootstrap() []*storev1.Command {
	_, newest := storage.ClusterVersions()
	return []*storev1.Command{
		{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: newest}}},
		change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
			Mode: storev1.AuthMode_AUTH_MODE_ENFORCE, Token: record("first", storage.AdminPolicy, 0),
		}}}),
		policy("web", `key "a" read`),
		policy("security", "admin write"),
	}
}

func TestProblemsOfTokensThatEnd(t *testing.T) {
	for sentence, c := range map[string]struct {
		commands []*storev1.Command
		after    time.Duration
		want     string
	}{
		"a long life has no problem at first":        {[]*storev1.Command{token("w", "web", 90*day)}, 75 * day, ""},
		"in its last two weeks it has":               {[]*storev1.Command{token("w", "web", 90*day)}, 77 * day, "token-expires"},
		"a short life has none until its last third": {[]*storev1.Command{token("w", "web", time.Hour)}, 39 * time.Minute, ""},
		"then it has":            {[]*storev1.Command{token("w", "web", time.Hour)}, 41 * time.Minute, "token-expires"},
		"what has ended is past": {[]*storev1.Command{token("w", "web", time.Hour)}, 2 * time.Hour, ""},
		"another administrator's end does not matter":            {[]*storev1.Command{token("x", "admin", 60*day)}, 61 * day, ""},
		"the last administrator's does":                          {[]*storev1.Command{token("x", "admin", 60*day), revoke("first")}, 47 * day, "last-admin-expires token-expires"},
		"afterwards, too":                                        {[]*storev1.Command{token("x", "admin", 60*day), revoke("first")}, 61 * day, "last-admin-expires"},
		"without any it is too late":                             {[]*storev1.Command{revoke("first")}, 0, "last-admin-expires"},
		"a policy with the right is as good as the built-in one": {[]*storev1.Command{token("x", "security", 0), revoke("first")}, 0, ""},
		"so is a binding":                                        {[]*storev1.Command{binding("security"), revoke("first")}, 0, ""},
		"but not one to another policy":                          {[]*storev1.Command{binding("web"), revoke("first")}, 0, "last-admin-expires"},
	} {
		t.Run(sentence, func(t *testing.T) {
			store := stores.With(t, append(bootstrap(), c.commands...)...)
			if got := problems(t, store, c.after); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := problems(t, stores.With(t), 0); got != "" {
		t.Errorf("before the bootstrap: got %q", got)
	}
}

// problems returns the names of the problems some time after the tokens were made.
func problems(t *testing.T, store *storage.Store, after time.Duration) string {
	t.Helper()
	e, err := auth.NewEnds(auth.EndsOptions{
		Store: func() *storage.Store { return store }, Registerer: prometheus.NewRegistry(), Now: func() time.Time { return begin.Add(after) },
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := e.Problems()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range found {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}
