package thirdparty_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// library names Consul's own library.
const library = "Go: hashicorp/consul/api 1.32.1"

// Times of contenders.
const (
	inside = 20 * time.Millisecond  // how long one is in
	pause  = 50 * time.Millisecond  // before it tries again
	retry  = 300 * time.Millisecond // after a failure
)

// loop is what a contender does with Consul's library, once: it enters, works and leaves. The session is its own.
type loop func(ctx context.Context, client *api.Client, session string, in func(lost <-chan struct{})) error

// contend runs loops until the context ends, each at the member of its number.
func contend(ctx context.Context, t *testing.T, c *cluster, w *witness, contenders int, once loop) []*contender {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	var all []*contender
	for i := range contenders {
		me := &contender{name: fmt.Sprintf("contender %d for %s", i, w.what)}
		all = append(all, me)
		client, err := api.NewClient(&api.Config{Address: c.address(i)})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			for ctx.Err() == nil {
				withSession(ctx, client, func(ctx context.Context, session string) error {
					return once(ctx, client, session, func(lost <-chan struct{}) {
						place := w.enter()
						select {
						case <-lost:
						case <-time.After(inside):
						}
						w.leave(place)
						me.rounds.Add(1)
					})
				})
			}
		})
	}
	return all
}

// withSession makes a session, calls what uses it until that fails or the session has ended, and destroys it.
func withSession(parent context.Context, client *api.Client, use func(ctx context.Context, session string) error) {
	id, _, err := client.Session().Create(&api.SessionEntry{TTL: "10s", LockDelay: time.Second}, nil)
	if err != nil {
		sleep(parent, retry)
		return
	}
	ctx, ended := context.WithCancel(parent)
	renewed := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(renewed)
		defer ended()
		_ = client.Session().RenewPeriodic("10s", id, nil, done) // It destroys the session at the end.
	}()
	for ctx.Err() == nil && use(ctx, id) == nil {
		sleep(ctx, pause)
	}
	// What it still has, after a release that failed, goes with the session.
	close(done)
	<-renewed
	for parent.Err() == nil {
		if _, err = client.Session().Destroy(id, nil); err == nil {
			return
		}
		sleep(parent, retry)
	}
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// lockOnce uses the library's lock.
func lockOnce(ctx context.Context, client *api.Client, session string, in func(lost <-chan struct{})) error {
	lock, err := client.LockOpts(&api.LockOptions{
		Key: "thirdparty/lock/.lock", Session: session, MonitorRetries: 3, MonitorRetryTime: retry, LockWaitTime: 2 * time.Second,
	})
	if err != nil {
		return err
	}
	lost, err := lock.Lock(ctx.Done())
	if err != nil || lost == nil {
		return errors.Join(err, ctx.Err())
	}
	in(lost)
	return lock.Unlock()
}

// semaphoreOnce uses the library's semaphore of two.
func semaphoreOnce(ctx context.Context, client *api.Client, session string, in func(lost <-chan struct{})) error {
	semaphore, err := client.SemaphoreOpts(&api.SemaphoreOptions{
		Prefix: "thirdparty/semaphore", Limit: 2, Session: session, MonitorRetries: 3, MonitorRetryTime: retry, SemaphoreWaitTime: 2 * time.Second,
	})
	if err != nil {
		return err
	}
	lost, err := semaphore.Acquire(ctx.Done())
	if err != nil || lost == nil {
		return errors.Join(err, ctx.Err())
	}
	in(lost)
	return semaphore.Release()
}

// electOnce is the loop of Consul's guide to leader election: acquire the key, or wait until it is free.
func electOnce(ctx context.Context, client *api.Client, session string, in func(lost <-chan struct{})) error {
	const key = "thirdparty/election/leader"
	kv := client.KV()
	pair := &api.KVPair{Key: key, Value: []byte(session), Session: session}
	elected, _, err := kv.Acquire(pair, nil)
	if err != nil {
		return err
	}
	if elected {
		in(nil)
		_, _, err = kv.Release(pair, nil)
		return err
	}
	var index uint64
	for ctx.Err() == nil {
		found, meta, err := kv.Get(key, (&api.QueryOptions{WaitIndex: index, WaitTime: 2 * time.Second}).WithContext(ctx))
		if err != nil || found == nil || found.Session == "" || found.Session == session {
			return err
		}
		index = meta.LastIndex
	}
	return ctx.Err()
}

// TestContendersWithConsulsLibrary runs the loops of Consul's own library beside each other, with leaders that are killed.
func TestContendersWithConsulsLibrary(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprintf("members %d", members), func(t *testing.T) {
			c := start(t.Context(), t, members)
			races := []*race{
				newRace(t, "lock", 1), newRace(t, "semaphore of 2", 2), newRace(t, "election as in Consul's guide", 1),
			}
			for i, once := range []loop{lockOnce, semaphoreOnce, electOnce} {
				races[i].record(t, library, members, kills)
				races[i].contenders = contend(t.Context(), t, c, races[i].witness, 3, once)
			}
			run(t, c, races, kills)
		})
	}
}

// TestTheLockOutlivesManyLeaders runs three loops with the lock of Consul's own library, while the leader is killed a hundred times.
func TestTheLockOutlivesManyLeaders(t *testing.T) {
	t.Parallel()
	if fetched == "" {
		t.Skip("it takes minutes; make thirdparty runs it")
	}
	const kills = 100
	c := start(t.Context(), t, 3)
	r := newRace(t, "lock, many leaders", 1)
	r.record(t, library, 3, kills)
	r.contenders = contend(t.Context(), t, c, r.witness, 3, lockOnce)
	run(t, c, []*race{r}, kills)
	t.Logf("%d leaders killed: %d times in", kills, r.rounds())
}
