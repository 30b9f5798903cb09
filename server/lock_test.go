package server_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/sequencer"
)

// acquiring is an AcquireLock call under way.
type acquiring struct {
	t      *testing.T
	stream tenurev1.LockService_AcquireLockClient
}

// acquire begins to acquire a lock.
func (m *member) acquire(t *testing.T, r *tenurev1.AcquireLockRequest) acquiring {
	t.Helper()
	stream, err := m.AcquireLock(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return acquiring{t: t, stream: stream}
}

// next returns the next step.
func (a acquiring) next() *tenurev1.AcquireLockResponse {
	a.t.Helper()
	step, err := a.stream.Recv()
	if err != nil {
		a.t.Fatal(err)
	}
	return step
}

// ended returns the last step, past those that tell of moving.
func (a acquiring) ended() *tenurev1.AcquireLockResponse {
	a.t.Helper()
	for {
		if step := a.next(); step.GetGranted() != nil || step.GetRejected() != nil {
			return step
		}
	}
}

// release gives a lock back and fails unless it was held.
func (m *member) release(t *testing.T, key, session string) *tenurev1.ReleaseLockResponse {
	t.Helper()
	r, err := m.ReleaseLock(t.Context(), &tenurev1.ReleaseLockRequest{Key: key, SessionId: session})
	if err != nil || !r.GetReleased() {
		t.Fatalf("release: %v, %v; want released", r, err)
	}
	return r
}

func TestLockPassesAlongItsQueue(t *testing.T) {
	m := start(t)
	alice, bob, carol := m.openSession(t, "alice"), m.openSession(t, "bob"), m.openSession(t, "carol")
	first := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: alice}).ended().GetGranted()
	if first.GetSequencer().GetSessionId() != alice || first.GetSessionName() != "alice" {
		t.Fatalf("got %v, want alice's hold", first)
	}
	second := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: bob, Value: []byte("bob's")})
	queued := second.next().GetQueued()
	if p := queued.GetPlace(); p.GetPosition() != 0 || p.GetSessionId() != bob || p.GetSessionName() != "bob" || p.GetQueueTime() == nil ||
		queued.GetLock().GetHolds()[0].GetSessionName() != "alice" {
		t.Fatalf("got %v, want the first place behind alice", queued)
	}
	third := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: carol})
	if p := third.next().GetQueued().GetPlace(); p.GetPosition() != 1 {
		t.Fatalf("got %v, want the second place", p)
	}
	again := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: carol})
	if p := again.next().GetQueued().GetPlace(); p.GetPosition() != 1 {
		t.Fatalf("got %v, want carol's place again", p)
	}
	lock, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: "k"})
	if err != nil || len(lock.GetLock().GetPlaces()) != 2 || lock.GetLock().GetWaiters() != 2 {
		t.Fatalf("GetLock shows %v, %v; want two waiters", lock, err)
	}
	try, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: m.openSession(t, "dave")})
	if err != nil || try.GetAcquired() || try.GetLock().GetWaiters() != 2 {
		t.Errorf("a try past the queue: %v, %v; want refused", try, err)
	}
	if r := m.release(t, "k", alice); r.GetGranted() != 1 {
		t.Errorf("release granted %d, want 1", r.GetGranted())
	}
	hold := second.ended().GetGranted()
	if s := hold.GetSequencer(); s.GetSessionId() != bob || s.GetLockIndex() != 2 || s.GetFencingToken() <= first.GetSequencer().GetFencingToken() {
		t.Errorf("got %v, want bob's hold with a larger token", hold)
	}
	if moved := third.next().GetMoved(); moved == nil || moved.GetPosition() != 0 {
		t.Errorf("got %v, want that carol moved to the front", moved)
	}
	kv, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"})
	if err != nil || string(kv.GetKv().GetValue()) != "bob's" {
		t.Errorf("the key is %v, %v; want what bob asked for", kv, err)
	}
	check, err := m.CheckSequencer(t.Context(), &tenurev1.CheckSequencerRequest{
		Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: hold.GetSequencer()},
	})
	if err != nil || !check.GetHolds() {
		t.Errorf("bob's sequencer: %v, %v; want that it holds", check, err)
	}
	if _, err = m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: bob, Clean: true}); err != nil {
		t.Fatal(err)
	}
	for _, a := range []acquiring{third, again} {
		if got := a.ended().GetGranted().GetSequencer(); got.GetSessionId() != carol || got.GetLockIndex() != 3 {
			t.Errorf("got %v, want carol's hold", got)
		}
	}
	text, err := sequencer.Format(hold.GetSequencer())
	if err != nil {
		t.Fatal(err)
	}
	check, err = m.CheckSequencer(t.Context(), &tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Text{Text: text}})
	if err != nil || check.GetHolds() || check.GetLock().GetHolds()[0].GetSessionName() != "carol" {
		t.Errorf("bob's old sequencer: %v, %v; want that carol holds", check, err)
	}
}

