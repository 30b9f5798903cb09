package tenure

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Mode is how a lock is shared.
type Mode int32

// The modes of a lock.
const (
	// Exclusive has one holder.
	Exclusive = Mode(tenurev1.LockMode_LOCK_MODE_EXCLUSIVE)
	// Shared has any number of holders, none of them exclusive.
	Shared = Mode(tenurev1.LockMode_LOCK_MODE_SHARED)
	// Permits has holders that take permits of a limit.
	Permits = Mode(tenurev1.LockMode_LOCK_MODE_SEMAPHORE)
)

// Lock is the lock of a key, for a session. Each Acquire makes a possession of its own: two of the same session exclude each
// other, unless they are given the same owner.
type Lock struct {
	session *Session
	key     string // With namespace; empty if the key was.
	mode    Mode
	permits uint32
	limit   uint32
	options acquireOptions
}

// LockOption changes how a lock is acquired.
type LockOption func(*acquireOptions)

type acquireOptions struct {
	owner    *string
	value    []byte
	hasValue bool
	wait     time.Duration
	hasWait  bool
	onQueued func(Queued)
}

// WithOwner names the possession within the session: an Acquire under a name that holds already, or queues, is that one.
func WithOwner(name string) LockOption {
	return func(o *acquireOptions) { o.owner = &name }
}

// WithValue writes a value to the key with the grant; else it stays, and a missing key gets an empty one.
func WithValue(value []byte) LockOption {
	return func(o *acquireOptions) { o.value, o.hasValue = value, true }
}

// WithWait makes Acquire fail with ErrWaitTimedOut when the lock was not had for so long.
func WithWait(wait time.Duration) LockOption {
	return func(o *acquireOptions) { o.wait, o.hasWait = wait, true }
}

// WithQueuedFunc makes Acquire tell where it waits, first and whenever that changes. It must not block.
func WithQueuedFunc(f func(Queued)) LockOption {
	return func(o *acquireOptions) { o.onQueued = f }
}

// Queued tells where an Acquire waits.
type Queued struct {
	// Position is how many wait before it.
	Position int
	// Lock is the lock as it was when the wait began; nil later.
	Lock *LockInfo
}

// Lock returns the lock of a key.
func (s *Session) Lock(key string, options ...LockOption) *Lock {
	return s.lock(key, Exclusive, options)
}

func (s *Session) lock(key string, mode Mode, options []LockOption) *Lock {
	l := &Lock{session: s, mode: mode}
	if key != "" {
		l.key = s.client.space.full(key)
	}
	for _, option := range options {
		option(&l.options)
	}
	return l
}

// ReadWriteLock is a lock of which many hold the read side, or one the write side. Who waits to write lets nobody read before.
type ReadWriteLock struct {
	session *Session
	key     string
	options []LockOption
}

// ReadWriteLock returns the read-write lock of a key.
func (s *Session) ReadWriteLock(key string, options ...LockOption) *ReadWriteLock {
	return &ReadWriteLock{session: s, key: key, options: options}
}

// Read returns the side that is shared.
func (l *ReadWriteLock) Read() *Lock { return l.session.lock(l.key, Shared, l.options) }

// Write returns the side that excludes all others.
func (l *ReadWriteLock) Write() *Lock { return l.session.lock(l.key, Exclusive, l.options) }

// Semaphore returns a lock of a key with a limit of permits, of which Acquire takes some. All who use it give the same limit.
func (s *Session) Semaphore(key string, limit, permits uint32, options ...LockOption) *Lock {
	l := s.lock(key, Permits, options)
	l.limit, l.permits = limit, permits
	return l
}

// owner returns a name for one possession.
func (l *Lock) owner() string {
	if l.options.owner != nil {
		return *l.options.owner
	}
	return hex.EncodeToString(randomBytes(8))
}

