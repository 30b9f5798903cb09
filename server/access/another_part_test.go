package access

import (
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// TestAStreamOfAPartEndsWhenItIsAnother changes rules and the mode, and looks at a watch of a part after each change.
func TestAStreamOfAPartEndsWhenItIsAnother(t *testing.T) {
	const narrow, wide = `key "a/"* ro`, `key * ro`
	mode := func(mode storev1.AuthMode) func(*testing.T, *cut) {
		return func(t *testing.T, node *cut) {
			t.Helper()
			node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: mode}})
		}
	}
	policy := func(name, rules string) func(*testing.T, *cut) {
		return func(t *testing.T, node *cut) { t.Helper(); node.policy(t, name, rules) }
	}
	for name, c := range map[string]struct {
		mode   storev1.AuthMode
		rules  string
		change func(*testing.T, *cut)
		ends   bool
		before bool // nothing is sent either until a review comes
	}{
		"it sees more":                    {authEnforce, narrow, policy("p", "key \"a/\"* ro\nkey \"b\" ro"), true, true},
		"it sees all":                     {authEnforce, narrow, policy("p", wide), true, true},
		"it sees less":                    {authEnforce, narrow, policy("p", `key "a/1" ro`), true, true},
		"it no longer sees all":           {authEnforce, wide, policy("p", narrow), true, true},
		"the same rules again":            {authEnforce, narrow, policy("p", narrow), false, false},
		"a policy of others":              {authEnforce, narrow, policy("q", wide), false, false},
		"rules are enforced no more":      {authEnforce, narrow, mode(authWarn), true, false},
		"rules are enforced":              {authWarn, narrow, mode(authEnforce), true, true},
		"rules change that only count":    {authWarn, narrow, policy("p", `key "a/1" ro`), false, false},
		"a policy of nobody in mode warn": {authWarn, narrow, policy("q", wide), false, false},
	} {
		node, a, caller := ruled(t, c.mode, c.rules)
		var ended error
		ctx, stream := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, func(err error) { ended = err })
		if err := stream.Message(ctx, &tenurev1.WatchRequest{Prefixes: []string{""}, VisibleOnly: true}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := node.store.NewReader()
		at, err := s.Applied()
		if err != nil {
			t.Fatal(err)
		}
		sight, err := See(ctx, s, at, false)
		if err != nil {
			t.Fatal(err)
		}
		if err = s.Close(); err != nil {
			t.Fatal(err)
		}
		reviews := a.Reviews()
		if reviews.Next(t.Context()); ended != nil {
			t.Errorf("%s: nothing has changed, and it ended: %v", name, ended)
		}
		c.change(t, node)
		if err = stream.Sends(); (err != nil) != c.before {
			t.Errorf("%s: before a review it sends: %v, want an error %v", name, err, c.before)
		}
		reviews.Next(t.Context())
		if e := reason.Of(ended); c.ends != (e != nil && e.Reason == tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED) || !c.ends && ended != nil {
			t.Errorf("%s: it ended with %v, want an end %v", name, ended, c.ends)
		}
		partly := c.mode == authEnforce && c.rules == narrow
		if got := sight != nil; got != partly || partly && (authz.SeesKey(sight, "b", authz.Read) || !authz.SeesKey(sight, "a/1", authz.Read)) {
			t.Errorf("%s: it sees a part: %v, want %v", name, got, partly)
		}
		stream.Close()
	}
}
