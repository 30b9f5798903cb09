package leader_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
)

// follower is a member that another one leads.
type follower struct{ leader.Node }

func (follower) Status() raftnode.Status { return raftnode.Status{MemberID: 1, Leader: 2, Term: 7} }

func (follower) LeadChanged() <-chan struct{} { return nil }

func (follower) PeerConn(uint64) (grpc.ClientConnInterface, error) { return &grpc.ClientConn{}, nil }

// A follower refuses what only the leader may do before it relays it. That is no reason to wait: every change of its clients
// would take longer by that.
func TestTheLeaderIsAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay, err := leader.New(leader.Options{
			Node: follower{}, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Election: time.Second, Logger: zap.NewNop(),
			Registerer: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go relay.Run(ctx)
		synctest.Wait()
		began, refused := time.Now(), &raftnode.NotLeaderError{Leader: 2, Term: 7}
		asked := 0
		call := leader.Call{Name: leader.MethodPropose, Far: func(context.Context, *leader.Way, ...grpc.CallOption) error {
			if asked++; asked < 3 {
				return refused
			}
			return nil
		}}
		for i, want := range []struct {
			asked int
			waits bool
		}{{3, true}, {4, false}} { // Only a leader that refuses is asked again later.
			if err := relay.Lead(ctx, call, refused); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); asked != want.asked || took > 0 != want.waits {
				t.Errorf("%d: got it done after %v, asked %d times; want %d times, and that it waits: %t", i, took, asked, want.asked, want.waits)
			}
			began = time.Now()
		}
	})
}

// silenced is a member whose leader fell silent, and that has another one a moment later.
type silenced struct {
	leader.Node

	mu      sync.Mutex // guards what follows
	leader  uint64
	changed chan struct{}    // closed when another one leads
	nowhere bool             // the leader has no address here
	conn    *grpc.ClientConn // to the leader
}

func newSilenced(leads uint64) *silenced {
	return &silenced{leader: leads, changed: make(chan struct{}), conn: &grpc.ClientConn{}}
}

// lead makes another member the leader.
func (s *silenced) lead(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader = id
	close(s.changed)
	s.changed = make(chan struct{})
}

// place gives the leader another address, or none.
func (s *silenced) place(nowhere bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nowhere, s.conn = nowhere, &grpc.ClientConn{}
}

func (s *silenced) LeadChanged() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *silenced) Status() raftnode.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return raftnode.Status{MemberID: 1, Leader: s.leader, Term: s.leader}
}

func (s *silenced) PeerConn(uint64) (grpc.ClientConnInterface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nowhere {
		return nil, raftnode.ErrMemberUnknown
	}
	return s.conn, nil
}

// Calls wait for a leader, so the way to it is found as soon as it leads; and while nothing changes, nothing is done.
func TestTheWayFollowsTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newSilenced(0)
		relay, err := leader.New(leader.Options{
			Node: node, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Election: time.Second, Logger: zap.NewNop(),
			Registerer: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go relay.Run(ctx)
		way := func() (leads uint64, changed <-chan struct{}) {
			synctest.Wait()
			w, changed := relay.Present()
			if w != nil {
				leads = w.Leader
			}
			return leads, changed
		}
		for _, id := range []uint64{0, 2, 3, 1, 0, 2} {
			began := time.Now()
			node.lead(id)
			if got, _ := way(); got != id || time.Since(began) > 0 {
				t.Errorf("%d leads, but after %v the way is to %d", id, time.Since(began), got)
			}
		}
		_, changed := way()
		node.place(false)
		began := time.Now()
		if <-changed; time.Since(began) > time.Second {
			t.Errorf("the leader has another address, which is found after %v", time.Since(began))
		}
		node.place(true)
		node.lead(3)
		if got, _ := way(); got != 0 {
			t.Errorf("the leader has no address, but the way is to %d", got)
		}
		_, changed = way()
		began = time.Now()
		node.place(false)
		if <-changed; time.Since(began) > 50*time.Millisecond {
			t.Errorf("the leader's address came, and is found after %v", time.Since(began))
		}
	})
}

