package renewal

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/renewal/core"
)

// renewalLeader plays a leader that renews everything, or says nothing.
type renewalLeader struct {
	peerv1.UnimplementedRelayServiceServer
	silent bool
	came   chan struct{} // one element for each renewal, if there is room
	hash   []byte        // what renewals must show; nil for nothing

	mu      sync.Mutex // guards streams
	streams int
}

func (l *renewalLeader) Renew(stream grpc.BidiStreamingServer[peerv1.RenewRequest, peerv1.RenewResponse]) error {
	l.mu.Lock()
	l.streams++
	l.mu.Unlock()
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		answer := &peerv1.RenewResponse{}
		for _, r := range request.GetRenewals() {
			verdict := &peerv1.RenewalVerdict{Number: r.GetNumber(), TtlMs: 10_000}
			if len(l.hash) > 0 && !bytes.Equal(r.GetSecretSha256(), l.hash) {
				verdict.Refused = tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG
			}
			answer.Verdicts = append(answer.Verdicts, verdict)
			select {
			case l.came <- struct{}{}:
			default:
			}
		}
		if l.silent {
			continue
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// oneVerdict takes the verdict on a single renewal.
type oneVerdict chan tenurev1.ErrorReason

// Decided takes the verdict.
func (v oneVerdict) Decided(decisions []core.Decision) { v <- decisions[0].Refused }

// renew has the relay renew one session.
func (r *relayRig) renew() oneVerdict {
	verdict := make(oneVerdict, 1)
	r.renewer.renewals.add([]*core.Relayed{{To: verdict}})
	return verdict
}

// wantRenewed waits for a verdict.
func (r *relayRig) wantRenewed(verdict oneVerdict) {
	r.t.Helper()
	select {
	case refused := <-verdict:
		if refused != tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
			r.t.Errorf("refused as %v, want that it is renewed", refused)
		}
	case <-time.After(patienceOfTests / 2):
		r.t.Error("no verdict, want that the next leader renews it")
	}
}

// TestRenewalsMoveToTheNextLeaderAtOnce replaces a leader that has fallen silent, as one whose machine is gone does: its
// connections stay. Renewals do not wait for it as changes do, whose outcome it may still tell.
func TestRenewalsMoveToTheNextLeaderAtOnce(t *testing.T) {
	for name, next := range map[string]struct{ at, term uint64 }{
		"another member leads":            {at: 3, term: 6},
		"the same member leads elsewhere": {at: 2, term: 5},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newRelayRig(t)
			rig.caller.Relay.Patience, rig.caller.Relay.Grace = 2*patienceOfTests, 2*patienceOfTests
			silent := &renewalLeader{silent: true, came: make(chan struct{}, 1)}
			rig.member(2, silent)
			rig.node.elect(2, 5)
			verdict := rig.renew()
			<-silent.came
			rig.member(next.at, &renewalLeader{})
			rig.node.elect(next.at, next.term)
			rig.wantRenewed(verdict)
			rig.wantRenewed(rig.renew())
		})
	}
}

// TestARenewalThatNobodyDecidesIsRefused waits out the patience, after a time in which nothing waited, so that nothing was looked at.
func TestARenewalThatNobodyDecidesIsRefused(t *testing.T) {
	for name, silent := range map[string]bool{"a leader that says nothing": true, "no leader": false} {
		t.Run(name, func(t *testing.T) {
			rig := newRelayRig(t)
			if silent {
				rig.member(2, &renewalLeader{silent: true})
				rig.node.elect(2, 5)
				rig.awaitWay(2)
			}
			select {
			case refused := <-rig.renew():
				if refused == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
					t.Error("renewed, want that it is refused")
				}
			case <-time.After(patienceOfTests):
				t.Error("no verdict, want that it is refused")
			}
		})
	}
}

// TestACallGoesToWhereTheLeaderIsNow moves the leader to another address in the same term.
func TestACallGoesToWhereTheLeaderIsNow(t *testing.T) {
	rig := newRelayRig(t)
	rig.caller.Relay.Patience = patienceOfTests
	fine := []func(context.Context) error{func(context.Context) error { return nil }}
	old, now := &leaderScript{answers: fine}, &leaderScript{answers: fine}
	gone := rig.member(2, old)
	rig.node.elect(2, 5)
	rig.awaitWay(2)
	gone()
	rig.member(2, now)
	if _, err := rig.caller.Relay.Order(t.Context(), rig.put(false), nil); err != nil {
		t.Errorf("got %v, want that the leader is found at its new address", err)
	}
	if old.count() != 0 || now.count() != 1 {
		t.Errorf("called %d and %d times, want 0 and 1", old.count(), now.count())
	}
}
