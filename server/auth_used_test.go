package server_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// lastUsed returns the day of each token that is known to have been used, by the token's name.
func (m *member) lastUsed(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	all, err := m.auth().ListTokens(ctx, &tenurev1.ListTokensRequest{})
	if err != nil {
		t.Fatal(err)
	}
	days := map[string]string{}
	for _, token := range all.GetTokens() {
		one, err := m.auth().GetToken(ctx, &tenurev1.GetTokenRequest{Accessor: token.GetAccessor()})
		if err != nil {
			t.Fatal(err)
		}
		if at := one.GetToken().GetLastUsedTime(); at != nil {
			days[token.GetName()] = at.AsTime().Format(time.RFC3339)
		}
	}
	return days
}

// checkDays compares days with the one on which a test began, or the next.
func checkDays(t *testing.T, began time.Time, days map[string]string, names ...string) {
	t.Helper()
	first, last := began.UTC().Truncate(24*time.Hour), time.Now().UTC().Truncate(24*time.Hour)
	for _, name := range names {
		if day := days[name]; day != first.Format(time.RFC3339) && day != last.Format(time.RFC3339) {
			t.Errorf("the token %s was last used at %q, want %v", name, day, first)
		}
	}
}

// TestTokensSayWhenTheyWereUsed uses tokens over gRPC, over a line and over REST, at the leader and at others. Each has today's day after a
// while, except those that were not used, or only for what was refused.
func TestTokensSayWhenTheyWereUsed(t *testing.T) {
	t.Parallel()
	began := time.Now()
	a := newAuthority(t)
	c := startCluster(t, 3, a.securePeers, func(c *server.Config) { c.TokensUsedEvery = 10 * time.Millisecond })
	admin := identity.NewToken()
	await(t, "the cluster has the version that tokens need", func() bool {
		_, err := c.members[0].auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: modeEnforce})
		return err == nil
	})
	by := as(t.Context(), admin)
	lead := 0
	await(t, "a member says that it leads", func() bool {
		for i, m := range c.members {
			list, err := m.ListMembers(by, &tenurev1.ListMembersRequest{})
			for _, one := range list.GetMembers() {
				if err == nil && one.GetLeader() && one.GetId() == list.GetHeader().GetMemberId() {
					lead = i
					return true
				}
			}
		}
		return false
	})
	leader, one, other := c.members[lead], c.members[(lead+1)%3], c.members[(lead+2)%3]
	texts := map[string]string{}
	for _, name := range []string{"leader", "follower", "line", "rest", "watch", "refused", "unused"} {
		texts[name] = leader.token(t, admin, name, `key "a"* rw`).GetText()
	}
	get := &tenurev1.GetRequest{Key: "a"}
	if _, err := leader.Put(as(t.Context(), texts["leader"]), &tenurev1.PutRequest{Key: "a", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Get(as(t.Context(), texts["follower"]), get); err != nil {
		t.Fatal(err)
	}
	l := other.openLine(as(t.Context(), texts["line"]), t)
	if err := l.Send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{{Number: 1, Request: &tenurev1.LineCall_Get{Get: get}}}}); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Recv(); err != nil || len(r.GetAnswers()) != 1 {
		t.Fatalf("got %v, %v, want an answer", r, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+one.at.HTTP+"/v1/kv/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+texts["rest"])
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("REST answers %s", answer.Status)
	}
	for { // Without a leader for a second, a member does not know whether it knows all rights.
		watch, failed := tenurev1.NewWatchServiceClient(other.conn).Watch(as(t.Context(), texts["watch"]), &tenurev1.WatchRequest{Keys: []string{"a"}})
		if failed == nil {
			_, failed = watch.Recv()
		}
		if failed == nil {
			break
		}
		if status.Code(failed) != codes.Unavailable {
			t.Fatal(failed)
		}
	}
	_, err = one.Get(as(t.Context(), texts["refused"]), &tenurev1.GetRequest{Key: "other"})
	wantDenied(t, err, `key "other" read`)

	used := []string{"bootstrap", "leader", "follower", "line", "rest", "watch"}
	days := map[string]string{}
	await(t, "all that were used have a day", func() bool {
		days = leader.lastUsed(by, t)
		return len(days) >= len(used)
	})
	checkDays(t, began, days, used...)
	if len(days) != len(used) {
		t.Errorf("got the days %v, want those of %v", days, used)
	}
}

// TestAMemberThatStopsSaysWhichTokensWereUsed stops a member long before it would look by itself.
func TestAMemberThatStopsSaysWhichTokensWereUsed(t *testing.T) {
	began := time.Now()
	rarely := func(c *server.Config) { c.TokensUsedEvery = 24 * time.Hour }
	m := start(t, alone, rarely)
	admin := m.bootstrap(t, modeEnforce)
	web := m.token(t, admin, "web", `key * rw`).GetText()
	if _, err := m.Put(as(t.Context(), web), &tenurev1.PutRequest{Key: "a", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	if days := m.lastUsed(as(t.Context(), admin), t); len(days) != 0 {
		t.Errorf("before it looks: the days %v, want none", days)
	}
	m.stop()
	if err := m.wait(); err != nil {
		t.Fatal(err)
	}
	again := start(t, alone, rarely, func(c *server.Config) { c.FS = m.fs })
	checkDays(t, began, again.lastUsed(as(t.Context(), admin), t), "web", "bootstrap")
}
