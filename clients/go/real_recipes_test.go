package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func electionPasses(t *testing.T, c *tenure.Client) {
	first, second := session(t, c), session(t, c)
	lead, err := first.Election("leader").Campaign(t.Context(), []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	leaders := make(chan string, 16)
	ctx, cancel := context.WithCancel(t.Context())
	var observing sync.WaitGroup
	observing.Go(func() {
		for o, err := range c.Observe(ctx, "leader") {
			if err != nil {
				return
			}
			if o.Leader != nil {
				leaders <- string(o.Leader.Value)
			}
		}
	})
	defer observing.Wait()
	defer cancel()
	if got := <-leaders; got != "first" {
		t.Errorf("leader %q", got)
	}
	if err = lead.Proclaim(t.Context(), []byte("first2")); err != nil {
		t.Error(err)
	}
	if got := <-leaders; got != "first2" {
		t.Errorf("leader %q", got)
	}
	queued := make(chan tenure.Queued, 4)
	led := make(chan struct{})
	run, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		_ = second.Election("leader").Run(run, []byte("second"), func(ctx context.Context, _ *tenure.Leadership) error {
			close(led)
			<-ctx.Done()
			return nil
		})
	})
	go func() {
		_, _ = first.Election("leader").Campaign(run, []byte("third"), tenure.WithOwner("third"),
			tenure.WithQueuedFunc(func(q tenure.Queued) { queued <- q }))
	}()
	<-queued
	settle(t, func() string {
		if info, looked := c.GetLock(t.Context(), "leader"); looked != nil || info.Waiters != 2 {
			return fmt.Sprintf("two should wait: %+v, %v", info, looked)
		}
		return ""
	})
	if err = lead.ResignTo(t.Context(), second.ID(), "nobody"); !errors.Is(err, tenure.ErrCandidateNotFound) {
		t.Errorf("resign to nobody: %v", err)
	}
	if !lead.Safe() {
		t.Error("a refused resignation ended the leadership")
	}
	if err = lead.ResignTo(t.Context(), first.ID(), "third"); err != nil {
		t.Error(err)
	}
	for got := range leaders {
		if got == "third" {
			break
		}
	}
	leader, err := c.GetLeader(t.Context(), "leader")
	if err != nil || string(leader.Value) != "third" {
		t.Errorf("leader %+v, %v", leader, err)
	}
	_ = first.Close()
	<-led
	stop()
	running.Wait()
	settle(t, func() string { // What could not be given back in a few seconds is given back behind.
		if leader, err := c.GetLeader(t.Context(), "leader"); err != nil || leader != nil {
			return fmt.Sprintf("after the end: %+v, %v", leader, err)
		}
		return ""
	})
}

