package consulhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
)

// blockAs is block with a credential.
func (r *rig) blockAs(path string, show func(*http.Request)) <-chan *reply {
	out := make(chan *reply, 1)
	ctx := r.t.Context()
	go func() {
		got, err := r.try(ctx, http.MethodGet, path, nil, show)
		if err != nil {
			got = &reply{body: err.Error()}
		}
		out <- got
	}()
	return out
}

// with adds parameters to a path.
func with(path, format string, args ...any) string {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return path + separator + fmt.Sprintf(format, args...)
}

// TestAPartWakesForWhatItShows blocks a caller that sees a part of each list, makes a change that it does not see, and then one that it does. One that sees
// all, and waits for the same, is woken by the first.
func TestAPartWakesForWhatItShows(t *testing.T) {
	const shown, hidden = "shown:4b1e", "hidden:9c77"
	registered := func(node, service, output string) string {
		entry := fmt.Sprintf(`{"Node":%q,"Address":"192.0.2.1","NodeMeta":{"m":%q}`, node, output)
		if service != "" {
			entry += fmt.Sprintf(`,"Service":{"Service":%q,"Tags":[%q]},"Check":{"CheckID":"c-%[1]s","ServiceID":%[1]q,"Status":"passing","Output":%[2]q}`, service, output)
		}
		return entry + "}"
	}
	type change struct{ method, path, body string }
	register := func(node, service, output string) change {
		return change{"PUT", "/v1/catalog/register", registered(node, service, output)}
	}
	onlyService := func(node, service, output string) change {
		c := register(node, service, output)
		c.body = strings.Replace(c.body, `{`, `{"SkipNodeUpdate":true,`, 1)
		return c
	}
	session := func(name, node string) change {
		return change{"PUT", "/v1/session/create", fmt.Sprintf(`{"Name":%q,"Node":%q,"Checks":[]}`, name, node)}
	}
	tests := map[string]struct{ hides, shows change }{
		"kv/?recurse":               {change{"PUT", "/v1/kv/c", hidden}, change{"PUT", "/v1/kv/a/2", shown}},
		"kv/?keys":                  {change{"PUT", "/v1/kv/c:" + hidden, ""}, change{"PUT", "/v1/kv/a/" + shown, ""}},
		"session/list":              {session(hidden, "n0"), session("s:"+shown, "n")},
		"session/node/n":            {session(hidden, "n"), session("s:"+shown, "n")},
		"catalog/nodes":             {register("m", "", hidden), register("n", "", shown)},
		"catalog/services":          {register("m", "web0", hidden), register("n", "web", shown)},
		"catalog/service/web":       {register("m", "web", hidden), register("n", "web", shown)},
		"catalog/node/n":            {onlyService("n", "db", hidden), register("n", "web", shown)},
		"health/node/n":             {onlyService("n", "db", hidden), register("n", "web", shown)},
		"health/service/web":        {register("m", "web", hidden), register("n", "web", shown)},
		"health/checks/web":         {register("m", "web", hidden), register("n", "web", shown)},
		"health/state/any":          {onlyService("n", "db", hidden), register("n", "web", shown)},
		"catalog/nodes?near=m":      {register("m", "", hidden), register("n", "", shown)},
		"health/service/web?near=m": {register("m", "", hidden), register("n", "web", shown)},
		"query": {
			change{"POST", "/v1/query", `{"Name":"r1","Service":{"Service":"web","NodeMeta":{"m":"` + hidden + `"}}}`},
			change{"POST", "/v1/query", `{"Name":"q1","Service":{"Service":"web","NodeMeta":{"m":"` + shown + `"}}}`},
		},
	}
	for path, test := range tests {
		t.Run(path, func(t *testing.T) {
			r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
			r.policy(ctx, "part", "key \"a/\"* ro\nsession \"s\"* read\nnode \"n\" read\nservice \"web\" read\nquery \"q\"* read\n")
			r.policy(ctx, "whole", "key * rw\nsession * write\nnode * write\nservice * write\nquery * write\n")
			part, whole := r.token(ctx, "part"), r.token(ctx, "whole")
			index := r.sendAs("GET", "/v1/"+path, "", part).index(t)
			blocking := with("/v1/"+path, "index=%d&wait=10m", index)
			waits, wholes := []<-chan *reply{r.blockAs(blocking, part), r.blockAs(with(blocking, "stale"), part)}, r.blockAs(blocking, whole)
			r.awaitBlocked(3)
			if got := r.sendAs(test.hides.method, test.hides.path, test.hides.body, whole); got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			after := await(t, wholes)
			if after.status != 200 || after.header.Get(filteredHeader) != "" || after.index(t) <= index {
				t.Errorf("all: got %d %s, want the change", after.status, after.body)
			}
			r.awaitBlocked(2)
			if got := r.sendAs(test.shows.method, test.shows.path, test.shows.body, whole); got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			for _, wait := range waits {
				got := await(t, wait)
				if got.status != 200 || !strings.Contains(unmarked(got), shown) && !strings.Contains(got.body, "c2hvd246NGIxZQ==") || got.index(t) <= after.index(t) {
					t.Errorf("got %d %s with index %s, want the second change", got.status, got.body, got.header.Get("X-Consul-Index"))
				}
				if strings.Contains(unmarked(got), hidden) || strings.Contains(got.body, "aGlkZGVuOjljNzc=") || got.header.Get(filteredHeader) != "true" {
					t.Errorf("got %v %s, want a part without the first change", got.header, got.body)
				}
			}
		})
	}
}

