package tenure_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// refuseReleases has the next releases refused.
func (b *bubble) refuseReleases(times int, with error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.locks.frees = slices.Repeat(fates{with}, times)
}

// releases returns how many releases came.
func (b *bubble) releases() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.locks.releases)
}

func TestAReleaseThatIsRefusedForNowIsMadeLater(t *testing.T) {
	tests := map[string]struct {
		refusal error
		want    error
	}{
		"the token has just run out":     {refusal(codes.Unauthenticated, tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, "no"), tenure.ErrAuth},
		"a right is missing":             {denied(), tenure.ErrAuth},
		"a limit of a member is reached": {refusal(codes.ResourceExhausted, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "no"), tenure.ErrLimit},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				held := b.acquire(t, "a")
				b.refuseReleases(3, test.refusal)
				begun := time.Now()
				if err := held.Release(t.Context()); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if after := time.Since(begun); after > 0 {
					t.Errorf("it took %v to tell of the refusal", after)
				}
				pass(time.Second)
				b.demandFree(t, "app/a")
				if err := held.Release(t.Context()); err != nil {
					t.Errorf("again: got %v, but it is released", err)
				}
			})
		})
	}
}

func TestAReleaseThatIsAlwaysRefusedIsTriedSlowlyUntilTheSessionEnds(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		b.refuseReleases(1<<20, denied())
		if err := held.Release(context.Background()); !errors.Is(err, tenure.ErrAuth) {
			t.Errorf("got %v, want ErrAuth", err)
		}
		pass(time.Hour)
		if n := b.releases(); n < 60 || n > 600 {
			t.Errorf("%d attempts in an hour", n)
		}
		if err := held.Release(context.Background()); !errors.Is(err, tenure.ErrAuth) {
			t.Errorf("again: got %v, want ErrAuth", err)
		}
		if err := b.session.Close(); err != nil {
			t.Error(err)
		}
		before := b.releases()
		pass(time.Hour)
		if n := b.releases() - before; n > 0 {
			t.Errorf("%d attempts after the session's end", n)
		}
	})
}

func TestALockIsGivenBackThoughItsReleaseWithAValueIsRefused(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		b.refuseReleases(2, denied())
		for range 2 { // The value was not written, however often it asks.
			if err := held.Release(t.Context(), tenure.ReleasePut([]byte("x"))); !errors.Is(err, tenure.ErrAuth) {
				t.Errorf("got %v, want ErrAuth", err)
			}
			pass(time.Second)
			b.demandFree(t, "app/a")
		}
	})
}

func TestALockThatMayBeResignedIsGivenBackThoughThatIsRefusedAtFirst(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		lead, err := b.session.Election("a").Campaign(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b.mu.Lock()
		b.locks.resigns = fates{lost(), denied()}
		b.mu.Unlock()
		b.refuseReleases(3, denied())
		if err = lead.ResignTo(t.Context(), b.session.ID(), "next"); tenure.AppliedOf(err) != tenure.AppliedUnknown {
			t.Errorf("got %v, want that it may be applied", err)
		}
		pass(time.Second)
		b.demandFree(t, "app/a")
	})
}

// TestAReleaseFindsOutThatTheLockWasLost takes a lock away when nobody has told its client yet.
func TestAReleaseFindsOutThatTheLockWasLost(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		b.breakLock("app/a", false)
		for range 2 {
			if err := held.Release(t.Context()); !errors.Is(err, tenure.ErrLockLost) {
				t.Errorf("got %v, want ErrLockLost", err)
			}
		}
	})
}

// TestAResignationFindsOutThatLeadershipWasLost is the same for a leader that passes it on.
func TestAResignationFindsOutThatLeadershipWasLost(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		lead, err := b.session.Election("a").Campaign(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b.breakLock("app/a", false)
		if err = lead.ResignTo(t.Context(), b.session.ID(), "next"); !errors.Is(err, tenure.ErrLockLost) {
			t.Errorf("got %v, want ErrLockLost", err)
		}
	})
}

// TestALossThatOnlyTheResignationTellsOfEndsNoCampaign takes leadership away when its holder is about to resign.
func TestALossThatOnlyTheResignationTellsOfEndsNoCampaign(t *testing.T) {
	for name, resign := range map[string]func(ctx context.Context, l *tenure.Leadership) error{
		"resign": func(ctx context.Context, l *tenure.Leadership) error { return l.Resign(ctx) },
		"resign to": func(ctx context.Context, l *tenure.Leadership) error {
			return l.ResignTo(ctx, l.Session().ID(), "next")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				ctx, stop := context.WithCancel(t.Context())
				terms := 0
				err := b.session.Election("a").Run(ctx, nil, func(ctx context.Context, l *tenure.Leadership) error {
					if terms++; terms > 1 {
						stop()
						return nil
					}
					b.breakLock("app/a", false)
					err := resign(ctx, l)
					if cause := l.Cause(); !errors.Is(err, tenure.ErrLockLost) || cause != tenure.EndTakenAway {
						t.Errorf("got %v and %v, want a loss", err, cause)
					}
					return err
				})
				if terms != 2 || !errors.Is(err, context.Canceled) {
					t.Errorf("it led %d times, and then %v", terms, err)
				}
			})
		})
	}
}

// TestAReleaseThatComesAfterTheLeaseIsNoLoss has a release wait until the session would have ended anyway.
func TestAReleaseThatComesAfterTheLeaseIsNoLoss(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		open := b.hold(&b.locks.lateReleases)
		defer open()
		result := make(chan error, 1)
		go func() { result <- held.Release(context.Background()) }()
		pass(time.Minute)
		b.breakLock("app/a", false)
		open()
		if err := <-result; err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// TestAReleaseWhoseAnswerIsLostIsNoLoss has a release applied whose answers are lost: the next attempt finds nothing to release.
func TestAReleaseWhoseAnswerIsLostIsNoLoss(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held := b.acquire(t, "a")
		b.mu.Lock()
		b.locks.frees = slices.Repeat(fates{lost()}, 64)
		b.mu.Unlock()
		result := make(chan error, 1)
		go func() { result <- held.Release(t.Context()) }()
		pass(20 * time.Second)
		b.mu.Lock()
		b.locks.frees = nil
		b.mu.Unlock()
		if err := <-result; err != nil {
			t.Errorf("got %v", err)
		}
		b.demandFree(t, "app/a")
	})
}