func TestLocksAreSharedByTheirMode(t *testing.T) {
	m := start(t)
	one, two := m.openSession(t, "one"), m.openSession(t, "two")
	try := func(r *tenurev1.TryAcquireLockRequest) *tenurev1.TryAcquireLockResponse {
		t.Helper()
		got, err := m.TryAcquireLock(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	shared, semaphore := tenurev1.LockMode_LOCK_MODE_SHARED, tenurev1.LockMode_LOCK_MODE_SEMAPHORE
	for _, id := range []string{one, two} {
		if r := try(&tenurev1.TryAcquireLockRequest{Key: "s", SessionId: id, Mode: shared}); !r.GetAcquired() {
			t.Errorf("got %v, want a shared hold", r)
		}
	}
	if r := try(&tenurev1.TryAcquireLockRequest{Key: "s", SessionId: two, Options: &tenurev1.CallOptions{Owner: "w"}}); r.GetAcquired() {
		t.Errorf("got %v, want no exclusive hold beside shared ones", r)
	}
	if r := try(&tenurev1.TryAcquireLockRequest{Key: "p", SessionId: one, Mode: semaphore, Limit: 3, Permits: 2}); !r.GetAcquired() || r.GetHold().GetPermits() != 2 {
		t.Errorf("got %v, want two permits", r)
	}
	if r := try(&tenurev1.TryAcquireLockRequest{Key: "p", SessionId: two, Mode: semaphore, Limit: 3}); !r.GetAcquired() || r.GetHold().GetPermits() != 1 {
		t.Errorf("got %v, want one permit", r)
	}
	tests := map[string]struct {
		request *tenurev1.TryAcquireLockRequest
		code    codes.Code
		reason  string
	}{
		"another limit":       {&tenurev1.TryAcquireLockRequest{Key: "p", SessionId: one, Mode: semaphore, Limit: 4, Options: &tenurev1.CallOptions{Owner: "x"}}, codes.FailedPrecondition, "LOCK_MODE_MISMATCH"},
		"another mode":        {&tenurev1.TryAcquireLockRequest{Key: "s", SessionId: one}, codes.FailedPrecondition, "LOCK_MODE_MISMATCH"},
		"no limit":            {&tenurev1.TryAcquireLockRequest{Key: "q", SessionId: one, Mode: semaphore}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"more than the limit": {&tenurev1.TryAcquireLockRequest{Key: "q", SessionId: one, Mode: semaphore, Limit: 1, Permits: 2}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"permits of a mutex":  {&tenurev1.TryAcquireLockRequest{Key: "q", SessionId: one, Permits: 1}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a mode nobody knows": {&tenurev1.TryAcquireLockRequest{Key: "q", SessionId: one, Mode: 7}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a negative wait":     {&tenurev1.TryAcquireLockRequest{Key: "q", SessionId: one, Wait: seconds(-1)}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"no session":          {&tenurev1.TryAcquireLockRequest{Key: "q"}, codes.InvalidArgument, "SESSION_ID_INVALID"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := m.TryAcquireLock(t.Context(), tc.request)
			wantError(t, err, tc.code, tc.reason)
		})
	}
}

func TestReleaseIsAnAnswer(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	none, err := m.ReleaseLock(t.Context(), &tenurev1.ReleaseLockRequest{Key: "k", SessionId: id})
	if err != nil || none.GetReleased() {
		t.Errorf("got %v, %v; want that nothing was held", none, err)
	}
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: id, Value: []byte("v")}).ended()
	gone, err := m.ReleaseLock(t.Context(), &tenurev1.ReleaseLockRequest{
		Key: "k", SessionId: id, ValueOp: &tenurev1.ReleaseLockRequest_Delete{Delete: true},
	})
	if err != nil || !gone.GetReleased() {
		t.Errorf("got %v, %v; want released", gone, err)
	}
	_, err = m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"})
	wantError(t, err, codes.NotFound, "KEY_NOT_FOUND")
	if _, err = m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	late, err := m.ReleaseLock(t.Context(), &tenurev1.ReleaseLockRequest{Key: "k", SessionId: id})
	if err != nil || late.GetReleased() {
		t.Errorf("after the session's end: %v, %v; want an answer", late, err)
	}
}

func TestOperatorBreaksALock(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "stuck")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: id}).ended()
	_, err := m.BreakLock(t.Context(), &tenurev1.BreakLockRequest{Key: "k"})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	broken, err := m.BreakLock(t.Context(), &tenurev1.BreakLockRequest{Key: "k", Reason: "host is gone"})
	if err != nil || broken.GetHolds() != 1 {
		t.Fatalf("got %v, %v; want one hold broken", broken, err)
	}
	lock, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	l := lock.GetLock()
	if l.GetHolders() != 0 || l.GetDelayedHolds() != 1 || l.GetPast()[0].GetCause() != tenurev1.HoldEndCause_HOLD_END_CAUSE_BROKEN ||
		l.GetPast()[0].GetReason() != "host is gone" {
		t.Errorf("got %v, want a delayed hold and the reason", l)
	}
	if m.logs.FilterMessage("lock broken").Len() != 1 {
		t.Error("the break is not in the log")
	}
}

