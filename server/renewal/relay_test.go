package renewal

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// follower is a member that does not lead: a node whose leader is played by the test.
type follower struct {
	leader.Node
	store *storage.Store

	mu      sync.Mutex // guards what follows
	leader  uint64
	term    uint64
	changed chan struct{} // closed when another one leads
	conns   map[uint64]grpc.ClientConnInterface
	tries   int // how often the way to a leader was asked for
}

func (f *follower) Propose(context.Context, *storev1.Command) (*storev1.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leader == 0 {
		return nil, raftnode.ErrNoLeader
	}
	return nil, &raftnode.NotLeaderError{Leader: f.leader, Term: f.term}
}

func (f *follower) Status() raftnode.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return raftnode.Status{MemberID: 1, Leader: f.leader, Term: f.term}
}

func (f *follower) PeerConn(id uint64) (grpc.ClientConnInterface, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if conn := f.conns[id]; conn != nil {
		return conn, nil
	}
	return nil, raftnode.ErrMemberUnknown
}

func (f *follower) Store() *storage.Store { return f.store }

// elect makes a member the leader, as the follower sees it.
func (f *follower) elect(id, term uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leader, f.term = id, term
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *follower) LeadChanged() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// place says over which connection a member is reached.
func (f *follower) place(id uint64, conn grpc.ClientConnInterface) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[id] = conn
}

// leaderScript plays a leader: each call gets the next answer, and the last one all others.
type leaderScript struct {
	peerv1.UnimplementedRelayServiceServer
	answers []func(ctx context.Context) error

	mu    sync.Mutex // guards calls
	calls int
}

func (l *leaderScript) Propose(ctx context.Context, _ *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
	l.mu.Lock()
	answer := l.answers[min(l.calls, len(l.answers)-1)]
	l.calls++
	l.mu.Unlock()
	if err := answer(ctx); err != nil {
		s, _ := reason.Status(err, "id")
		return nil, s.Err()
	}
	return &peerv1.ProposeResponse{Result: &storev1.Result{Revision: 7}}, nil
}

func (l *leaderScript) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// relayRig is a follower with its relay.
type relayRig struct {
	t       *testing.T
	node    *follower
	caller  *call.Caller
	renewer *Renewer
}

func newRelayRig(t *testing.T) *relayRig {
	t.Helper()
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	rig := &relayRig{t: t, node: &follower{store: store, changed: make(chan struct{}), conns: map[uint64]grpc.ClientConnInterface{}}}
	log := zap.NewNop()
	rig.caller = &call.Caller{Node: rig.node, Log: log, Arrivals: &leader.Arrivals{}, Stopping: t.Context()}
	registry := prometheus.NewRegistry()
	rig.caller.Relay, err = leader.New(leader.Options{
		Node: rig.node, Arrivals: rig.caller.Arrivals, Stopping: t.Context(), Election: 100 * time.Millisecond, Logger: log, Registerer: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	if rig.renewer, err = New(Options{Caller: rig.caller, Hints: NewHinter(), StreamSessionsMax: 1024, Registerer: registry}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { rig.caller.Relay.Run(ctx) })
	running.Go(func() { rig.renewer.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return rig
}

// member makes a member that answers by a script, and returns what cuts it off.
func (r *relayRig) member(id uint64, script peerv1.RelayServiceServer) (crash func()) {
	r.t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	peerv1.RegisterRelayServiceServer(server, script)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // It ends by Stop.
	}()
	conn, err := grpc.NewClient("passthrough:///member",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		r.t.Fatal(err)
	}
	r.node.place(id, conn)
	crash = sync.OnceFunc(func() { server.Stop(); <-ended })
	r.t.Cleanup(func() { _ = conn.Close(); crash() })
	return crash
}

// put is a command, with a request id if it may be repeated.
func (r *relayRig) put(repeat bool) *storev1.Command {
	c := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}}}
	if repeat {
		c.RequestId = &storev1.RequestID{Sequence: 1}
	}
	return c
}

func relayReason(err error) (tenurev1.ErrorReason, string) {
	e := reason.Of(err)
	if e == nil {
		return 0, ""
	}
	return e.Reason, e.Applied
}

func TestRelayedChanges(t *testing.T) {
	fine := func(context.Context) error { return nil }
	notLeader := func(context.Context) error {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, "it is not me")
	}
	busy := func(context.Context) error {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, "too many").With("limit", "x")
	}
	lost := func(context.Context) error { return raftnode.ErrOutcomeUnknown }
	tests := map[string]struct {
		answers []func(context.Context) error
		repeat  bool
		want    tenurev1.ErrorReason
		applied string
		calls   int
	}{
		"the leader does it":                       {answers: []func(context.Context) error{fine}, calls: 1},
		"one that is no leader yet is asked again": {answers: []func(context.Context) error{notLeader, notLeader, fine}, calls: 3},
		"a refusal comes back as it is": {
			answers: []func(context.Context) error{busy}, calls: 1, want: tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, applied: reason.AppliedNo,
		},
		"what may be applied is not repeated": {
			answers: []func(context.Context) error{lost, fine}, calls: 1, want: tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, applied: reason.AppliedUnknown,
		},
		"a refusal does not tell of the attempt before it": {
			answers: []func(context.Context) error{lost, busy}, repeat: true, calls: 2,
			want: tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, applied: reason.AppliedUnknown,
		},
		"what has an identity is repeated": {answers: []func(context.Context) error{lost, lost, fine}, repeat: true, calls: 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			rig := newRelayRig(t)
			rig.caller.Relay.Patience = patienceOfTests
			script := &leaderScript{answers: tc.answers}
			rig.member(2, script)
			rig.node.elect(2, 5)
			result, err := rig.caller.Relay.Order(t.Context(), rig.put(tc.repeat), nil)
			if reason, applied := relayReason(err); reason != tc.want || applied != tc.applied {
				t.Errorf("got %v (%v, applied %q), want %v, applied %q", err, reason, applied, tc.want, tc.applied)
			}
			if tc.want == 0 && result.GetRevision() != 7 {
				t.Errorf("got %v, want the leader's result", result)
			}
			if got := script.count(); got != tc.calls {
				t.Errorf("the leader was called %d times, want %d", got, tc.calls)
			}
		})
	}
}

