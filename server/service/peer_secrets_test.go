package service

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"go.uber.org/zap"
	"google.golang.org/grpc/status"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/renewal"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// lateLeader is a leader that has not applied yet what is committed. A proof applies it, as does whatever it proposes.
type lateLeader struct {
	leader.Node
	t     *testing.T
	store *storage.Store

	mu        sync.Mutex // guards what follows
	committed []*storev1.Command
	proofs    int
}

func (l *lateLeader) Store() *storage.Store { return l.store }

func (l *lateLeader) Status() raftnode.Status {
	return raftnode.Status{MemberID: 1, Leader: 1, Term: 1}
}

func (l *lateLeader) ReadIndexLeader(context.Context) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proofs++
	l.apply()
	return 1, nil
}

func (l *lateLeader) Propose(_ context.Context, c *storev1.Command) (*storev1.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.committed = append(l.committed, c)
	return l.apply(), nil
}

// apply applies what is committed and returns the last result; mu is held.
func (l *lateLeader) apply() (last *storev1.Result) {
	l.t.Helper()
	for _, c := range l.committed {
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{c}})
		if err != nil {
			l.t.Error(err)
			return nil
		}
		out, err := l.store.Apply([]storage.Entry{{Index: l.store.Applied().Index + 1, Term: 1, Data: data}})
		if err != nil {
			l.t.Error(err)
			return nil
		}
		last = out.Entries[0].Results[0]
	}
	l.committed = nil
	return last
}

// relayTo returns the service of a leader that other members relay to, and a session with a secret, whose hash it returns.
func relayTo(t *testing.T, version uint32) (_ *Peer, _ *lateLeader, session storage.SessionID, hash []byte) {
	t.Helper()
	session, hash = storage.SessionID{1}, call.Hashed(bytes.Repeat([]byte{5}, 32))
	store := stores.With(t,
		&storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: version}}},
		&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: session[:], TtlMs: 60_000, SecretSha256: hash, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}})
	leader := &lateLeader{t: t, store: store}
	timers, err := expiry.New(expiry.Options{
		Propose:  leader.Propose,
		Snapshot: func() expiry.Snapshot { return store.NewReader() },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	led := make(chan error, 1)
	go func() { led <- timers.Lead(ctx, 1) }()
	t.Cleanup(func() {
		stop()
		if err := <-led; err != nil {
			t.Error(err)
		}
	})
	for timers.Term() != 1 {
		changed := timers.Changed()
		if timers.Term() == 1 {
			break
		}
		<-changed
	}
	s := NewPeer(zap.NewNop())
	caller := &call.Caller{Node: leader, Log: zap.NewNop(), Timers: timers, Stopping: ctx}
	s.Open(New(Options{Caller: caller, Renewer: &renewal.Renewer{Caller: caller}}))
	return s, leader, session, hash
}

// reasonOf returns the reason of a relayed call's error, or of the broken rule in its result.
func reasonOf(result *storev1.Result, err error) tenurev1.ErrorReason {
	if err == nil && result.GetFailure() != nil {
		err = reason.OfFailure(result.GetFailure(), true)
	}
	if err == nil {
		return 0
	}
	if e := reason.Of(err); e != nil {
		return e.Reason
	}
	s, _ := status.FromError(err)
	if info := reason.In(s); info != nil {
		return leader.FromInfo(s, info).Reason
	}
	return tenurev1.ErrorReason_ERROR_REASON_INTERNAL
}

// TestRelayedCallsNeedTheSecret acts as somebody else's session over the peer port, as a program that only pretends to be a
// member does. In a cluster of the first version members do not say what their clients showed; the leader believes them.
func TestRelayedCallsNeedTheSecret(t *testing.T) {
	propose := func(kind func(s *storev1.SessionRef) *storev1.Command) func(*Peer, storage.SessionID, []byte) tenurev1.ErrorReason {
		return func(s *Peer, id storage.SessionID, shown []byte) tenurev1.ErrorReason {
			answer, err := s.Propose(t.Context(), &peerv1.ProposeRequest{
				Term: 1, Command: kind(&storev1.SessionRef{SessionId: id[:], Epoch: 1}), SecretSha256: shown,
			})
			return reasonOf(answer.GetResult(), err)
		}
	}
	for name, served := range map[string]func(*Peer, storage.SessionID, []byte) tenurev1.ErrorReason{
		"acquire": propose(func(s *storev1.SessionRef) *storev1.Command {
			return &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
				Key: "k", Session: s, Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE,
			}}}
		}),
		"destroy": propose(func(s *storev1.SessionRef) *storev1.Command {
			return &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{Session: s}}}
		}),
		"take over": propose(func(s *storev1.SessionRef) *storev1.Command {
			return &storev1.Command{Kind: &storev1.Command_TakeOverSession{TakeOverSession: &storev1.TakeOverSession{
				SessionId: s.GetSessionId(), ReplacesEpoch: 1,
			}}}
		}),
		"inside a transaction": propose(func(s *storev1.SessionRef) *storev1.Command {
			return &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{
				{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: "k", BindSession: s}}},
			}}}}
		}),
		"by a request id": propose(func(s *storev1.SessionRef) *storev1.Command {
			return &storev1.Command{
				RequestId:     &storev1.RequestID{SessionId: s.GetSessionId(), Epoch: 1, Sequence: 1, DoneBelow: 1},
				RequestDigest: make([]byte, 32),
				Kind:          &storev1.Command_Put{Put: &storev1.Put{Key: "k"}},
			}
		}),
		"attach": func(s *Peer, id storage.SessionID, shown []byte) tenurev1.ErrorReason {
			_, err := s.Attach(t.Context(), &peerv1.AttachRequest{
				Term: 1, SessionId: id[:], InstanceId: []byte("i"), Attempt: 7, SecretSha256: shown,
			})
			return reasonOf(nil, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for version, wrong := range map[uint32]tenurev1.ErrorReason{1: 0, 2: tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG} {
				for shown, what := range map[string][]byte{"none": nil, "another": call.Hashed([]byte("x")), "short": {1}} {
					s, _, session, _ := relayTo(t, version)
					if got := served(s, session, what); got != wrong {
						t.Errorf("version %d, %s shown: got %v, want %v", version, shown, got, wrong)
					}
				}
				s, _, session, hash := relayTo(t, version)
				if got := served(s, session, hash); got != 0 {
					t.Errorf("version %d, the secret shown: got %v, want that it passes", version, got)
				}
			}
		})
	}
}