func TestTakeoverMakesOldTokensStale(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	old := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: id}).ended().GetGranted().GetSequencer()
	_, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id, TakeOver: true})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	taken, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{
		SessionId: id, TakeOver: true, InstanceId: []byte("two"), Options: &tenurev1.CallOptions{Epoch: 1},
	})
	if err != nil || taken.GetSession().GetEpoch() != 2 || len(taken.GetHolds()) != 1 {
		t.Fatalf("got %v, %v; want epoch 2 and the hold", taken, err)
	}
	if now := taken.GetHolds()[0].GetSequencer(); now.GetFencingToken() <= old.GetFencingToken() || now.GetLockIndex() <= old.GetLockIndex() {
		t.Errorf("the hold is %v, want a larger number and token than %v", now, old)
	}
	_, err = m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Acquire: id, Options: &tenurev1.CallOptions{Epoch: 1}})
	wantError(t, err, codes.FailedPrecondition, "SESSION_SUPERSEDED")
	guarded := &tenurev1.PutRequest{Key: "data", Options: &tenurev1.CallOptions{Guards: []*tenurev1.Guard{
		{Condition: &tenurev1.Guard_Held{Held: old}},
	}}}
	_, err = m.Put(t.Context(), guarded)
	wantError(t, err, codes.FailedPrecondition, "FENCING_TOKEN_STALE")
	guarded.GetOptions().GetGuards()[0].Condition = &tenurev1.Guard_Held{Held: taken.GetHolds()[0].GetSequencer()}
	if _, err := m.Put(t.Context(), guarded); err != nil {
		t.Errorf("with the new sequencer: %v", err)
	}
}

func TestRetryGetsTheFirstResult(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	attempts := map[string]*tenurev1.CallOptions{
		"under a request id":       {Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: id, Sequence: 1}},
		"under an idempotency key": {IdempotencyKey: []byte("0123456789abcdef")},
	}
	for name, o := range attempts {
		t.Run(name, func(t *testing.T) {
			first, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: name, Content: text("v"), Options: o})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = m.Delete(t.Context(), &tenurev1.DeleteRequest{Key: name}); err != nil {
				t.Fatal(err)
			}
			again, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: name, Content: text("v"), Options: o})
			if err != nil || again.GetHeader().GetRevision() != first.GetHeader().GetRevision() {
				t.Errorf("the retry: %v, %v; want the first result, of revision %d", again, err, first.GetHeader().GetRevision())
			}
			_, err = m.Get(t.Context(), &tenurev1.GetRequest{Key: name})
			wantError(t, err, codes.NotFound, "KEY_NOT_FOUND")
			_, err = m.Put(t.Context(), &tenurev1.PutRequest{Key: name, Content: text("other"), Options: o})
			wantError(t, err, codes.FailedPrecondition, "REQUEST_ID_REUSED")
		})
	}
	release := &tenurev1.ReleaseLockRequest{
		Key: "l", SessionId: id, Options: &tenurev1.CallOptions{Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: id, Sequence: 2}},
	}
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "l", SessionId: id}).ended()
	if r, err := m.ReleaseLock(t.Context(), release); err != nil || !r.GetReleased() {
		t.Fatalf("release: %v, %v", r, err)
	}
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if r, err := m.ReleaseLock(t.Context(), release); err != nil || !r.GetReleased() {
		t.Errorf("a retry after the session's end: %v, %v; want the first result", r, err)
	}
}