// TestTheEndOfASessionWakesThoseThatSeeIt blocks a caller that sees some sessions while others end, and then one that it sees.
func TestTheEndOfASessionWakesThoseThatSeeIt(t *testing.T) {
	for path, rules := range map[string]string{
		"session/list": "session \"s\" read\n", "session/node/n": "session \"s\" read\nnode \"n\" read\n", "session/node/N": "session node \"n\" read\n",
	} {
		r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
		r.policy(ctx, "part", rules)
		r.policy(ctx, "whole", "session * write\nnode * read\n")
		part, whole := r.token(ctx, "part"), r.token(ctx, "whole")
		ids := map[string]string{}
		var sessions []struct{ ID, Name string }
		if err := json.Unmarshal([]byte(r.sendAs("GET", "/v1/session/list", "", whole).body), &sessions); err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			ids[s.Name] = s.ID
		}
		first := r.sendAs("GET", "/v1/"+path, "", part)
		if !strings.Contains(first.body, ids["s"]) {
			t.Fatalf("%s: got %d %s, want the session", path, first.status, first.body)
		}
		waiting := r.blockAs(fmt.Sprintf("/v1/%s?index=%d&wait=10m", path, first.index(t)), part)
		all := r.blockAs(fmt.Sprintf("/v1/session/list?index=%d&wait=10m", first.index(t)), whole)
		r.awaitBlocked(2)
		r.sendAs("PUT", "/v1/session/destroy/"+ids["x"], "", whole)
		await(t, all)
		r.awaitBlocked(1)
		r.sendAs("PUT", "/v1/session/destroy/"+ids["s"], "", whole)
		if got := await(t, waiting); got.status != 200 || strings.Contains(got.body, ids["s"]) || got.index(t) < first.index(t)+2 {
			t.Errorf("%s: got %d %s with index %d, want that the session is gone", path, got.status, got.body, got.index(t))
		}
	}
}

