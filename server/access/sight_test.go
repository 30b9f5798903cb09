package access

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
)

const (
	authOff, authWarn = storev1.AuthMode_AUTH_MODE_OFF, storev1.AuthMode_AUTH_MODE_WARN
	authEnforce       = storev1.AuthMode_AUTH_MODE_ENFORCE
)

// ruled returns a member in a mode, its authority, and a caller whose policy p has rules.
func ruled(t *testing.T, mode storev1.AuthMode, rules string) (*cut, *Authority, *identity.Client) {
	t.Helper()
	node, a, _ := enforcing(t, mode)
	node.rules(t, rules)
	accessor, hash := Accessor{1}, identity.Hash{1}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
		Accessor: accessor[:], TokenSha256: hash[:], Name: "t", Policies: []string{"p"},
	}}})
	return node, a, &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: hash}}
}

// rules gives the policy p other rules.
func (c *cut) rules(t testing.TB, rules string) { c.policy(t, "p", rules) }

func (c *cut) policy(t testing.TB, name, rules string) {
	t.Helper()
	c.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: name, Rules: rules}}})
}

// bind gives a policy to whoever has a certificate for x.
func (c *cut) bind(t testing.TB, policy string) {
	t.Helper()
	c.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
		Name: policy, Kind: storev1.BindingKind_BINDING_KIND_CERTIFICATE, Principal: "cert:x", Policies: []string{policy},
	}}})
}

const listing = tenurev1.KVService_List_FullMethodName

// seen returns what a caller sees of a list, on the snapshot that the member has.
func (c *cut) seen(t *testing.T, a *Authority, caller *identity.Client, m proto.Message) (*Grant, *Sight) {
	t.Helper()
	ctx, err := a.Call(t.Context(), caller, listing, m)
	if err != nil {
		t.Fatal(err)
	}
	g := Of(ctx)
	c.at(t, g)
	return g, g.Sight()
}

