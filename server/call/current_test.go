package call

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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

// cutNode is a member that can lose the others.
type cutNode struct {
	leader.Node

	store *storage.Store
	lost  bool
}

func (n *cutNode) Store() *storage.Store { return n.store }

func (n *cutNode) ReadIndex(context.Context) error {
	if n.lost {
		return errors.New("no leader")
	}
	return nil
}

// apply applies a command.
func (n *cutNode) apply(t *testing.T, c *storev1.Command) {
	t.Helper()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{c}})
	if err != nil {
		t.Fatal(err)
	}
	at := n.store.Applied()
	out, err := n.store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	if f := out.Entries[0].Results[0].GetFailure(); f != nil {
		t.Fatal(f)
	}
}

// TestAReadThatWaitedIsProvedAgain has a stale read wait for a revision, which its member gets after it was cut off for longer than it may decide
// by what it knows. Which rights were taken away meanwhile it may not have yet.
func TestAReadThatWaitedIsProvedAgain(t *testing.T) {
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	_, newest := storage.ClusterVersions()
	if err = store.Bootstrap(storage.Genesis{ClusterVersion: newest}); err != nil {
		t.Fatal(err)
	}
	node := &cutNode{store: store}
	node.apply(t, &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: &storev1.ChangeAuth{
		Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
			Mode: storev1.AuthMode_AUTH_MODE_ENFORCE, Token: &storev1.TokenRecord{
				Accessor: make([]byte, 16), TokenSha256: make([]byte, 32), Name: "bootstrap", Policies: []string{storage.AdminPolicy},
			},
		}},
	}}})
	for _, c := range []struct {
		waits time.Duration
		lost  bool
		want  tenurev1.ErrorReason
	}{
		{access.StaleMaxDefault, true, 0},
		{access.StaleMaxDefault + 1, false, 0},
		{access.StaleMaxDefault + 1, true, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER},
	} {
		synctest.Test(t, func(t *testing.T) {
			node.lost = false
			authority, err := access.New(access.Options{Node: node, Registerer: prometheus.NewRegistry()})
			if err != nil {
				t.Fatal(err)
			}
			caller := &Caller{Node: node, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Log: zap.NewNop()}
			read := &tenurev1.ReadOptions{Stale: true, MinRevision: store.Applied().Revision + 1}
			ctx, err := authority.Call(t.Context(), &identity.Client{Caller: identity.Caller{Kind: identity.Token}},
				tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "k", Read: read})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				s, failed := caller.Reader(ctx, read)
				if failed == nil {
					caller.CloseSnapshot(s)
				}
				ended <- failed
			}()
			<-time.After(c.waits)
			synctest.Wait()
			node.lost = c.lost
			node.apply(t, &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}}})
			caller.Arrivals.Publish()
			err = <-ended
			if got := reason.Of(err); (got == nil) != (c.want == 0) || got != nil && got.Reason != c.want {
				t.Errorf("after %v, lost is %v: got %v, want %v", c.waits, c.lost, err, c.want)
			}
		})
	}
}