func TestGuardsAreChecked(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	put, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "a"})
	if err != nil {
		t.Fatal(err)
	}
	exists, wrong := true, put.GetHeader().GetRevision()+1
	tests := map[string]struct {
		guard  *tenurev1.Guard
		code   codes.Code
		reason string
	}{
		"a session that lives": {&tenurev1.Guard{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: id}}, codes.OK, ""},
		"a session that never was": {
			&tenurev1.Guard{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: "00000000-0000-4000-8000-000000000000"}},
			codes.NotFound, "SESSION_NOT_FOUND",
		},
		"a key that exists":     {&tenurev1.Guard{Condition: &tenurev1.Guard_Key{Key: &tenurev1.KeyCondition{Key: "a", Exists: &exists}}}, codes.OK, ""},
		"a key that does not":   {&tenurev1.Guard{Condition: &tenurev1.Guard_Key{Key: &tenurev1.KeyCondition{Key: "b", Exists: &exists}}}, codes.FailedPrecondition, "COMPARE_FAILED"},
		"another revision":      {&tenurev1.Guard{Condition: &tenurev1.Guard_Key{Key: &tenurev1.KeyCondition{Key: "a", ModRevision: &wrong}}}, codes.FailedPrecondition, "COMPARE_FAILED"},
		"no condition":          {&tenurev1.Guard{}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"no key":                {&tenurev1.Guard{Condition: &tenurev1.Guard_Key{Key: &tenurev1.KeyCondition{}}}, codes.InvalidArgument, "KEY_EMPTY"},
		"a hold of another age": {&tenurev1.Guard{Condition: &tenurev1.Guard_Held{Held: &tenurev1.Sequencer{Key: "a", LockIndex: 1, SessionId: id, FencingToken: 1, HistoryId: "00000000000000000000000000000000"}}}, codes.FailedPrecondition, "HISTORY_CHANGED"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "guarded", Options: &tenurev1.CallOptions{Guards: []*tenurev1.Guard{tc.guard}}})
			if tc.code == codes.OK {
				if err != nil {
					t.Errorf("got %v, want success", err)
				}
				return
			}
			wantError(t, err, tc.code, tc.reason)
		})
	}
}

func TestLimitsAreSet(t *testing.T) {
	m := start(t)
	waiters := uint32(1)
	set, err := m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{WaitersMax: &waiters}})
	if err != nil || set.GetLimits().GetWaitersMax() != 1 || set.GetLimits().GetHoldersMax() == 0 {
		t.Fatalf("got %v, %v; want one waiter, the rest as it was", set, err)
	}
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "a")}).ended()
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "b")}).next()
	_, err = m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "c")}).stream.Recv()
	wantError(t, err, codes.ResourceExhausted, "LIMIT_EXCEEDED")
	if md := infoOf(err).GetMetadata(); md["limit"] != "waiters_max" || md["limit_value"] != "1" {
		t.Errorf("the error tells %v, want which limit", md)
	}
	tooMany := uint32(5000)
	_, err = m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{SessionObjectsMax: &tooMany}})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	_, err = m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	_, err = m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{
		HistoryDuration: &durationpb.Duration{Seconds: 315_576_000_000}, // The longest Duration.
	}})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	if text := status.Convert(err).Message(); !strings.Contains(text, "at most") {
		t.Errorf("a history that is too long is refused with %q, want the bound", text)
	}
}
