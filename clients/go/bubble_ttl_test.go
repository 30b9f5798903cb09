package tenure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// withoutTTL opens a session without TTL that holds a lock, and is older than any lease.
func (b *bubble) withoutTTL(t *testing.T) *tenure.Session {
	t.Helper()
	s, err := b.client.OpenSession(t.Context(), tenure.WithTTL(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lock("a", tenure.WithOwner("me")).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	pass(10 * time.Minute)
	return s
}

func TestWhatASessionWithoutTTLHeldIsNeverBelievedByWhoResumesIt(t *testing.T) {
	tests := map[string]func(ctx context.Context, s *tenure.Session) error{
		"by its holds": func(ctx context.Context, s *tenure.Session) error {
			_, err := s.Holds(ctx)
			return err
		},
		"by an acquire of the same owner": func(ctx context.Context, s *tenure.Session) error {
			_, err := acquire(ctx, s.Lock("a", tenure.WithOwner("me")))
			return err
		},
		"by a try of the same owner": func(ctx context.Context, s *tenure.Session) error {
			_, err := try(ctx, s.Lock("a", tenure.WithOwner("me")))
			return err
		},
	}
	for name, ask := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				s, end := b.resume(t, b.withoutTTL(t).Token())
				defer end()
				for range 2 {
					if err := ask(t.Context(), s); !errors.Is(err, tenure.ErrLockLost) || !s.Safe() {
						t.Errorf("got %v, session safe %v, want ErrLockLost", err, s.Safe())
					}
					pass(10 * time.Minute)
				}
				other, err := acquire(t.Context(), s.Lock("b", tenure.WithOwner("me")))
				b.demandHeld(t, "app/b", taken{held: other, err: err})
				b.mu.Lock()
				kept := b.locks.holds["app/a"] != nil
				b.mu.Unlock()
				if !kept {
					t.Error("what may be believed in elsewhere was given up")
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				b.mu.Lock()
				defer b.mu.Unlock()
				if last := b.destroys[len(b.destroys)-1]; last.GetClean() {
					t.Error("the session was destroyed without lock-delay")
				}
			})
		})
	}
}

func TestASessionWithoutTTLIsResumed(t *testing.T) {
	tests := map[string]struct {
		token func(t *testing.T, s *tenure.Session) string
		want  string
	}{
		"handed over: what it held is believed": {func(t *testing.T, s *tenure.Session) string {
			token, err := s.Export(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return token
		}, ".h"},
		"with a kept token: it can be handed on only as such": {func(_ *testing.T, s *tenure.Session) string { return s.Token() }, ".k"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				s, end := b.resume(t, test.token(t, b.withoutTTL(t)))
				defer end()
				holds, err := s.Holds(t.Context())
				if test.want == ".h" {
					if err != nil || len(holds) != 1 {
						t.Fatalf("inherited %v, %v", holds, err)
					}
					b.demandHeld(t, "app/a", taken{held: holds[0]})
				}
				pass(time.Minute)
				if token, err := s.Export(t.Context()); err != nil || !strings.HasSuffix(token, test.want) {
					t.Errorf("exported as %q, %v, want the end %s", token, err, test.want)
				}
			})
		})
	}
}

func TestNothingInheritedWithoutTTLIsNoLoss(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		before := b.withoutTTL(t)
		b.breakLock("app/a", false)
		s, end := b.resume(t, before.Token())
		defer end()
		if holds, err := s.Holds(t.Context()); err != nil || len(holds) != 0 {
			t.Errorf("inherited %v, %v, want nothing", holds, err)
		}
	})
}

func TestASessionWhoseOpeningWasGivenUpIsDestroyed(t *testing.T) {
	for name, end := range map[string]func(c *tenure.Client, cancel func()){
		"its caller gave up":    func(_ *tenure.Client, cancel func()) { cancel() },
		"and closed the client": func(c *tenure.Client, cancel func()) { cancel(); go func() { _ = c.Close() }() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b *bubble) {
				c := b.another(t)
				defer func() { _ = c.Close() }()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b.mu.Lock()
				b.onCreate = func() { end(c, cancel) }
				b.mu.Unlock()
				if _, err := c.OpenSession(ctx, tenure.WithTTL(0)); !errors.Is(err, tenure.ErrOutcomeUnknown) {
					t.Errorf("opening ended with %v, want that it is unknown", err)
				}
				pass(time.Second)
				b.mu.Lock()
				defer b.mu.Unlock()
				for id, s := range b.sessions {
					if id != b.session.ID() && s.over == 0 {
						t.Errorf("%s lives on", id)
					}
				}
				if len(b.sessions) != 2 {
					t.Errorf("%d sessions were made, want one more than there was", len(b.sessions))
				}
			})
		})
	}
}
