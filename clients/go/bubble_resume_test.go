package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// another opens a second client in a bubble; close it before the bubble.
func (b *bubble) another(t *testing.T) *tenure.Client {
	t.Helper()
	begun := b.states.begun
	c, err := tenure.Open("tenure://"+strings.Join(b.list, ",")+"/app", tenure.OverMemory(b.net), tenure.WithSeed(8),
		tenure.WithClock(func() time.Duration { return time.Since(begun) }))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// resume takes the bubble's session over, as another process.
func (b *bubble) resume(t *testing.T, token string, options ...tenure.SessionOption) (*tenure.Session, func()) {
	t.Helper()
	c := b.another(t)
	s, err := c.ResumeSession(t.Context(), token, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s, func() { _ = c.Close() }
}

// waits makes the bubble's session wait for a lock that another one holds.
func (b *bubble) waits(t *testing.T, key, owner string) (held *tenure.Held, result <-chan error, done func()) {
	t.Helper()
	c := b.another(t)
	s, err := c.OpenSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if held, err = s.Lock(key).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	return held, waitFor(t.Context(), b.session.Lock(key, tenure.WithOwner(owner))), func() { _ = c.Close() }
}

func (b *bubble) queue(key string) int {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.locks.places[key])
}

func TestWhoResumesLeavesTheQueuesOfTheProcessBefore(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		_, _, done := b.waits(t, "a", "me")
		defer done()
		_, end := b.resume(t, b.session.Token())
		defer end()
		pass(time.Second)
		if n := b.queue("app/a"); n != 0 {
			t.Errorf("%d wait, want none", n)
		}
	})
}

func TestWhoResumesMayTakeUpThePlacesOfTheProcessBefore(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		held, _, done := b.waits(t, "a", "me")
		defer done()
		s, end := b.resume(t, b.session.Token(), tenure.KeepPlaces())
		defer end()
		pass(time.Second)
		places := s.Places()
		if len(places) != 1 || places[0] != (tenure.Place{Key: "a", Owner: "me", Mode: tenure.Exclusive}) || b.queue("app/a") != 1 {
			t.Fatalf("places %+v, %d wait", places, b.queue("app/a"))
		}
		result := waitFor(t.Context(), s.Lock(places[0].Key, tenure.WithOwner(places[0].Owner)))
		if n := b.queue("app/a"); n != 1 {
			t.Errorf("%d wait, want the one place to be taken up", n)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

func TestWhoStopsUsingASessionLeavesItsQueues(t *testing.T) {
	tests := map[string]func(t *testing.T, s *tenure.Session){
		"detach": func(_ *testing.T, s *tenure.Session) { s.Detach() },
		"export": func(t *testing.T, s *tenure.Session) {
			if _, err := s.Export(t.Context()); err != nil {
				t.Error(err)
			}
		},
	}
	for name, stop := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				_, result, done := b.waits(t, "a", "me")
				defer done()
				stop(t, b.session)
				if err := <-result; tenure.KindOf(err) != tenure.ErrSessionClosed { //nolint:errorlint // It is the kind itself.
					t.Errorf("the wait ended by %v", err)
				}
				if n := b.queue("app/a"); n != 0 {
					t.Errorf("%d wait, want none", n)
				}
			})
		})
	}
}

func TestAnExportSaysThatTheProcessBeforeMayStillBelieve(t *testing.T) {
	tests := map[string]struct {
		after time.Duration
		want  string
	}{
		"before its lease is over": {time.Second, ".k"},
		"after its lease is over":  {ttl, ".h"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				s, end := b.resume(t, b.session.Token())
				defer end()
				pass(test.after)
				token, err := s.Export(t.Context())
				if err != nil || !strings.HasSuffix(token, test.want) {
					t.Errorf("exported as %q, %v, want the end %s", token, err, test.want)
				}
			})
		})
	}
}

