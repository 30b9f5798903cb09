package tenure_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// waitFor acquires a lock in the background, and returns what comes of it.
func waitFor(ctx context.Context, l *tenure.Lock) <-chan error {
	result := make(chan error, 1)
	go func() {
		_, err := l.Acquire(ctx)
		result <- err
	}()
	synctest.Wait()
	return result
}

// keepMark makes a call that is under way until move is called: so long the cluster does not know that later requests are done.
func (b *bubble) keepMark(t *testing.T) (move func()) {
	t.Helper()
	slow := func(slow bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.slow["app/slow"] = slow
	}
	slow(true)
	ended := make(chan error, 1)
	go func() {
		_, err := b.session.KV().Put(t.Context(), "slow", nil)
		ended <- err
	}()
	synctest.Wait()
	return func() {
		t.Helper()
		slow(false)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// demandFree demands that nobody holds or waits for a lock.
func (b *bubble) demandFree(t *testing.T, key string) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if hold, places := b.locks.holds[key], b.locks.places[key]; hold != nil || len(places) > 0 {
		t.Errorf("%s is left with %v and %d places", key, hold, len(places))
	}
}

func TestEachStreamOfAWaitHasANumberUntilItsFirstAnswer(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		result := waitFor(t.Context(), b.session.Lock("a"))
		b.each(func(m *fakeMember) { m.Cut() })
		pass(time.Second)
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-result; err != nil {
			t.Error(err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		var last uint64
		for i, r := range b.locks.acquires {
			if got := r.GetOptions().GetRequestId().GetSequence(); got <= last {
				t.Errorf("stream %d has the number %d after %d", i, got, last)
			} else {
				last = got
			}
		}
		if n := len(b.locks.acquires); n != 3 {
			t.Errorf("%d streams, want 3", n)
		}
	})
}

func TestAnAcquireThatComesAfterItsWaitWasGivenUpLeavesNothing(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		open := b.hold(&b.locks.late)
		move := b.keepMark(t)
		_, err := b.session.Lock("a", tenure.WithWait(time.Second)).Acquire(t.Context())
		if !errors.Is(err, tenure.ErrWaitTimedOut) {
			t.Errorf("got %v, want ErrWaitTimedOut", err)
		}
		pass(time.Minute)
		open()
		synctest.Wait()
		move()
		pass(time.Second)
		b.demandFree(t, "app/a")
	})
}

func TestAnAcquireOfANameThatIsGivenUpWaitsUntilItIs(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		mine := b.session.Lock("a", tenure.WithOwner("mine"))
		ctx, cancel := context.WithCancel(t.Context())
		first, second := waitFor(ctx, mine), waitFor(t.Context(), mine)
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		// The place is the other's, too.
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-second; err != nil {
			t.Errorf("the other who waited got %v", err)
		}
	})
}

func TestWhatBecameOfTheValueOfAWaitThatEnded(t *testing.T) {
	tests := map[string]struct {
		silent bool
		want   tenure.Applied
		kind   error
	}{
		"a place that was given up wrote nothing":       {false, tenure.AppliedNo, tenure.ErrUnavailable},
		"a place of which nobody answers may be a hold": {true, tenure.AppliedUnknown, tenure.ErrOutcomeUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.acquire(t, "e")
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := b.session.Election("e").Campaign(ctx, []byte("me"))
					ended <- err
				}()
				synctest.Wait()
				b.each(func(m *fakeMember) { m.Silence(test.silent) })
				cancel()
				err := <-ended
				if tenure.AppliedOf(err) != test.want || !errors.Is(err, test.kind) || !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, applied %s, want %v, applied %s", err, tenure.AppliedOf(err), test.kind, test.want)
				}
				b.each(func(m *fakeMember) { m.Silence(false) })
			})
		})
	}
}

func TestAReleaseThatFindsTheWindowFullIsMadeAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		b.mu.Lock()
		b.locks.full = 3
		b.mu.Unlock()
		if err := held.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
		b.demandFree(t, "app/a")
		b.mu.Lock()
		defer b.mu.Unlock()
		// The request is the oldest that is under way, so the window stays full until it gives up its number.
		for i, r := range b.locks.releases {
			id := r.GetOptions().GetRequestId()
			if want := uint64(i + 2); id.GetSequence() != want || id.GetDoneBelow() != want {
				t.Errorf("attempt %d is %v, want %d", i, id, want)
			}
		}
	})
}

func TestRequestsDoNotRunAwayFromTheOldest(t *testing.T) {
	const puts = 700
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		move := b.keepMark(t)
		var running sync.WaitGroup
		running.Go(func() {
			for range puts {
				if _, err := b.session.KV().Put(t.Context(), "quick", nil); err != nil {
					t.Error(err)
				}
			}
		})
		pass(time.Second)
		move()
		running.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		var ahead uint64
		for _, r := range b.puts {
			id := r.GetOptions().GetRequestId()
			ahead = max(ahead, id.GetSequence()-id.GetDoneBelow())
		}
		if ahead != 511 {
			t.Errorf("a request was %d ahead of the oldest, want 511", ahead)
		}
	})
}

func TestASessionIsRenewedRightAfterItWasOpened(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		pass(time.Millisecond)
		// A member tells what befell the locks of those sessions that were renewed there.
		if got := b.lastRenewal(); got > time.Millisecond {
			t.Errorf("renewed after %v", got)
		}
	})
}

func TestAMemberThatTakesNoMoreRenewalsIsLeftAtOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		pass(time.Second)
		_, before := b.client.Members()
		b.mu.Lock()
		b.refuse, b.refuseOnce = tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, true
		b.mu.Unlock()
		pass(ttl / 2)
		if _, after := b.client.Members(); after == before {
			t.Errorf("still on %s", after)
		}
		b.states.demand(t, "CONNECTING", "CONNECTED", "SUSPENDED", "CONNECTED")
	})
}

func TestAnAttemptThatIsOutdatedIsMadeAgainWithAHigherNumber(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		pass(time.Second)
		b.mu.Lock()
		b.outdated = 1
		b.mu.Unlock()
		connected := func() (n int) {
			b.each(func(m *fakeMember) { n += m.Connected() })
			return n
		}
		before := connected()
		b.each(func(m *fakeMember) { m.Cut() })
		pass(time.Second)
		if n := connected() - before; n != 1 {
			t.Errorf("%d connections were made, want 1", n)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if got := b.sessions[b.session.ID()].attempts; len(got) != 2 || got[1] <= got[0] {
			t.Errorf("attempts %v", got)
		}
	})
}
