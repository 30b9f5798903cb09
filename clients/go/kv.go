package tenure

import (
	"context"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// KV reads and writes keys: of Client.KV without a session, of Session.KV under it.
type KV struct {
	space   space
	caller  caller
	session *Session // Nil without one.
}

// KeyValue is a key with its value and what is known about it.
type KeyValue struct {
	Key   string
	Value []byte
	// Flags is a number for the user's own purposes.
	Flags uint64
	// CreateRevision and ModRevision are the revisions that created and last changed the key.
	CreateRevision, ModRevision uint64
	// Version counts puts since the creation, from 1.
	Version uint64
	// LockIndex is the number of the last hold of the key's lock.
	LockIndex uint64
	// SessionID is the session that holds the key's exclusive lock, if any.
	SessionID string
	// BoundSessionID is the session whose end deletes the key, if it is ephemeral.
	BoundSessionID string
	// Message is the key as it came, with what is left out here, such as times; nil in a Cache.
	Message *tenurev1.KeyValue
}

func keyValue(names space, kv *tenurev1.KeyValue) *KeyValue {
	if kv == nil {
		return nil
	}
	return &KeyValue{
		Key: names.own(kv.GetKey()), Value: kv.GetValue(), Flags: kv.GetFlags(), CreateRevision: kv.GetCreateRevision(),
		ModRevision: kv.GetModRevision(), Version: kv.GetVersion(), LockIndex: kv.GetLockIndex(),
		SessionID: kv.GetSessionId(), BoundSessionID: kv.GetBoundSessionId(), Message: kv,
	}
}

// Guard is a condition that a write demands: if it does not hold nothing is written.
type Guard struct {
	message *tenurev1.Guard
}

// IfHeld demands that a sequencer still holds; else ErrStaleToken.
func IfHeld(q Sequencer) Guard {
	return Guard{message: &tenurev1.Guard{Condition: &tenurev1.Guard_Held{Held: q.message()}}}
}

// IfSessionLives demands that a session lives; else ErrSessionExpired.
func IfSessionLives(id string) Guard {
	return Guard{message: &tenurev1.Guard{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: id}}}
}

// WriteOption changes a Put, a Delete, a DeletePrefix or a transaction.
type WriteOption func(*writeOptions)

type writeOptions struct {
	guards     []*tenurev1.Guard
	ifRevision *uint64
	flags      uint64
	bind       bool
	sequential bool
}

// WithGuard demands conditions, at most 16.
func WithGuard(guards ...Guard) WriteOption {
	return func(o *writeOptions) {
		for _, g := range guards {
			o.guards = append(o.guards, g.message)
		}
	}
}

// WithHeld demands that a hold still is; else ErrStaleToken.
func WithHeld(h *Held) WriteOption { return WithGuard(IfHeld(h.Sequencer())) }

// IfRevision writes only if the key's ModRevision is this, 0: only if the key does not exist; else ErrCompareFailed. Put and Delete
// only.
func IfRevision(revision uint64) WriteOption {
	return func(o *writeOptions) { o.ifRevision = &revision }
}

// WithFlags stores a number with the value. Put only.
func WithFlags(flags uint64) WriteOption {
	return func(o *writeOptions) { o.flags = flags }
}

// Ephemeral makes the session's end delete the key. Put under a session only.
func Ephemeral() WriteOption {
	return func(o *writeOptions) { o.bind = true }
}

// Sequential appends 20 digits of revision and 3 of operation index to the key. Put only.
func Sequential() WriteOption {
	return func(o *writeOptions) { o.sequential = true }
}

func gather(options []WriteOption) *writeOptions {
	o := &writeOptions{}
	for _, option := range options {
		option(o)
	}
	return o
}

// write returns the options of a write, whose guards can be sent.
func write(options []WriteOption) (*writeOptions, error) {
	o := gather(options)
	return o, sendable(&tenurev1.CallOptions{Guards: o.guards})
}

