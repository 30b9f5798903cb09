package secure

import (
	"context"
	"errors"
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
		if token.Renew(t.Context(), "b") || asked != 4 {
			t.Errorf("there is another token after %d times, want none after 4", asked)
		}
		text, err = "c", nil
		if !token.Renew(t.Context(), "b") || asked != 5 || !token.Renew(t.Context(), "b") || asked != 5 {
			t.Errorf("there is no other token after %d times, want one after 5", asked)
		}
		want("c", 5)
	})
}

// pass lets time pass in a bubble.
func pass(d time.Duration) { <-time.After(d) }

func TestASourceThatHangsHoldsUpNoCallLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := TokenFrom(func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		first, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() { _, _ = token.Get(first) }()
		synctest.Wait()
		second, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := token.Get(second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		cancel()
	})
}
