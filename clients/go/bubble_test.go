package tenure_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// states collects what a listener is told, with the time of each.
type states struct {
	begun time.Time

	mu   sync.Mutex // Guards list.
	list []string
	at   []time.Duration
}

func (s *states) listen(c tenure.StateChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := c.State.String()
	if c.Cause != "" {
		text += " " + string(c.Cause)
	}
	s.list = append(s.list, text)
	s.at = append(s.at, time.Since(s.begun))
}

func (s *states) demand(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.list, want) {
		t.Errorf("states %v, want %v", s.list, want)
	}
}

// when returns when a state was told last.
func (s *states) when(state string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, told := range slices.Backward(s.list) {
		if told == state {
			return s.at[i]
		}
	}
	return -1
}

// bubble is a client with one session in fake time.
type bubble struct {
	*fakeCluster
	client  *tenure.Client
	session *tenure.Session
	states  *states
	ahead   atomic.Int64           // How much the client's clock is ahead of the timers.
	atClock atomic.Pointer[func()] // Called once, when the client looks at its clock the next time.
}

// newBubble opens a session of 15 s; call it in a synctest bubble, and close at its end.
func newBubble(t *testing.T, members int) *bubble {
	t.Helper()
	b := &bubble{fakeCluster: newFakeCluster(members), states: &states{begun: time.Now()}}
	begun := time.Now()
	clock := func() time.Duration {
		if f := b.atClock.Swap(nil); f != nil {
			(*f)()
		}
		return time.Since(begun) + time.Duration(b.ahead.Load())
	}
	c, err := tenure.Open("tenure://"+strings.Join(b.list, ",")+"/app", tenure.OverMemory(b.net), tenure.WithClock(clock), tenure.WithSeed(7))
	if err != nil {
		t.Fatal(err)
	}
	b.client = c
	b.session, err = c.OpenSession(t.Context(), tenure.WithStateListener(b.states.listen))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bubble) close(t *testing.T) {
	t.Helper()
	if err := b.client.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	synctest.Wait()
	b.each(func(m *fakeMember) {
		if n := m.Conns(); n != 0 {
			t.Errorf("close leaves %d connections to %s", n, m.address)
		}
	})
}

// inBubble runs a test with a bubble of so many members in fake time.
func inBubble(t *testing.T, members int, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, members)
		defer b.close(t)
		test(t, b)
	})
}

// acquire takes a lock for the bubble's session.
func (b *bubble) acquire(t *testing.T, key string, options ...tenure.LockOption) *tenure.Held {
	t.Helper()
	held, err := b.session.Lock(key, options...).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// lastRenewal returns when the last renewal was acknowledged; on this network that is also when it was sent.
func (b *bubble) lastRenewal() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	renewals := b.sessions[b.session.ID()].renewals
	return renewals[len(renewals)-1].Sub(b.states.begun)
}

// pass lets fake time pass.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

const (
	ttl    = 15 * time.Second
	margin = ttl / 50
)

func TestRenewalsComeEveryThirdOfTheTTL(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		pass(10 * time.Minute)
		b.mu.Lock()
		renewals := b.sessions[b.session.ID()].renewals
		b.mu.Unlock()
		for i := range len(renewals) - 1 {
			if gap := renewals[i+1].Sub(renewals[i]); gap < ttl*9/30 || gap > ttl*11/30 {
				t.Errorf("renewal after %v", gap)
			}
		}
		if n := len(renewals); n < 100 || n > 140 {
			t.Errorf("%d renewals in 10 minutes", n)
		}
		b.states.demand(t, "CONNECTING", "CONNECTED")
	})
}

