package tenure_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func TestAResumeOfAClosedClientIsRefused(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		c := b.another(t)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := c.ResumeSession(context.Background(), b.session.Token())
		if !errors.Is(err, tenure.ErrClientClosed) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("got %v, want ErrClientClosed and nothing applied", err)
		}
	})
}

func TestTheTimeInWhichThereIsNoConnectionIsNotTakenOffANewSession(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.each(func(m *fakeMember) { m.Refuse(true) })
		c := b.another(t)
		defer func() { _ = c.Close() }()
		time.AfterFunc(2*ttl, func() { b.each(func(m *fakeMember) { m.Refuse(false) }) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s, err := c.OpenSession(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if state, cause := s.State(); state != tenure.StateConnected {
			t.Errorf("the session is %v %v, want that it is connected", state, cause)
		}
	})
}

func TestTheOpeningOfASessionWithoutADeadlineEnds(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.each(func(m *fakeMember) { m.Refuse(true) })
		c := b.another(t)
		defer func() { _ = c.Close() }()
		begun := time.Now()
		_, err := c.OpenSession(t.Context())
		if waited := time.Since(begun); waited != 30*time.Second {
			t.Errorf("waited for %v, want 30 s", waited)
		}
		if !errors.Is(err, tenure.ErrUnavailable) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("got %v, want ErrUnavailable and nothing applied", err)
		}
		for _, want := range []string{"no member answered within 30s", "m1:7400 (connection refused)", "m2:7400 (connection refused)"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
		b.each(func(m *fakeMember) { m.Refuse(false) })
	})
}

func TestAResumeThatWasNeverSentIsKnownNotToBeApplied(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.each(func(m *fakeMember) { m.Refuse(true) })
		c := b.another(t)
		defer func() { _ = c.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.ResumeSession(ctx, b.session.Token())
		if !errors.Is(err, tenure.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("got %v, want ErrUnavailable and nothing applied", err)
		}
		b.each(func(m *fakeMember) { m.Refuse(false) })
	})
}

func TestAResumeThatWasSentIsDoubtedWhenItsClientIsClosed(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.unexpired()
		token := b.session.Token()
		c := b.another(t)
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.each(func(m *fakeMember) { m.Silence(true) })
		result := make(chan error, 1)
		go func() {
			_, err := c.ResumeSession(t.Context(), token)
			result <- err
		}()
		pass(8 * time.Second) // One attempt was given up.
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-result; !errors.Is(err, tenure.ErrClientClosed) || tenure.AppliedOf(err) != tenure.AppliedUnknown {
			t.Errorf("got %v, want ErrClientClosed, and that it may be applied", err)
		}
		b.each(func(m *fakeMember) { m.Silence(false) })
	})
}

// endless is a context with a Done of its own: for who derives a context from it and forgets that, a goroutine waits until it ends.
type endless struct {
	context.Context

	done chan struct{}
}

func (e *endless) Done() <-chan struct{} { return e.done }

func (e *endless) Err() error {
	select {
	case <-e.done:
		return context.Canceled
	default:
		return nil
	}
}

func TestAnOpeningLeavesNothingOnItsContext(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		pass(time.Second)
		ctx := &endless{Context: t.Context(), done: make(chan struct{})}
		defer close(ctx.done)
		before := runtime.NumGoroutine()
		for range 50 {
			s, err := b.client.OpenSession(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		if n := runtime.NumGoroutine(); n >= before+50 {
			t.Errorf("%d goroutines, %d before", n, before)
		}
	})
}

func TestASessionThatTheClusterEndedLeavesNothing(t *testing.T) {
	const sessions = 20
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		pass(time.Second)
		before := runtime.NumGoroutine()
		var opened []*tenure.Session
		told := make(chan tenure.StateChange, 10*sessions)
		for range sessions {
			s, err := b.client.OpenSession(t.Context(), tenure.WithStateListener(func(c tenure.StateChange) { told <- c }))
			if err != nil {
				t.Fatal(err)
			}
			opened = append(opened, s)
		}
		b.mu.Lock()
		for _, s := range opened {
			delete(b.sessions, s.ID())
		}
		b.mu.Unlock()
		for _, s := range opened {
			<-s.Done()
		}
		pass(2*ttl + time.Second) // As long as calls under way may still ask what became of them.
		if n := runtime.NumGoroutine(); n >= before+sessions {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		closed := 0
		for len(told) > 0 {
			if (<-told).State == tenure.StateClosed {
				closed++
			}
		}
		if closed != sessions {
			t.Errorf("%d were told to be closed, want %d", closed, sessions)
		}
		if n := b.client.Sessions(); n != 1 {
			t.Errorf("the client has %d sessions, want the one that lives", n)
		}
	})
}

func TestACallUnderASessionThatEndedLearnsItsResult(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		move := b.keepMark(t)
		b.mu.Lock()
		delete(b.sessions, b.session.ID())
		b.mu.Unlock()
		<-b.session.Done()
		synctest.Wait()
		move()
	})
}

func TestCloseTellsOfEachSessionThatItCouldNotEnd(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		if _, err := b.client.OpenSession(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		b.each(func(m *fakeMember) { m.Silence(true) })
		err := b.client.Close()
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) != 2 || !errors.Is(err, tenure.ErrOutcomeUnknown) {
			t.Errorf("got %v, want an error for each of two sessions", err)
		}
		b.each(func(m *fakeMember) { m.Silence(false) })
	})
}
