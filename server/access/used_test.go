package access

import (
	"context"
	"maps"
	"slices"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
)

// TestTheTokensThatWereUsed calls with tokens, and looks which count as used.
func TestTheTokensThatWereUsed(t *testing.T) {
	numbered := func(n byte) (Accessor, *identity.Client) {
		return Accessor{n}, &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: identity.Hash{n}}}
	}
	for mode, served := range map[storev1.AuthMode]bool{storev1.AuthMode_AUTH_MODE_WARN: true, storev1.AuthMode_AUTH_MODE_ENFORCE: false} {
		node, a, _ := enforcing(t, mode)
		node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "k", Rules: "key \"a\" ro"}}})
		create := func(n byte, policy string) {
			accessor, caller := numbered(n)
			node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
				Accessor: accessor[:], TokenSha256: caller.Token[:], Name: "t", Policies: []string{policy},
			}}})
		}
		for n := range byte(4) {
			create(n+1, "k")
		}
		get := func(n byte, key string) {
			_, caller := numbered(n)
			_, _ = a.Call(t.Context(), caller, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: key})
		}
		want := func(what string, tokens ...byte) {
			t.Helper()
			var got []byte
			for accessor := range maps.Keys(a.Used()) {
				got = append(got, accessor[0])
			}
			if slices.Sort(got); !slices.Equal(got, tokens) {
				t.Errorf("%v, %s: the tokens %v were used, want %v", mode, what, got, tokens)
			}
		}
		want("nothing was called")
		get(1, "a")
		get(9, "a") // There is no such token.
		_, _ = a.Call(t.Context(), &identity.Client{}, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"})
		want("one call, on a snapshot", 1)
		want("no call since")
		get(1, "a")
		want("one call, from memory", 1)

		get(2, "other")
		if served {
			want("a call that enforce would deny", 2)
		} else {
			want("a call that is denied")
		}

		get(1, "a")
		create(5, "k") // It makes the member forget whom it remembers.
		get(3, "a")
		want("what was forgotten between two calls", 1, 3)

		_, caller := numbered(4)
		ctx, s := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, func(error) {})
		if err := s.Message(ctx, &tenurev1.WatchRequest{Keys: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		want("a watch", 4)
		want("the watch, which goes on without a message", 4)
		s.Close()
		want("the watch has ended")
	}
}

// TestUsesAreCountedWhileTokensAreMade calls while tokens are made, and while it is asked what was used.
func TestUsesAreCountedWhileTokensAreMade(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	ctx, stop := context.WithCancel(t.Context())
	called := make(chan struct{})
	go func() {
		defer close(called)
		for ctx.Err() == nil {
			_, _ = a.Call(t.Context(), admin(), tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"})
		}
	}()
	for n := range byte(50) {
		accessor, hash := Accessor{n + 1}, identity.Hash{n + 1}
		node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
			Accessor: accessor[:], TokenSha256: hash[:], Name: "t", Policies: []string{"admin"},
		}}})
		if n%10 == 0 {
			a.Used()
		}
	}
	stop()
	<-called
	_, _ = a.Call(t.Context(), admin(), tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"})
	if used := a.Used(); len(used) != 1 {
		t.Errorf("%d tokens were used, want the one that called", len(used))
	}
}
