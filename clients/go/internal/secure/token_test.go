package secure

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestATokenIsReadAgainWhenItIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, err := "a", error(nil)
		asked := 0
		token := TokenFrom(func(context.Context) (string, error) { asked++; return text, err })
		want := func(what string, times int) {
			t.Helper()
			if got, failed := token.Get(t.Context()); got != what || failed != nil || asked != times {
				t.Errorf("got %q, %v after %d times; want %q after %d", got, failed, asked, what, times)
			}
		}
		want("a", 1)
		text = "b\n"
		pass(tokenAge - time.Millisecond)
		want("a", 1)
		pass(time.Millisecond)
		want("b", 2)
		err = errors.New("none") // What there was may be good still.
		pass(tokenAge)
		want("b", 3)
		renewed := func(want bool, times int) {
			t.Helper()
			if another, failed := token.Renew(t.Context(), "b"); another != want || failed != nil || asked != times {
				t.Errorf("there is another token: %v, %v after %d times; want %v after %d", another, failed, asked, want, times)
			}
		}
		renewed(false, 4)
		text, err = "c", nil
		renewed(true, 5)
		renewed(true, 5)
		want("c", 5)
	})
}

// pass lets time pass in a bubble.
func pass(d time.Duration) { <-time.After(d) }

func TestASourceThatHangsHoldsUpNoCallLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := TokenFrom(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		defer token.Close()
		first, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() { _, _ = token.Get(first) }()
		synctest.Wait()
		second, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := token.Get(second); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrLate) {
			t.Errorf("got %v, want DeadlineExceeded, and that the source is late", err)
		}
		cancel()
	})
}

// TestCallsShareOneQuestion has calls that need a token while the source hangs, and after it has failed.
func TestCallsShareOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, asked, failed := false, 0, error(nil)
		token := TokenFrom(func(ctx context.Context) (string, error) {
			asked++
			if hangs {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "a", failed
		})
		defer token.Close()
		want := func(within time.Duration) {
			t.Helper()
			began := time.Now()
			if got, err := token.Get(t.Context()); got != "a" || err != nil || time.Since(began) > within {
				t.Errorf("got %q, %v after %s; want the token within %s", got, err, time.Since(began), within)
			}
		}
		wantAsked := func(times int) {
			t.Helper()
			if synctest.Wait(); asked != times {
				t.Errorf("the source was asked %d times, want %d", asked, times)
			}
		}
		want(0)
		hangs = true
		pass(tokenAge)
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() { want(overdue) })
		}
		calls.Wait()
		want(0) // It has hung for long by now.
		refused, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		if another, err := token.Renew(refused, "a"); another || !errors.Is(err, ErrLate) {
			t.Errorf("of a source that hangs: %v, %v; want that it is late", another, err)
		}
		wantAsked(2)
		pass(askPatience) // Its time is up: it has failed.
		hangs, failed = false, errors.New("none")
		want(0)
		wantAsked(3) // In the background.
		pass(failedPause - 1)
		want(0)
		wantAsked(3)
		pass(1)
		failed = nil
		want(0)
		wantAsked(4)
		pass(tokenAge)
		want(0)
		wantAsked(5)
	})
}
