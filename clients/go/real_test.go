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
	"github.com/tenure-io/tenure/test/rig"
)

// patience bounds what a test waits for. It is generous: machines are loaded.
const patience = time.Minute

// longTTL is that of sessions whose end no test waits for; inheritedAfter that of sessions whose end one does wait for.
const (
	longTTL        = time.Minute
	inheritedAfter = 10 * time.Second
)

// open returns a client of a member, and closes it with the test.
func open(t *testing.T, address string, options ...tenure.Option) *tenure.Client {
	t.Helper()
	c, err := tenure.Open("tenure://"+address+"/app?ttl="+longTTL.String(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func session(t *testing.T, c *tenure.Client, options ...tenure.SessionOption) *tenure.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	s, err := c.OpenSession(ctx, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAgainstARealMember(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	t.Cleanup(cancel)
	member := rig.Start(ctx, t, binary)
	tests := map[string]func(t *testing.T, c *tenure.Client){
		"a lock passes from one to the next":                        lockPasses,
		"a cancelled wait leaves no place":                          cancelledWait,
		"a key is read as it was written, in its namespace":         keysRoundTrip,
		"a guard refuses who lost the lock":                         guardRefuses,
		"a session goes on after export":                            exportAndResume,
		"who is superseded is told so":                              supersede,
		"what was broken before it was believed is not inherited":   brokenBeforeBelieved,
		"a value that is refused does not keep the lock":            refusedValue,
		"a watch tells the state and then each change":              watchTells,
		"an election is led by one, and can be passed on":           electionPasses,
		"a double barrier lets all in together and out together":    doubleBarrier,
		"a barrier holds until it is removed":                       barrier,
		"members of a group come and go with their sessions":        presence,
		"a cache follows and tells its age":                         cacheFollows,
		"a semaphore has as many permits as it says":                semaphore,
		"readers share, and a writer excludes":                      readWrite,
		"a broken lock is lost to its holder":                       brokenLock,
		"counting under retries is exact":                           counting,
		"closing the session frees its locks without delay":         closeFrees,
		"an error tells its kind, and whether anything was applied": errorKinds,
	}
	for name, test := range tests {
		t.Run("over a line/"+name, func(t *testing.T) { test(t, open(t, member.Addresses.GRPC)) })
	}
	another := rig.Start(ctx, t, binary)
	for name, test := range tests {
		t.Run("one by one/"+name, func(t *testing.T) { test(t, open(t, another.Addresses.GRPC, tenure.WithoutLine())) })
	}
}

func lockPasses(t *testing.T, c *tenure.Client) {
	first, second := session(t, c), session(t, c)
	held, err := first.Lock("passes").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !held.Safe() || held.SafeFor() > longTTL || held.Token() == 0 {
		t.Errorf("safe %v for %v, token %d", held.Safe(), held.SafeFor(), held.Token())
	}
	if other, info, err := second.Lock("passes").TryAcquire(t.Context()); err != nil || other != nil || info.Holders != 1 {
		t.Errorf("try of a held lock: %v, %+v, %v", other, info, err)
	}
	queued := make(chan tenure.Queued, 10)
	got := make(chan *tenure.Held, 1)
	go func() {
		h, err := second.Lock("passes", tenure.WithQueuedFunc(func(q tenure.Queued) { queued <- q })).Acquire(t.Context())
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	<-queued
	work, done := held.Context(t.Context())
	defer done()
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-work.Done()
	if !errors.Is(context.Cause(work), tenure.ErrReleased) || held.Safe() {
		t.Errorf("after release: cause %v, safe %v", context.Cause(work), held.Safe())
	}
	if next := <-got; next.Token() <= held.Token() {
		t.Errorf("token %d after %d", next.Token(), held.Token())
	}
}

func cancelledWait(t *testing.T, c *tenure.Client) {
	first, second := session(t, c), session(t, c)
	if _, err := first.Lock("cancel").Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := second.Lock("cancel", tenure.WithWait(50*time.Millisecond)).Acquire(t.Context())
	if !errors.Is(err, tenure.ErrWaitTimedOut) {
		t.Errorf("got %v, want ErrWaitTimedOut", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = second.Lock("cancel", tenure.WithQueuedFunc(func(tenure.Queued) { cancel() })).Acquire(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	settle(t, func() string { // Who gives up a wait does not wait for that for ever.
		if info, err := c.GetLock(t.Context(), "cancel"); err != nil || info.Waiters != 0 || info.Holders != 1 {
			return fmt.Sprintf("left behind: %+v, %v", info, err)
		}
		return ""
	})
}

func keysRoundTrip(t *testing.T, c *tenure.Client) {
	kv := c.KV()
	put, err := kv.Put(t.Context(), "a/b", []byte("1"), tenure.WithFlags(7))
	if err != nil {
		t.Fatal(err)
	}
	got, err := kv.Get(t.Context(), "a/b")
	if err != nil || got.Key != "a/b" || string(got.Value) != "1" || got.Flags != 7 || got.ModRevision != put.ModRevision {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err = kv.Put(t.Context(), "a/b", nil, tenure.IfRevision(0)); !errors.Is(err, tenure.ErrCompareFailed) {
		t.Errorf("put if absent of a present key: %v", err)
	}
	list, err := kv.List(t.Context(), "a/")
	if err != nil || len(list) != 1 || list[0].Key != "a/b" {
		t.Errorf("list: %+v, %v", list, err)
	}
	result, err := kv.Txn(t.Context(), tenure.Txn{
		If:   []tenure.Compare{tenure.ModRevisionIs("a/b", put.ModRevision)},
		Then: []tenure.Op{tenure.OpPut("a/c", []byte("2")), tenure.OpGet("a/b")},
	})
	if err != nil || !result.Succeeded || len(result.Results) != 2 || string(result.Results[1].KV.Value) != "1" {
		t.Errorf("txn: %+v, %v", result, err)
	}
	if n, err := kv.DeletePrefix(t.Context(), "a/"); err != nil || n != 2 {
		t.Errorf("delete prefix: %d, %v", n, err)
	}
}

func guardRefuses(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	held, err := s.Lock("guarded").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.KV().Put(t.Context(), "data", []byte("1"), tenure.WithHeld(held)); err != nil {
		t.Error(err)
	}
	proof := held.Sequencer()
	parsed, err := tenure.ParseSequencer(proof.String())
	if err != nil || parsed != proof {
		t.Errorf("parsed %+v, %v; want %+v", parsed, err, proof)
	}
	if holds, checked := c.CheckSequencer(t.Context(), proof); checked != nil || !holds {
		t.Errorf("check: %v, %v", holds, checked)
	}
	if err = held.Close(); err != nil {
		t.Error(err)
	}
	_, err = c.KV().Put(t.Context(), "data", []byte("2"), tenure.WithHeld(held))
	if !errors.Is(err, tenure.ErrStaleToken) || tenure.AppliedOf(err) != tenure.AppliedNo {
		t.Errorf("got %v, want ErrStaleToken and nothing applied", err)
	}
}

func exportAndResume(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	held, err := s.Lock("exported", tenure.WithOwner("me")).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state, cause := s.State(); state != tenure.StateClosed || cause != tenure.CauseExported || held.Cause() != tenure.EndExported {
		t.Errorf("state %v %v, held %v", state, cause, held.Cause())
	}
	r, err := c.ResumeSession(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	holds, err := r.Holds(t.Context())
	if err != nil || len(holds) != 1 || !holds[0].Safe() || holds[0].Token() <= held.Token() || r.ID() != s.ID() {
		t.Fatalf("holds %+v, %v", holds, err)
	}
	if err := holds[0].Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func supersede(t *testing.T, c *tenure.Client) {
	t.Parallel() // It waits for a TTL.
	s := session(t, c, tenure.WithTTL(inheritedAfter))
	if _, err := s.Lock("superseded").Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := open(t, c2address(t, c))
	begun := time.Now()
	r, err := other.ResumeSession(t.Context(), s.Token())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.KV().Put(t.Context(), "x", nil)
	if !errors.Is(err, tenure.ErrSessionSuperseded) {
		t.Errorf("call of the old one: %v", err)
	}
	<-s.Done()
	if !errors.Is(s.Err(), tenure.ErrSessionSuperseded) {
		t.Errorf("the old one ended as %v", s.Err())
	}
	holds, err := r.Holds(t.Context())
	if err != nil || len(holds) != 1 || time.Since(begun) < inheritedAfter {
		t.Errorf("holds %v, %v after %v; want one, after a TTL", holds, err, time.Since(begun))
	}
}

func c2address(t *testing.T, c *tenure.Client) string {
	t.Helper()
	all, _ := c.Members()
	return all[0]
}

func watchTells(t *testing.T, c *tenure.Client) {
	kv := c.KV()
	if _, err := kv.Put(t.Context(), "w/1", []byte("a")); err != nil {
		t.Fatal(err)
	}
	var told []string
	var token string
	for event, err := range c.Watch(t.Context(), tenure.OnPrefix("w/"), tenure.WithInitial()) {
		if err != nil {
			t.Fatal(err)
		}
		switch event.Type {
		case tenure.EventInitial:
			told = append(told, "initial "+event.Initial[0].Key)
			if _, err := kv.Put(t.Context(), "w/2", []byte("b")); err != nil {
				t.Fatal(err)
			}
		case tenure.EventPut:
			told = append(told, "put "+event.Key)
			token = event.ResumeToken
		default:
		}
		if event.Key == "w/2" {
			break
		}
	}
	if want := []string{"initial w/1", "put w/2"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if _, err := kv.Delete(t.Context(), "w/1"); err != nil {
		t.Fatal(err)
	}
	for event, err := range c.Watch(t.Context(), tenure.OnPrefix("w/"), tenure.FromToken(token)) {
		if err != nil || event.Type != tenure.EventDeleted || event.Key != "w/1" {
			t.Errorf("after the token: %+v, %v", event, err)
		}
		break
	}
}

func brokenLock(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	held, err := s.Lock("broken").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.BreakLock(t.Context(), "broken", "test"); err != nil || n != 1 {
		t.Fatalf("break: %d, %v", n, err)
	}
	<-held.Lost()
	if held.Cause() != tenure.EndTakenAway || !errors.Is(held.Err(), tenure.ErrLockLost) {
		t.Errorf("cause %v, %v", held.Cause(), held.Err())
	}
	if err := held.Release(t.Context()); !errors.Is(err, tenure.ErrLockLost) {
		t.Errorf("release of a lost lock: %v", err)
	}
}

func counting(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	kv := s.KV()
	const goroutines, each = 8, 25
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range each {
				held, err := s.Lock("counter/lock").Acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				if got, err := kv.Get(t.Context(), "counter"); err == nil {
					_, _ = fmt.Sscan(string(got.Value), &n)
				}
				if _, err := kv.Put(t.Context(), "counter", fmt.Append(nil, n+1), tenure.WithHeld(held)); err != nil {
					t.Error(err)
				}
				_ = held.Close()
			}
		})
	}
	all.Wait()
	if got, err := kv.Get(t.Context(), "counter"); err != nil || string(got.Value) != fmt.Sprint(goroutines*each) {
		t.Errorf("counted %+v, %v", got, err)
	}
}

func closeFrees(t *testing.T, c *tenure.Client) {
	first, second := session(t, c), session(t, c)
	held, err := first.Lock("closing").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if held.Cause() != tenure.EndSessionClosed {
		t.Errorf("cause %v", held.Cause())
	}
	if h, info, err := second.Lock("closing").TryAcquire(t.Context()); err != nil || h == nil {
		t.Errorf("after close: %v, %+v, %v", h, info, err)
	}
	if _, err := first.Lock("closing").Acquire(t.Context()); !errors.Is(err, tenure.ErrSessionClosed) {
		t.Errorf("acquire after close: %v", err)
	}
}

func errorKinds(t *testing.T, c *tenure.Client) {
	s := session(t, c)
	if _, err := c.KV().Get(t.Context(), "nothing"); !errors.Is(err, tenure.ErrKeyNotFound) {
		t.Errorf("missing key: %v", err)
	}
	if _, err := c.KV().Get(t.Context(), ""); !errors.Is(err, tenure.ErrInvalidArgument) {
		t.Errorf("empty key: %v", err)
	}
	if _, err := c.GetLock(t.Context(), "nothing"); !errors.Is(err, tenure.ErrLockNotFound) {
		t.Errorf("missing lock: %v", err)
	}
	if _, err := s.KV().Put(t.Context(), "big", make([]byte, 600<<10)); !errors.Is(err, tenure.ErrLimit) || tenure.AppliedOf(err) != tenure.AppliedNo {
		t.Errorf("big value: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.KV().Get(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