// TestARelayedRetryHearsThatItsSessionEnded has a member relay a retry whose session it has seen end, while the leader has
// not applied that yet. That member has no secret to compare with, so it lets the retry pass without one; a client takes a
// wrong secret as final.
func TestARelayedRetryHearsThatItsSessionEnded(t *testing.T) {
	s, leader, session, hash := relayTo(t, 2)
	leader.committed = []*storev1.Command{{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: &storev1.SessionRef{SessionId: session[:], Epoch: 1},
	}}}}
	for name, shown := range map[string][]byte{"none": nil, "another": call.Hashed([]byte("x")), "the session's": hash} {
		answer, err := s.Propose(t.Context(), &peerv1.ProposeRequest{Term: 1, SecretSha256: shown, Command: &storev1.Command{
			RequestId:     &storev1.RequestID{SessionId: session[:], Epoch: 1, Sequence: 1, DoneBelow: 1},
			RequestDigest: make([]byte, 32),
			Kind:          &storev1.Command_Put{Put: &storev1.Put{Key: "k"}},
		}})
		if got := reasonOf(answer.GetResult(), err); got != tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED {
			t.Errorf("%s shown: got %v, want SESSION_EXPIRED", name, got)
		}
	}
}

// TestASessionThatTheLeaderHasYetToApplyNeedsItsSecret acts as a session that is opened, but not yet at the leader.
func TestASessionThatTheLeaderHasYetToApplyNeedsItsSecret(t *testing.T) {
	s, leader, _, hash := relayTo(t, 2)
	young := storage.SessionID{2}
	leader.committed = []*storev1.Command{{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
		SessionId: young[:], SecretSha256: hash, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
	}}}}
	acquire := func(shown []byte) tenurev1.ErrorReason {
		answer, err := s.Propose(t.Context(), &peerv1.ProposeRequest{Term: 1, SecretSha256: shown, Command: &storev1.Command{
			Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
				Key: "k", Session: &storev1.SessionRef{SessionId: young[:], Epoch: 1}, Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE,
			}},
		}})
		return reasonOf(answer.GetResult(), err)
	}
	if got := acquire(nil); got != tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG {
		t.Errorf("without the secret: got %v, want SESSION_SECRET_WRONG", got)
	}
	before := leader.proofs
	if got := acquire(hash); got != 0 {
		t.Errorf("with the secret: got %v, want that it passes", got)
	}
	if leader.proofs != before {
		t.Errorf("with the secret of a session that lives: got %d proofs, want none", leader.proofs-before)
	}
}
