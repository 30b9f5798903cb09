package tenure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func TestAWaitOfZeroTakesOnlyAFreeLock(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		begun := time.Now()
		held, err := b.session.Lock("a", tenure.WithWait(0)).Acquire(t.Context())
		b.demandHeld(t, "app/a", taken{held: held, err: err})
		_, err = b.session.Lock("a", tenure.WithWait(0)).Acquire(t.Context())
		if !errors.Is(err, tenure.ErrWaitTimedOut) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("of a held lock: got %v, want ErrWaitTimedOut and nothing applied", err)
		}
		if after := time.Since(begun); after > 0 {
			t.Errorf("waited for %v", after)
		}
		if n := b.queue("app/a"); n != 0 {
			t.Errorf("%d wait", n)
		}
	})
}

func TestAnEphemeralKeyNeedsASession(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		_, put := b.client.KV().Put(t.Context(), "a", nil, tenure.Ephemeral())
		op := []tenure.Op{tenure.OpPut("a", nil, tenure.Ephemeral())}
		_, then := b.client.KV().Txn(t.Context(), tenure.Txn{Then: op})
		_, otherwise := b.client.KV().Txn(t.Context(), tenure.Txn{Else: op})
		for name, err := range map[string]error{"put": put, "then": then, "else": otherwise} {
			if !errors.Is(err, tenure.ErrInvalidArgument) || tenure.AppliedOf(err) != tenure.AppliedNo {
				t.Errorf("%s: got %v, want ErrInvalidArgument and nothing applied", name, err)
			}
		}
	})
}

func TestAValueThatNobodyTakesDoesNotKeepTheLock(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		b.mu.Lock()
		b.locks.small = true
		b.mu.Unlock()
		// gRPC refuses what is too large, and does not say what was applied.
		if err := held.Release(t.Context(), tenure.ReleasePut([]byte("large"))); !errors.Is(err, tenure.ErrLimit) {
			t.Errorf("got %v, want ErrLimit", err)
		}
		b.demandFree(t, "app/a")
	})
}

func TestWhatWasRefusedEachTimeIsNotGivenUp(t *testing.T) {
	tests := map[string]struct {
		queues bool // Whether it has a place before.
		want   int
	}{
		"a wait that never had a place": {false, 0},
		"a wait that had one before":    {true, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.acquire(t, "a")
				busy := func() {
					b.mu.Lock()
					defer b.mu.Unlock()
					b.locks.busy = true
				}
				if !test.queues {
					busy()
				}
				ctx, cancel := context.WithCancel(t.Context())
				waiting := waitFor(ctx, b.session.Lock("a"))
				busy()
				b.each(func(m *fakeMember) { m.Cut() })
				pass(time.Minute)
				cancel()
				if err := <-waiting; !errors.Is(err, context.Canceled) || tenure.AppliedOf(err) != tenure.AppliedNo {
					t.Errorf("got %v, want context.Canceled and nothing applied", err)
				}
				pass(3 * time.Second)
				b.mu.Lock()
				cancels := b.locks.cancels
				b.mu.Unlock()
				if n := b.queue("app/a"); n != 0 || cancels != test.want {
					t.Errorf("%d wait after %d cancellations, want none after %d", n, cancels, test.want)
				}
			})
		})
	}
}

func TestAWaitThatLastsUntilTheDeadlineOfItsContextHasTimedOut(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.acquire(t, "busy")
		for name, lock := range map[string]*tenure.Lock{
			"without a value": b.session.Lock("busy"), "with a value": b.session.Lock("busy", tenure.WithValue([]byte("v"))),
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := lock.Acquire(ctx)
			cancel()
			if !errors.Is(err, tenure.ErrWaitTimedOut) || !errors.Is(err, context.DeadlineExceeded) || tenure.AppliedOf(err) != tenure.AppliedNo {
				t.Errorf("%s: %v, applied %s; want that the wait timed out", name, err, tenure.AppliedOf(err))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := b.session.Lock("busy").Acquire(ctx); errors.Is(err, tenure.ErrWaitTimedOut) || !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that was cancelled: %v", err)
		}
		b.each(func(m *fakeMember) { m.Refuse(true) })
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.session.Lock("other").Acquire(ctx); !errors.Is(err, tenure.ErrUnavailable) {
			t.Errorf("a wait that could not begin: %v", err)
		}
		b.each(func(m *fakeMember) { m.Refuse(false) })
	})
}
