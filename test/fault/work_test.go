package fault_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/check"
)

// useKeys reads and writes keys that all clients share, until ctx ends.
func useKeys(ctx context.Context, c *caller, keys int) {
	known := map[string]uint64{}
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("k%d", c.rng.IntN(keys))
		value := fmt.Sprintf("%s-%d", c.name, n)
		switch d := c.rng.IntN(100); {
		case d < 40:
			known[key] = c.get(ctx, key)
		case d < 65:
			c.put(ctx, key, value, nil)
		case d < 90:
			c.put(ctx, key, value, new(known[key]))
		default:
			c.remove(ctx, key)
		}
		wait(ctx, time.Duration(c.rng.Int64N(int64(10*time.Millisecond))))
	}
}

func (c *caller) get(ctx context.Context, key string) uint64 {
	op := &check.Op{Kind: check.KindGet, Key: key}
	err := c.call(ctx, op, true, func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := tenurev1.NewKVServiceClient(conn).Get(ctx, &tenurev1.GetRequest{Key: key})
		if err != nil {
			s := read(err)
			if s.reason == "key_not_found" {
				op.Revision, op.Found, op.Read, op.ModRevision = s.number("revision"), false, "", 0
				return nil
			}
			return err
		}
		op.Revision, op.Found = r.GetHeader().GetRevision(), true
		op.Read, op.ModRevision = string(r.GetKv().GetValue()), r.GetKv().GetModRevision()
		return nil
	})
	if err != nil {
		return 0
	}
	return op.ModRevision
}

// identity returns a key that makes a change one that can be repeated, for most changes. No two changes have the same one,
// also not those of clients that draw alike.
func (c *caller) identity() (*tenurev1.CallOptions, bool) {
	if c.rng.IntN(4) == 0 {
		return nil, false
	}
	key := uuid.New()
	return &tenurev1.CallOptions{IdempotencyKey: key[:]}, true
}

func (c *caller) put(ctx context.Context, key, value string, ifRevision *uint64) {
	op := &check.Op{Kind: check.KindPut, Key: key, Value: value, IfRevision: ifRevision}
	options, repeatable := c.identity()
	err := c.call(ctx, op, repeatable, func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := tenurev1.NewKVServiceClient(conn).Put(ctx, &tenurev1.PutRequest{
			Key: key, Content: &tenurev1.PutRequest_Value{Value: []byte(value)}, IfRevision: ifRevision, Options: options,
		})
		if err == nil {
			op.Changed, op.Revision = true, r.GetKv().GetModRevision()
			op.ModRevision, op.Version = r.GetKv().GetModRevision(), r.GetKv().GetVersion()
		}
		return err
	})
	if err != nil && op.Reason == "compare_failed" {
		op.ModRevision = read(err).number("revision")
	}
}

func (c *caller) remove(ctx context.Context, key string) {
	op := &check.Op{Kind: check.KindDelete, Key: key}
	options, repeatable := c.identity()
	_ = c.call(ctx, op, repeatable, func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := tenurev1.NewKVServiceClient(conn).Delete(ctx, &tenurev1.DeleteRequest{Key: key, Options: options})
		if err == nil {
			op.Done, op.Changed, op.Revision = r.GetDeleted(), r.GetDeleted(), r.GetHeader().GetRevision()
		}
		return err
	})
}

// holder is a session of one client, kept alive beside its work.
type holder struct {
	c        *caller
	id, text string
	ttl      time.Duration
	sequence uint64
	kept     map[string]uint64 // tokens of locks that were not given back, by key

	mu   sync.Mutex // guards what follows
	safe time.Duration
	over atomic.Bool
}

// useLocks opens sessions and takes locks under them, until ctx ends. Now and then a session is left to its TTL.
func useLocks(ctx context.Context, c *caller, locks int, ttl time.Duration) {
	for ctx.Err() == nil {
		h, err := openSession(ctx, c, ttl)
		if err != nil {
			wait(ctx, 50*time.Millisecond)
			continue
		}
		renewing, stop := context.WithCancel(ctx)
		var renewals sync.WaitGroup
		renewals.Go(func() { h.keepAlive(renewing) })
		for ctx.Err() == nil && !h.over.Load() {
			h.lockOnce(ctx, fmt.Sprintf("l%d", c.rng.IntN(locks)))
			if c.rng.IntN(60) == 0 {
				break // It dies, and keeps what it holds until its TTL.
			}
			wait(ctx, time.Duration(c.rng.Int64N(int64(20*time.Millisecond))))
		}
		stop()
		renewals.Wait()
	}
}

func openSession(ctx context.Context, c *caller, ttl time.Duration) (*holder, error) {
	op := &check.Op{Kind: check.KindCreate, TTLMs: ttl.Milliseconds()}
	options, _ := c.identity()
	h := &holder{c: c, ttl: ttl, kept: map[string]uint64{}}
	asked := c.rec.now()
	err := c.call(ctx, op, options != nil, func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := tenurev1.NewSessionServiceClient(conn).CreateSession(ctx, &tenurev1.CreateSessionRequest{
			Name: c.name, Ttl: durationpb.New(ttl), LockDelay: durationpb.New(0), Options: options,
		})
		if err != nil {
			return err
		}
		h.id, h.text = r.GetSessionId(), strings.ReplaceAll(r.GetSessionId(), "-", "")
		op.Session, op.Epoch, op.Changed, op.Revision = h.text, 1, true, r.GetCreateRevision()
		op.TTLMs, op.LockDelayMs = r.GetTtl().AsDuration().Milliseconds(), r.GetLockDelay().AsDuration().Milliseconds()
		h.ttl = r.GetTtl().AsDuration()
		return nil
	})
	h.safe = asked + h.ttl - margin(h.ttl)
	return h, err
}

