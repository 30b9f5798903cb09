package tenure_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// elect makes the bubble's session stand for election as another candidate.
func (b *bubble) elect(t *testing.T, key string) chan error {
	t.Helper()
	elected := make(chan error, 1)
	go func() {
		_, err := b.session.Election(key).Campaign(t.Context(), nil)
		elected <- err
	}()
	synctest.Wait()
	return elected
}

func TestWhoResignsDoesNotBelieveBeforeTheAnswer(t *testing.T) {
	tests := map[string]struct {
		candidate bool
		want      error
		safe      bool
	}{
		"to a candidate":          {true, nil, false},
		"to nobody who waits yet": {false, tenure.ErrCandidateNotFound, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				leads, err := b.session.Election("e").Campaign(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				work, done := leads.Context(t.Context())
				defer done()
				elected := make(chan error, 1)
				if test.candidate {
					elected = b.elect(t, "e")
				}
				open := b.hold(&b.locks.lateAnswers)
				defer open()
				resigned := make(chan error, 1)
				go func() { resigned <- leads.ResignTo(t.Context(), "someone", "me") }()
				synctest.Wait()
				if test.candidate {
					if err := <-elected; err != nil {
						t.Error(err)
					}
				}
				if leads.Safe() || leads.SafeFor() != 0 {
					t.Errorf("safe for %v while another may lead", leads.SafeFor())
				}
				open()
				if err := <-resigned; !errors.Is(err, test.want) {
					t.Errorf("resigned: %v, want %v", err, test.want)
				}
				if leads.Safe() != test.safe || (work.Err() == nil) != test.safe {
					t.Errorf("safe %v, context %v, want safe %v", leads.Safe(), work.Err(), test.safe)
				}
			})
		})
	}
}

func TestAnInheritedHoldIsOneHeld(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		s, end := b.inherit(t)
		defer end()
		acquired, err := s.Lock("a", tenure.WithOwner("me")).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		holds, err := s.Holds(t.Context())
		if err != nil || len(holds) != 1 || holds[0] != acquired {
			t.Fatalf("inherited %v, %v, want the one that was acquired, %v", holds, err, acquired)
		}
		if err := acquired.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if holds, err := s.Holds(t.Context()); err != nil || len(holds) != 0 {
			t.Errorf("after its release: %v, %v", holds, err)
		}
	})
}

func TestAnInheritedHoldThatWasReleasedIsNotInheritedAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		s, end := b.inherit(t)
		defer end()
		held, err := s.Lock("a", tenure.WithOwner("me")).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if holds, err := s.Holds(t.Context()); err != nil || len(holds) != 0 {
			t.Errorf("inherited %v, %v, want nothing", holds, err)
		}
	})
}

func TestWhatIsGivenUpIsNotReleasedOnceItIsBelieved(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		s, end := b.inherit(t)
		defer end()
		ctx, cancel := context.WithCancel(t.Context())
		result := taking(acquire).inBackground(ctx, s.Lock("a", tenure.WithOwner("me")))
		pass(ttl - 2*time.Second)
		b.each(func(m *fakeMember) { m.Refuse(true); m.Cut() })
		cancel() // Its place cannot be given up at present.
		if r := <-result; !errors.Is(r.err, context.Canceled) {
			t.Fatalf("acquired what cannot be believed yet: %v", r.err)
		}
		pass(2 * time.Second)
		holds, err := s.Holds(t.Context())
		if err != nil || len(holds) != 1 {
			t.Fatalf("inherited %v, %v, want one hold", holds, err)
		}
		b.each(func(m *fakeMember) { m.Refuse(false) })
		pass(3 * time.Second)
		b.mu.Lock()
		held := b.locks.holds["app/a"]
		b.mu.Unlock()
		if !holds[0].Safe() || held == nil {
			t.Errorf("safe %v while the cluster has %v", holds[0].Safe(), held)
		}
	})
}