// at decides again on the snapshot that the member has.
func (c *cut) at(t *testing.T, g *Grant) {
	t.Helper()
	s := c.store.NewReader()
	defer func() { _ = s.Close() }()
	at, err := s.Applied()
	if err == nil {
		err = g.At(s, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sees(s *Sight, key string) bool { return authz.SeesKey(s, key, authz.List|authz.Read) }

func TestWhoHasAllRightsHasNoSight(t *testing.T) {
	all := &tenurev1.ListRequest{Prefix: "a/", VisibleOnly: true}
	for name, c := range map[string]struct {
		mode  storev1.AuthMode
		rules string
		list  *tenurev1.ListRequest
		part  bool
		would float64
	}{
		"all of it":             {authEnforce, `key "a/"* ro`, all, false, 0},
		"more":                  {authEnforce, `key * ro`, all, false, 0},
		"a part":                {authEnforce, `key "a/b/"* ro`, all, true, 0},
		"nothing of it":         {authEnforce, `key "b" ro`, all, true, 0},
		"all, by two rules":     {authEnforce, `key "a/"* list` + "\n" + `key "a/"* read`, all, false, 0},
		"to list and not read":  {authEnforce, `key "a/"* list`, all, true, 0},
		"it, for keys alone":    {authEnforce, `key "a/"* list`, &tenurev1.ListRequest{Prefix: "a/", KeysOnly: true, VisibleOnly: true}, false, 0},
		"a part in mode warn":   {authWarn, `key "a/b/"* ro`, all, false, 1},
		"all in mode warn":      {authWarn, `key "a/"* ro`, all, false, 0},
		"no rule in mode warn":  {authWarn, ``, all, false, 1},
		"it without the wish":   {authEnforce, `key "a/"* ro`, &tenurev1.ListRequest{Prefix: "a/"}, false, 0},
		"a part in mode off":    {authOff, `key "a/b/"* ro`, all, false, 0},
		"a part below a prefix": {authEnforce, `key "a/"* ro`, &tenurev1.ListRequest{VisibleOnly: true}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			node, a, caller := ruled(t, c.mode, c.rules)
			if c.mode == authOff {
				if a.Asks(listing) {
					t.Error("something is to be decided in mode off")
				}
				return
			}
			for range 2 { // Once from the state, once from memory.
				g, sight := node.seen(t, a, caller, c.list)
				if (sight != nil) != c.part {
					t.Fatalf("sight %v, want one: %v", sight, c.part)
				}
				if would := c.would > 0; g.WouldDeny() != would {
					t.Errorf("it would be denied: %v, want %v", !would, would)
				}
				answer, err := g.Answer(&tenurev1.ListResponse{Header: &tenurev1.ResponseHeader{}})
				if header := headerOf(answer); err != nil || header.GetFiltered() != c.part || header.GetHidden() != 0 {
					t.Errorf("the header is %v, %v; want filtered %v", header, err, c.part)
				}
				if sight != nil && sees(sight, "c") {
					t.Error("it sees what no rule covers")
				}
			}
			if n := value(t, a.metrics.wouldDeny); n != 2*c.would {
				t.Errorf("%v would be denied, want %v", n, 2*c.would)
			}
		})
	}
}

func TestWhatIsNamedAndWhoHasNoRuleAreDeniedStill(t *testing.T) {
	for name, c := range map[string]struct {
		rules  string
		method string
		m      proto.Message
		denied bool
	}{
		"no rule at all":            {``, listing, &tenurev1.ListRequest{VisibleOnly: true}, true},
		"a rule about others":       {`query "x" read`, listing, &tenurev1.ListRequest{VisibleOnly: true}, false},
		"a node that is named":      {`node "h2" read`, tenurev1.CatalogService_GetNode_FullMethodName, &tenurev1.GetNodeRequest{Node: "h1", VisibleOnly: true}, true},
		"of which it sees services": {`node "h1" read`, tenurev1.CatalogService_GetNode_FullMethodName, &tenurev1.GetNodeRequest{Node: "h1", VisibleOnly: true}, false},
		"another's sessions": {
			`session own read`, tenurev1.SessionService_ListSessions_FullMethodName,
			&tenurev1.ListSessionsRequest{Principals: []string{"token:x"}, VisibleOnly: true}, true,
		},
		"the sessions of a node that is none": {
			`session own read`, tenurev1.SessionService_ListSessions_FullMethodName,
			&tenurev1.ListSessionsRequest{Node: "\x00x"}, true,
		},
		"a list in a transaction": {`query "x" read`, tenurev1.KVService_Txn_FullMethodName, &tenurev1.TxnRequest{Then: []*tenurev1.Op{
			{Kind: &tenurev1.Op_List{List: &tenurev1.ListRequest{VisibleOnly: true}}},
		}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, a, caller := ruled(t, authEnforce, c.rules)
			_, err := a.Call(t.Context(), caller, c.method, c.m)
			if isDenial(err) != c.denied || (err != nil) != c.denied {
				t.Errorf("got %v, want denied %v", err, c.denied)
			}
		})
	}
}

// TestASightIsFixedAndALaterDecisionHasItsOwn takes a right away, and gives one, which raises no deny revision.
func TestASightIsFixedAndALaterDecisionHasItsOwn(t *testing.T) {
	node, a, _ := ruled(t, authEnforce, "key \"a/1\" ro\nkey \"a/2\" ro")
	caller := &identity.Client{Caller: identity.Caller{Kind: identity.Certificate, Principal: "cert:x"}}
	node.bind(t, "p")
	g, first := node.seen(t, a, caller, &tenurev1.ListRequest{Prefix: "a/", VisibleOnly: true})
	under := g.Under()
	node.policy(t, "later", `key "a/3" ro`)
	node.bind(t, "later")
	if at := a.node.Store().Rights.Now().DenyRevision; at != under {
		t.Fatalf("the deny revision is %d, want %d as before", at, under)
	}
	node.at(t, g)
	second := g.Sight()
	node.rules(t, `key "a/1" ro`)
	node.at(t, g)
	third := g.Sight()
	node.rules(t, `key * ro`)
	node.at(t, g)
	if g.Sight() != nil {
		t.Error("it has a sight, and sees all")
	}
	for key, want := range map[string][3]bool{"a/1": {true, true, true}, "a/2": {true, true, false}, "a/3": {false, true, true}, "a/4": {}} {
		if got := [3]bool{sees(first, key), sees(second, key), sees(third, key)}; got != want {
			t.Errorf("%s is seen %v, want %v", key, got, want)
		}
	}
	if first.who.rights.Same(second.who.rights) || !third.who.rights.Same(third.who.rights) {
		t.Error("rights are the same that are not, or are not the same")
	}
}

// TestAWatchOfAPartAsksFirstWhatTheClusterHas opens a watch at a member that has not heard yet of a right.
func TestAWatchOfAPartAsksFirstWhatTheClusterHas(t *testing.T) {
	member, a, caller := lagging(t, `key "a/1" ro`)
	member.missed = []*storev1.Command{{Kind: &storev1.Command_ChangeAuth{ChangeAuth: &storev1.ChangeAuth{
		Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "p", Rules: `key "a/2" ro`}},
	}}}}
	watch := func() (*Grant, error) {
		ctx, stream := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, func(error) {})
		defer stream.Close()
		err := stream.Message(ctx, &tenurev1.WatchRequest{Prefixes: []string{"a/"}, VisibleOnly: true})
		return Of(ctx), err
	}
	g, err := watch()
	if err != nil {
		t.Fatal(err)
	}
	seen := func(key string) bool { return authz.SeesKey(g.Sight(), key, authz.List|authz.Read|authz.Watch) }
	if g.Sight() == nil || seen("a/1") || !seen("a/2") {
		t.Errorf("it sees by rights that are old: %v, %v", seen("a/1"), seen("a/2"))
	}
	member.lost = true
	if g, err = watch(); err != nil || !seen("a/2") {
		t.Errorf("at a member that is cut off: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = a.Call(ctx, caller, listing, &tenurev1.ListRequest{VisibleOnly: true}); err != nil {
		t.Errorf("a list, which proves with its snapshot: %v", err)
	}
}

