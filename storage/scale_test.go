package storage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// rig applies commands one entry each, and fails the test if one breaks a rule.
type rig struct {
	t     *testing.T
	store *storage.Store
}

func (r *rig) apply(commands ...*storev1.Command) (storage.Outcome, []*storev1.Result) {
	r.t.Helper()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: commands})
	if err != nil {
		r.t.Fatal(err)
	}
	at := r.store.Applied()
	out, err := r.store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, result := range out.Entries[0].Results {
		if f := result.GetFailure(); f != nil {
			r.t.Fatal(f)
		}
	}
	return out, out.Entries[0].Results
}

// applyMany applies commands, many in an entry.
func (r *rig) applyMany(commands []*storev1.Command) {
	r.t.Helper()
	for some := range slices.Chunk(commands, 500) {
		r.apply(some...)
	}
}

// sessions opens sessions number from to from+n-1.
func (r *rig) sessions(from, n uint64) {
	r.t.Helper()
	var commands []*storev1.Command
	for i := range n {
		commands = append(commands, &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: numberedID(from + i), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}})
	}
	r.applyMany(commands)
}

func acquireCommand(key string, session uint64, owner string, mode storev1.LockMode) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
		Key: key, Session: &storev1.SessionRef{SessionId: numberedID(session)}, Owner: owner, Mode: mode, Queue: true,
	}}}
}

// acquireMany has a session acquire so many locks of its own.
func (r *rig) acquireMany(session uint64, locks int) {
	r.t.Helper()
	var acquires []*storev1.Command
	for i := range locks {
		key := fmt.Sprintf("%d/%d", session, i)
		acquires = append(acquires, acquireCommand(key, session, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	}
	r.applyMany(acquires)
}

func releaseCommand(h *storev1.HoldState) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_ReleaseLock{ReleaseLock: &storev1.ReleaseLock{
		Key: h.GetKey(), Session: &storev1.SessionRef{SessionId: h.GetSessionId()}, Owner: h.GetOwner(),
	}}}
}

// holder returns the first valid hold of a lock.
func (r *rig) holder(key string) *storev1.HoldState {
	r.t.Helper()
	reader := r.store.NewReader()
	defer func() {
		if err := reader.Close(); err != nil {
			r.t.Error(err)
		}
	}()
	l, _, err := reader.Lock(key)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(l.State.GetHolds()) == 0 {
		return nil
	}
	return l.State.GetHolds()[0]
}

// checkPositions demands the right position of every so-manyth waiter, and of the first and last.
func (r *rig) checkPositions(key string, stride int) {
	r.t.Helper()
	reader := r.store.NewReader()
	defer func() {
		if err := reader.Close(); err != nil {
			r.t.Error(err)
		}
	}()
	waiters, _, err := reader.Waiters(key, 0, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, w := range waiters {
		if i%stride != 0 && i != len(waiters)-1 {
			continue
		}
		if got, err := reader.Position(key, w.Place); got != i || err != nil {
			r.t.Fatalf("place %d: got position %d, %v, want %d", w.Place, got, err, i)
		}
	}
}

// TestThousandWaitersAreGrantedInOrder hands a lock through 1 000 waiters, every tenth of whose sessions ends while it
// waits, and crashes half way. Each hand-over is one command.
func TestThousandWaitersAreGrantedInOrder(t *testing.T) {
	needsNoRaceDetector(t)
	const waiters = 1000
	fs := vfs.NewCrashableMem()
	r := &rig{t: t, store: newStore(t, fs, "sm")}
	r.sessions(0, waiters+1)
	var acquires []*storev1.Command
	for i := range uint64(waiters + 1) {
		acquires = append(acquires, acquireCommand("lock", i, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	}
	r.applyMany(acquires)
	gone := func(session uint64) bool { return session%10 == 3 }
	for i := range uint64(waiters + 1) {
		if gone(i) {
			r.apply(&storev1.Command{Kind: &storev1.Command_ExpireSessions{ExpireSessions: &storev1.ExpireSessions{
				Term: 1, SessionIds: [][]byte{numberedID(i)},
			}}})
		}
	}
	token := uint64(0)
	for i := range uint64(waiters + 1) {
		if gone(i) {
			continue
		}
		h := r.holder("lock")
		if string(h.GetSessionId()) != string(numberedID(i)) || h.GetFencingToken() <= token {
			t.Fatalf("got holder %x with token %d after %d, want session %d", h.GetSessionId(), h.GetFencingToken(), token, i)
		}
		token = h.GetFencingToken()
		if i%200 == 0 {
			r.checkPositions("lock", 10)
		}
		if i == waiters/2 {
			if err := r.store.Flush(); err != nil {
				t.Fatal(err)
			}
			clone := fs.CrashClone(vfs.CrashCloneCfg{})
			closeStore(t, r.store)
			r.store = openStore(t, clone, "sm")
		}
		before := r.store.Applied().Revision
		out, results := r.apply(releaseCommand(h))
		if released := results[0].GetReleaseLock(); !released.GetReleased() || out.Applied.Revision != before+1 {
			t.Fatalf("hand-over by %d: got %v in %d revisions, want one", i, released, out.Applied.Revision-before)
		}
	}
	if h := r.holder("lock"); h != nil {
		t.Errorf("got holder %v at the end, want none", h)
	}
}

// TestManyGrantsAreCut frees a lock on which more SHARED waiters wait than one command grants. The rest is granted by
// GrantWaiters, and nobody passes meanwhile.
func TestManyGrantsAreCut(t *testing.T) {
	const grantsMax, waiters, sessions = 256, 450, 3
	const shared = storev1.LockMode_LOCK_MODE_SHARED
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, sessions+1)
	r.apply(acquireCommand("lock", sessions, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	var acquires []*storev1.Command
	for i := range waiters {
		acquires = append(acquires, acquireCommand("lock", uint64(i%sessions), fmt.Sprint(i), shared))
	}
	r.applyMany(acquires)
	out, results := r.apply(releaseCommand(r.holder("lock")))
	if got := results[0].GetReleaseLock().GetGranted(); got != grantsMax || out.Applied.GrantsLeft != 1 {
		t.Fatalf("got %d grants and %d locks left, want %d and 1", got, out.Applied.GrantsLeft, grantsMax)
	}
	out, results = r.apply(acquireCommand("lock", sessions, "late", shared))
	if results[0].GetAcquireLock().GetPlace() == nil || len(out.Events) != 1 {
		t.Fatalf("got %v and %d events, want a place and no grants: others wait", results[0], len(out.Events))
	}
	out, _ = r.apply(&storev1.Command{Kind: &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: 1}}})
	if out.Applied.GrantsLeft != 0 {
		t.Errorf("got %d locks left, want none", out.Applied.GrantsLeft)
	}
	granted := 0
	for _, e := range out.Events {
		if g := e.GetLockGranted(); g != nil {
			granted++
		}
	}
	if want := waiters - grantsMax + 1; granted != want {
		t.Errorf("GrantWaiters: got %d grants, want %d", granted, want)
	}
}

// TestLargeGrantsAreCut frees a lock on which SHARED waiters wait with large values to write. A command grants those with some MiB of
// values, at least one; GrantWaiters grants the rest.
func TestLargeGrantsAreCut(t *testing.T) {
	const waiters, valueBytes, most = 20, 512 << 10, 9
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, 2)
	r.apply(acquireCommand("lock", 1, "", storev1.LockMode_LOCK_MODE_EXCLUSIVE))
	for i := range waiters {
		c := acquireCommand("lock", 0, fmt.Sprint(i), storev1.LockMode_LOCK_MODE_SHARED)
		c.GetAcquireLock().Value = make([]byte, valueBytes)
		r.apply(c)
	}
	_, results := r.apply(releaseCommand(r.holder("lock")))
	granted := results[0].GetReleaseLock().GetGranted()
	for commands := 1; ; commands++ {
		if granted == 0 || granted > most || commands > waiters {
			t.Fatalf("command %d: got %d grants, want 1 to %d", commands, granted, most)
		}
		if r.store.Applied().GrantsLeft == 0 {
			break
		}
		out, _ := r.apply(&storev1.Command{Kind: &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: 1}}})
		granted = 0
		for _, e := range out.Events {
			if e.GetLockGranted() != nil {
				granted++
			}
		}
	}
	r.checkBytes()
}