// TestABlockedRequestSeesThatItsRightsChange changes the rights of a caller in each way while it is blocked: it gets at once what it may see then.
func TestABlockedRequestSeesThatItsRightsChange(t *testing.T) {
	const some, more, all = "key \"a/\"* ro\nservice \"web\" read\nnode \"n\" read\n", "key \"a/\"* ro\nkey \"b/\"* ro\nservice * read\nnode \"n\"* read\n", "key * ro\nservice * read\nnode * read\n"
	auth := func(r *rig) tenurev1.AuthServiceClient { return tenurev1.NewAuthServiceClient(r.grpc) }
	policy := func(rules string) func(*rig, context.Context, string) error {
		return func(r *rig, ctx context.Context, _ string) error {
			_, err := auth(r).PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: "mine", Rules: rules})
			return err
		}
	}
	mode := func(to tenurev1.AuthMode) func(*rig, context.Context, string) error {
		return func(r *rig, ctx context.Context, _ string) error {
			_, err := auth(r).SetAuthMode(ctx, &tenurev1.SetAuthModeRequest{Mode: to})
			return err
		}
	}
	type want struct {
		status int
		part   bool
		keys   []string
		nodes  []string
	}
	tests := map[string]struct {
		rules  string
		change func(r *rig, ctx context.Context, accessor string) error
		want   want
	}{
		"a part gets larger":  {some, policy(more), want{200, true, []string{"a/1", "a/10", "a/2", "b/1"}, []string{"n", "n0"}}},
		"a part gets smaller": {more, policy(some), want{200, true, []string{"a/1", "a/10", "a/2"}, []string{"n"}}},
		"a part gets whole":   {some, policy(all), want{200, false, worldKeys, []string{"n", "n0"}}},
		"all becomes a part":  {all, policy(some), want{200, true, []string{"a/1", "a/10", "a/2"}, []string{"n"}}},
		"nothing is left":     {some, policy(""), want{403, false, nil, nil}},
		"the token is revoked": {some, func(r *rig, ctx context.Context, accessor string) error {
			_, err := auth(r).RevokeToken(ctx, &tenurev1.RevokeTokenRequest{Accessor: accessor})
			return err
		}, want{403, false, nil, nil}},
		"rules are enforced from now on":  {some, mode(tenurev1.AuthMode_AUTH_MODE_ENFORCE), want{200, true, []string{"a/1", "a/10", "a/2"}, []string{"n"}}},
		"rules are looked at from now on": {some, mode(tenurev1.AuthMode_AUTH_MODE_ENFORCE), want{200, true, []string{"a/1", "a/10", "a/2"}, []string{"n"}}},
		"rules are enforced no longer":    {some, mode(tenurev1.AuthMode_AUTH_MODE_WARN), want{200, false, worldKeys, []string{"n", "n0"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
			r.policy(ctx, "mine", test.rules)
			made, err := auth(r).CreateToken(ctx, &tenurev1.CreateTokenRequest{Name: "mine", Policies: []string{"mine"}})
			if err != nil {
				t.Fatal(err)
			}
			show := shows(made.GetText())
			before, other := map[string]tenurev1.AuthMode{
				"rules are enforced from now on": tenurev1.AuthMode_AUTH_MODE_WARN, "rules are looked at from now on": tenurev1.AuthMode_AUTH_MODE_OFF,
			}[name]
			if other {
				if err := mode(before)(r, ctx, ""); err != nil {
					t.Fatal(err)
				}
			}
			keys, instances := r.sendAs("GET", "/v1/kv/?keys", "", show), r.sendAs("GET", "/v1/catalog/service/web", "", show)
			var waits []<-chan *reply
			for _, wait := range []struct {
				path     string
				watchers float64
			}{
				{fmt.Sprintf("kv/?keys&index=%d&wait=10m", keys.index(t)-1), 1},
				// It shares the watch of the one before, although it waits after another revision.
				{fmt.Sprintf("kv/?keys&index=%d&wait=10m", keys.index(t)), 1},
				{fmt.Sprintf("catalog/service/web?index=%d&wait=10m", instances.index(t)), 3},
			} {
				waits = append(waits, r.blockAs("/v1/"+wait.path, show))
				r.awaitBlocked(len(waits))
				r.awaitGauge("tenure_watch_watchers", wait.watchers)
			}
			if err := test.change(r, ctx, made.GetToken().GetAccessor()); err != nil {
				t.Fatal(err)
			}
			for i, wait := range waits {
				got := await(t, wait)
				if got.status != test.want.status || (got.header.Get(filteredHeader) == "true") != test.want.part {
					t.Errorf("%d: got %d %v %s, want %d, a part %v", i, got.status, got.header, got.body, test.want.status, test.want.part)
				}
				if got.status != 200 {
					continue
				}
				if i < 2 && got.body != list(test.want.keys...) {
					t.Errorf("got %s, want %q", got.body, test.want.keys)
				}
				for _, node := range worldNodes[1:] {
					if has := strings.Contains(got.body, marked("node", node)); i == 2 && has != strings.Contains(strings.Join(test.want.nodes, " ")+" ", node+" ") {
						t.Errorf("got %s, want the nodes %q", got.body, test.want.nodes)
					}
				}
				if got.index(t) < keys.index(t) {
					t.Errorf("the index has gone back from %d to %d", keys.index(t), got.index(t))
				}
			}
		})
	}
}