// Get returns a key, or ErrKeyNotFound.
func (k *KV) Get(ctx context.Context, key string) (*KeyValue, error) {
	full, err := k.space.fullKey(key)
	if err != nil {
		return nil, err
	}
	var answer *tenurev1.GetResponse
	err = k.caller.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewKVServiceClient(l).Get(ctx, &tenurev1.GetRequest{Key: full})
		return err
	})
	if err != nil {
		return nil, err
	}
	return keyValue(k.space, answer.GetKv()), nil
}

// List returns all keys with a prefix, in byte order. It asks for pages: each is of one revision, two may not be.
func (k *KV) List(ctx context.Context, prefix string) ([]*KeyValue, error) {
	if err := sendable(&tenurev1.ListRequest{Prefix: prefix}); err != nil {
		return nil, err
	}
	var all []*KeyValue
	for page := ""; ; {
		var answer *tenurev1.ListResponse
		err := k.caller.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
			answer, err = tenurev1.NewKVServiceClient(l).List(ctx, &tenurev1.ListRequest{
				Prefix: k.space.full(prefix), PageToken: page,
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, kv := range answer.GetKvs() {
			all = append(all, keyValue(k.space, kv))
		}
		if page = answer.GetNextPageToken(); page == "" {
			return all, nil
		}
	}
}

// Put writes a key, and returns it as it is now.
func (k *KV) Put(ctx context.Context, key string, value []byte, options ...WriteOption) (*KeyValue, error) {
	full, err := k.space.fullKey(key)
	if err != nil {
		return nil, err
	}
	o, err := write(options)
	if err != nil {
		return nil, err
	}
	request := &tenurev1.PutRequest{
		Key: full, Content: &tenurev1.PutRequest_Value{Value: value}, Flags: o.flags, IfRevision: o.ifRevision,
		Sequential: o.sequential,
	}
	if o.bind {
		if k.session == nil {
			return nil, errNoSession()
		}
		request.BindSession = k.session.id
	}
	var answer *tenurev1.PutResponse
	err = k.caller.change(ctx, func(ctx context.Context, l *conn.Link, call *tenurev1.CallOptions) (err error) {
		call.Guards = o.guards
		request.Options = call
		answer, err = tenurev1.NewKVServiceClient(l).Put(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	kv := keyValue(k.space, answer.GetKv())
	kv.Value = value
	return kv, nil
}

func errNoSession() error { return invalid("an ephemeral key needs a session: use Session.KV") }

// Delete deletes a key's value, and tells whether there was one.
func (k *KV) Delete(ctx context.Context, key string, options ...WriteOption) (bool, error) {
	full, err := k.space.fullKey(key)
	if err != nil {
		return false, err
	}
	o, err := write(options)
	if err != nil {
		return false, err
	}
	var answer *tenurev1.DeleteResponse
	err = k.caller.change(ctx, func(ctx context.Context, l *conn.Link, call *tenurev1.CallOptions) (err error) {
		call.Guards = o.guards
		answer, err = tenurev1.NewKVServiceClient(l).Delete(ctx, &tenurev1.DeleteRequest{
			Key: full, IfRevision: o.ifRevision, Options: call,
		})
		return err
	})
	return answer.GetDeleted(), err
}

// DeletePrefix deletes the values of all keys with a prefix, at most 10 000, or none. An empty prefix is every key of the namespace,
// and refused without a namespace.
func (k *KV) DeletePrefix(ctx context.Context, prefix string, options ...WriteOption) (int, error) {
	full := k.space.full(prefix)
	if full == "" {
		return 0, invalid("the prefix is empty, which would delete every key")
	}
	if err := sendable(&tenurev1.DeletePrefixRequest{Prefix: full}); err != nil {
		return 0, err
	}
	o, err := write(options)
	if err != nil {
		return 0, err
	}
	var answer *tenurev1.DeletePrefixResponse
	err = k.caller.change(ctx, func(ctx context.Context, l *conn.Link, call *tenurev1.CallOptions) (err error) {
		call.Guards = o.guards
		answer, err = tenurev1.NewKVServiceClient(l).DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{Prefix: full, Options: call})
		return err
	})
	return int(answer.GetDeleted()), err
}