// A member that cannot be connected to was not asked anything, so the next leader may be.
func TestRelayWaitsForTheNextLeader(t *testing.T) {
	rig := newRelayRig(t)
	rig.caller.Relay.Patience = patienceOfTests
	dead := &leaderScript{answers: []func(context.Context) error{func(context.Context) error { return nil }}}
	rig.member(2, dead)()
	next := &leaderScript{answers: dead.answers}
	rig.member(3, next)
	rig.node.elect(2, 5)
	done := make(chan error, 1)
	go func() {
		_, err := rig.caller.Relay.Order(t.Context(), rig.put(false), nil)
		done <- err
	}()
	rig.awaitWay(2)
	rig.node.elect(3, 6)
	if err := <-done; err != nil {
		t.Errorf("got %v, want that the next leader did it", err)
	}
	if dead.count() != 0 || next.count() != 1 {
		t.Errorf("called %d and %d times, want 0 and 1", dead.count(), next.count())
	}
}

const patienceOfTests = 30 * time.Second

// awaitWay waits until the relay has found the way to a leader.
func (r *relayRig) awaitWay(leader uint64) {
	r.t.Helper()
	timeout := time.After(patienceOfTests)
	for {
		w, changed := r.caller.Relay.Present()
		if w != nil && w.Leader == leader {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			r.t.Fatalf("no way to member %d", leader)
		}
	}
}

// A leader that dies, or is replaced, under a call leaves its outcome unknown; a call with an identity goes to the next.
func TestRelayedCallWhoseLeaderIsLost(t *testing.T) {
	for name, tc := range map[string]struct {
		crash  bool // else another member is elected, and the old one says nothing
		repeat bool
	}{
		"it dies":                              {crash: true},
		"it dies, and the call has an id":      {crash: true, repeat: true},
		"it falls silent":                      {},
		"it falls silent, and the call has id": {repeat: true},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newRelayRig(t)
			rig.caller.Relay.Patience = patienceOfTests
			came := make(chan struct{}, 8)
			old := &leaderScript{answers: []func(context.Context) error{func(ctx context.Context) error {
				came <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}}}
			crash := rig.member(2, old)
			next := &leaderScript{answers: []func(context.Context) error{func(context.Context) error { return nil }}}
			rig.member(3, next)
			rig.node.elect(2, 5)
			done := make(chan error, 1)
			go func() {
				_, err := rig.caller.Relay.Order(t.Context(), rig.put(tc.repeat), nil)
				done <- err
			}()
			<-came
			rig.node.elect(3, 6)
			if tc.crash {
				crash()
			}
			why, applied := relayReason(<-done)
			if tc.repeat && why != 0 || !tc.repeat && (why != tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN || applied != reason.AppliedUnknown) {
				t.Errorf("got %v, applied %q", why, applied)
			}
			if want := map[bool]int{true: 1}[tc.repeat]; next.count() != want {
				t.Errorf("the next leader was asked %d times, want %d", next.count(), want)
			}
		})
	}
}

func TestRelayWithoutALeader(t *testing.T) {
	rig := newRelayRig(t)
	_, err := rig.caller.Relay.Order(t.Context(), rig.put(false), nil)
	if why, applied := relayReason(err); why != tenurev1.ErrorReason_ERROR_REASON_NO_LEADER || applied == reason.AppliedUnknown {
		t.Errorf("got %v, want NO_LEADER with nothing applied", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = rig.caller.Relay.Order(ctx, rig.put(false), nil)
	if why, applied := relayReason(err); applied == reason.AppliedUnknown ||
		why != tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED && why != tenurev1.ErrorReason_ERROR_REASON_NO_LEADER {
		t.Errorf("got %v, want that nothing is applied", err)
	}
}

// A member that lost its leadership under a change that may be repeated knows nothing of its outcome, whatever stops it
// from being repeated.
func TestWhatALostLeadershipLeavesUnknownStaysUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		leads bool // again
		here  error
	}{
		"nobody leads":          {},
		"it leads, and is busy": {leads: true, here: raftnode.ErrTooBusy},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newRelayRig(t)
			if tc.leads {
				rig.node.elect(1, 5)
				rig.awaitWay(1)
			}
			err := rig.caller.Relay.Lead(t.Context(), leader.Call{
				Repeat: true,
				Here:   func(context.Context) error { return tc.here },
			}, raftnode.ErrOutcomeUnknown)
			if why, applied := relayReason(err); applied != reason.AppliedUnknown {
				t.Errorf("got %v (%v, applied %q), want applied unknown", err, why, applied)
			}
		})
	}
}

// ReadIndexLeader finds that another member leads.
func (f *follower) ReadIndexLeader(context.Context) (uint64, error) { return 0, raftnode.ErrNotLeader }
