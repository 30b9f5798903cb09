package renewal

import (
	"context"
	"io"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// talkingClient is a client of a stream of renewals.
type talkingClient struct {
	grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]
	ctx      context.Context
	requests chan *tenurev1.KeepAliveRequest // closed when there are no more
	answers  chan *tenurev1.KeepAliveResponse
}

func (c *talkingClient) Context() context.Context { return c.ctx }

func (c *talkingClient) Recv() (*tenurev1.KeepAliveRequest, error) {
	select {
	case request, ok := <-c.requests:
		if !ok {
			return nil, io.EOF
		}
		return request, nil
	case <-c.ctx.Done():
		return nil, c.ctx.Err()
	}
}

func (c *talkingClient) Send(answer *tenurev1.KeepAliveResponse) error {
	c.answers <- answer
	return nil
}

// TestRenewalsGoOnShowingTheSecret renews on a stream that showed the secret once, to one leader; then another one leads,
// which has never seen it.
func TestRenewalsGoOnShowingTheSecret(t *testing.T) {
	rig := newRelayRig(t)
	rig.caller.Relay.Patience = 2 * patienceOfTests
	var err error
	if rig.caller.Timers, err = expiry.New(expiry.Options{}); err != nil {
		t.Fatal(err)
	}
	secret := make([]byte, gate.SecretBytes)
	client := &talkingClient{
		ctx: t.Context(), requests: make(chan *tenurev1.KeepAliveRequest), answers: make(chan *tenurev1.KeepAliveResponse, 8),
	}
	ended := make(chan error, 1)
	go func() { ended <- rig.renewer.KeepAlive(client) }()
	shown := secret
	for _, leader := range []uint64{2, 3} {
		rig.member(leader, &renewalLeader{hash: call.Hashed(secret)})
		rig.node.elect(leader, leader)
		rig.awaitWay(leader)
		client.requests <- &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{
			{SessionId: storage.SessionID{1}.String(), Number: leader, Epoch: 1, Secret: shown},
		}}
		shown = nil
		select {
		case answer := <-client.answers:
			if v := answer.GetVerdicts()[0]; v.GetNumber() != leader || v.GetRefused() != 0 {
				t.Errorf("leader %d: got %v, want that it renews", leader, v)
			}
		case <-time.After(patienceOfTests):
			t.Fatalf("leader %d: no answer", leader)
		}
	}
	close(client.requests)
	if err := <-ended; err != nil {
		t.Errorf("the stream ended with %v", err)
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
			store := stores.With(t,
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
			line := newPeer(a, nil, nil).line
			m := line.step(core.Came{Asked: relayedAsked(&peerv1.RenewRequest{Renewals: []*peerv1.Renewal{
				{SessionId: session[:], Epoch: 1, Proven: true, SecretSha256: tc.shown},
			}})}).Admit
			line.admit(m)
			if got, want := m.Renewals[0].Unproven, refused && tc.wrong; got != want {
				t.Errorf("version %d, %s shown: got unproven %v, want %v", version, name, got, want)
			}
			line.close()
			stop()
			if err := <-led; err != nil {
				t.Error(err)
			}
		}
	}
}
