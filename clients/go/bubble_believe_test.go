package tenure_test

import (
	"errors"
	"testing"
	"testing/synctest"

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