// TestAPartInModeWarnIsCountedAndNotWaitedFor opens watches in mode warn whose caller would see a part: without a leader, and with a session that is not
// there, for which the member asks what the cluster has.
func TestAPartInModeWarnIsCountedAndNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		rules    string
		sessions []string
		proofs   int
	}{
		"a part":                              {`key "a/1" ro`, nil, 0},
		"nothing":                             {`query "x" read`, nil, 0},
		"a part, and a session":               {"key \"a/1\" ro\nsession \"x\" read", []string{unheardSession.String()}, 1},
		"no rule":                             {``, nil, 1},
		"a part, and a session it may not":    {`key "a/1" ro`, []string{unheardSession.String()}, 1},
		"a part, and what is no session's id": {`key "a/1" ro`, []string{"x"}, 1},
	} {
		for _, lost := range []bool{false, true} {
			node, a, caller := ruled(t, authWarn, c.rules)
			if err := a.prove(t.Context()); err != nil {
				t.Fatal(err)
			}
			node.lost, node.proofs = lost, 0
			ctx, stream := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, func(err error) { t.Error(err) })
			if err := stream.Message(ctx, &tenurev1.WatchRequest{Prefixes: []string{"a/"}, SessionIds: c.sessions, VisibleOnly: true}); err != nil {
				t.Errorf("%s, lost %v: %v", name, lost, err)
			}
			g := Of(ctx)
			if node.proofs != c.proofs || !g.WouldDeny() || g.Sight() != nil {
				t.Errorf("%s, lost %v: %d proofs, want %d; it would be denied: %v, it shows a part: %v", name, lost, node.proofs, c.proofs, g.WouldDeny(), g.Sight() != nil)
			}
			node.policy(t, "q", `key "b" ro`)
			node.policy(t, "q", `key "c" ro`)
			a.Reviews().Next(t.Context())
			if err := g.Again(t.Context()); err != nil {
				t.Errorf("%s, lost %v, again: %v", name, lost, err)
			}
			if n := value(t, a.metrics.wouldDeny); n != 1 {
				t.Errorf("%s, lost %v: %v messages would be denied, want 1", name, lost, n)
			}
			stream.Close()
		}
	}
}

// headerOf returns the header of a list.
func headerOf(m proto.Message) *tenurev1.ResponseHeader {
	list, _ := m.(*tenurev1.ListResponse)
	return list.GetHeader()
}
