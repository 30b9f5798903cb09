package tenure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func (m *fakeMember) GetSession(_ context.Context, r *tenurev1.GetSessionRequest) (*tenurev1.GetSessionResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	s, reason := f.session(r.GetSessionId())
	if reason != 0 {
		return nil, refusal(codes.FailedPrecondition, reason, "no")
	}
	return &tenurev1.GetSessionResponse{Header: f.header(), Session: &tenurev1.Session{
		SessionId: r.GetSessionId(), Epoch: s.epoch, Ttl: durationpb.New(s.ttl),
	}}, nil
}

// attach keeps the bubble's session alive, as another process.
func (b *bubble) attach(t *testing.T) (c *tenure.Client, s *tenure.Session) {
	t.Helper()
	c = b.another(t)
	s, err := c.AttachSession(t.Context(), b.session.ID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

func TestWhoAttachesChangesNothing(t *testing.T) {
	tests := map[string]func(ctx context.Context, s *tenure.Session) error{
		"put": func(ctx context.Context, s *tenure.Session) error {
			_, err := s.KV().Put(ctx, "a", []byte("1"))
			return err
		},
		"acquire": func(ctx context.Context, s *tenure.Session) error {
			_, err := acquire(ctx, s.Lock("a"))
			return err
		},
		"try": func(ctx context.Context, s *tenure.Session) error {
			_, err := try(ctx, s.Lock("a"))
			return err
		},
		"campaign": func(ctx context.Context, s *tenure.Session) error {
			_, err := s.Election("a").Campaign(ctx, []byte("1"))
			return err
		},
		"export": func(ctx context.Context, s *tenure.Session) error {
			_, err := s.Export(ctx)
			return err
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				c, s := b.attach(t)
				defer func() { _ = c.Close() }()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := change(ctx, s); !errors.Is(err, tenure.ErrInvalidArgument) || tenure.AppliedOf(err) != tenure.AppliedNo {
					t.Errorf("got %v, want ErrInvalidArgument and nothing applied", err)
				}
				if !s.Safe() {
					t.Errorf("it is kept alive no more: %v", s.Err())
				}
				b.demandFree(t, "app/a")
				b.mu.Lock()
				defer b.mu.Unlock()
				if len(b.puts) != 0 {
					t.Errorf("%d puts were sent", len(b.puts))
				}
			})
		})
	}
}

func TestWhoAttachedLeavesTheSessionAsItIs(t *testing.T) {
	tests := map[string]func(c *tenure.Client, s *tenure.Session) error{
		"close the session": func(_ *tenure.Client, s *tenure.Session) error { return s.Close() },
		"close the client":  func(c *tenure.Client, _ *tenure.Session) error { return c.Close() },
		"detach": func(_ *tenure.Client, s *tenure.Session) error {
			s.Detach()
			return nil
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				held := b.acquire(t, "a")
				c, s := b.attach(t)
				defer func() { _ = c.Close() }()
				if err := end(c, s); err != nil {
					t.Error(err)
				}
				if state, _ := s.State(); state != tenure.StateClosed {
					t.Errorf("it is %v here, want CLOSED", state)
				}
				pass(2 * ttl)
				b.demandHeld(t, "app/a", taken{held: held})
				b.mu.Lock()
				defer b.mu.Unlock()
				if len(b.destroys) != 0 {
					t.Errorf("somebody else's session was destroyed: %v", b.destroys)
				}
			})
		})
	}
}