// inherit returns a session that took over a hold of "a", which it may not believe yet.
func (b *bubble) inherit(t *testing.T) (*tenure.Session, func()) {
	t.Helper()
	b.acquire(t, "a", tenure.WithOwner("me"))
	s, end := b.resume(t, b.session.Token())
	pass(time.Second)
	return s, end
}

func TestWhatWasLostBeforeItWasBelievedIsNotInherited(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		s, end := b.inherit(t)
		defer end()
		b.mu.Lock()
		delete(b.locks.holds, "app/a")
		b.mu.Unlock()
		b.each(func(m *fakeMember) { m.Cut() })
		holds, err := s.Holds(t.Context())
		if err != nil || len(holds) != 0 {
			t.Errorf("inherited %v, %v, want nothing", holds, err)
		}
	})
}

func TestHoldsInJeopardyWaitUntilTheSessionIsSafe(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		s, end := b.inherit(t)
		defer end()
		b.mu.Lock()
		b.sessions[b.session.ID()].deadline = time.Now().Add(time.Hour) // No leader expires it.
		b.mu.Unlock()
		b.each(func(m *fakeMember) { m.Silence(true) })
		pass(2 * ttl)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if holds, err := s.Holds(ctx); err == nil {
			t.Errorf("in JEOPARDY: %v", holds)
		}
		b.each(func(m *fakeMember) { m.Silence(false) })
		holds, err := s.Holds(t.Context())
		if err != nil || len(holds) != 1 || !holds[0].Safe() {
			t.Errorf("after it: %v, %v", holds, err)
		}
	})
}

func TestAnInheritedHoldThatIsAcquiredIsNotBelievedEarlier(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		s, end := b.inherit(t)
		defer end()
		begun := time.Now()
		held, err := s.Lock("a", tenure.WithOwner("me")).Acquire(t.Context())
		if waited := time.Since(begun); err != nil || !held.Safe() || waited < ttl-2*time.Second {
			t.Errorf("got %v, %v after %v", held, err, waited)
		}
	})
}

func TestWhatASessionHasComesInPages(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.locks.pageSize = 2
		b.mu.Unlock()
		var helds []*tenure.Held
		for i := range 5 {
			held := b.acquire(t, fmt.Sprint("k", i))
			helds = append(helds, held)
		}
		b.each(func(m *fakeMember) { m.Cut() })
		pass(time.Second)
		for _, held := range helds {
			if !held.Safe() {
				t.Errorf("%s ended: %v", held.Key(), held.Err())
			}
		}
		token, err := b.session.Export(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, end := b.resume(t, token)
		defer end()
		if holds, err := s.Holds(t.Context()); err != nil || len(holds) != 5 {
			t.Errorf("inherited %d, %v, want 5", len(holds), err)
		}
	})
}

func TestAResumeThatFailedMayBeTriedAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		_, _, done := b.waits(t, "a", "me")
		defer done()
		c := b.another(t)
		defer func() { _ = c.Close() }()
		b.unexpired()
		token := b.session.Token()
		b.mu.Lock()
		b.refuse = tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.ResumeSession(ctx, token); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("resumed without renewals: %v", err)
		}
		b.mu.Lock()
		b.refuse = 0
		b.mu.Unlock()
		s, err := c.ResumeSession(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if n := b.queue("app/a"); n != 0 {
			t.Errorf("%d wait, want none", n)
		}
		b.mu.Lock()
		attempts := slices.Clone(b.sessions[s.ID()].attempts)
		b.mu.Unlock()
		if len(attempts) != 2 || attempts[0] >= attempts[1] {
			t.Errorf("attempts to attach %v, want two", attempts)
		}
		if _, err := c.ResumeSession(t.Context(), token); !errors.Is(err, tenure.ErrSessionSuperseded) {
			t.Errorf("resumed twice with one token: %v", err)
		}
		if !s.Safe() {
			t.Errorf("who has the session lost it: %v", s.Err())
		}
	})
}
