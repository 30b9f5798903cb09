package call

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// laggingNode is a member that hears of a revocation only when it is asked to prove that it has applied all.
type laggingNode struct {
	cutNode

	catchUp func()
}

func (n *laggingNode) ReadIndex(context.Context) error {
	n.catchUp()
	return nil
}

// TestTheRightsOfACallAreThoseOfTheCluster has a token revoked through another member after a call with it was allowed here: what the call reads, and
// what is decided about it once more, is by the rights that the member catches up with.
func TestTheRightsOfACallAreThoseOfTheCluster(t *testing.T) {
	for what, then := range map[string]func(context.Context, *Caller) error{
		"a read": func(ctx context.Context, c *Caller) error {
			s, err := c.Reader(ctx, nil)
			if err == nil {
				c.CloseSnapshot(s)
			}
			return err
		},
		"a decision": func(ctx context.Context, c *Caller) error { return c.AuthoriseAgain(ctx) },
	} {
		t.Run(what, func(t *testing.T) {
			store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "data"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			_, newest := storage.ClusterVersions()
			if err = store.Bootstrap(storage.Genesis{ClusterVersion: newest}); err != nil {
				t.Fatal(err)
			}
			node := &laggingNode{cutNode: cutNode{store: store}, catchUp: func() {}}
			change := func(c *storev1.ChangeAuth) {
				node.apply(t, &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: c}})
			}
			change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
				Mode: storev1.AuthMode_AUTH_MODE_ENFORCE, Token: &storev1.TokenRecord{
					Accessor: make([]byte, 16), TokenSha256: make([]byte, 32), Name: "bootstrap", Policies: []string{storage.AdminPolicy},
				},
			}}})
			authority, err := access.New(access.Options{Node: node, Registerer: prometheus.NewRegistry()})
			if err != nil {
				t.Fatal(err)
			}
			caller := &Caller{Node: node, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Log: zap.NewNop()}
			ctx, err := authority.Call(t.Context(), &identity.Client{Caller: identity.Caller{Kind: identity.Token}},
				tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "k"})
			if err == nil {
				err = then(ctx, caller)
			}
			if err != nil {
				t.Fatal("with the token:", err)
			}
			node.catchUp = func() {
				node.catchUp = func() {}
				change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: make([]byte, 16)}})
			}
			err = then(ctx, caller)
			if got := reason.Of(err); got == nil || got.Reason != tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED {
				t.Errorf("once it is revoked: got %v, want that it is not accepted", err)
			}
		})
	}
}
