package storage_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// costBytesMax is by how much the cost of a change in a queue may differ between a short and a long one: larger numbers
// take a few bytes more as varints.
const costBytesMax = 32

// costQueue is a lock with a holder and waiters in four sessions.
type costQueue struct {
	t        *testing.T
	store    *storage.Store
	sessions []*storev1.SessionRef
	joined   int
}

func newCostQueue(t *testing.T) *costQueue {
	t.Helper()
	q := &costQueue{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	for i := range 4 {
		id := make([]byte, 16)
		id[0] = byte(i + 1)
		q.apply(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: id, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}})
		q.sessions = append(q.sessions, &storev1.SessionRef{SessionId: id, Epoch: 1})
	}
	q.apply(q.acquire(1_000_000))
	return q
}

func (q *costQueue) entry(cmd *storev1.Command) []storage.Entry {
	q.t.Helper()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{cmd}})
	if err != nil {
		q.t.Fatal(err)
	}
	return []storage.Entry{{Index: q.store.Applied().Index + 1, Term: 1, Data: data}}
}

func (q *costQueue) apply(cmd *storev1.Command) {
	q.t.Helper()
	out, err := q.store.Apply(q.entry(cmd))
	if err != nil {
		q.t.Fatal(err)
	}
	if f := out.Entries[0].Results[0].GetFailure(); f != nil || !out.Entries[0].Results[0].GetChanged() {
		q.t.Fatalf("got %v, want a change", out.Entries[0].Results[0])
	}
}

// cost returns the bytes that a command would write: to the state, and to the log.
func (q *costQueue) cost(cmd *storev1.Command) (state, log int) {
	q.t.Helper()
	entries := q.entry(cmd)
	state, err := q.store.BytesWritten(entries)
	if err != nil {
		q.t.Fatal(err)
	}
	return state, len(entries[0].Data)
}

func (q *costQueue) acquire(i int) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
		Key: "k", Session: q.sessions[i%len(q.sessions)], Owner: fmt.Sprintf("%07d", i),
		Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE, Queue: true,
	}}}
}

// grow lets waiters join until there are n.
func (q *costQueue) grow(n int) {
	q.t.Helper()
	for ; q.joined < n; q.joined++ {
		q.apply(q.acquire(q.joined))
	}
}

// TestAChangeInAQueueCostsTheSameInALongOne counts the bytes that one waiter writes who joins, leaves, is granted or loses
// its place, in a queue of ten and in one of ten thousand.
func TestAChangeInAQueueCostsTheSameInALongOne(t *testing.T) {
	needsNoRaceDetector(t)
	q := newCostQueue(t)
	leave := func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
			Key: "k", Session: q.sessions[i%len(q.sessions)], Owner: fmt.Sprintf("%07d", i),
		}}}
	}
	release := &storev1.Command{Kind: &storev1.Command_ReleaseLock{ReleaseLock: &storev1.ReleaseLock{
		Key: "k", Session: q.sessions[0], Owner: "1000000",
	}}}
	changes := map[string]func() *storev1.Command{
		"join":                      func() *storev1.Command { return q.acquire(q.joined) },
		"leave from the end":        func() *storev1.Command { return leave(q.joined - 1) },
		"leave from the middle":     func() *storev1.Command { return leave(q.joined / 2) },
		"release and grant to next": func() *storev1.Command { return release },
	}
	short := map[string][2]int{}
	q.grow(10)
	for name, cmd := range changes {
		state, log := q.cost(cmd())
		short[name] = [2]int{state, log}
	}
	q.grow(10_000)
	for name, cmd := range changes {
		state, log := q.cost(cmd())
		t.Logf("%s: %d bytes of state and %d of log among 10, %d and %d among 10 000", name, short[name][0], short[name][1], state, log)
		if was := short[name]; state == 0 || log == 0 || abs(state-was[0]) > costBytesMax || abs(log-was[1]) > costBytesMax {
			t.Errorf("%s: got %d bytes of state and %d of log among 10 000, want about the %d and %d among 10", name, state, log, was[0], was[1])
		}
	}
}

func abs(n int) int { return max(n, -n) }

// TestCallsThatWaitOnOnePlaceDoNotWriteItsValueEachTime has many calls attach to a place with a large value, and leave it.
func TestCallsThatWaitOnOnePlaceDoNotWriteItsValueEachTime(t *testing.T) {
	q := newCostQueue(t)
	first := q.acquire(1)
	first.GetAcquireLock().Value = make([]byte, 100<<10)
	q.apply(first)
	leave := &storev1.Command{Kind: &storev1.Command_CancelWait{CancelWait: &storev1.CancelWait{
		Key: "k", Session: q.sessions[1], Owner: first.GetAcquireLock().GetOwner(), UnlessFound: true,
	}}}
	for i := range 4 {
		for name, cmd := range map[string]*storev1.Command{"attach": q.acquire(1), "leave": leave} {
			state, _ := q.cost(cmd)
			if i > 0 && state > 10<<10 {
				t.Errorf("%s number %d writes %d bytes", name, i, state)
			}
		}
		for _, cmd := range []*storev1.Command{q.acquire(1), leave} {
			if _, err := q.store.Apply(q.entry(cmd)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