// margin is what a client takes off its lease, for clocks that differ.
func margin(ttl time.Duration) time.Duration { return max(50*time.Millisecond, ttl/50) }

// keepAlive renews the session until ctx ends or it is over.
func (h *holder) keepAlive(ctx context.Context) {
	for ctx.Err() == nil && !h.over.Load() {
		wait(ctx, h.ttl/4)
		if ctx.Err() != nil {
			return
		}
		asked := h.c.rec.now()
		op := &check.Op{Kind: check.KindRenew, Session: h.text, Epoch: 1, Client: h.c.name + "/renew", Call: int64(asked), Attempts: 1}
		tryCtx, cancel := context.WithTimeout(ctx, h.ttl/2)
		_, err := tenurev1.NewSessionServiceClient(h.c.conn(true)).RenewSession(tryCtx, &tenurev1.RenewSessionRequest{SessionId: h.id})
		cancel()
		op.Return, op.Outcome = int64(h.c.rec.now()), check.OK
		if err != nil {
			s := read(err)
			op.Outcome, op.Reason, op.Return = check.Unknown, s.reason, 0
			if !s.passing() {
				op.Outcome = check.Refused
				h.over.Store(true)
			}
		} else {
			h.mu.Lock()
			h.safe = max(h.safe, asked+h.ttl-margin(h.ttl))
			h.mu.Unlock()
		}
		h.c.rec.done(op)
	}
}

func (h *holder) safeUntil() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.safe
}

func (h *holder) options() *tenurev1.CallOptions {
	h.sequence++
	return &tenurev1.CallOptions{
		Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: h.id, Sequence: h.sequence, DoneBelow: h.sequence},
	}
}

// lockOnce tries a lock; if it has it, it writes under it and gives it back.
func (h *holder) lockOnce(ctx context.Context, key string) {
	op := &check.Op{Kind: check.KindAcquire, Key: key, Session: h.text, Epoch: 1, Mode: "exclusive"}
	options := h.options()
	err := h.c.call(ctx, op, true, func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := tenurev1.NewLockServiceClient(conn).TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
			Key: key, SessionId: h.id, Options: options,
		})
		if err != nil {
			return err
		}
		op.Revision = r.GetHeader().GetRevision()
		if s := r.GetHold().GetSequencer(); r.GetAcquired() {
			op.Hold = &check.Hold{Key: key, LockIndex: s.GetLockIndex(), Token: s.GetFencingToken(), Session: h.text}
			if h.kept[key] != op.Hold.Token {
				op.Changed, op.Revision = true, s.GetFencingToken()
			}
		}
		return nil
	})
	if err != nil || op.Hold == nil {
		h.learn(err)
		return
	}
	from := h.c.rec.now()
	h.writeGuarded(ctx, key, op.Hold)
	until := min(h.c.rec.now(), h.safeUntil())
	h.c.rec.believes(check.Belief{Client: h.c.name, Hold: *op.Hold, From: int64(from), Until: int64(until)})
	if h.c.rng.IntN(30) == 0 {
		h.kept[key] = op.Hold.Token
		return // It stays with the session.
	}
	h.release(ctx, key, op.Hold)
}

func (h *holder) learn(err error) {
	if err == nil {
		return
	}
	switch read(err).reason {
	case "session_expired", "session_not_found", "session_superseded":
		h.over.Store(true)
	}
}

// writeGuarded writes a key that only the holder of the lock may write.
func (h *holder) writeGuarded(ctx context.Context, key string, hold *check.Hold) {
	value := fmt.Sprintf("%s-%d-%d", h.c.name, hold.Token, h.sequence)
	op := &check.Op{Kind: check.KindPut, Key: "g/" + key, Value: value, Guard: hold, Session: h.text, Epoch: 1}
	options := h.options()
	options.Guards = []*tenurev1.Guard{{Condition: &tenurev1.Guard_Held{Held: &tenurev1.Sequencer{
		Key: key, LockIndex: hold.LockIndex, SessionId: h.id, FencingToken: hold.Token,
	}}}}
	h.learn(h.c.call(ctx, op, true, func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := tenurev1.NewKVServiceClient(conn).Put(ctx, &tenurev1.PutRequest{
			Key: op.Key, Content: &tenurev1.PutRequest_Value{Value: []byte(value)}, Options: options,
		})
		if err == nil {
			op.Changed, op.Revision = true, r.GetKv().GetModRevision()
			op.ModRevision, op.Version = r.GetKv().GetModRevision(), r.GetKv().GetVersion()
		}
		return err
	}))
}

func (h *holder) release(ctx context.Context, key string, hold *check.Hold) {
	op := &check.Op{Kind: check.KindRelease, Key: key, Session: h.text, Epoch: 1, Hold: hold}
	options := h.options()
	h.learn(h.c.call(ctx, op, true, func(ctx context.Context, conn *grpc.ClientConn) error {
		r, err := tenurev1.NewLockServiceClient(conn).ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{
			Key: key, SessionId: h.id, LockIndex: hold.LockIndex, Options: options,
		})
		if err == nil {
			op.Done, op.Changed, op.Revision = r.GetReleased(), r.GetReleased(), r.GetHeader().GetRevision()
		}
		return err
	}))
}