// TryAcquire takes the lock if it is free and nobody waits. Else held is nil, and info tells who has it.
func (l *Lock) TryAcquire(ctx context.Context) (held *Held, info *LockInfo, err error) {
	if l.key == "" {
		return nil, nil, invalid("the key is empty")
	}
	s := l.session
	own := ownName{key: l.key, owner: l.owner()}
	ctx, c, err := s.claim(ctx, own)
	if err != nil {
		return nil, nil, err
	}
	request := &tenurev1.TryAcquireLockRequest{
		Key: l.key, SessionId: s.id, Mode: tenurev1.LockMode(l.mode), Permits: l.permits, Limit: l.limit,
	}
	if l.options.hasValue {
		request.Value = append([]byte{}, l.options.value...)
	}
	var answer *tenurev1.TryAcquireLockResponse
	var last uint64
	made := false // Whether a request may have made a hold.
	held, err = c.acquire(ctx, func(ctx context.Context) (_ *tenurev1.Hold, err error) {
		last, err = s.changeNumbered(ctx, func(ctx context.Context, link *conn.Link, o *tenurev1.CallOptions) (err error) {
			o.Owner = own.owner
			request.Options = o
			answer, err = tenurev1.NewLockServiceClient(link).TryAcquireLock(ctx, request)
			return err
		})
		made = err == nil && answer.GetAcquired() || err != nil && AppliedOf(err) != AppliedNo
		return answer.GetHold(), err
	})
	switch {
	case err != nil && made:
		c.abandon(last)
		return nil, nil, l.given(err, &abandoned{})
	case err == nil && held == nil:
		info = lockInfo(s.client.space, answer.GetLock())
	}
	c.settle()
	return held, info, err
}

// Do runs f while holding the lock; its context ends when the lock may be lost. It returns f's error, joined with the loss of
// the lock if it was lost.
func (l *Lock) Do(ctx context.Context, f func(ctx context.Context, held *Held) error) error {
	held, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	return held.do(ctx, f)
}

// LockInfo is a lock as it is.
type LockInfo struct {
	// Key of the lock.
	Key string
	// Mode in use; zero when free.
	Mode Mode
	// Limit of permits.
	Limit uint32
	// LockIndex is the number of the last hold.
	LockIndex uint64
	// Holds are the valid holds, at most 100 (8 in answers to an acquire).
	Holds []HoldInfo
	// Holders, Waiters and Delayed count all of them: delayed are lost holds that still count.
	Holders, Waiters, Delayed int
	// Message is the answer as it came, with what is left out here.
	Message *tenurev1.Lock
}

// HoldInfo is one possession of a lock.
type HoldInfo struct {
	SessionID   string
	SessionName string
	Owner       string
	Token       uint64
	LockIndex   uint64
	Permits     uint32
}

func lockInfo(names space, lock *tenurev1.Lock) *LockInfo {
	info := &LockInfo{
		Key: names.own(lock.GetKey()), Mode: Mode(lock.GetMode()), Limit: lock.GetLimit(), LockIndex: lock.GetLockIndex(),
		Holders: int(lock.GetHolders()), Waiters: int(lock.GetWaiters()), Delayed: int(lock.GetDelayedHolds()), Message: lock,
	}
	for _, hold := range lock.GetHolds() {
		info.Holds = append(info.Holds, holdInfo(hold))
	}
	return info
}

func holdInfo(hold *tenurev1.Hold) HoldInfo {
	q := hold.GetSequencer()
	return HoldInfo{
		SessionID: q.GetSessionId(), SessionName: hold.GetSessionName(), Owner: hold.GetOwner(),
		Token: q.GetFencingToken(), LockIndex: q.GetLockIndex(), Permits: hold.GetPermits(),
	}
}

// GetLock returns the lock of a key; ErrLockNotFound if there is none.
func (c *Client) GetLock(ctx context.Context, key string) (*LockInfo, error) {
	full, err := c.space.fullKey(key)
	if err != nil {
		return nil, err
	}
	var answer *tenurev1.GetLockResponse
	err = c.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewLockServiceClient(l).GetLock(ctx, &tenurev1.GetLockRequest{Key: full})
		return err
	})
	if err != nil {
		return nil, err
	}
	return lockInfo(c.space, answer.GetLock()), nil
}

// BreakLock takes a lock away from all its holders, for operators; lock-delay applies. The reason is kept.
func (c *Client) BreakLock(ctx context.Context, key, reason string) (holds int, err error) {
	full, err := c.space.fullKey(key)
	if err != nil {
		return 0, err
	}
	var answer *tenurev1.BreakLockResponse
	err = c.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) (err error) {
		answer, err = tenurev1.NewLockServiceClient(l).BreakLock(ctx, &tenurev1.BreakLockRequest{
			Key: full, Reason: reason, Options: o,
		})
		return err
	})
	return int(answer.GetHolds()), err
}
