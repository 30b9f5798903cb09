package tenure

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// cacheProgress is how often a cache hears that nothing changed.
const cacheProgress = time.Second

// Cache is a copy of all keys with a prefix, fed by a watch. It tells how old it may be.
type Cache struct {
	client *Client
	prefix string
	work   group
	filled chan struct{}

	mu       sync.Mutex // Guards what follows.
	keys     map[string]*KeyValue
	heard    time.Duration // When the last message came.
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
	w := &watcher{
		client: c, handle: cache.take, progress: cacheProgress,
		request: &tenurev1.WatchRequest{Prefixes: []string{c.space.full(prefix)}, Initial: true},
	}
	cache.work.start(func(ctx context.Context) { cache.run(ctx, w) })
	if !c.streams.start(func(closing context.Context) {
		select {
		case <-closing.Done():
			cache.work.stop()
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
func (c *Cache) run(ctx context.Context, w *watcher) {
	defer close(c.ended)
	for {
		err := w.run(ctx)
		if isAny(err, ErrCompacted, ErrHistoryChanged, ErrTooSlow, ErrFutureRevision) {
			w.request.Initial = true
			w.request.ResumeToken, w.request.HistoryId, w.request.AfterRevision = "", "", 0
			continue
		}
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		return
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
			c.building[c.client.space.own(kv.GetKey())] = keyValue(c.client.space, kv)
		}
		if !part.GetComplete() {
			return nil
		}
		c.keys, c.building = c.building, nil
		select {
		case <-c.filled:
		default:
			close(c.filled)
		}
	}
	for _, e := range message.GetEvents().GetEvents() {
		key := c.client.space.own(e.GetKey())
		if e.GetType() == tenurev1.EventType_EVENT_TYPE_DELETED {
			delete(c.keys, key)
		} else if kv := e.GetKv(); kv != nil {
			c.keys[key] = keyValue(c.client.space, kv)
		}
	}
	if message.GetStarted() == nil {
		c.heard = c.client.clock()
		c.revision = message.GetHeader().GetRevision()
	}
	return nil
}

// Get returns a key as the cache has it; nil if it has none.
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

// Stale tells how old the cache may be: how long ago a member last said that it is complete, which takes about a second while nothing changes.
func (c *Cache) Stale() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(1, c.client.clock()-c.heard)
}

// Revision returns the revision that the cache shows.
func (c *Cache) Revision() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision
}

// Err returns why the cache is fed no more; nil while it is.
func (c *Cache) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the cache, and waits for what feeds it. What it has can still be read.
func (c *Cache) Close() {
	c.work.stop()
	<-c.ended
}