// TestCallersWithDifferentSightsShareNothing blocks two tokens with different rights, and one token twice, on the same list from one address.
func TestCallersWithDifferentSightsShareNothing(t *testing.T) {
	r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
	r.policy(ctx, "a", "key \"a/\"* ro\n")
	r.policy(ctx, "b", "key \"b/\"* ro\n")
	r.policy(ctx, "whole", "key * rw\n")
	callers := map[string]func(*http.Request){"a": r.token(ctx, "a"), "b": r.token(ctx, "b"), "all": r.token(ctx, "whole")}
	wants := map[string]string{"a": list("a/1", "a/10", "a/2", "a/new"), "b": list("b/1", "b/new"), "all": list("a", "a/1", "a/10", "a/2", "a/new", "a0", "b/1", "b/new", "c")}
	index := r.sendAs("GET", "/v1/kv/?keys", "", callers["a"]).index(t)
	waits := map[string][]<-chan *reply{}
	const each = 5
	for who, show := range callers {
		for range each {
			waits[who] = append(waits[who], r.blockAs(fmt.Sprintf("/v1/kv/?keys&index=%d&wait=10m", index), show))
		}
	}
	r.awaitBlocked(each * len(callers))
	if n := r.counter("tenure_consul_watches"); n != float64(len(callers)) {
		t.Errorf("%v watches are open for %d tokens", n, len(callers))
	}
	txn := `[{"KV":{"Verb":"set","Key":"a/new","Value":""}},{"KV":{"Verb":"set","Key":"b/new","Value":""}}]`
	if got := r.sendAs("PUT", "/v1/txn", txn, callers["all"]); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for who, all := range waits {
		for _, wait := range all {
			if got := await(t, wait); got.status != 200 || got.body != wants[who] || (got.header.Get(filteredHeader) == "true") != (who != "all") {
				t.Errorf("%s: got %d %v %s, want %s", who, got.status, got.header, got.body, wants[who])
			}
		}
	}
}

