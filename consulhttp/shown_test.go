package consulhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// TestWhatAReadShowsWakesItAndRaisesItsIndex waits with all reads at once, and makes one change after the other: each read that shows something else
// then was woken, with an index that a program sees to be another one.
func TestWhatAReadShowsWakesItAndRaisesItsIndex(t *testing.T) {
	r := newRig(t)
	if unseen := wakesForAllThatShows(t.Context(), t, r, r); len(unseen) > 0 {
		t.Errorf("no read shows %q", unseen)
	}
}

// TestWhatAPartShowsWakesItAndRaisesItsIndex does the same with callers whose rules cover few of the lists, or none.
func TestWhatAPartShowsWakesItAndRaisesItsIndex(t *testing.T) {
	for name, test := range map[string]struct {
		rules  string
		unseen int // changes that none of its reads shows
	}{
		"all that is there": {"key \"lock\" ro\nsession * read\nnode \"w\"* read\nnode \"near\" read\nnode \"a\" read\nservice \"web\" read\nservice \"api\" read\nquery \"q\" read\n", 0},
		"one of each":       {"key \"lock\" ro\nsession node \"elsewhere\" read\nnode \"w\" read\nservice \"web\" read\n", 9},
		"another of each":   {"session * read\nnode \"w2\" read\nnode \"a\" read\nservice \"web\" read\nservice \"api\" read\n", 20},
		"nodes":             {"node * read\nservice \"api\" read\n", 9},
		"a node":            {"node \"w\" read\nsession \"none\" read\n", 18},
	} {
		t.Run(name, func(t *testing.T) {
			if unseen := wakesForAPart(t, test.rules); len(unseen) != test.unseen {
				t.Errorf("no read shows %d changes, want %d: %q", len(unseen), test.unseen, unseen)
			}
		})
	}
}

// wakesForAPart is wakesForAllThatShows with a caller that has some rules.
func wakesForAPart(t *testing.T, rules string) (unseen []string) {
	t.Helper()
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	admin := identity.NewToken()
	auth := tenurev1.NewAuthServiceClient(r.grpc)
	if _, err := auth.BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE}); err != nil {
		t.Fatal(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+admin)
	r.policy(ctx, "writes", "key * rw\nsession * write\nnode * write\nservice * write\nquery * write\n")
	r.policy(ctx, "part", rules)
	return wakesForAllThatShows(ctx, t, r.as(r.token(ctx, "writes")), r.as(r.token(ctx, "part")))
}