func TestALeaseEndsExactlyAMarginBeforeItsTTL(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		work, done := held.Context(t.Context())
		defer done()
		pass(time.Minute)
		b.each(func(m *fakeMember) { m.Silence(true) })
		last := b.lastRenewal()
		if got, want := held.SafeFor(), last+ttl-margin-time.Since(b.states.begun); got != want {
			t.Errorf("safe for %v, want %v", got, want)
		}
		<-work.Done()
		if got := time.Since(b.states.begun); got != last+ttl-margin {
			t.Errorf("the context ended after %v, want %v", got, last+ttl-margin)
		}
		if held.Safe() || held.Cause() != tenure.EndLeaseRanOut || !errors.Is(context.Cause(work), tenure.ErrLockLost) {
			t.Errorf("safe %v, cause %v, %v", held.Safe(), held.Cause(), context.Cause(work))
		}
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED", "JEOPARDY")
		if got := b.states.when("JEOPARDY"); got != last+ttl-margin {
			t.Errorf("JEOPARDY after %v, want %v", got, last+ttl-margin)
		}
		// The renewal after the last acknowledged one is sent within 5.5 s, and waits for 5 s.
		if got := b.states.when("SUSPENDED"); got < last+ttl*19/30 || got > last+ttl*21/30 {
			t.Errorf("SUSPENDED %v after the last renewal", got-last)
		}
		b.each(func(m *fakeMember) { m.Silence(false) })
	})
}

func TestWhoComesBackTooLateIsExpired(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.each(func(m *fakeMember) { m.Refuse(true) })
		pass(20 * time.Second)
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED", "JEOPARDY")
		b.each(func(m *fakeMember) { m.Refuse(false) })
		<-b.session.Done()
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED", "JEOPARDY", "CLOSED expired")
		if !errors.Is(b.session.Err(), tenure.ErrSessionExpired) {
			t.Errorf("ended as %v", b.session.Err())
		}
		if _, err := b.session.KV().Put(t.Context(), "a", nil); !errors.Is(err, tenure.ErrSessionExpired) {
			t.Errorf("call after the end: %v", err)
		}
	})
}

func TestWhatEndedInJeopardyStaysEndedAndIsGivenBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		pass(time.Second) // The first renewal is over.
		b.mu.Lock()
		b.sessions[b.session.ID()].deadline = time.Now().Add(time.Hour) // No leader expires it.
		b.mu.Unlock()
		b.each(func(m *fakeMember) { m.Refuse(true) })
		<-held.Lost()
		pass(time.Minute)
		b.each(func(m *fakeMember) { m.Refuse(false) })
		pass(5 * time.Second)
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED", "JEOPARDY", "CONNECTED")
		if held.Safe() || !b.session.Safe() {
			t.Errorf("held safe %v, session safe %v", held.Safe(), b.session.Safe())
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if want := []string{"app/a"}; !slices.Equal(b.locks.released, want) {
			t.Errorf("released %v, want %v", b.locks.released, want)
		}
	})
}

func TestCallsWaitInJeopardyForTwiceTheTTL(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.each(func(m *fakeMember) { m.Refuse(true) })
		pass(time.Second)
		_, err := b.session.KV().Put(t.Context(), "a", nil)
		if !errors.Is(err, tenure.ErrUnavailable) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("got %v, want ErrUnavailable and nothing applied", err)
		}
		waited := time.Since(b.states.begun) - b.states.when("JEOPARDY")
		if waited != 2*ttl {
			t.Errorf("waited in JEOPARDY for %v, want %v", waited, 2*ttl)
		}
		before := time.Now()
		if _, err := b.session.KV().Get(t.Context(), "a"); !errors.Is(err, tenure.ErrUnavailable) || time.Since(before) > 0 {
			t.Errorf("a later call: %v after %v", err, time.Since(before))
		}
		b.each(func(m *fakeMember) { m.Refuse(false) })
		<-b.session.Done()
	})
}

func TestAProcessThatWasStoppedKnowsAtOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		pass(time.Second)
		b.ahead.Add(int64(20 * time.Second)) // As after SIGSTOP and SIGCONT, or sleep.
		if held.Safe() {
			t.Error("safe right after a pause longer than the TTL")
		}
		b.ahead.Add(-int64(20 * time.Second))
		if held.Safe() || held.Err() == nil {
			t.Error("what ended is safe again")
		}
	})
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		b.ahead.Add(int64(20 * time.Second))
		before := time.Now()
		<-held.Lost() // Without being asked.
		if after := time.Since(before); after > 250*time.Millisecond {
			t.Errorf("noticed after %v", after)
		}
	})
}