func doubleBarrier(t *testing.T, c *tenure.Client) {
	const members, rounds = 4, 3
	var mu sync.Mutex
	inside := 0
	var all sync.WaitGroup
	for i := range members {
		s := session(t, c)
		all.Go(func() {
			d := s.DoubleBarrier("double", members, fmt.Sprint(i))
			for range rounds {
				if err := d.Enter(t.Context()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				inside++
				mu.Unlock()
				if err := d.Leave(t.Context()); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if inside%members != 0 && inside < members {
					t.Errorf("left while only %d were inside", inside)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if inside != members*rounds {
		t.Errorf("%d entries, want %d", inside, members*rounds)
	}
}

func barrier(t *testing.T, c *tenure.Client) {
	b := c.Barrier("barrier")
	if err := errors.Join(b.Set(t.Context()), b.Set(t.Context())); err != nil {
		t.Fatal(err)
	}
	passed := make(chan error, 1)
	go func() { passed <- c.Barrier("barrier").Wait(t.Context()) }()
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := b.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting at a closed barrier: %v", err)
	}
	select {
	case err := <-passed:
		t.Errorf("passed a closed barrier: %v", err)
	default:
	}
	if err := b.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-passed; err != nil {
		t.Error(err)
	}
}

func presence(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	p := c.Presence("group")
	if _, err := p.Join(t.Context(), s, "one", []byte("1")); err != nil {
		t.Fatal(err)
	}
	two, err := p.Join(t.Context(), s, "two", []byte("2"))
	if err != nil {
		t.Fatal(err)
	}
	if err = two.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := p.Join(t.Context(), s, "one", []byte("0"))
	if err != nil {
		t.Fatal(err)
	}
	other := session(t, c)
	if _, err = p.Join(t.Context(), other, "one", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err = errors.Join(first.Leave(t.Context()), first.Leave(t.Context()), two.Leave(t.Context())); err != nil {
		t.Fatal(err)
	}
	if members, err := p.Members(t.Context()); err != nil || len(members) != 1 || string(members["one"]) != "1" {
		t.Errorf("members %v, %v", members, err)
	}
	_, _ = s.Close(), other.Close()
	if members, err := p.Members(t.Context()); err != nil || len(members) != 0 {
		t.Errorf("members after the sessions' end: %v, %v", members, err)
	}
}

func cacheFollows(t *testing.T, c *tenure.Client) {
	if _, err := c.KV().Put(t.Context(), "cached/a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	cache, err := c.OpenCache(t.Context(), "cached/")
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	if kv := cache.Get("cached/a"); kv == nil || string(kv.Value) != "1" {
		t.Errorf("cached %+v", kv)
	}
	put, err := c.KV().Put(t.Context(), "cached/b", []byte("2"))
	if err != nil {
		t.Fatal(err)
	}
	settle(t, func() string {
		if shows := cache.Revision(); cache.Err() != nil || shows < put.ModRevision {
			return fmt.Sprintf("shows revision %d, want %d: %v", shows, put.ModRevision, cache.Err())
		}
		return ""
	})
	if keys := cache.Keys(); !slices.Equal(keys, []string{"cached/a", "cached/b"}) || cache.Stale() > patience {
		t.Errorf("keys %v, stale for %v", keys, cache.Stale())
	}
}

func semaphore(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	var helds []*tenure.Held
	for range 2 {
		h, err := s.Semaphore("permits", 3, 1).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		helds = append(helds, h)
	}
	if h, _, err := s.Semaphore("permits", 3, 2).TryAcquire(t.Context()); err != nil || h != nil {
		t.Errorf("two more of three: %v, %v", h, err)
	}
	if _, _, err := s.Semaphore("permits", 4, 1).TryAcquire(t.Context()); !errors.Is(err, tenure.ErrModeMismatch) {
		t.Errorf("another limit: %v", err)
	}
	_ = helds[0].Close()
	if h, _, err := s.Semaphore("permits", 3, 2).TryAcquire(t.Context()); err != nil || h == nil || h.Permits() != 2 {
		t.Errorf("two of the two left: %v, %v", h, err)
	}
}

func readWrite(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	rw := s.ReadWriteLock("rw")
	one, err1 := rw.Read().Acquire(t.Context())
	two, err2 := rw.Read().Acquire(t.Context())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if h, _, err := rw.Write().TryAcquire(t.Context()); err != nil || h != nil {
		t.Errorf("write while read: %v, %v", h, err)
	}
	_, _ = one.Close(), two.Close()
	if h, _, err := rw.Write().TryAcquire(t.Context()); err != nil || h == nil {
		t.Errorf("write: %v, %v", h, err)
	}
}

func brokenBeforeBelieved(t *testing.T, c *tenure.Client) {
	t.Parallel() // It waits for a TTL.
	s := session(t, c, tenure.WithTTL(inheritedAfter), tenure.WithLockDelay(0))
	if _, err := s.Lock("broken early").Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := open(t, c2address(t, c)).ResumeSession(t.Context(), s.Token())
	if err != nil {
		t.Fatal(err)
	}
	if n, broken := c.BreakLock(t.Context(), "broken early", "test"); broken != nil || n != 1 {
		t.Errorf("broke %d, %v", n, broken)
	}
	holds, err := r.Holds(t.Context())
	if err != nil || len(holds) != 0 {
		t.Errorf("inherited %v, %v, want nothing", holds, err)
	}
}

func refusedValue(t *testing.T, c *tenure.Client) {
	held, err := session(t, c).Lock("refused").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err = held.Release(t.Context(), tenure.ReleasePut(make([]byte, 600<<10))); tenure.AppliedOf(err) != tenure.AppliedNo {
		t.Errorf("got %v, want that the value is refused", err)
	}
	if info, err := c.GetLock(t.Context(), "refused"); err != nil || info.Holders != 0 {
		t.Errorf("the lock is left as %+v, %v", info, err)
	}
}
