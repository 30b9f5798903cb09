package renewal

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// TestRenewalsGoOnShowingTheSecret renews on a stream that showed the secret once, where this member led; then another one
// leads, which has never seen it.
func TestRenewalsGoOnShowingTheSecret(t *testing.T) {
	rig := newRelayRig(t)
	rig.caller.Relay.Patience = 2 * patienceOfTests
	timers, err := expiry.New(expiry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rig.caller.Timers = timers
	session, hash := storage.SessionID{1}, call.Hashed([]byte("secret"))
	k := &keeper{api: rig.renewer, known: newKnownSessions(8, time.Now), news: make(chan struct{}, 1)}
	k.known.add(&expiry.Renewal{ID: session, TTL: time.Minute, Shown: hash})
	for _, leader := range []uint64{2, 3} {
		rig.member(leader, &renewalLeader{hash: hash})
		rig.node.elect(leader, leader)
		message := &renewalMessage{
			asked: []askedRenewal{{session: session.String(), epoch: 1}}, renewals: []expiry.Renewal{{ID: session, Epoch: 1}},
		}
		if err := k.relayOne(message); err != nil {
			t.Fatal(err)
		}
		<-k.news
		k.mu.Lock()
		got := k.far[0].refused
		k.far = nil
		k.mu.Unlock()
		if got != 0 {
			t.Errorf("leader %d: got %v, want that it renews", leader, got)
		}
	}
}

// TestRelayedRenewalsNeedTheSecret renews somebody else's session over the peer port, as a program that only pretends to be a
// member does, and says that the client showed the secret before. In a cluster of the first version members do not say what
// their clients showed; the leader believes them.
func TestRelayedRenewalsNeedTheSecret(t *testing.T) {
	session, hash := storage.SessionID{1}, call.Hashed([]byte("secret"))
	for version, refused := range map[uint32]bool{1: false, 2: true} {
		for name, tc := range map[string]struct {
			shown []byte
			wrong bool
		}{
			"none": {nil, true}, "another": {call.Hashed([]byte("x")), true}, "short": {[]byte{1}, true}, "the session's": {hash, false},
		} {
			store := storeWith(t,
				&storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: version}}},
				&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
					SessionId: session[:], TtlMs: 60_000, SecretSha256: hash, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
				}}})
			timers, err := expiry.New(expiry.Options{Snapshot: func() expiry.Snapshot { return store.NewReader() }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			led := make(chan error, 1)
			go func() { led <- timers.Lead(ctx, 1) }()
			for changed := timers.Changed(); timers.Term() != 1; changed = timers.Changed() {
				if timers.Term() != 1 {
					<-changed
				}
			}
			a := &Renewer{Caller: &call.Caller{Node: stateNode{store: store}, Log: zap.NewNop(), Timers: timers, Stopping: ctx}}
			p := &peerRenewals{api: a, news: make(chan struct{}, 1), parked: parkedRenewals{timers: timers}}
			p.take(&peerv1.RenewRequest{Renewals: []*peerv1.Renewal{
				{SessionId: session[:], Epoch: 1, Proven: true, SecretSha256: tc.shown},
			}}, nil)
			if got, want := p.queue[0].renewals[0].Unproven, refused && tc.wrong; got != want {
				t.Errorf("version %d, %s shown: got unproven %v, want %v", version, name, got, want)
			}
			timers.Release(p.queue[0].renewals)
			stop()
			if err := <-led; err != nil {
				t.Error(err)
			}
		}
	}
}
