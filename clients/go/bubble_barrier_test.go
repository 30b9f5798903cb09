package tenure_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// inBackground calls something, and returns what becomes of it.
func inBackground(call func() error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- call() }()
	synctest.Wait()
	return result
}

// demandWaiting demands that something has not returned.
func demandWaiting(t *testing.T, result <-chan error) {
	t.Helper()
	synctest.Wait()
	if len(result) > 0 {
		t.Fatalf("did not wait: %v", <-result)
	}
}

// pair is two parties of a double barrier.
func (b *bubble) pair() (first, second *tenure.DoubleBarrier) {
	return b.session.DoubleBarrier("d", 2, "first"), b.session.DoubleBarrier("d", 2, "second")
}

func TestADoubleBarrierServesARoundAfterAnother(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		first, second := b.pair()
		for round := range 3 {
			// Who watches late sees that the round began though the other is about to leave.
			watch := b.hold(&b.keys.lateWatches)
			entered := inBackground(func() error { return first.Enter(t.Context()) })
			watch()
			demandWaiting(t, entered)
			watch = b.hold(&b.keys.lateWatches)
			others := inBackground(func() error { return second.Enter(t.Context()) })
			watch()
			if err := errors.Join(<-entered, <-others); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if keys := b.keysLeft(); !slices.Contains(keys, "app/d/ready") {
				t.Errorf("round %d began without its mark: %v", round, keys)
			}
			left := inBackground(func() error { return first.Leave(t.Context()) })
			demandWaiting(t, left)
			if err := errors.Join(second.Leave(t.Context()), <-left); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if keys := b.keysLeft(); len(keys) > 0 {
				t.Errorf("round %d left %v", round, keys)
			}
		}
	})
}

func TestWhoLeavesLastSeesTheEndThoughTheNextRoundBegins(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		first, second := b.pair()
		entered := inBackground(func() error { return first.Enter(t.Context()) })
		if err := errors.Join(second.Enter(t.Context()), <-entered); err != nil {
			t.Fatal(err)
		}
		quick := inBackground(func() error {
			if err := first.Leave(t.Context()); err != nil {
				return err
			}
			return first.Enter(t.Context())
		})
		demandWaiting(t, quick)
		watch := b.hold(&b.keys.lateWatches)
		slow := inBackground(func() error { return second.Leave(t.Context()) })
		pass(time.Second)
		watch()
		if err := <-slow; err != nil {
			t.Error(err)
		}
		if err := errors.Join(second.Enter(t.Context()), <-quick); err != nil {
			t.Error(err)
		}
	})
}

func TestAnEntryOfUnknownOutcomeIsUndone(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.loseNext = 1 << 20
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.session.DoubleBarrier("d", 2, "").Enter(ctx); !errors.Is(err, tenure.ErrOutcomeUnknown) {
			t.Errorf("got %v, want ErrOutcomeUnknown", err)
		}
		if keys := b.keysLeft(); len(keys) > 0 {
			t.Errorf("left %v", keys)
		}
	})
}

func TestWhoWaitsForOthersEndsWithTheSession(t *testing.T) {
	waits := map[string]func(ctx context.Context, s *tenure.Session) error{
		"to enter": func(ctx context.Context, s *tenure.Session) error { return s.DoubleBarrier("d", 2, "").Enter(ctx) },
		"to leave": func(ctx context.Context, s *tenure.Session) error {
			if _, err := s.KV().Put(ctx, "d/members/another", nil); err != nil {
				return err
			}
			return s.DoubleBarrier("d", 2, "").Leave(ctx)
		},
		"at a barrier of the session": func(ctx context.Context, s *tenure.Session) error {
			return errors.Join(s.Barrier("b").Set(ctx), s.Barrier("b").Wait(ctx))
		},
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				waiting := inBackground(func() error { return wait(t.Context(), b.session) })
				pass(time.Minute)
				demandWaiting(t, waiting)
				b.mu.Lock()
				b.sessions[b.session.ID()].over = tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED
				b.mu.Unlock()
				<-b.session.Done()
				synctest.Wait()
				if len(waiting) == 0 {
					t.Fatal("waits though the session is over")
				}
				if err := <-waiting; !errors.Is(err, tenure.ErrSessionExpired) {
					t.Errorf("got %v, want ErrSessionExpired", err)
				}
			})
		})
	}
}

func TestAWaitGoesOnThoughHistoryForgotWhereItWas(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		barrier := b.client.Barrier("b")
		if err := barrier.Set(t.Context()); err != nil {
			t.Fatal(err)
		}
		waiting := inBackground(func() error { return barrier.Wait(t.Context()) })
		b.refuseWatches(tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED)
		pass(time.Minute)
		demandWaiting(t, waiting)
		b.mu.Lock()
		streams := b.keys.streams
		b.mu.Unlock()
		if streams > 200 {
			t.Errorf("%d watches were begun in a minute", streams)
		}
		b.refuseWatches(0)
		pass(3 * time.Second)
		demandWaiting(t, waiting)
		if err := errors.Join(barrier.Remove(t.Context()), <-waiting); err != nil {
			t.Error(err)
		}
	})
}
