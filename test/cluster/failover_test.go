package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	failoverRounds  = 3
	failoverWriters = 8
	// writesBeforeKill is how many acknowledged writes of a round precede the kill, and how many follow it.
	writesBeforeKill = 150
	callTimeout      = time.Minute
	// leaderPatience is for how long a member looks for a leader before it gives a call up: five election time-outs.
	leaderPatience = 5 * time.Second
	// noLeaderPatience is for how long a loaded machine may leave a cluster without leader.
	noLeaderPatience = time.Minute
)

// followers returns the running members that do not lead.
func followers(c *rig.Cluster, lead *rig.Member) []*rig.Member {
	var others []*rig.Member
	for _, m := range c.Running() {
		if m != lead {
			others = append(others, m)
		}
	}
	return others
}

// reasonOf returns the reason of an error, and what it says about the change.
func reasonOf(err error) (reason string, facts map[string]string) {
	info := rig.ErrorInfo(err)
	return info.GetReason(), info.GetMetadata()
}

// A client of a member that does not lead hardly sees that leaders die: a change with an idempotency key is made exactly
// once, whatever became of its first answer, and one without says what is known of it.
func TestWritesThroughAFollowerSurviveDyingLeaders(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	// One follower stays, so that its clients never see their own member die.
	stays := followers(c, c.Leader(ctx))[0]
	w := &writers{t: t, clients: make([]*client, failoverWriters)}
	for i := range w.clients {
		w.clients[i] = dial(t, stays, fmt.Sprintf("w%d/", i))
	}
	for round := range failoverRounds {
		lead := leadAway(ctx, t, c, stays) // so that there is something to relay
		w.round(ctx, round, func() { lead.Kill() })
		lead.Restart(ctx)
	}
	w.check(ctx)
	keyed, plain, unknown := w.keyed.Load(), w.plain.Load(), w.unknown.Load()
	t.Logf("%d leaders killed: %d writes with a key acknowledged, %d without, %d outcomes unknown", failoverRounds, keyed, plain, unknown)
	if floor := int64(failoverRounds * writesBeforeKill); keyed < floor || plain < floor/4 {
		t.Errorf("floors: got %d and %d writes, want at least %d and %d", keyed, plain, floor, floor/4)
	}
	if late, most := w.late.Load(), int64(failoverRounds*failoverWriters/2/2); late > most {
		t.Errorf("%d writes with a key waited %v in vain, want at most %d: the follower does not ask the next leader", late, leaderPatience, most)
	}
}

// writers write through one member. Even ones give their changes idempotency keys.
type writers struct {
	t                     *testing.T
	clients               []*client
	keyed, plain, unknown atomic.Int64
	late                  atomic.Int64 // with a key and unknown, after all of a follower's patience

	mu    sync.Mutex // guards what follows
	acked []string
	lost  map[string]bool // outcome unknown
}

// round writes until enough with a key is acknowledged; the kill comes in the middle.
func (w *writers) round(ctx context.Context, round int, kill func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var done atomic.Int64
	half, whole := make(chan struct{}), make(chan struct{})
	var running sync.WaitGroup
	for i := range w.clients {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if !w.write(ctx, i, fmt.Sprintf("w%d/%d-%d", i, round, n)) || !hasKey(i) {
					continue
				}
				switch done.Add(1) {
				case writesBeforeKill / 2:
					close(half)
				case writesBeforeKill:
					close(whole)
				}
			}
		})
	}
	timeout := time.After(2 * time.Minute)
	for _, reached := range []chan struct{}{half, whole} {
		select {
		case <-reached:
		case <-timeout:
			w.t.Errorf("only %d writes were acknowledged", done.Load())
		}
		if reached == half {
			kill()
		}
	}
	cancel()
	running.Wait()
}

// hasKey tells whether a writer gives its changes idempotency keys.
func hasKey(writer int) bool { return writer%2 == 0 }