// A leader that fell silent never answers. What may be repeated is soon asked of the next one; of what may not be, the old leader alone may know the
// outcome, so it keeps its grace.
func TestTheNextLeaderIsAskedWhenTheOneBeforeIsSilent(t *testing.T) {
	const grace = time.Second
	tests := map[string]struct {
		repeat, answered bool
		atLeast, atMost  time.Duration
		failed           bool
	}{
		"what may be repeated":                       {repeat: true, atMost: grace / 5},
		"what may be repeated, but is answered soon": {repeat: true, answered: true, atMost: grace / 10},
		"what may not be repeated":                   {atLeast: grace, atMost: grace + grace/10, failed: true},
		"what may not be repeated, but is answered":  {answered: true, atMost: grace / 10},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := newSilenced(2)
				relay, err := leader.New(leader.Options{
					Node: node, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Election: grace, Logger: zap.NewNop(),
					Registerer: prometheus.NewRegistry(),
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go relay.Run(ctx)
				synctest.Wait()
				var asked []uint64
				began := time.Now()
				err = relay.Lead(ctx, leader.Call{
					Name: leader.MethodPropose, Repeat: test.repeat,
					Far: func(ctx context.Context, w *leader.Way, options ...grpc.CallOption) error {
						asked = append(asked, w.Leader)
						if w.Leader == 3 {
							return nil
						}
						for _, o := range options {
							if p, ok := o.(grpc.PeerCallOption); ok {
								p.PeerAddr.Addr = &net.TCPAddr{} // It was sent.
							}
						}
						node.lead(3)
						if test.answered {
							<-w.Present.Done()
							return nil
						}
						<-ctx.Done()
						return status.FromContextError(ctx.Err()).Err()
					},
				}, nil)
				took := time.Since(began)
				if (err != nil) != test.failed || took < test.atLeast || took > test.atMost {
					t.Errorf("after %v, having asked %v: %v; want an error: %t, after %v to %v", took, asked, err, test.failed, test.atLeast, test.atMost)
				}
			})
		})
	}
}

// A leader that answers no more may have applied a change. If the next one refuses it without a look at what the first one did, its caller must not
// believe that nothing was done.
func TestABlindRefusalDoesNotHideAnAttemptBefore(t *testing.T) {
	for name, test := range map[string]struct {
		blind   bool
		unknown bool
	}{
		"the next one knows of the first attempt": {},
		"the next one does not look":              {blind: true, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				relay, err := leader.New(leader.Options{
					Node: follower{}, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Election: time.Second, Logger: zap.NewNop(),
					Registerer: prometheus.NewRegistry(),
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go relay.Run(ctx)
				synctest.Wait()
				asked := 0
				err = relay.Lead(ctx, leader.Call{
					Name: leader.MethodPropose, Repeat: true, Blind: func() bool { return test.blind },
					Far: func(_ context.Context, _ *leader.Way, options ...grpc.CallOption) error {
						if asked++; asked > 1 {
							return nil
						}
						for _, o := range options {
							if p, ok := o.(grpc.PeerCallOption); ok {
								p.PeerAddr.Addr = &net.TCPAddr{} // It was sent.
							}
						}
						return status.Error(codes.Unavailable, "the connection broke")
					},
				}, nil)
				if e := reason.Of(err); asked != 2 || (e != nil && e.Applied == reason.AppliedUnknown) != test.unknown {
					t.Errorf("got %v after %d attempts, want two, and an unknown outcome: %t", err, asked, test.unknown)
				}
			})
		})
	}
}

// leaderless is a member that counts what is proposed to it, and leads a moment later.
type leaderless struct {
	*silenced

	proposed atomic.Int64
}

func (l *leaderless) Propose(context.Context, *storev1.Command) (*storev1.Result, error) {
	l.proposed.Add(1)
	return nil, raftnode.ErrNoLeader
}

// Who asks for a command, and goes while there is no leader, is told that nothing was applied; and nobody proposes it once there is one, although
// the attempts have a life of their own.
func TestNothingIsProposedForWhoHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &leaderless{silenced: newSilenced(0)}
		relay, err := leader.New(leader.Options{
			Node: node, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Election: time.Second, Logger: zap.NewNop(),
			Registerer: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(t.Context())
		defer stop()
		go relay.Run(running)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began, asked := time.Now(), leader.NewAsked(ctx)
		_, err = relay.OrderFor(t.Context(), asked, &storev1.Command{}, nil)
		if e := reason.Of(err); e == nil || e.Applied == reason.AppliedUnknown || e.Applied == reason.AppliedYes || time.Since(began) != time.Second {
			t.Errorf("got %v after %v, want that nothing was applied after 1 s", err, time.Since(began))
		}
		if asked.Gone() {
			t.Error("an attempt is said to be under way")
		}
		before := node.proposed.Load()
		node.lead(1)
		<-time.After(time.Minute)
		if after := node.proposed.Load(); after != before {
			t.Errorf("%d attempts began for who had gone", after-before)
		}
		if _, err = relay.OrderFor(t.Context(), asked, &storev1.Command{}, nil); reason.Of(err) == nil || node.proposed.Load() != before {
			t.Errorf("asked for who has gone: %v", err)
		}
	})
}
