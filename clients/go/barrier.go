package tenure

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
)

// Barrier is closed while its key exists. Waiters continue when the key is removed.
type Barrier struct {
	client  *Client
	session *Session // Nil without one.
	kv      *KV
	key     string
}

// Barrier returns the barrier of a key.
func (c *Client) Barrier(key string) *Barrier { return &Barrier{client: c, kv: c.KV(), key: key} }

// Barrier returns the barrier of a key. Its Set and Remove are calls under the session, and its Wait ends with the
// session.
func (s *Session) Barrier(key string) *Barrier {
	return &Barrier{client: s.client, session: s, kv: s.KV(), key: key}
}

// Set closes the barrier. If it is closed, nothing changes.
func (b *Barrier) Set(ctx context.Context) error {
	_, err := b.kv.Put(ctx, b.key, nil, IfRevision(0))
	if errors.Is(err, ErrCompareFailed) {
		return nil
	}
	return err
}

// Remove opens the barrier. If it is open, nothing changes.
func (b *Barrier) Remove(ctx context.Context) error {
	_, err := b.kv.Delete(ctx, b.key)
	return err
}

// Wait returns when the barrier is open or ctx ends.
func (b *Barrier) Wait(ctx context.Context) error {
	if b.session != nil {
		alive, end := whileAlive(ctx, b.session)
		defer end()
		ctx = alive
	}
	return await(ctx, b.client, func(keys map[string]*KeyValue) (bool, error) { return len(keys) == 0, nil }, OnKeys(b.key))
}

// await watches keys, and calls look with them, first and after each change, until it is done or fails.
func await(
	ctx context.Context, c *Client, look func(keys map[string]*KeyValue) (done bool, err error), selection ...WatchOption,
) error {
	pauses := &backoff.Backoff{}
	for {
		err := awaitOnce(ctx, c, look, slices.Concat(selection, []WatchOption{WithInitial(), KeysOnly()}))
		if !forgotten(err) {
			return err
		}
		if !pauses.Wait(ctx) {
			return interrupted(ctx, false, err)
		}
	}
}

// awaitOnce is await as long as history has what changes.
func awaitOnce(
	ctx context.Context, c *Client, look func(keys map[string]*KeyValue) (done bool, err error), selection []WatchOption,
) error {
	keys := map[string]*KeyValue{}
	for event, err := range c.Watch(ctx, selection...) {
		if err != nil {
			return err
		}
		switch event.Type {
		case EventInitial:
			for _, kv := range event.Initial {
				keys[kv.Key] = kv
			}
		case EventPut:
			keys[event.Key] = event.KV
		case EventDeleted:
			delete(keys, event.Key)
		default:
			continue
		}
		if done, err := look(keys); done || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// forgotten tells whether a watch ended because it cannot go on where it was; it can begin again with the present state.
func forgotten(err error) bool {
	return isAny(err, ErrCompacted, ErrHistoryChanged, ErrTooSlow, ErrFutureRevision)
}

// whileAlive returns a context that ends with ctx, and when the session is over: its cause then is the error of calls
// under the session. Call end after.
func whileAlive(ctx context.Context, s *Session) (alive context.Context, end func()) {
	alive, cancel := context.WithCancelCause(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		select {
		case <-s.done:
			cancel(ending{s.over()})
		case <-alive.Done():
		}
	}()
	return alive, func() { cancel(nil); <-looked }
}

// DoubleBarrier lets a number of sessions start together and end together, as often as they like. The key "KEY/ready"
// exists from when enough members have entered until all have left, so that a member that sees it late still enters.
type DoubleBarrier struct {
	session *Session
	key     string
	name    string
	count   int
	ready   atomic.Uint64 // ModRevision of the ready key when this one entered; zero: it did not.
}

// DoubleBarrier returns the double barrier of a key for a count of members, as a member with a name; the session's id if it is
// empty.
func (s *Session) DoubleBarrier(key string, count int, name string) *DoubleBarrier {
	if name == "" {
		name = s.id
	}
	return &DoubleBarrier{session: s, key: key, count: count, name: name}
}

func (d *DoubleBarrier) members() string  { return d.key + "/members/" }
func (d *DoubleBarrier) own() string      { return d.members() + d.name }
func (d *DoubleBarrier) readyKey() string { return d.key + "/ready" }

// Enter returns when the barrier's number of members have entered. If ctx or the session ends before that, this member
// has not entered.
func (d *DoubleBarrier) Enter(ctx context.Context) error {
	if d.count < 1 {
		return invalid("a double barrier for %d members", d.count)
	}
	d.ready.Store(0)
	alive, end := whileAlive(ctx, d.session)
	defer end()
	kv := d.session.KV()
	_, err := kv.Put(alive, d.own(), nil, Ephemeral())
	if err != nil && AppliedOf(err) == AppliedNo {
		return err
	}
	if err == nil {
		err = await(alive, d.session.client, func(keys map[string]*KeyValue) (bool, error) { return d.mayGoIn(alive, keys) },
			OnPrefix(d.members()), OnKeys(d.readyKey()))
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		_, _ = kv.Delete(undo, d.own()) // The session's end deletes it at last.
	}
	return err
}

// mayGoIn tells whether the round has begun. Whoever sees that it can begin makes the ready key.
func (d *DoubleBarrier) mayGoIn(ctx context.Context, keys map[string]*KeyValue) (bool, error) {
	if ready, there := keys[d.readyKey()]; there {
		d.ready.Store(ready.ModRevision)
		return true, nil
	}
	if len(keys) < d.count {
		return false, nil
	}
	_, err := d.session.KV().Put(ctx, d.readyKey(), nil, IfRevision(0))
	if errors.Is(err, ErrCompareFailed) {
		err = nil // Another one made it, which will be seen.
	}
	return false, err
}

// Leave returns when all members have left.
func (d *DoubleBarrier) Leave(ctx context.Context) error {
	alive, end := whileAlive(ctx, d.session)
	defer end()
	kv := d.session.KV()
	left := false
	err := await(alive, d.session.client, func(keys map[string]*KeyValue) (bool, error) {
		if !left {
			// Not before the watch has begun: the last to leave might see nothing but the next round.
			if _, err := kv.Delete(alive, d.own()); err != nil {
				return false, err
			}
			left = true
		}
		return len(keys) == 0, nil
	}, OnPrefix(d.members()))
	ready := d.ready.Load()
	if err != nil || ready == 0 {
		return err
	}
	// Not that of the next round.
	if _, err = kv.Delete(alive, d.readyKey(), IfRevision(ready)); errors.Is(err, ErrCompareFailed) {
		return nil
	}
	return err
}
