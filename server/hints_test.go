package server_test

import (
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// hints waits for some hints on a stream. Answers that came before them may carry verdicts.
func (k *keeping) hints(n int) []*tenurev1.SessionHint {
	k.t.Helper()
	var all []*tenurev1.SessionHint
	for len(all) < n {
		r, err := k.stream.Recv()
		if err != nil {
			k.t.Fatalf("after %d hints: %v", len(all), err)
		}
		all = append(all, r.GetHints()...)
	}
	return all
}

// noHints fails if a hint comes before the verdict of the next renewal but one.
func (k *keeping) noHints(id string) {
	k.t.Helper()
	for range 2 {
		if err := k.stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: id}}}); err != nil {
			k.t.Fatal(err)
		}
		r, err := k.stream.Recv()
		if err != nil {
			k.t.Fatal(err)
		}
		if len(r.GetHints()) > 0 || len(r.GetVerdicts()) != 1 {
			k.t.Errorf("got %v, want one verdict and no hint", r)
		}
	}
}

// kept opens a session and renews it on a stream of its own.
func (m *member) kept(t *testing.T, name string) (string, *keeping) {
	t.Helper()
	id, k := m.openSession(t, name), m.keepAlive(t)
	k.renew(&tenurev1.SessionRenewal{SessionId: id})
	return id, k
}

// wantHold fails unless a hint is of the hold that a sequencer proves.
func wantHold(t *testing.T, what string, got *tenurev1.Hold, want *tenurev1.Sequencer) {
	t.Helper()
	if got.GetSequencer().String() != want.String() {
		t.Errorf("%s: got %v, want the hold of %v", what, got, want)
	}
}

func TestStreamHintsWhatHappensToLocks(t *testing.T) {
	m := start(t)
	one, first := m.kept(t, "one")
	two, second := m.kept(t, "two")
	three := m.openSession(t, "three, on no stream")
	held := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: one}).ended().GetGranted()
	first.noHints(one) // What was not waited for is no news.

	waits := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: two})
	waits.next()
	hint := first.hints(1)[0]
	wantHold(t, "contended", hint.GetContended(), held.GetSequencer())
	if hint.GetSessionId() != one || hint.GetContended().GetLostTime() != nil {
		t.Errorf("got %v, want a valid hold of %s", hint, one)
	}
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: three}).next()

	m.release(t, "k", one)
	granted := waits.ended().GetGranted()
	hints := second.hints(2)
	wantHold(t, "granted", hints[0].GetGranted(), granted.GetSequencer())
	wantHold(t, "contended by who stood behind", hints[1].GetContended(), granted.GetSequencer())
	if hints[0].GetSessionId() != two || hints[0].GetGranted().GetGrantTime() == nil || hints[0].GetGranted().GetSessionName() != "two" {
		t.Errorf("got %v, want all of the hold", hints[0])
	}

	if _, err := m.BreakLock(t.Context(), &tenurev1.BreakLockRequest{Key: "k", Reason: "stuck"}); err != nil {
		t.Fatal(err)
	}
	hint = second.hints(1)[0]
	wantHold(t, "lost", hint.GetLost(), granted.GetSequencer())
	if hint.GetSessionId() != two || hint.GetLost().GetLostTime() == nil {
		t.Errorf("got %v, want when %s lost it", hint, two)
	}
	first.noHints(one) // Its own release is no news.
	second.noHints(two)
}

func TestStreamHintsWhatATakeoverAndForceEnd(t *testing.T) {
	m := start(t)
	id, k := m.kept(t, "s")
	old := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: id}).ended().GetGranted()
	taken, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{
		SessionId: id, TakeOver: true, Options: &tenurev1.CallOptions{Epoch: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantHold(t, "taken over", k.hints(1)[0].GetLost(), old.GetSequencer())

	// The last stream that renewed a session gets its hints.
	next := m.keepAlive(t)
	next.renew(&tenurev1.SessionRenewal{SessionId: id, Epoch: 2})
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id, Force: true, Reason: "gone"}); err != nil {
		t.Fatal(err)
	}
	wantHold(t, "destroyed by force", next.hints(1)[0].GetLost(), taken.GetHolds()[0].GetSequencer())
	verdicts := next.renew(&tenurev1.SessionRenewal{SessionId: id, Epoch: 2, Number: 7})
	wantVerdict(t, verdicts[7], tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED)
}

func TestHolderHearsOfAQueueOnceASecond(t *testing.T) {
	m := start(t)
	id, k := m.kept(t, "holder")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: id}).ended()
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "other", SessionId: id}).ended()
	const waiters = 50
	for range waiters {
		m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "waiter")}).next()
	}
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "other", SessionId: m.openSession(t, "waiter")}).next()
	told := map[string]int{}
	for told["other"] == 0 {
		for _, hint := range k.hints(1) {
			told[hint.GetContended().GetSequencer().GetKey()]++
		}
	}
	// Slow machines may need more than a second for all that.
	if told["k"] < 1 || told["k"] > waiters/5 {
		t.Errorf("%d queued, and the holder was told %d times", waiters, told["k"])
	}
}