// write makes one key, and reports whether that was acknowledged.
func (w *writers) write(ctx context.Context, i int, key string) bool {
	request := &tenurev1.PutRequest{Key: key, Content: &tenurev1.PutRequest_Text{Text: key}}
	keyed := hasKey(i)
	if keyed {
		request.Options = &tenurev1.CallOptions{IdempotencyKey: []byte("idempotency of " + key)}
	}
	began := time.Now()
	call, stop := context.WithTimeout(ctx, callTimeout)
	_, err := w.clients[i].Put(call, request)
	stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.acked = append(w.acked, key)
		if keyed {
			w.keyed.Add(1)
		} else {
			w.plain.Add(1)
		}
		return true
	}
	reason, facts := reasonOf(err)
	if w.lost == nil {
		w.lost = map[string]bool{}
	}
	switch {
	case ctx.Err() != nil || facts["applied"] == "unknown":
		w.lost[key] = true
		w.unknown.Add(1)
		// On a loaded machine an election may take longer than the follower waits for it.
		if took := time.Since(began); keyed && ctx.Err() == nil {
			w.late.Add(1)
			if took < leaderPatience {
				w.t.Errorf("%s: %v after %v: the follower could have asked the next leader", key, err, took)
			}
		}
	case facts["applied"] == "no":
		w.lost[key] = false
	default:
		w.t.Errorf("%s: got %v, reason %q with %v", key, err, reason, facts)
	}
	return false
}

// check looks that everything acknowledged is there, once, and nothing that was said not to be applied.
func (w *writers) check(ctx context.Context) {
	w.t.Helper()
	found := map[string]uint64{}
	for token := ""; ; {
		page, err := w.clients[0].List(ctx, &tenurev1.ListRequest{Prefix: "w", PageToken: token, KeysOnly: true})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, kv := range page.GetKvs() {
			found[kv.GetKey()] = kv.GetVersion()
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	for _, key := range w.acked {
		if found[key] != 1 {
			w.t.Errorf("%s was acknowledged and written %d times", key, found[key])
		}
	}
	for key, unknown := range w.lost {
		if version := found[key]; !unknown && version > 0 || version > 1 {
			w.t.Errorf("%s was written %d times; unknown=%v", key, version, unknown)
		}
	}
}

// leadAway returns the leader, after it made sure that it is not a certain member.
func leadAway(ctx context.Context, t *testing.T, c *rig.Cluster, stays *rig.Member) *rig.Member {
	t.Helper()
	cl := dial(t, stays, "")
	until := time.Now().Add(time.Minute)
	for {
		lead := c.Leader(ctx)
		if lead != stays {
			return lead
		}
		// Whoever may take it has perhaps just come back, and nothing is lost by asking again.
		_, err := cl.TransferLeadership(ctx, &tenurev1.TransferLeadershipRequest{})
		if err != nil && time.Now().After(until) {
			t.Fatal(err)
		}
	}
}

// kept is a session that is kept alive.
type kept struct {
	id    string
	acked atomic.Int64 // renewals
	lost  atomic.Pointer[tenurev1.RenewalVerdict]
}

// Sessions kept alive through a follower outlive their leaders, and what nobody renews ends.
func TestSessionsKeptThroughAFollowerOutliveTheLeader(t *testing.T) {
	t.Parallel() // It mostly waits for TTLs.
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	stays := followers(c, c.Leader(ctx))[0]
	cl := dial(t, stays, "")
	const sessions, ttl, renewals = 20, 6 * time.Second, 6
	var keepers sync.WaitGroup
	keeping, stop := context.WithCancel(ctx)
	defer func() { stop(); keepers.Wait() }()
	all := make([]*kept, sessions)
	for i := range all {
		s, err := cl.CreateSession(ctx, &tenurev1.CreateSessionRequest{
			Name: fmt.Sprint(i), Ttl: durationpb.New(ttl), Secret: secret,
		})
		if err != nil {
			t.Fatal(err)
		}
		k := &kept{id: s.GetSessionId()}
		_, err = cl.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: fmt.Sprint("lock/", i), SessionId: k.id, Options: acting()})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = k
		keepers.Go(func() { keep(keeping, cl, k, ttl/renewals) })
	}
	abandoned, err := cl.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "abandoned", Ttl: durationpb.New(ttl)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		lead := leadAway(ctx, t, c, stays)
		lead.Kill()
		// For two TTLs from here on they live by the next leader's verdicts.
		want := make([]int64, len(all))
		for i, k := range all {
			want[i] = k.acked.Load() + 2*renewals
		}
		for i, k := range all {
			awaitRenewals(t, i, k, want[i])
		}
		lead.Restart(ctx)
	}
	for i, k := range all {
		alive, failed := cl.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: k.id})
		if failed != nil || alive.GetSession().GetEnd() != nil || len(alive.GetHolds()) != 1 {
			t.Errorf("session %d: %v, %v; want it alive with its lock", i, alive, failed)
		}
	}
	awaitExpired(ctx, t, cl, abandoned.GetSessionId())
}

