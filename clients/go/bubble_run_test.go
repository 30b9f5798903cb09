package tenure_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func TestWhatWorkUnderALockHeldIsGivenBackHoweverItEnds(t *testing.T) {
	lock := func(work func()) func(b *bubble) error {
		return func(b *bubble) error {
			return b.session.Lock("a").Do(context.Background(), func(context.Context, *tenure.Held) error {
				work()
				return nil
			})
		}
	}
	election := func(work func()) func(b *bubble) error {
		return func(b *bubble) error {
			return b.session.Election("a").Run(context.Background(), nil, func(context.Context, *tenure.Leadership) error {
				work()
				return nil
			})
		}
	}
	crash := func() { panic("a bug in the work") }
	tests := map[string]func(b *bubble) error{
		"the holder panics":            lock(crash),
		"the holder's goroutine exits": lock(runtime.Goexit),
		"the leader panics":            election(crash),
		"the leader's goroutine exits": election(runtime.Goexit),
	}
	for name, run := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					t.Errorf("returned %v", run(b))
				}()
				<-ended
				held, _, err := b.session.Lock("a").TryAcquire(t.Context())
				b.demandHeld(t, "app/a", taken{held: held, err: err})
			})
		})
	}
}

func TestWhatALeaderReturnsIsItsErrorUnlessLeadershipWasLost(t *testing.T) {
	broken := errors.New("the disk is full")
	end := errors.New("led a second time")
	resign := func(ctx context.Context, l *tenure.Leadership, _ *bubble) error { return l.Resign(ctx) }
	lose := func(_ context.Context, l *tenure.Leadership, b *bubble) error {
		b.breakLock("app/e", true)
		<-l.Lost()
		return nil
	}
	tests := map[string]struct {
		before func(ctx context.Context, l *tenure.Leadership, b *bubble) error
		led    error
		want   error
	}{
		"a failure after it resigned": {resign, broken, broken},
		"its end after it resigned":   {resign, context.Canceled, end},
		"nothing after it resigned":   {resign, nil, end},
		"a failure after it was lost": {lose, broken, end},
		"the loss after it was lost":  {lose, tenure.ErrLockLost, end},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				led := 0
				err := b.session.Election("e").Run(t.Context(), nil, func(ctx context.Context, l *tenure.Leadership) error {
					if led++; led > 1 {
						return end
					}
					return errors.Join(test.before(ctx, l, b), test.led)
				})
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestOptionsRemainTheCallers(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		options := append(make([]tenure.LockOption, 0, 2), tenure.WithOwner("me"))
		if _, err := b.session.Election("e").Campaign(t.Context(), []byte("value"), options...); err != nil {
			t.Fatal(err)
		}
		if options[:2][1] != nil {
			t.Error("Campaign wrote behind the options that it was given")
		}
	})
}

func TestAnElectionRunsWithOptions(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		done := errors.New("done")
		err := b.session.Election("e").Run(t.Context(), nil, func(_ context.Context, l *tenure.Leadership) error {
			if l.Owner() != "me" {
				t.Errorf("leads as %q", l.Owner())
			}
			return done
		}, tenure.WithOwner("me"))
		if !errors.Is(err, done) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhoseWaitAnOperatorEndedStandsAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		before := b.acquire(t, "e")
		done := errors.New("done")
		ended := inBackground(func() error {
			return b.session.Election("e").Run(t.Context(), nil, func(context.Context, *tenure.Leadership) error { return done })
		})
		b.mu.Lock()
		for _, place := range b.locks.places["app/e"] {
			close(place.granted)
		}
		b.locks.places["app/e"] = nil
		b.mu.Unlock()
		pass(3 * time.Second)
		if n := b.queue("app/e"); n != 1 {
			t.Errorf("%d stand, want 1", n)
		}
		if err := before.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, done) {
			t.Errorf("got %v, want what the leader returned", err)
		}
	})
}
