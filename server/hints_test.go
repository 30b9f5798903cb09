package server_test

import (
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// next waits for the next hint. Answers that came before it may carry verdicts.
func (k *keeping) next() *tenurev1.SessionHint {
	k.t.Helper()
	for len(k.hinted) == 0 {
		r, err := k.stream.Recv()
		if err != nil {
			k.t.Fatal(err)
		}
		k.hinted = r.GetHints()
	}
	hint := k.hinted[0]
	k.hinted = k.hinted[1:]
	return hint
}

// lost waits for the hint that a hold is lost. That somebody queues may be told again before it, after a second.
func (k *keeping) lost() *tenurev1.SessionHint {
	k.t.Helper()
	for {
		if hint := k.next(); hint.GetContended() == nil {
			return hint
		}
	}
}

// rest returns the hints that come before the verdict of the next renewal but one.
func (k *keeping) rest(id string) []*tenurev1.SessionHint {
	k.t.Helper()
	for range 2 {
		if err := k.stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: id}}}); err != nil {
			k.t.Fatal(err)
		}
		for verdicts := 0; verdicts == 0; {
			r, err := k.stream.Recv()
			if err != nil {
				k.t.Fatal(err)
			}
			k.hinted = append(k.hinted, r.GetHints()...)
			verdicts = len(r.GetVerdicts())
		}
	}
	return k.hinted
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
	if got := first.rest(one); len(got) > 0 {
		t.Errorf("got %v, want that what was not waited for is no news", got)
	}

	waits := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: two})
	waits.next()
	hint := first.next()
	wantHold(t, "contended", hint.GetContended(), held.GetSequencer())
	if hint.GetSessionId() != one || hint.GetContended().GetLostTime() != nil {
		t.Errorf("got %v, want a valid hold of %s", hint, one)
	}
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: three}).next()

	m.release(t, "k", one)
	granted := waits.ended().GetGranted()
	// Who queued before the grant may be looked for after it, and be told of before it.
	var got, contended *tenurev1.SessionHint
	for got == nil || contended == nil {
		switch hint = second.next(); {
		case hint.GetGranted() != nil && got == nil:
			got = hint
		case hint.GetContended() != nil:
			contended = hint
		default:
			t.Fatalf("got %v, want that the lock is granted, and that somebody queues", hint)
		}
	}
	wantHold(t, "granted", got.GetGranted(), granted.GetSequencer())
	wantHold(t, "contended by who stood behind", contended.GetContended(), granted.GetSequencer())
	if got.GetSessionId() != two || got.GetGranted().GetGrantTime() == nil || got.GetGranted().GetSessionName() != "two" {
		t.Errorf("got %v, want all of the hold", got)
	}

	if _, err := m.BreakLock(t.Context(), &tenurev1.BreakLockRequest{Key: "k", Reason: "stuck"}); err != nil {
		t.Fatal(err)
	}
	hint = second.lost()
	wantHold(t, "lost", hint.GetLost(), granted.GetSequencer())
	if hint.GetSessionId() != two || hint.GetLost().GetLostTime() == nil {
		t.Errorf("got %v, want when %s lost it", hint, two)
	}
	for sequencer, hints := range map[*tenurev1.Sequencer][]*tenurev1.SessionHint{
		held.GetSequencer(): first.rest(one), granted.GetSequencer(): second.rest(two),
	} {
		for _, hint := range hints {
			if hint.GetContended() == nil {
				t.Errorf("got %v, want that the release of its own is no news, and a loss is told once", hint)
				continue
			}
			wantHold(t, "contended once more, after a second", hint.GetContended(), sequencer)
		}
	}
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
	wantHold(t, "taken over", k.lost().GetLost(), old.GetSequencer())

	// The last stream that renewed a session gets its hints.
	next := m.keepAlive(t)
	next.renew(&tenurev1.SessionRenewal{SessionId: id, Epoch: 2})
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id, Force: true, Reason: "gone"}); err != nil {
		t.Fatal(err)
	}
	wantHold(t, "destroyed by force", next.lost().GetLost(), taken.GetHolds()[0].GetSequencer())
	verdicts := next.renew(&tenurev1.SessionRenewal{SessionId: id, Epoch: 2, Number: 7})
	wantVerdict(t, verdicts[7], tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED)
}

// TestStreamHintsWhatACleanEndTakes destroys sessions whose locks become free without a delay.
func TestStreamHintsWhatACleanEndTakes(t *testing.T) {
	m := start(t)
	for name, end := range map[string]*tenurev1.DestroySessionRequest{
		"clean": {Clean: true}, "clean and by force": {Clean: true, Force: true, Reason: "gone"},
	} {
		id, k := m.kept(t, name)
		held := m.acquire(t, &tenurev1.AcquireLockRequest{Key: name, SessionId: id}).ended().GetGranted()
		end.SessionId = id
		if _, err := m.DestroySession(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		lost := k.lost().GetLost()
		wantHold(t, name, lost, held.GetSequencer())
		if lost.GetDelayLeft() != nil {
			t.Errorf("%s: got %v, want no delay, as opposed to one that is over", name, lost)
		}
	}
}

func TestHolderHearsOfAQueueOnceASecond(t *testing.T) {
	m := start(t)
	id, k := m.kept(t, "holder")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: id}).ended()
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "other", SessionId: id}).ended()
	const waiters = 50
	began := time.Now()
	for range waiters {
		m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "waiter")}).next()
	}
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "other", SessionId: m.openSession(t, "waiter")}).next()
	told := map[string]int{}
	for told["other"] == 0 {
		told[k.next().GetContended().GetSequencer().GetKey()]++
	}
	// Slow machines may need more than a second for all that.
	took := time.Since(began)
	if most := 1 + int(took/time.Second); told["k"] < 1 || told["k"] > most {
		t.Errorf("%d queued within %v, and the holder was told %d times, want at most %d", waiters, took, told["k"], most)
	}
}
