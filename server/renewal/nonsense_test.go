package renewal

import (
	"context"
	"encoding/binary"
	"testing"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// provenNode is a node that leads, and counts how often it had to prove that a read is current.
type provenNode struct {
	stateNode
	reads int
}

func (*provenNode) ReadIndexLeader(context.Context) (uint64, error) { return 1, nil }

func (n *provenNode) ReadIndex(context.Context) error {
	n.reads++
	return nil
}

// readingClient and readingMember take what is sent to them, and count the verdicts by what they refuse.
type readingClient struct {
	grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]
	refused map[tenurev1.ErrorReason]int
}

func (c readingClient) Send(answer *tenurev1.KeepAliveResponse) error {
	for _, v := range answer.GetVerdicts() {
		c.refused[v.GetRefused()]++
	}
	return nil
}

type readingMember struct {
	grpc.BidiStreamingServer[peerv1.RenewRequest, peerv1.RenewResponse]
	refused map[tenurev1.ErrorReason]int
}

func (m readingMember) Send(answer *peerv1.RenewResponse) error {
	for _, v := range answer.GetVerdicts() {
		m.refused[v.GetRefused()]++
	}
	return nil
}

// answerRound answers what came, with a proof of the first term.
func (l *line) answerRound(ctx context.Context) (err error) {
	fx := l.step(core.Round{})
	for fx.Task != nil {
		var ev core.Event = core.Proved{Term: 1}
		if _, proves := fx.Task.(core.Prove); !proves {
			if ev, err = l.do(ctx, fx.Task); err != nil {
				return err
			}
		}
		fx = l.step(ev)
	}
	return nil
}

// TestRenewalsOfSessionsThatNeverWereLookLittleUp renews sessions that nobody opened, on every way that a renewal can come.
func TestRenewalsOfSessionsThatNeverWereLookLittleUp(t *testing.T) {
	const renewals = 100
	id := func(n int) (id storage.SessionID) {
		binary.BigEndian.PutUint64(id[:], uint64(n)+1)
		return id
	}
	for name, renew := range map[string]func(a *Renewer, refused map[tenurev1.ErrorReason]int, atOnce *uint64) error{
		"on a stream": func(a *Renewer, refused map[tenurev1.ErrorReason]int, atOnce *uint64) error {
			k := newKeeper(a, readingClient{refused: refused})
			defer k.unread.stop()
			request := &tenurev1.KeepAliveRequest{}
			for n := range renewals {
				request.Renewals = append(request.Renewals, &tenurev1.SessionRenewal{SessionId: id(n).String(), Secret: make([]byte, 32)})
			}
			k.came(askedRenewals(request, nil, 1))
			*atOnce = a.looked.Load()
			return k.answerRound(a.Stopping)
		},
		"from a member": func(a *Renewer, refused map[tenurev1.ErrorReason]int, atOnce *uint64) error {
			p := newPeer(a, readingMember{refused: refused}, nil)
			request := &peerv1.RenewRequest{}
			for n := range renewals {
				session := id(n)
				request.Renewals = append(request.Renewals, &peerv1.Renewal{SessionId: session[:], SecretSha256: make([]byte, 32)})
			}
			p.came(relayedAsked(request))
			*atOnce = a.looked.Load()
			return p.answerRound(a.Stopping)
		},
		"in calls": func(a *Renewer, refused map[tenurev1.ErrorReason]int, _ *uint64) error {
			for n := range renewals {
				e := reason.Of(a.renewOne(a.Stopping, id(n), &tenurev1.CallOptions{SessionSecret: make([]byte, 32), Epoch: 1}))
				if e != nil {
					refused[e.Reason]++
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := stores.With(t)
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
			node := &provenNode{stateNode: stateNode{store: store}}
			a := &Renewer{
				Caller: &call.Caller{Node: node, Log: zap.NewNop(), Timers: timers, Stopping: ctx},
				hints:  NewHinter(), streamSessionsMax: 2 * renewals,
			}
			refused, atOnce := map[tenurev1.ErrorReason]int{}, uint64(0)
			if err := renew(a, refused, &atOnce); err != nil {
				t.Error(err)
			}
			if got := refused[tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND]; got != renewals {
				t.Errorf("got %v, want that all %d are refused as not found", refused, renewals)
			}
			if atOnce != 0 {
				t.Errorf("the state was asked %d times for %d renewals that came, want not once before they are decided", atOnce, renewals)
			}
			if got := a.looked.Load(); got > 2*renewals {
				t.Errorf("the state was asked %d times for %d renewals, want at most twice each", got, renewals)
			}
			if node.reads != 0 {
				t.Errorf("reads were proved %d times beside the renewals, want never", node.reads)
			}
			stop()
			if err := <-led; err != nil {
				t.Error(err)
			}
		})
	}
}