func TestALostMemberIsReplacedAtOnceWithoutLosingAnything(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		pass(time.Second) // The session is renewed: else it has nothing to ask for after a break.
		for range 5 {
			_, current := b.client.Members()
			before := time.Now()
			b.each(func(m *fakeMember) {
				if m.address == current {
					m.Cut()
				}
			})
			pass(time.Second)
			if _, next := b.client.Members(); next == current || next == "" {
				t.Errorf("connected to %q after %q was lost", next, current)
			}
			if back := b.states.begun.Add(b.states.when("CONNECTED")).Sub(before); back > 50*time.Millisecond {
				t.Errorf("connected again after %v", back)
			}
			pass(20 * time.Second)
		}
		if !held.Safe() {
			t.Error("the hold was lost")
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		attempts := b.sessions[b.session.ID()].attempts
		// Two for each break, before and after the first renewal over the new stream; one more if the lock was there before the very first.
		if n := len(attempts); n != 10 && n != 11 || len(slices.Compact(slices.Clone(attempts))) != n || !slices.IsSorted(attempts) {
			t.Errorf("attempts to attach %v", attempts)
		}
	})
}

func TestARetryIsTheSameRequest(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.loseNext = 3
		b.mu.Unlock()
		if _, err := b.session.KV().Put(t.Context(), "a", []byte("1")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.session.KV().Put(t.Context(), "b", []byte("1")); err != nil {
			t.Fatal(err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.puts) != 5 || len(b.results) != 2 {
			t.Fatalf("%d attempts of %d requests, want 5 of 2", len(b.puts), len(b.results))
		}
		first, last := b.puts[0].GetOptions().GetRequestId(), b.puts[4].GetOptions().GetRequestId()
		if first.GetSequence() != 1 || last.GetSequence() != 2 || last.GetDoneBelow() != 2 {
			t.Errorf("request ids %v and %v", first, last)
		}
	})
}

func TestWithoutASessionALostAnswerIsUnknown(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.loseNext = 1 << 20
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := b.client.KV().Put(ctx, "a", nil)
		if !errors.Is(err, tenure.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) || tenure.AppliedOf(err) != tenure.AppliedUnknown {
			t.Errorf("got %v", err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.results) != 1 {
			t.Errorf("the retries were %d requests", len(b.results))
		}
	})
}

func TestAVerdictIsFinal(t *testing.T) {
	tests := map[string]struct {
		verdict tenurev1.ErrorReason
		want    string
		err     error
	}{
		"taken over":       {tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED, "CLOSED superseded", tenure.ErrSessionSuperseded},
		"not known":        {tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, "CLOSED expired", tenure.ErrSessionExpired},
		"the wrong secret": {tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG, "CLOSED auth_failed", tenure.ErrAuth},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				held := b.acquire(t, "a")
				b.mu.Lock()
				b.sessions[b.session.ID()].over = test.verdict
				b.mu.Unlock()
				<-b.session.Done()
				<-held.Lost()
				b.states.demand(t, "CONNECTING", "CONNECTED", test.want)
				if !errors.Is(b.session.Err(), test.err) {
					t.Errorf("got %v, want %v", b.session.Err(), test.err)
				}
			})
		})
	}
}

func TestALeaderlessClusterSuspendsAndRecovers(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.refuse = tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
		b.mu.Unlock()
		pass(12 * time.Second)
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED")
		b.mu.Lock()
		b.refuse = 0
		b.mu.Unlock()
		pass(3 * time.Second)
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED", "CONNECTED")
	})
}

func TestAListenerIsToldThePresentStateFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, 1)
		late := &states{begun: time.Now()}
		b.session.OnState(late.listen)
		late.demand(t, "CONNECTED")
		b.close(t)
		late.demand(t, "CONNECTED", "CLOSED closed")
		after := &states{begun: time.Now()}
		b.session.OnState(after.listen)
		synctest.Wait()
	})
}
