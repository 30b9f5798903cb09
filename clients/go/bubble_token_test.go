package tenure_test

import (
	"context"
	"errors"
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