// TestInModeWarnListsAreWhole asks for each list in mode warn and in mode off: nothing is left out.
func TestInModeWarnListsAreWhole(t *testing.T) {
	r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_WARN)
	r.policy(ctx, "some", holders["exact"].rules())
	show := r.token(ctx, "some")
	for _, mode := range []tenurev1.AuthMode{tenurev1.AuthMode_AUTH_MODE_WARN, tenurev1.AuthMode_AUTH_MODE_OFF} {
		for path, expected := range lists {
			want, some := expected(holders["all"]), expected(holders["exact"])
			for who, as := range map[string]func(*http.Request){"some": show, "nobody": func(*http.Request) {}, "unknown": shows(identity.NewToken())} {
				before := r.counter("tenure_access_would_deny_total")
				r.checkPart(fmt.Sprintf("%v, %s: %s", mode, who, path), r.sendAs("GET", "/v1/"+path, "", as), want)
				if counted := r.counter("tenure_access_would_deny_total") > before; counted != (mode == tenurev1.AuthMode_AUTH_MODE_WARN && (some.part || some.denied)) && who == "some" {
					t.Errorf("%v: %s: what would be left out is counted: %v", mode, path, counted)
				}
			}
		}
		if _, err := tenurev1.NewAuthServiceClient(r.grpc).SetAuthMode(ctx, &tenurev1.SetAuthModeRequest{Mode: tenurev1.AuthMode_AUTH_MODE_OFF}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAWaitInVainForAPartSaysTheIndexOfWhatItShows waits in vain: the caller's rights may have been others at its index, so it does not say that nothing changed.
func TestAWaitInVainForAPartSaysTheIndexOfWhatItShows(t *testing.T) {
	r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
	r.policy(ctx, "a", "key \"a/\"* ro\n")
	r.policy(ctx, "whole", "key * rw\n")
	part, whole := r.token(ctx, "a"), r.token(ctx, "whole")
	index := r.sendAs("GET", "/v1/kv/?keys", "", part).index(t)
	if got := r.sendAs("PUT", "/v1/kv/c", "", whole); got.body != "true" {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	got := r.sendAs("GET", fmt.Sprintf("/v1/kv/?keys&index=%d&wait=20ms", index), "", part)
	if got.status != 200 || got.index(t) != r.sendAs("GET", "/v1/kv/?keys", "", part).index(t) {
		t.Errorf("got %d %s with index %d", got.status, got.body, got.index(t))
	}
}

// TestWhoListsAllAndMayNotWatchItDoesNotWaitInVain blocks callers whose rights show all of a list, but not its changes.
func TestWhoListsAllAndMayNotWatchItDoesNotWaitInVain(t *testing.T) {
	r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
	r.policy(ctx, "some", "key * list read\nservice * read\n")
	show := r.token(ctx, "some")
	for _, path := range []string{"kv/?keys", "kv/?recurse", "catalog/services"} {
		got := r.sendAs("GET", "/v1/"+path, "", show)
		if got.status != 200 || got.header.Get(filteredHeader) != "" {
			t.Fatalf("%s: got %d %v %s", path, got.status, got.header, got.body)
		}
		if got = r.sendAs("GET", with("/v1/"+path, "index=%d&wait=10m", got.index(t)), "", show); got.status != 403 {
			t.Errorf("%s: a wait: got %d %s, want 403", path, got.status, got.body)
		}
	}
}

// TestAWaitForAPartIsRefusedWhereItWouldBeInVain blocks callers that may list keys of which they may not watch all. Where the list shows only what they may
// watch, too, they are woken.
func TestAWaitForAPartIsRefusedWhereItWouldBeInVain(t *testing.T) {
	for name, test := range map[string]struct {
		rules   string
		refused []string
	}{
		"some may not be watched": {"key \"a/\"* ro\nkey \"b/\"* list read\n", []string{"kv/?keys", "kv/?recurse"}},
		"some may only be listed": {"key \"a/\"* ro\nkey \"b/\"* list\n", []string{"kv/?keys"}},
		"some may not be listed":  {"key \"a/\"* ro\nkey \"b/\"* read watch\n", nil},
		"all may only be listed":  {"key * list\n", []string{"kv/?keys"}},
	} {
		r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
		r.policy(ctx, "some", test.rules)
		r.policy(ctx, "whole", "key * rw\n")
		show, whole := r.token(ctx, "some"), r.token(ctx, "whole")
		for _, path := range []string{"kv/?keys", "kv/?recurse", "kv/a/?keys"} {
			first := r.sendAs("GET", "/v1/"+path, "", show)
			if first.status != 200 {
				if name != "all may only be listed" || path != "kv/?recurse" {
					t.Errorf("%s: %s: got %d %s", name, path, first.status, first.body)
				}
				continue
			}
			refused := slices.Contains(test.refused, path) || name == "all may only be listed"
			waiting := r.blockAs(with("/v1/"+path, "index=%d&wait=10m", first.index(t)), show)
			if !refused {
				r.awaitBlocked(1)
				r.sendAs("PUT", "/v1/kv/a/1", name+path, whole)
			}
			switch got := await(t, waiting); {
			case refused && got.status != 403:
				t.Errorf("%s: %s: a wait: got %d %s, want 403", name, path, got.status, got.body)
			case !refused && (got.status != 200 || got.index(t) <= first.index(t)):
				t.Errorf("%s: %s: a wait: got %d %s with index %d, want the change", name, path, got.status, got.body, got.index(t))
			}
		}
	}
}

// TestALongPartIsReadInPages lists more than a page of keys by callers that see some of them, and by one that may not watch what it lists.
func TestALongPartIsReadInPages(t *testing.T) {
	const keys = 2500
	r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
	kv := tenurev1.NewKVServiceClient(r.grpc)
	for i := range keys {
		for _, prefix := range []string{"a/", "h/"}[:1+i%2] {
			if _, err := kv.Put(ctx, &tenurev1.PutRequest{Key: fmt.Sprintf("%s%04d", prefix, i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		rules string
		part  bool
		want  map[string]int
	}{
		"a part":       {"key \"a/\"* ro\n", true, map[string]int{"a/": keys + 3, "h/": 0}},
		"two parts":    {"key \"a/1\"* ro\nkey \"h/\"* ro\n", true, map[string]int{"a/0": 0, "a/1": 1002, "h/": keys / 2}},
		"no watch":     {"key * list read\n", false, map[string]int{"a/": keys + 3, "h/": keys / 2}},
		"all":          {"key * ro\n", false, map[string]int{"a/": keys + 3, "h/": keys / 2}},
		"beyond these": {"key \"i/\"* ro\n", true, map[string]int{"a/": 0, "h/": 0}},
	} {
		r.policy(ctx, "long", test.rules)
		show := r.token(ctx, "long")
		for path, quoted := range map[string]string{"kv/?keys": `"`, "kv/?recurse": `"Key":"`} {
			got := r.sendAs("GET", "/v1/"+path, "", show)
			if (got.header.Get(filteredHeader) == "true") != test.part {
				t.Errorf("%s: %s: got %v, want a part: %v", name, path, got.header, test.part)
			}
			for prefix, want := range test.want {
				if n := strings.Count(got.body, quoted+prefix); n != want {
					t.Errorf("%s: %s: got %d keys with %s, want %d", name, path, n, prefix, want)
				}
			}
		}
	}
}

// TestNearAndFactsTellNothingOfWhatIsHidden asks for what is near a node that is hidden, and for facts that only hidden nodes have: it is as if there were none.
func TestNearAndFactsTellNothingOfWhatIsHidden(t *testing.T) {
	r, ctx := newWorld(t, tenurev1.AuthMode_AUTH_MODE_ENFORCE)
	nodes := tenurev1.NewCatalogServiceClient(r.grpc)
	for node, zone := range map[string]string{"n": "z2", "n0": "z1", "m": "z1"} {
		if _, err := nodes.RegisterNode(ctx, &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: node, Zone: zone, Meta: map[string]string{"rack": node}}}); err != nil {
			t.Fatal(err)
		}
	}
	r.policy(ctx, "some", "node \"n\"* read\nservice \"web\" read\n")
	show := r.token(ctx, "some")
	for _, path := range []string{"catalog/nodes", "catalog/services", "catalog/service/web", "health/service/web", "health/checks/web", "health/state/any"} {
		for hidden, none := range map[string]string{"near=m": "near=none", "near=M": "near=none", "node-meta=rack:m": "node-meta=rack:none"} {
			got, want := r.sendAs("GET", with("/v1/"+path, "%s", hidden), "", show), r.sendAs("GET", with("/v1/"+path, "%s", none), "", show)
			if got.status != 200 || got.status != want.status || got.body != want.body || got.header.Get(filteredHeader) != want.header.Get(filteredHeader) {
				t.Errorf("%s: with %s got %d %v %s, with %s %d %v %s", path, hidden, got.status, got.header, got.body, none, want.status, want.header, want.body)
			}
		}
	}
}
