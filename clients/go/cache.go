package tenure

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// cacheProgress is how often a member proves to a cache that nothing is missing.
	cacheProgress = time.Second
	// cacheStreamAge bounds what two clocks whose rates differ drift apart: a proof's moment is counted from the request.
	cacheStreamAge = time.Minute
)

// Cache is a copy of all keys with a prefix, fed by a watch. Reading it makes no call. While no member can be reached,
// or the member that feeds it lags, it still returns what it has, and Stale grows: check Stale where that matters. Its
// methods can be called concurrently. Do not change the values that Get returns, because other callers get the same
// ones.
type Cache struct {
	client *Client
	prefix string
	work   group
	feed   *watcher // Read by what feeds it only.
	filled chan struct{}
	pauses backoff.Backoff // Between beginnings; of what feeds it only.

	mu       sync.Mutex // Guards what follows.
	keys     map[string]*KeyValue
	proved   time.Duration // What was committed before that is in keys.
	revision uint64
	err      error
	ended    chan struct{}
	building map[string]*KeyValue
}

// OpenCache returns a copy of all keys with a prefix, once it is filled.
func (c *Client) OpenCache(ctx context.Context, prefix string) (*Cache, error) {
	cache := &Cache{
		client: c, prefix: prefix, filled: make(chan struct{}), ended: make(chan struct{}), keys: map[string]*KeyValue{},
	}
	cache.feed = &watcher{
		client: c, handle: cache.take, progress: cacheProgress, streamAge: cacheStreamAge,
		request: &tenurev1.WatchRequest{Prefixes: []string{c.space.full(prefix)}, Initial: true},
	}
	cache.work.start(func(ctx context.Context) { cache.run(ctx) })
	if !c.streams.start(func(closing context.Context) {
		select {
		case <-closing.Done():
			cache.stop(errClientClosed())
		case <-cache.ended:
		}
	}) {
		cache.Close()
		return nil, errClientClosed()
	}
	select {
	case <-cache.filled:
		return cache, nil
	case <-cache.ended:
		return nil, cache.Err()
	case <-ctx.Done():
		cache.Close()
		return nil, interrupted(ctx, false, nil)
	}
}

// run feeds the cache until it is closed. What history forgot while the watch was down is read anew.
func (c *Cache) run(ctx context.Context) {
	defer close(c.ended)
	w := c.feed
	for {
		err := w.run(ctx)
		if !forgotten(err) || !c.pauses.Wait(ctx) {
			c.fail(err)
			return
		}
		w.request.Initial = true
		w.request.ResumeToken, w.request.HistoryId, w.request.AfterRevision = "", "", 0
	}
}

// fail notes why the cache is fed no more, unless that is known.
func (c *Cache) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// take takes a message of the watch.
func (c *Cache) take(message *tenurev1.WatchResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if part := message.GetInitial(); part != nil {
		if c.building == nil {
			c.building = map[string]*KeyValue{}
		}
		for _, kv := range part.GetKvs() {
			c.keep(c.building, kv)
		}
		if !part.GetComplete() {
			return nil
		}
		c.keys, c.building = c.building, nil
		c.pauses.Reset()
		select {
		case <-c.filled:
		default:
			close(c.filled)
		}
	}
	for _, e := range message.GetEvents().GetEvents() {
		if e.GetType() == tenurev1.EventType_EVENT_TYPE_DELETED {
			delete(c.keys, c.client.space.own(e.GetKey()))
		} else if kv := e.GetKv(); kv != nil {
			c.keep(c.keys, kv)
		}
	}
	if message.GetStarted() == nil {
		c.revision = message.GetHeader().GetRevision()
	}
	if moment, ok := provedBy(message, c.feed.sent); ok {
		c.proved = max(c.proved, moment)
	}
	return nil
}

// keep puts a key into a copy, without the message that it came in.
func (c *Cache) keep(keys map[string]*KeyValue, message *tenurev1.KeyValue) {
	kv := keyValue(c.client.space, message)
	kv.Message = nil
	keys[kv.Key] = kv
}

// provedBy returns the moment up to which a message proves that nothing is missing, on a stream whose request was sent at a
// moment. Events prove nothing: a member that catches up sends old ones. What a member counts from the request began no
// earlier than here, and counts for less, because clocks may differ in rate by 1 % each.
func provedBy(message *tenurev1.WatchResponse, sent time.Duration) (time.Duration, bool) {
	switch {
	case message.GetInitial().GetComplete():
		return sent, true
	case message.GetProgress() != nil:
		after := message.GetProgress().GetProvedAfter().AsDuration()
		return sent + after - after/marginShare, true
	}
	return 0, false
}

// Get returns a key from the cache; nil if it is not there.
func (c *Cache) Get(key string) *KeyValue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys[key]
}

// Keys returns the keys in order.
func (c *Cache) Keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.keys))
}

// Stale returns an upper bound of the cache's age: everything committed longer ago is in the cache. It is never zero,
// and normally one to three seconds. Only proof that nothing is missing makes it smaller: the complete state at the
// start, and a progress mark from the member about once a second, which counts from when the member started to confirm
// that it is current. Events alone do not. The bound is correct while clock rates are within 1 %.
func (c *Cache) Stale() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(1, c.client.clock()-c.proved)
}

// Revision returns the revision that the cache shows.
func (c *Cache) Revision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision
}

// Err returns why the cache is no longer updated, such as ErrCacheClosed or ErrClientClosed; nil while it is updated.
func (c *Cache) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close stops updating the cache, and waits until that has stopped. The cache can still be read.
func (c *Cache) Close() {
	c.stop(&Error{Kind: ErrCacheClosed, Applied: AppliedNo})
	<-c.ended
}

// stop ends what feeds the cache.
func (c *Cache) stop(why error) {
	c.fail(why)
	c.work.stop()
}
