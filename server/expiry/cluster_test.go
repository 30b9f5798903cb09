package expiry_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// tolerance is how much later than its TTL a session may end in a quiet cluster.
const tolerance = time.Second

// cluster is a state machine of sessions, delays and waits only, with a log that commits at once.
type cluster struct {
	t      *testing.T
	timers *expiry.Timers
	logs   *observer.ObservedLogs
	start  time.Time

	jumped       atomic.Int64
	done, commit atomic.Uint64 // what Progress returns

	mu       sync.Mutex // guards what follows
	term     uint64
	applied  storage.Applied
	sessions map[storage.SessionID]*storev1.SessionRecord
	delays   []storage.Delay
	waits    []storage.Wait
	freeze   *storev1.FreezeRecord // nil: not frozen
	tokens   []storage.JoinToken
	// authTokens are the tokens of callers; ahead is by how much the clocks of a majority are ahead of the bubble's.
	authTokens []*storev1.TokenRecord
	ahead      time.Duration
	commands   []*storev1.Command
	endedAt    map[storage.SessionID]time.Duration
	// propose, if set, is asked before a command is applied.
	propose func(ctx context.Context, c *storev1.Command) error
	// left says which sessions a command leaves for the next.
	left func(id []byte) bool
	// paging, if set, is called while a page of sessions is read.
	paging func()
	// loadTakes is how long a new leader reads after its first page.
	loadTakes time.Duration
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return newClusterAt(t, 0)
}

// newClusterAt returns a cluster whose clock starts at a time.
func newClusterAt(t *testing.T, clock time.Duration) *cluster {
	t.Helper()
	c := &cluster{
		t:        t,
		start:    time.Now(),
		sessions: map[storage.SessionID]*storev1.SessionRecord{},
		endedAt:  map[storage.SessionID]time.Duration{},
	}
	c.jump(clock)
	core, logs := observer.New(zap.InfoLevel)
	c.logs = logs
	timers, err := expiry.New(expiry.Options{
		Logger:   zap.New(core),
		Propose:  c.Propose,
		Snapshot: func() expiry.Snapshot { return c },
		Progress: func() (applied, commit uint64) { return c.done.Load(), c.commit.Load() },
		Now:      c.now,
		MajorityTime: func() (time.Time, bool) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return time.Now().Add(c.ahead), c.ahead >= 0
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.timers = timers
	return c
}

// now is the member's clock: that of the bubble, and what jump added.
func (c *cluster) now() time.Duration { return time.Since(c.start) + time.Duration(c.jumped.Load()) }

// jump lets the clock run while the process stands still.
func (c *cluster) jump(d time.Duration) { c.jumped.Add(int64(d)) }

// lead begins a term; the returned function ends it.
func (c *cluster) lead() (stop func()) {
	c.mu.Lock()
	c.term++
	term := c.term
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan error, 1)
	go func() { done <- c.timers.Lead(ctx, term) }()
	synctest.Wait()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Errorf("Lead: got %v, want nil", err)
		}
	})
}

// sid returns a session id made of a number.
func sid(n int) storage.SessionID {
	var id storage.SessionID
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// publish applies events of one revision; c.mu is held.
func (c *cluster) publish(events ...*storev1.Event) {
	if len(events) > 0 {
		c.applied.Revision++
	}
	for i, e := range events {
		e.Revision, e.Index = c.applied.Revision, uint32(i)
	}
	c.applied.Sessions = uint64(len(c.sessions))
	c.timers.Publish(storage.Outcome{Events: events, Applied: c.applied})
}

func begun(id storage.SessionID, ttl time.Duration) *storev1.Event {
	return &storev1.Event{Kind: &storev1.Event_SessionBegun{SessionBegun: &storev1.SessionBegun{
		SessionId: id[:], TtlMs: ttl.Milliseconds(),
	}}}
}

func endedEvent(id storage.SessionID, cause storev1.SessionEndCause) *storev1.Event {
	return &storev1.Event{Kind: &storev1.Event_SessionEnded{SessionEnded: &storev1.SessionEnded{SessionId: id[:], Cause: cause}}}
}

// create opens sessions.
func (c *cluster) create(ttl time.Duration, ids ...storage.SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.sessions[id] = &storev1.SessionRecord{TtlMs: ttl.Milliseconds(), Epoch: 1}
		c.publish(begun(id, ttl))
	}
}

// destroy ends a session at a request.
func (c *cluster) destroy(id storage.SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
	c.publish(endedEvent(id, storev1.SessionEndCause_SESSION_END_CAUSE_DESTROYED))
}

// renew renews a session as a leader with proof does.
func (c *cluster) renew(id storage.SessionID) expiry.Verdict {
	r := []expiry.Renewal{{ID: id}}
	c.timers.Receive(r)
	c.timers.Settle(c.term, r)
	return r[0].Verdict
}

