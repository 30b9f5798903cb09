package tenure

import (
	"context"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// KV reads and writes keys: without a session from Client.KV, under a session from Session.KV.
type KV struct {
	space   space
	caller  caller
	session *Session // Nil without one.
}

// KeyValue is a key with its value and its metadata.
type KeyValue struct {
	Key   string
	Value []byte
	// Flags is a number that Tenure stores and does not interpret.
	Flags uint64
	// CreateRevision and ModRevision are the revisions that created and last changed the key.
	CreateRevision, ModRevision uint64
	// Version counts puts since the key was created, starting at 1.
	Version uint64
	// LockIndex is the number of the last hold of the key's lock.
	LockIndex uint64
	// SessionID is the session that holds the key's exclusive lock, if any.
	SessionID string
	// BoundSessionID is the session whose end deletes the key, if it is ephemeral.
	BoundSessionID string
	// Message is the key as received, with fields that are not copied here, such as times; nil in a Cache.
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

// Guard is a condition for a write: if it is not met, nothing is written.
type Guard struct {
	message *tenurev1.Guard
}

// IfHeld requires that a sequencer is still valid; otherwise ErrStaleToken.
func IfHeld(q Sequencer) Guard {
	return Guard{message: &tenurev1.Guard{Condition: &tenurev1.Guard_Held{Held: q.message()}}}
}

// IfSessionLives requires that a session is live; otherwise ErrSessionExpired.
func IfSessionLives(id string) Guard {
	return Guard{message: &tenurev1.Guard{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: id}}}
}

// WriteOption configures a Put, a Delete, a DeletePrefix, a transaction or a change of a prepared query.
type WriteOption func(*writeOptions)

type writeOptions struct {
	guards     []*tenurev1.Guard
	ifRevision *uint64
	flags      uint64
	bind       bool
	sequential bool
}

// WithGuard adds conditions, at most 16.
func WithGuard(guards ...Guard) WriteOption {
	return func(o *writeOptions) {
		for _, g := range guards {
			o.guards = append(o.guards, g.message)
		}
	}
}

// WithHeld requires that a hold is still valid; otherwise ErrStaleToken.
func WithHeld(h *Held) WriteOption { return WithGuard(IfHeld(h.Sequencer())) }

// IfRevision writes only if this is the ModRevision of the key or the prepared query; 0: only if the key does not exist. Otherwise
// ErrCompareFailed. Only for Put, Delete and Queries.Update.
func IfRevision(revision uint64) WriteOption {
	return func(o *writeOptions) { o.ifRevision = &revision }
}

// WithFlags stores a number with the value. Only for Put.
func WithFlags(flags uint64) WriteOption {
	return func(o *writeOptions) { o.flags = flags }
}

// Ephemeral deletes the key when the session ends. Only for Put under a session.
func Ephemeral() WriteOption {
	return func(o *writeOptions) { o.bind = true }
}

// Sequential appends 20 digits of the revision and 3 digits of the operation's index to the key. Only for Put.
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

// List returns all keys with a prefix, in byte order. It reads pages: the keys of one page are of the same revision,
// those of different pages may not be.
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

// Put writes a key, and returns its new state.
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

// Delete deletes a key, and reports whether it existed.
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

// DeletePrefix deletes all keys with a prefix; if there are more than 10 000, it deletes none. An empty prefix means
// every key of the namespace, and is refused without a namespace.
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