// TestRaisedLimitIsCut raises the limit of holders when more locks wait for that than one command grants. The rest is
// granted by GrantWaiters, in bounded steps that come to an end.
func TestRaisedLimitIsCut(t *testing.T) {
	const grantsMax, locks, each = 256, 300, 150
	const shared = storev1.LockMode_LOCK_MODE_SHARED
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	limit := func(n uint32) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Limits: &storev1.Limits{HoldersMax: &n}}}}
	}
	r.sessions(0, 3*locks/each)
	r.apply(limit(1))
	var acquires []*storev1.Command
	for i := range uint64(locks) {
		key := fmt.Sprint(i)
		acquires = append(acquires,
			acquireCommand(key, i/each, "", shared),
			acquireCommand(key, locks/each+i/each, "", shared),
			acquireCommand(key, 2*locks/each+i/each, "", shared), // stays behind
		)
	}
	r.applyMany(acquires)
	granted := map[string]bool{}
	next := limit(2)
	for steps := 0; ; steps++ {
		out, _ := r.apply(next)
		grants := 0
		for _, e := range out.Events {
			if g := e.GetLockGranted(); g != nil {
				grants++
				granted[g.GetKey()] = true
			}
		}
		if grants > grantsMax || steps > 5 {
			t.Fatalf("step %d: got %d grants, want at most %d in a few steps", steps, grants, grantsMax)
		}
		if out.Applied.GrantsLeft == 0 {
			break
		}
		next = &storev1.Command{Kind: &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: 1}}}
	}
	if len(granted) != locks {
		t.Errorf("got grants of %d locks, want all %d", len(granted), locks)
	}
}

// TestEndIsCut ends sessions that have together more than one command may end.
func TestEndIsCut(t *testing.T) {
	const each = 50
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(0, 4)
	for s := range uint64(3) {
		r.acquireMany(s, each)
	}
	ids := [][]byte{numberedID(0), numberedID(1), numberedID(2), numberedID(3)}
	expire := &storev1.Command{Kind: &storev1.Command_ExpireSessions{ExpireSessions: &storev1.ExpireSessions{Term: 1, SessionIds: ids}}}
	_, results := r.apply(expire)
	first := results[0].GetEndSessions()
	if len(first.GetEndedSessionIds()) != 3 || len(first.GetLeftSessionIds()) != 1 || string(first.GetLeftSessionIds()[0]) != string(ids[2]) {
		t.Fatalf("got %d ended and %d left, want the third left", len(first.GetEndedSessionIds()), len(first.GetLeftSessionIds()))
	}
	_, results = r.apply(proto.CloneOf(expire))
	if second := results[0].GetEndSessions(); len(second.GetEndedSessionIds()) != 1 || second.GetMissing() != 3 {
		t.Errorf("second command: got %v, want the rest ended", second)
	}
	if a := r.store.Applied(); a.Sessions != 0 {
		t.Errorf("got %d sessions, want none", a.Sessions)
	}
}
