package tenure

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Mode determines how a lock is shared.
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

// Lock is the lock of a key, for a session. Each Acquire makes a separate hold: two holds of the same session exclude
// each other, unless they have the same owner.
type Lock struct {
	session *Session
	key     string // With namespace.
	keyErr  error  // Why the key cannot be one.
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

// WithOwner names the hold within the session: an Acquire with the owner of an existing hold or place finds that hold
// or place.
func WithOwner(name string) LockOption {
	return func(o *acquireOptions) { o.owner = &name }
}

// WithValue writes a value to the key with the grant. Without it the key keeps its value, and a missing key gets an
// empty one.
func WithValue(value []byte) LockOption {
	return func(o *acquireOptions) { o.value, o.hasValue = value, true }
}

// WithWait makes Acquire fail with ErrWaitTimedOut if the lock was not acquired within this time. With a wait of zero
// or less, as with TryAcquire, the lock is acquired only if it is free and has no waiters.
func WithWait(wait time.Duration) LockOption {
	return func(o *acquireOptions) { o.wait, o.hasWait = wait, true }
}

// WithQueuedFunc makes Acquire call f with its place in the queue, at first and whenever it changes, one call at a
// time, from a goroutine of the library. The wait continues when f has returned; if the wait ends before that, Acquire
// does not wait for f.
func WithQueuedFunc(f func(Queued)) LockOption {
	return func(o *acquireOptions) { o.onQueued = f }
}

// Queued describes the place of an Acquire in the queue.
type Queued struct {
	// Position is the number of waiters before it.
	Position int
	// Lock is the state of the lock when the wait started; nil later.
	Lock *LockInfo
}

// Lock returns the lock of a key.
func (s *Session) Lock(key string, options ...LockOption) *Lock {
	return lockOf(s, key, Exclusive, options)
}

func lockOf(s *Session, key string, mode Mode, options []LockOption) *Lock {
	l := &Lock{session: s, mode: mode}
	l.key, l.keyErr = s.client.space.fullKey(key)
	for _, option := range options {
		option(&l.options)
	}
	return l
}

// ReadWriteLock is a lock that many readers or one writer can hold. Readers that come after a waiting writer wait
// behind it.
type ReadWriteLock struct {
	session *Session
	key     string
	options []LockOption
}

// ReadWriteLock returns the read-write lock of a key.
func (s *Session) ReadWriteLock(key string, options ...LockOption) *ReadWriteLock {
	return &ReadWriteLock{session: s, key: key, options: options}
}

// Read returns the shared side.
func (l *ReadWriteLock) Read() *Lock { return lockOf(l.session, l.key, Shared, l.options) }

// Write returns the exclusive side.
func (l *ReadWriteLock) Write() *Lock { return lockOf(l.session, l.key, Exclusive, l.options) }

// Semaphore returns a lock of a key with a total number of permits, limit, of which Acquire takes permits. All users
// must give the same limit.
func (s *Session) Semaphore(key string, limit, permits uint32, options ...LockOption) *Lock {
	l := lockOf(s, key, Permits, options)
	l.limit, l.permits = limit, permits
	return l
}

// own returns a name for one possession.
func (l *Lock) own() (ownName, error) {
	own := ownName{key: l.key}
	if l.options.owner != nil {
		own.owner = *l.options.owner
	} else {
		own.owner = hex.EncodeToString(randomBytes(8))
	}
	if l.keyErr != nil {
		return own, l.keyErr
	}
	return own, sendable(&tenurev1.Place{Key: own.key, Owner: own.owner})
}

// TryAcquire acquires the lock if it is free and has no waiters. Otherwise held is nil, and info describes the holders.
func (l *Lock) TryAcquire(ctx context.Context) (held *Held, info *LockInfo, err error) {
	own, err := l.own()
	if err != nil {
		return nil, nil, err
	}
	ctx, c, err := l.session.custody.claim(ctx, own)
	if err != nil {
		return nil, nil, err
	}
	t := &try{session: l.session, request: &tenurev1.TryAcquireLockRequest{
		Key: l.key, SessionId: l.session.id, Mode: tenurev1.LockMode(l.mode), Permits: l.permits, Limit: l.limit,
	}, owner: own.owner}
	if l.options.hasValue {
		t.request.Value = append([]byte{}, l.options.value...)
	}
	held, err = c.acquire(ctx, t.once)
	if err != nil && t.left != nothing {
		c.abandon(t.last)
		return nil, nil, l.given(err, &abandoned{})
	}
	c.done()
	if err == nil && held == nil {
		info = lockInfo(l.session.client.space, t.answer.GetLock())
	}
	return held, info, err
}

// try is what a TryAcquire asks, as often as it takes.
type try struct {
	session *Session
	request *tenurev1.TryAcquireLockRequest
	owner   string
	answer  *tenurev1.TryAcquireLockResponse
	left    remains
	last    uint64 // The number of the last request.
}

// once asks, and returns the hold if there is one.
func (t *try) once(ctx context.Context) (*tenurev1.Hold, error) {
	t.answer = nil
	var err error
	t.last, err = t.session.calls.changeNumbered(ctx, t.send)
	switch {
	case err != nil && AppliedOf(err) != AppliedNo:
		t.left = perhaps
	case t.answer.GetAcquired():
		t.left = something
	default:
		t.left = nothing
	}
	return t.answer.GetHold(), err
}

// send makes one attempt.
func (t *try) send(ctx context.Context, link *conn.Link, o *tenurev1.CallOptions) (err error) {
	o.Owner = t.owner
	t.request.Options = o
	t.answer, err = tenurev1.NewLockServiceClient(link).TryAcquireLock(ctx, t.request)
	return err
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

// LockInfo is the current state of a lock.
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
	// Holders, Waiters and Delayed are the numbers of all holders, waiters and delayed holds.
	Holders, Waiters, Delayed int
	// Message is the answer as received, with fields that are not copied here.
	Message *tenurev1.Lock
}

// HoldInfo describes a hold of a lock.
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

// BreakLock takes a lock away from all its holders; it is for operators. The lock-delay applies, and the reason is stored.
// A lock with very many holders takes several calls, and holds granted between them remain. If one call fails, holds is
// the number that the earlier calls broke.
func (c *Client) BreakLock(ctx context.Context, key, reason string) (holds int, err error) {
	full, err := c.space.fullKey(key)
	if err != nil {
		return 0, err
	}
	if err = sendable(&tenurev1.BreakLockRequest{Reason: reason}); err != nil {
		return 0, err
	}
	for token, remaining := "", uint32(0); ; {
		var answer *tenurev1.BreakLockResponse
		err = c.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) (err error) {
			answer, err = tenurev1.NewLockServiceClient(l).BreakLock(ctx, &tenurev1.BreakLockRequest{
				Key: full, Reason: reason, Options: o, BreakToken: token,
			})
			return err
		})
		if err != nil && token != "" {
			return holds, fmt.Errorf("%d holds were broken, and %d remain: %w", holds, remaining, err)
		}
		holds += int(answer.GetHolds())
		if token, remaining = answer.GetBreakToken(), answer.GetRemaining(); err != nil || token == "" {
			return holds, err
		}
	}
}
