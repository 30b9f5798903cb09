package tenure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// TestTextThatIsNotUTF8IsRefusedAtOnce gives what cannot be sent wherever a text may be given.
func TestTextThatIsNotUTF8IsRefusedAtOnce(t *testing.T) {
	const bad = "\xff"
	acquired := func(_ *tenure.Held, err error) error { return err }
	tried := func(_ *tenure.Held, _ *tenure.LockInfo, err error) error { return err }
	tests := map[string]func(ctx context.Context, b *bubble) error{
		"the key of an acquire": func(ctx context.Context, b *bubble) error {
			return acquired(b.session.Lock(bad).Acquire(ctx))
		},
		"the key of a try": func(ctx context.Context, b *bubble) error {
			return tried(b.session.Lock(bad).TryAcquire(ctx))
		},
		"the owner of an acquire": func(ctx context.Context, b *bubble) error {
			return acquired(b.session.Lock("a", tenure.WithOwner(bad)).Acquire(ctx))
		},
		"the owner of a try": func(ctx context.Context, b *bubble) error {
			return tried(b.session.Lock("a", tenure.WithOwner(bad)).TryAcquire(ctx))
		},
		"the key of an election": func(ctx context.Context, b *bubble) error {
			_, err := b.session.Election(bad).Campaign(ctx, nil)
			return err
		},
		"the candidate of a resignation": func(ctx context.Context, b *bubble) error {
			leads, err := b.session.Election("e").Campaign(ctx, nil)
			if err != nil {
				return err
			}
			err = leads.ResignTo(ctx, b.session.ID(), bad)
			if !leads.Safe() {
				return errors.New("leadership is given up")
			}
			return err
		},
		"the reason of a break": func(ctx context.Context, b *bubble) error {
			_, err := b.client.BreakLock(ctx, "a", bad)
			return err
		},
		"the session of a guard": func(ctx context.Context, b *bubble) error {
			_, err := b.session.KV().Put(ctx, "a", nil, tenure.WithGuard(tenure.IfSessionLives(bad)))
			return err
		},
		"the sequencer of a guard of a deletion": func(ctx context.Context, b *bubble) error {
			_, err := b.session.KV().Delete(ctx, "a", tenure.WithGuard(tenure.IfHeld(tenure.Sequencer{Key: bad})))
			return err
		},
		"the session of a guard of a deletion by prefix": func(ctx context.Context, b *bubble) error {
			_, err := b.session.KV().DeletePrefix(ctx, "a", tenure.WithGuard(tenure.IfSessionLives(bad)))
			return err
		},
		"the session of a guard of a transaction": func(ctx context.Context, b *bubble) error {
			_, err := b.session.KV().Txn(ctx, tenure.Txn{}, tenure.WithGuard(tenure.IfSessionLives(bad)))
			return err
		},
		"the prefix of a list": func(ctx context.Context, b *bubble) error {
			_, err := b.client.KV().List(ctx, bad)
			return err
		},
		"the prefix of a deletion": func(ctx context.Context, b *bubble) error {
			_, err := b.client.KV().DeletePrefix(ctx, bad)
			return err
		},
		"the prefix of a cache": func(ctx context.Context, b *bubble) error {
			_, err := b.client.OpenCache(ctx, bad)
			return err
		},
		"the key of a watch": func(ctx context.Context, b *bubble) error {
			for _, err := range b.client.Watch(ctx, tenure.OnKeys(bad)) {
				return err
			}
			return nil
		},
		"the sequencer of a check": func(ctx context.Context, b *bubble) error {
			_, err := b.client.CheckSequencer(ctx, tenure.Sequencer{Key: bad})
			return err
		},
		"the id of a session": func(ctx context.Context, b *bubble) error {
			_, err := b.client.LookUpSession(ctx, bad)
			return err
		},
		"the name of a member of a group": func(ctx context.Context, b *bubble) error {
			m, err := b.client.Presence("group").Join(ctx, b.session, bad, nil)
			if m != nil {
				return errors.New("a membership beside an error")
			}
			return err
		},
	}
	for name, call := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				begun := time.Now()
				err := call(t.Context(), b)
				if !errors.Is(err, tenure.ErrInvalidArgument) || tenure.AppliedOf(err) != tenure.AppliedNo {
					t.Errorf("got %v, want ErrInvalidArgument and nothing applied", err)
				}
				if after := time.Since(begun); after > 0 {
					t.Errorf("refused after %v", after)
				}
			})
		})
	}
}
