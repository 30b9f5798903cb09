package access

import (
	"strconv"
	"sync"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// TestAConnectionKnowsNoOlderRights calls on one connection while rights change: what it keeps of its caller is good for one state.
func TestAConnectionKnowsNoOlderRights(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	accessor, hash := Accessor{1}, identity.Hash{1}
	policy := func(rules string) {
		node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "k", Rules: rules}}})
	}
	caller := &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: hash}}
	want := func(what string, reasons ...tenurev1.ErrorReason) {
		t.Helper()
		for _, key := range []string{"a", "b"} {
			_, err := a.Call(t.Context(), caller, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: key})
			got := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
			if e := reason.Of(err); e != nil {
				got = e.Reason
			}
			if got != reasons[0] {
				t.Errorf("%s, key %s: got %v, want %v", what, key, err, reasons[0])
			}
			reasons = reasons[1:]
		}
	}
	const (
		served  = tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
		denied  = tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED
		unknown = tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED
	)
	want("there is no token yet", unknown, unknown)
	policy("key \"a\" ro")
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
		Accessor: accessor[:], TokenSha256: hash[:], Name: "t", Policies: []string{"k"},
	}}})
	want("the token may read a", served, denied)
	policy("key \"b\" ro")
	want("now b", denied, served)
	for n := range knownMax { // Others come, until all are forgotten.
		a.cache.put(a.cache.at, &identity.Client{Caller: identity.Caller{Principal: strconv.Itoa(n)}}, &Who{})
	}
	if a.cache.known[caller.Brief()] != nil {
		t.Fatal("the caller is remembered still")
	}
	a.Used()
	want("once it is forgotten", denied, served)
	if used := a.Used(); len(used) != 1 {
		t.Errorf("%d tokens were used, want the one that called", len(used))
	}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: accessor[:]}})
	want("the token is revoked", unknown, unknown)
}

// TestAUseCountsWhoeverLookedLast looks up one token for two connections at once: a use, before or after, is not lost with the entry that was replaced.
// TestManyCallersAreLookedUpAtOnce is for the race detector.
func TestManyCallersAreLookedUpAtOnce(t *testing.T) {
	const callers = 16
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "k", Rules: "key \"a\" ro"}}})
	for n := range callers {
		accessor, hash := Accessor{1, byte(n)}, identity.Hash{1, byte(n)}
		node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
			Accessor: accessor[:], TokenSha256: hash[:], Name: strconv.Itoa(n), Policies: []string{"k"},
		}}})
	}
	var all sync.WaitGroup
	for first := range 4 {
		all.Go(func() {
			for n := range callers {
				caller := &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: identity.Hash{1, byte((first*callers/4 + n) % callers)}}}
				if _, err := a.Call(t.Context(), caller, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestAUseCountsWhoeverLookedLast(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	accessor, hash := Accessor{1}, identity.Hash{1}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "k", Rules: "key * ro"}}})
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
		Accessor: accessor[:], TokenSha256: hash[:], Name: "t", Policies: []string{"k"},
	}}})
	caller := identity.Caller{Kind: identity.Token, Token: hash}
	one, other := &identity.Client{Caller: caller}, &identity.Client{Caller: caller}
	call := func() {
		if _, err := a.Call(t.Context(), one, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	call()
	earlier := a.cache.known[caller]
	a.cache.put(a.cache.at, other, &Who{Principal: earlier.Principal, Credential: earlier.Credential, Accessor: earlier.Accessor, rights: earlier.rights})
	if used := a.Used(); len(used) != 1 {
		t.Errorf("before, %d tokens were used, want one", len(used))
	}
	call()
	if used := a.Used(); len(used) != 1 {
		t.Errorf("after, %d tokens were used, want one", len(used))
	}
}
