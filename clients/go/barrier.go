package tenure

import (
	"context"
	"errors"
)

// Barrier is closed while its key exists: those who wait go on when somebody removes it.
type Barrier struct {
	client *Client
	kv     *KV
	key    string
}

// Barrier returns the barrier of a key.
func (c *Client) Barrier(key string) *Barrier { return &Barrier{client: c, kv: c.KV(), key: key} }

// Barrier returns the barrier of a key, whose Set and Remove are calls under the session.
func (s *Session) Barrier(key string) *Barrier {
	return &Barrier{client: s.client, kv: s.KV(), key: key}
}

// Set closes the barrier. One that is closed already stays so.
func (b *Barrier) Set(ctx context.Context) error {
	_, err := b.kv.Put(ctx, b.key, nil, IfRevision(0))
	if errors.Is(err, ErrCompareFailed) {
		return nil
	}
	return err
}

// Remove opens the barrier. One that is open already stays so.
func (b *Barrier) Remove(ctx context.Context) error {
	_, err := b.kv.Delete(ctx, b.key)
	return err
}

// Wait returns when the barrier is open, or ctx ends.
func (b *Barrier) Wait(ctx context.Context) error {
	return b.client.await(ctx, []WatchOption{OnKeys(b.key)}, func(keys map[string]*KeyValue) bool { return len(keys) == 0 })
}

// await watches keys until they are as wanted.
func (c *Client) await(ctx context.Context, selection []WatchOption, done func(keys map[string]*KeyValue) bool) error {
	keys := map[string]*KeyValue{}
	for event, err := range c.Watch(ctx, append(selection, WithInitial(), KeysOnly())...) {
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
		if done(keys) {
			return nil
		}
	}
	return ctx.Err()
}

// DoubleBarrier lets a number of sessions begin together, and end together.
type DoubleBarrier struct {
	session *Session
	key     string
	name    string
	count   int
	ready   uint64 // ModRevision of the ready key when this one entered; zero: not known.
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
func (d *DoubleBarrier) readyKey() string { return d.key + "/ready" }

// Enter returns when as many members have entered as the barrier counts. If ctx ends before, this one has not entered.
func (d *DoubleBarrier) Enter(ctx context.Context) error {
	kv := d.session.KV()
	if _, err := kv.Put(ctx, d.members()+d.name, nil, Ephemeral()); err != nil {
		return err
	}
	err := d.session.client.await(ctx, []WatchOption{OnPrefix(d.members()), OnKeys(d.readyKey())},
		func(keys map[string]*KeyValue) bool {
			ready, there := keys[d.readyKey()]
			if there {
				d.ready = ready.ModRevision
			}
			return there || len(keys) >= d.count
		})
	if err == nil && d.ready == 0 {
		var ready *KeyValue
		ready, err = kv.Put(ctx, d.readyKey(), nil, IfRevision(0))
		if errors.Is(err, ErrCompareFailed) {
			ready, err = kv.Get(ctx, d.readyKey())
		}
		if errors.Is(err, ErrKeyNotFound) {
			err = nil // The others have come and gone.
		}
		if ready != nil {
			d.ready = ready.ModRevision
		}
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
		defer cancel()
		_, _ = kv.Delete(undo, d.members()+d.name) // The session's end deletes it at last.
	}
	return err
}

// Leave returns when all members have left.
func (d *DoubleBarrier) Leave(ctx context.Context) error {
	kv := d.session.KV()
	if _, err := kv.Delete(ctx, d.members()+d.name); err != nil {
		return err
	}
	err := d.session.client.await(ctx, []WatchOption{OnPrefix(d.members())},
		func(keys map[string]*KeyValue) bool { return len(keys) == 0 })
	if err != nil || d.ready == 0 {
		return err
	}
	// Not that of the next round.
	if _, err = kv.Delete(ctx, d.readyKey(), IfRevision(d.ready)); errors.Is(err, ErrCompareFailed) {
		return nil
	}
	return err
}
