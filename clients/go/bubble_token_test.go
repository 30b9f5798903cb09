package tenure_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// hanging is a source of tokens that can hang until its context ends.
type hanging struct {
	hangs atomic.Bool
	asked atomic.Int64
}

func (h *hanging) token(ctx context.Context) (string, error) {
	h.asked.Add(1)
	if h.hangs.Load() {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return "text", nil
}

// open returns a client that has its tokens from there.
func (h *hanging) open(t *testing.T, f *fakeCluster) *tenure.Client {
	t.Helper()
	c, err := tenure.Open("tenure://"+strings.Join(f.list, ",")+"/app", tenure.OverMemory(f.net), tenure.WithTokenSource(h.token), tenure.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCallsGoOnWhileTheSourceOfTheirTokenHangs has a source that hangs when its token is old: the session stays, and calls use the old token.
func TestCallsGoOnWhileTheSourceOfTheirTokenHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, f := &hanging{}, newFakeCluster(1)
		c := h.open(t, f)
		told := &states{begun: time.Now()}
		s, err := c.OpenSession(t.Context(), tenure.WithStateListener(told.listen))
		if err != nil {
			t.Fatal(err)
		}
		h.hangs.Store(true)
		<-time.After(11 * time.Second)
		before := h.asked.Load()
		f.each(func(m *fakeMember) { m.Cut() }) // The stream of renewals asks, too.
		for range 100 {
			began := time.Now()
			if _, err := s.KV().Put(t.Context(), "k", nil); err != nil || time.Since(began) > 2*time.Second {
				t.Errorf("got %v after %s, want that the old token is used", err, time.Since(began))
			}
			<-time.After(time.Second / 4)
		}
		if n := h.asked.Load() - before; n > 2 {
			t.Errorf("the source that hangs was asked %d times, want one after the other", n)
		}
		if got, _ := s.State(); got != tenure.StateConnected {
			t.Errorf("the session is %v", got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestASourceThatHangsFromTheStartIsNoRefusal has a source that never answers.
func TestASourceThatHangsFromTheStartIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{}
		h.hangs.Store(true)
		c := h.open(t, newFakeCluster(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.KV().Put(ctx, "k", nil)
		if !errors.Is(err, tenure.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("got %v, want ErrUnavailable, and nothing applied", err)
		}
		if err == nil || !strings.Contains(err.Error(), "its source has not answered") {
			t.Errorf("got %v, which does not say why", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestARefusedCallWaitsForASlowSource makes a call when the token has ended, while its source takes long: the call has until its own context ends.
func TestARefusedCallWaitsForASlowSource(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		err  error
		want error
	}{
		"it has another token":        {text: "another"},
		"it has the same one":         {text: "text", want: tenure.ErrAuth},
		"it fails":                    {err: errors.New("none"), want: tenure.ErrAuth},
		"it takes longer than it may": {err: context.DeadlineExceeded, want: tenure.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow, f := atomic.Bool{}, newFakeCluster(2)
				c, err := tenure.Open("tenure://"+strings.Join(f.list, ",")+"/app", tenure.OverMemory(f.net), tenure.WithInsecure(),
					tenure.WithTokenSource(func(ctx context.Context) (string, error) {
						switch {
						case !slow.Load():
							return "text", nil
						case errors.Is(test.err, context.DeadlineExceeded):
							<-ctx.Done()
							return "", ctx.Err()
						}
						select {
						case <-time.After(20 * time.Second):
							return test.text, test.err
						case <-ctx.Done(): // The client is closed.
							return "", ctx.Err()
						}
					}))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				if _, err = c.KV().Put(ctx, "k", nil); err != nil {
					t.Fatal(err)
				}
				slow.Store(true)
				f.mu.Lock()
				f.token = "another"
				f.mu.Unlock()
				<-time.After(11 * time.Second)
				_, err = c.KV().Put(ctx, "k", nil)
				if !errors.Is(err, test.want) || err != nil && tenure.AppliedOf(err) != tenure.AppliedNo {
					t.Errorf("got %v, want %v, and that nothing is applied if it fails", err, test.want)
				}
				f.mu.Lock()
				if len(slices.Compact(slices.Clone(f.putAt))) != 1 {
					t.Errorf("the member was given up for the source: calls came to %v", f.putAt)
				}
				f.mu.Unlock()
				if err = c.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