// awaitExpired waits until a session that nobody renews has expired. A leader that was stalled, as on a loaded machine, gives it
// as much more time.
func awaitExpired(ctx context.Context, t *testing.T, cl *client, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		s, err := cl.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: id})
		end := s.GetSession().GetEnd()
		if end.GetCause() == tenurev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED {
			return
		}
		if end != nil || ctx.Err() != nil {
			t.Fatalf("the abandoned session: %v, %v; want it expired", end, err)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// awaitRenewals waits until so many renewals of a session were acknowledged.
func awaitRenewals(t *testing.T, i int, k *kept, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for k.acked.Load() < want {
		if v := k.lost.Load(); v != nil || ctx.Err() != nil {
			t.Fatalf("session %d: %d renewals acknowledged, refused with %v", i, k.acked.Load(), v)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// keep renews a session on a stream, and opens another when that breaks.
func keep(ctx context.Context, c *client, k *kept, every time.Duration) {
	for number := uint64(0); ctx.Err() == nil; {
		stream, err := c.KeepAlive(ctx)
		for err == nil {
			number++
			err = stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{
				{SessionId: k.id, Number: number, Epoch: 1, Secret: secret},
			}})
			var r *tenurev1.KeepAliveResponse
			if err == nil {
				r, err = stream.Recv()
			}
			for _, v := range r.GetVerdicts() {
				switch v.GetRefused() {
				case tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
					k.acked.Add(1)
				case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND,
					tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
					k.lost.CompareAndSwap(nil, v)
					return
				default:
				}
			}
			pause(ctx, every)
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// pause waits for a while, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Without a quorum a member says so, in time and with what to do, and still shows what it has.
func TestAMemberWithoutAQuorum(t *testing.T) {
	t.Parallel() // It mostly waits for time-outs.
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	c.AwaitRaised(ctx)
	lead := c.Leader(ctx)
	last := dial(t, followers(c, lead)[0], "")
	alone := followers(c, lead)[0]
	put, err := last.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: &tenurev1.PutRequest_Text{Text: "v"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Members {
		if m != alone {
			m.Kill()
		}
	}
	awaitStatus(ctx, t, last, func(s *tenurev1.GetStatusResponse) bool { return s.GetLeader() == "" })
	for what, call := range map[string]func() error{
		"put": func() error {
			_, refused := last.Put(ctx, &tenurev1.PutRequest{Key: "k2"})
			return refused
		},
		"get": func() error {
			_, refused := last.Get(ctx, &tenurev1.GetRequest{Key: "k"})
			return refused
		},
		"add member": func() error {
			_, refused := last.AddMember(ctx, &tenurev1.AddMemberRequest{Name: "x"})
			return refused
		},
	} {
		began := time.Now()
		refused := call()
		reason, facts := reasonOf(refused)
		if status.Code(refused) != codes.Unavailable || reason != "NO_LEADER" || facts["applied"] != "no" || facts["retry_after_ms"] == "" {
			t.Errorf("%s: got %v, reason %q with %v; want UNAVAILABLE, NO_LEADER and when to try again", what, refused, reason, facts)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %v to say so", what, took)
		}
	}
	stale, err := last.Get(ctx, &tenurev1.GetRequest{Key: "k", Read: &tenurev1.ReadOptions{
		Stale: true, MinRevision: put.GetHeader().GetRevision(), HistoryId: put.GetHeader().GetHistoryId(),
	}})
	if err != nil || string(stale.GetKv().GetValue()) != "v" {
		t.Errorf("stale read: got %v, %v", stale, err)
	}
	s, err := last.GetStatus(ctx, &tenurev1.GetStatusRequest{})
	if err != nil || len(s.GetProblems()) == 0 || s.GetProblems()[0].GetName() != "no-leader" ||
		!strings.HasSuffix(s.GetProblems()[0].GetRunbook(), "docs/operations.md#no-leader") {
		t.Errorf("got problems %v, %v; want no-leader on top with its runbook", s.GetProblems(), err)
	}
	r, err := http.Get("http://" + alone.Addresses.HTTP + "/v1/kv/k")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // Only shown.
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("REST: got %s with Retry-After %q and %v, want 503 and when to try again", r.Status, r.Header.Get("Retry-After"), body)
	}
}

// awaitStatus waits until a member's status is as wanted.
func awaitStatus(ctx context.Context, t *testing.T, c *client, want func(*tenurev1.GetStatusResponse) bool) *tenurev1.GetStatusResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		s, err := c.GetStatus(ctx, &tenurev1.GetStatusRequest{})
		if err == nil && want(s) {
			return s
		}
		if ctx.Err() != nil {
			t.Fatalf("status is %v, %v", s, err)
		}
		pause(ctx, 20*time.Millisecond)
	}
}