// wakesForAllThatShows has one caller make changes, in a context that shows it, too, and another one wait for them. It returns those that the other is not shown.
func wakesForAllThatShows(ctx context.Context, t *testing.T, r, reader *rig) (unseen []string) {
	t.Helper()
	register := func(body string) func() {
		return func() { r.want("PUT", "/v1/catalog/register", body, 200, "true") }
	}
	nodes, sessions, locks := tenurev1.NewCatalogServiceClient(r.grpc), tenurev1.NewSessionServiceClient(r.grpc), tenurev1.NewLockServiceClient(r.grpc)
	zone := func(node, zone string) func() {
		return func() {
			if _, err := nodes.RegisterNode(ctx, &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: node, Zone: zone}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	elsewhere := ""
	for _, setUp := range []func(){
		func() { r.want("PUT", "/v1/kv/lock", "1", 200, "true") },
		zone("near", "z1"), zone("w2", "z2"),
		register(`{"Node":"w2","Address":"b","Service":{"Service":"web","Tags":["v1"]},"Check":{"CheckID":"two","ServiceID":"web","Status":"passing"}}`),
		register(`{"Node":"w","Address":"a","NodeMeta":{"rack":"a"},"Service":{"ID":"web-1","Service":"web","Tags":["v1"]},` +
			`"Checks":[{"CheckID":"up","ServiceID":"web-1","Status":"passing"},{"CheckID":"disk","Status":"passing"}]}`),
		register(`{"Node":"w","SkipNodeUpdate":true,"Service":{"Service":"api"}}`),
	} {
		setUp()
	}
	session, query := r.session(`{"LockDelay":"0s"}`), r.query(`{"Name":"q","Service":{"Service":"web"}}`)
	paths := []string{
		"health/state/any", "health/state/passing", "health/state/passing?node-meta=rack:a", "health/state/any?node-meta=rack:b", "health/state/critical",
		"health/checks/web", "health/checks/web?node-meta=rack:a", "health/checks/web?node-meta=rack:b", "health/checks/web?near=near", "health/checks/api",
		"health/service/web", "health/service/web?passing", "health/service/web?tag=v1", "health/service/web?node-meta=rack:b", "health/service/web?near=near",
		"health/service/web?near=not+one", "health/service/api", "health/node/w", "catalog/node/w", "catalog/node-services/w", "catalog/service/web",
		"catalog/service/web?tag=v2", "catalog/service/web?node-meta=rack:a", "catalog/service/web?near=NEAR", "catalog/service/api",
		"catalog/nodes", "catalog/nodes?node-meta=rack:a", "catalog/nodes?near=near", "catalog/services", "catalog/services?node-meta=rack:a",
		"session/list", "session/node/elsewhere", "session/info/" + session, "query", "query/" + query, "kv/lock", "kv/lock?recurse", "kv/?keys",
	}
	for _, change := range []struct {
		what string
		do   func()
	}{
		{"tags", register(`{"Node":"w","SkipNodeUpdate":true,"Service":{"ID":"web-1","Service":"web","Tags":["v2"]}}`)},
		{"facts of a node", register(`{"Node":"w","Address":"a","NodeMeta":{"rack":"b"}}`)},
		{"facts again", register(`{"Node":"w","Address":"a","NodeMeta":{"rack":"a"}}`)},
		{"an address", register(`{"Node":"w","Address":"c","NodeMeta":{"rack":"a"}}`)},
		{"a status", register(`{"Node":"w","SkipNodeUpdate":true,"Check":{"CheckID":"up","ServiceID":"web-1","Status":"critical"}}`)},
		{"a status of the node", register(`{"Node":"w","SkipNodeUpdate":true,"Check":{"CheckID":"disk","Status":"warning"}}`)},
		{"the zone of the near node", zone("near", "z2")},
		{"a node that is near", register(`{"Node":"a","Address":"d","Service":{"Service":"web"},"Check":{"CheckID":"a","ServiceID":"web"}}`)},
		{"a zone", zone("a", "z2")},
		{"a check of another service", register(`{"Node":"w","SkipNodeUpdate":true,"Check":{"CheckID":"up","ServiceID":"api","Status":"critical"}}`)},
		{"a check of the node", register(`{"Node":"w","SkipNodeUpdate":true,"Check":{"CheckID":"up","Status":"critical"}}`)},
		{"a check of a service again", register(`{"Node":"w","SkipNodeUpdate":true,"Check":{"CheckID":"up","ServiceID":"web-1","Status":"critical"}}`)},
		{"another name of a service", register(`{"Node":"w","SkipNodeUpdate":true,"Service":{"ID":"web-1","Service":"api","Tags":["v2"]}}`)},
		{"no check", func() { r.want("PUT", "/v1/catalog/deregister", `{"Node":"w","CheckID":"up"}`, 200, "true") }},
		{"no service", func() { r.want("PUT", "/v1/catalog/deregister", `{"Node":"w","ServiceID":"web-1"}`, 200, "true") }},
		{"no node", func() { r.want("PUT", "/v1/catalog/deregister", `{"Node":"w"}`, 200, "true") }},
		{"no near node", func() { r.want("PUT", "/v1/catalog/deregister", `{"Node":"near"}`, 200, "true") }},
		{"the near node again", zone("near", "z2")},
		{"a session", func() {
			made, err := sessions.CreateSession(ctx, &tenurev1.CreateSessionRequest{Node: "Elsewhere"})
			if err != nil {
				t.Fatal(err)
			}
			elsewhere = made.GetSessionId()
		}},
		{"no session", func() { r.want("PUT", "/v1/session/destroy/"+elsewhere, "", 200, "true") }},
		{"a query", func() { r.want("PUT", "/v1/query/"+query, `{"Name":"q","Service":{"Service":"api"}}`, 200, "") }},
		{"a lock", func() {
			_, err := locks.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: "lock", SessionId: session})
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"the end of its session", func() { r.want("PUT", "/v1/session/destroy/"+session, "", 200, "true") }},
		{"no query", func() { r.want("DELETE", "/v1/query/"+query, "", 200, "") }},
		{"no key", func() { r.want("DELETE", "/v1/kv/lock", "", 200, "true") }},
	} {
		if !reader.wakesWhatShows(t, paths, change.what, change.do) {
			unseen = append(unseen, change.what)
		}
	}
	return unseen
}

// wakesWhatShows waits on those of some paths that may be read, makes a change, and fails unless each path that shows it has an answer with another index. It
// reports whether one does.
func (r *rig) wakesWhatShows(t *testing.T, all []string, what string, change func()) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var paths []string
	var before []*reply
	var waits []chan *reply
	for _, path := range all {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		shown := r.send("GET", "/v1/"+path, "")
		if shown.status == http.StatusForbidden {
			continue
		}
		waiting := fmt.Sprintf("/v1/%s%sindex=%d&wait=10m", path, separator, shown.index(t))
		wait := make(chan *reply, 1)
		paths, before, waits = append(paths, path), append(before, shown), append(waits, wait)
		go func() {
			if got, err := r.try(ctx, http.MethodGet, waiting, nil); err == nil {
				wait <- got
			}
		}()
	}
	r.awaitBlocked(len(paths))
	change()
	shows := 0
	for i, path := range paths {
		after := r.send("GET", "/v1/"+path, "")
		if after.body == before[i].body {
			continue
		}
		shows++
		if after.index(t) <= before[i].index(t) {
			t.Errorf("%s: %s shows %s with index %d, want one after it", what, path, after.body, after.index(t))
		}
		if got := await(t, waits[i]); got.body != after.body || got.index(t) <= before[i].index(t) {
			t.Errorf("%s: a wait for %s ends with %s and index %d, want %s and one after %d", what, path, got.body, got.index(t), after.body, before[i].index(t))
		}
	}
	cancel()
	r.awaitBlocked(0)
	return shows > 0
}
