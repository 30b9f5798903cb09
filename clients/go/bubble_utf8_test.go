package tenure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func TestNamesThatAreNotUTF8AreRefusedUnsent(t *testing.T) {
	const bad = "\xff"
	opened := func(target string) error {
		c, err := tenure.Open(target)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	tests := map[string]func(ctx context.Context, b *bubble) error{
		"a key to get": func(ctx context.Context, b *bubble) error {
			_, err := b.client.KV().Get(ctx, bad)
			return err
		},
		"a key to put": func(ctx context.Context, b *bubble) error {
			_, err := b.session.KV().Put(ctx, bad, nil)
			return err
		},
		"a key to delete": func(ctx context.Context, b *bubble) error {
			_, err := b.client.KV().Delete(ctx, bad)
			return err
		},
		"a key of a transaction": func(ctx context.Context, b *bubble) error {
			_, err := b.client.KV().Txn(ctx, tenure.Txn{Then: []tenure.Op{tenure.OpPut(bad, nil)}})
			return err
		},
		"a lock to look up": func(ctx context.Context, b *bubble) error {
			_, err := b.client.GetLock(ctx, bad)
			return err
		},
		"an election": func(ctx context.Context, b *bubble) error {
			_, err := b.client.GetLeader(ctx, bad)
			return err
		},
		"the id of a session to attach to": func(ctx context.Context, b *bubble) error {
			_, err := b.client.AttachSession(ctx, bad, nil)
			return err
		},
		"a session's name": func(ctx context.Context, b *bubble) error {
			_, err := b.client.OpenSession(ctx, tenure.WithName(bad))
			return err
		},
		"what is told of a session": func(ctx context.Context, b *bubble) error {
			_, err := b.client.OpenSession(ctx, tenure.WithMetadata(map[string]string{"a": bad}))
			return err
		},
		"the session of a token": func(ctx context.Context, b *bubble) error {
			_, err := b.client.ResumeSession(ctx, "ts1."+bad+"..1.15000.k")
			return err
		},
		"a namespace": func(context.Context, *bubble) error {
			return opened("tenure://m1:7400/%ff")
		},
		"a name in the connection string": func(context.Context, *bubble) error {
			return opened("tenure://m1:7400/app?name=%ff")
		},
	}
	for name, call := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := call(ctx, b)
				if !errors.Is(err, tenure.ErrInvalidArgument) && !errors.Is(err, tenure.ErrTokenInvalid) || tenure.AppliedOf(err) != tenure.AppliedNo {
					t.Errorf("got %v, want ErrInvalidArgument and nothing applied", err)
				}
			})
		})
	}
}