// Propose applies a command.
func (c *cluster) Propose(ctx context.Context, cmd *storev1.Command) (*storev1.Result, error) {
	c.mu.Lock()
	c.commands = append(c.commands, proto.CloneOf(cmd))
	gate := c.propose
	c.mu.Unlock()
	if gate != nil {
		if err := gate(ctx, cmd); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_ExpireSessions:
		if kind.ExpireSessions.GetTerm() != c.term {
			return &storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_TERM_MISMATCH}}, nil
		}
		return c.expire(kind.ExpireSessions), nil
	case *storev1.Command_EndDelays:
		var events []*storev1.Event
		for _, d := range kind.EndDelays.GetDelays() {
			events = append(events, &storev1.Event{Kind: &storev1.Event_LockDelayEnded{LockDelayEnded: &storev1.LockDelayEnded{
				Key: d.GetKey(), LockIndex: d.GetLockIndex(), FencingToken: d.GetFencingToken(),
			}}})
		}
		c.publish(events...)
	case *storev1.Command_EndWaits:
		var events []*storev1.Event
		for _, p := range kind.EndWaits.GetPlaces() {
			events = append(events, &storev1.Event{Kind: &storev1.Event_LockLeft{LockLeft: &storev1.LockLeft{
				Key: p.GetKey(), Place: p.GetPlace(), Cause: storev1.WaitEndCause_WAIT_END_CAUSE_TIMED_OUT,
			}}})
		}
		c.publish(events...)
	case *storev1.Command_EndFreeze:
		if term := kind.EndFreeze.GetTerm(); term != 0 && term != c.term {
			return &storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_TERM_MISMATCH}}, nil
		}
		c.freeze = nil
		c.publish()
	case *storev1.Command_EndJoinTokens:
		if kind.EndJoinTokens.GetTerm() != c.term {
			return &storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_TERM_MISMATCH}}, nil
		}
		for _, ref := range kind.EndJoinTokens.GetTokens() {
			c.tokens = slices.DeleteFunc(slices.Clone(c.tokens), func(t storage.JoinToken) bool {
				return t.Name == ref.GetName() && bytes.Equal(t.GetTokenSha256(), ref.GetTokenSha256())
			})
		}
	case *storev1.Command_EndTokens:
		if kind.EndTokens.GetTerm() != c.term {
			return &storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_TERM_MISMATCH}}, nil
		}
		for _, ref := range kind.EndTokens.GetTokens() {
			c.authTokens = slices.DeleteFunc(slices.Clone(c.authTokens), func(t *storev1.TokenRecord) bool {
				return bytes.Equal(t.GetAccessor(), ref.GetAccessor())
			})
		}
	case *storev1.Command_GrantWaiters:
		if c.freeze != nil {
			return &storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_FROZEN}}, nil
		}
		if c.applied.GrantsLeft > 0 {
			c.applied.GrantsLeft--
		}
		c.publish()
		return &storev1.Result{Changed: true}, nil
	default:
		return nil, errors.New("command that timers do not propose")
	}
	return &storev1.Result{Changed: true}, nil
}

func (c *cluster) expire(e *storev1.ExpireSessions) *storev1.Result {
	out := &storev1.EndSessionsResult{}
	var events []*storev1.Event
	for _, b := range e.GetSessionIds() {
		id := storage.SessionID(b)
		switch {
		case c.sessions[id] == nil:
			out.Missing++
		case c.left != nil && c.left(b):
			out.LeftSessionIds = append(out.LeftSessionIds, b)
		default:
			delete(c.sessions, id)
			c.endedAt[id] = c.now()
			out.EndedSessionIds = append(out.EndedSessionIds, b)
			events = append(events, endedEvent(id, storev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED))
		}
	}
	c.publish(events...)
	return &storev1.Result{Kind: &storev1.Result_EndSessions{EndSessions: out}, Changed: true}
}

// ended returns when a session ended by expiry, if it did.
func (c *cluster) ended(id storage.SessionID) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.endedAt[id]
	return at, ok
}

// proposed returns how many commands were proposed.
func (c *cluster) proposed() []*storev1.Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.commands
}

// Applied, Sessions, Delays, Waits, Freeze, JoinTokens and Close make the cluster a snapshot of itself.
func (c *cluster) Applied() (storage.Applied, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied, nil
}

func (c *cluster) Sessions(storage.SessionID, int) ([]storage.SessionEntry, bool, error) {
	c.mu.Lock()
	var page []storage.SessionEntry
	for id, r := range c.sessions {
		page = append(page, storage.SessionEntry{ID: id, Record: r})
	}
	paging := c.paging
	c.mu.Unlock()
	if paging != nil {
		paging()
	}
	return page, false, nil
}

func (c *cluster) Delays() ([]storage.Delay, error) { return c.delays, nil }
func (c *cluster) Waits() ([]storage.Wait, error) {
	c.jump(c.loadTakes)
	return c.waits, nil
}

func (c *cluster) Freeze() (*storev1.FreezeRecord, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.freeze, c.freeze != nil, nil
}

func (c *cluster) JoinTokens() ([]storage.JoinToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens, nil
}

func (c *cluster) Tokens(after string, limit int) ([]*storev1.TokenRecord, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var page []*storev1.TokenRecord
	for _, t := range c.authTokens {
		if len(page) < limit && string(t.GetAccessor()) > after {
			page = append(page, t)
		}
	}
	return page, nil
}
func (c *cluster) Close() error { return nil }
