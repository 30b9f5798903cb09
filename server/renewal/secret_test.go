package renewal

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// stateNode is a node that has a state, and proves no read before the call ends.
type stateNode struct {
	leader.Node
	store *storage.Store
}

func (n stateNode) Store() *storage.Store { return n.store }

func (n stateNode) Status() raftnode.Status { return raftnode.Status{MemberID: 1, Leader: 1, Term: 1} }

func (n stateNode) ReadIndexLeader(ctx context.Context) (uint64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestRenewalsWithoutTheSecretPostponeNothing renews a session again and again without its secret, or with another, on
// every way that a renewal can come. Nothing proves that this member leads, so each waits; the session ends in time.
func TestRenewalsWithoutTheSecretPostponeNothing(t *testing.T) {
	secret, other := make([]byte, 32), append(make([]byte, 31), 1)
	session := storage.SessionID{1}
	onStream := func(a *Renewer, shown []byte) {
		newKeeper(a, nil).came(askedRenewals(&tenurev1.KeepAliveRequest{
			Renewals: []*tenurev1.SessionRenewal{{SessionId: session.String(), Epoch: 1, Secret: shown}},
		}, nil, 1))
	}
	fromPeer := func(a *Renewer, shown []byte) {
		newPeer(a, nil, nil).came(relayedAsked(&peerv1.RenewRequest{Renewals: []*peerv1.Renewal{
			{SessionId: session[:], Epoch: 1, SecretSha256: call.Hashed(shown)},
		}}))
	}
	served := func(a *Renewer, shown []byte) {
		go func() {
			_ = a.renewOne(a.Stopping, session, &tenurev1.CallOptions{Epoch: 1, SessionSecret: shown}) // It ends with the test.
		}()
		synctest.Wait()
	}
	for name, tc := range map[string]struct {
		renew     func(a *Renewer, shown []byte)
		shown     []byte
		postpones bool
	}{
		"none on a stream":            {renew: onStream},
		"another on a stream":         {renew: onStream, shown: other},
		"the session's on a stream":   {renew: onStream, shown: secret, postpones: true},
		"none from a member":          {renew: fromPeer},
		"another from a member":       {renew: fromPeer, shown: other},
		"the session's from a member": {renew: fromPeer, shown: secret, postpones: true},
		"none in a call":              {renew: served},
		"another in a call":           {renew: served, shown: other},
		"the session's in a call":     {renew: served, shown: secret, postpones: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := stores.With(t, &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
					SessionId: session[:], TtlMs: 2000, SecretSha256: call.Hashed(secret),
					Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
				}}})
				var ended atomic.Bool
				timers, err := expiry.New(expiry.Options{
					Propose: func(context.Context, *storev1.Command) (*storev1.Result, error) {
						ended.Store(true)
						return &storev1.Result{}, nil
					},
					Snapshot: func() expiry.Snapshot { return store.NewReader() },
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				led := make(chan error, 1)
				go func() { led <- timers.Lead(ctx, 1) }()
				a := &Renewer{Caller: &call.Caller{Node: stateNode{store: store}, Log: zap.NewNop(), Timers: timers, Stopping: ctx}, streamSessionsMax: 8}
				for range 12 {
					tc.renew(a, tc.shown)
					<-time.After(250 * time.Millisecond)
				}
				<-time.After(time.Millisecond)
				if ended.Load() == tc.postpones {
					t.Errorf("3 s after a TTL of 2 s began: got that the session's end was proposed %v, want %v", ended.Load(), !tc.postpones)
				}
				stop()
				if err := <-led; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
