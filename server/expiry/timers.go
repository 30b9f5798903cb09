package expiry

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// Proposer puts a command into the log and returns its result once it is applied here.
type Proposer func(ctx context.Context, c *storev1.Command) (*storev1.Result, error)

// Snapshot is what a new leader reads. storage.Reader is one.
type Snapshot interface {
	// Applied is the state's account of itself as of the snapshot.
	Applied() (storage.Applied, error)
	// Sessions returns live sessions in pages, by id.
	Sessions(after storage.SessionID, limit int) ([]storage.SessionEntry, bool, error)
	// Delays returns all delayed holds.
	Delays() ([]storage.Delay, error)
	// Waits returns all places with a time-out.
	Waits() ([]storage.Wait, error)
	// Freeze returns the freeze of grants after a restore, or false.
	Freeze() (*storev1.FreezeRecord, bool, error)
	// JoinTokens returns all join tokens.
	JoinTokens() ([]storage.JoinToken, error)
	// Tokens returns up to limit tokens behind an accessor, by accessor.
	Tokens(after string, limit int) ([]*storev1.TokenRecord, error)
	// Close ends the snapshot.
	Close() error
}

// Options says what the timers work with. Propose and Snapshot are required.
type Options struct {
	// Propose puts a command into the log.
	Propose Proposer
	// Snapshot returns the state as it is.
	Snapshot func() Snapshot
	// Progress returns the last index applied here and the highest one known to be committed. While the first stands behind the
	// second nothing ends: renewals may be among what is not applied, or wait for it. Nil is a state that is never behind.
	Progress func() (applied, commit uint64)
	// MajorityTime returns the latest time that the wall clocks of a majority of the members have reached, and whether it is known.
	// Tokens that ended are deleted by it; nil: none is deleted.
	MajorityTime func() (time.Time, bool)
	// Now is a monotonic clock; nil is the process's. Where it starts does not matter.
	Now func() time.Duration
	// WallNow is a wall clock, for what people are shown; nil is the system's.
	WallNow func() time.Time
	// Logger takes one line for each session's end, and stalls; nil logs nothing.
	Logger *zap.Logger
	// Registerer takes the metrics; nil keeps them unseen.
	Registerer prometheus.Registerer
}

// Timers are the timers of sessions, lock-delays, waits and join tokens, and of the freeze after a restore. They run while this
// member leads. All methods may be called from any goroutine, but Publish only from one.
type Timers struct {
	propose  Proposer
	snapshot func() Snapshot
	progress func() (applied, commit uint64)
	now      func() time.Duration // since New
	wallNow  func() time.Time
	// majorityTime is the time of a majority of the members, if it is known.
	majorityTime func() (time.Time, bool)
	log          *zap.Logger
	metrics      *metrics

	table      atomic.Pointer[table] // nil unless this member leads and knows its sessions
	terms      atomic.Pointer[term]  // what the present term runs on; nil unless this member leads
	stall      atomic.Int64          // by how much lease time is behind the clock
	grantsLeft atomic.Uint64         // locks that wait for GrantWaiters
	endMarks   atomic.Uint64         // marks of the end list
	withoutTTL atomic.Int64

	mu      sync.Mutex // guards what follows
	serial  uint32
	loading *term             // the term that reads its snapshot
	backlog []storage.Outcome // what was published meanwhile
	changed chan struct{}     // closed when an Expire has an outcome, or leadership begins or ends
}

// New returns timers that do nothing until they lead.
func New(o Options) (*Timers, error) {
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	t := &Timers{
		propose:      o.Propose,
		snapshot:     o.Snapshot,
		progress:     o.Progress,
		now:          o.Now,
		wallNow:      o.WallNow,
		majorityTime: o.MajorityTime,
		log:          o.Logger,
		metrics:      m,
		changed:      make(chan struct{}),
	}
	if t.progress == nil {
		t.progress = func() (applied, commit uint64) { return 0, 0 }
	}
	if t.now == nil {
		start := time.Now()
		t.now = func() time.Duration { return time.Since(start) }
	} else {
		start := t.now()
		t.now = func() time.Duration { return o.Now() - start }
	}
	if t.majorityTime == nil {
		t.majorityTime = func() (time.Time, bool) { return time.Time{}, false }
	}
	if t.wallNow == nil {
		t.wallNow = time.Now
	}
	if t.log == nil {
		t.log = zap.NewNop()
	}
	return t, nil
}

// stalled is by how much lease time is behind the clock.
func (t *Timers) stalled() time.Duration { return time.Duration(t.stall.Load()) }

// lease is the time that deadlines are given in: the clock without the times in which this process stood still. From tick to tick it
// never goes back.
func (t *Timers) lease() time.Duration { return t.now() - t.stalled() }

// Changed returns a channel that is closed when renewals that were Expiring may have a verdict, or when this member
// begins or ceases to lead.
func (t *Timers) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

func (t *Timers) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.changed)
	t.changed = make(chan struct{})
}

// Term returns the term in which the timers run, zero if they do not.
func (t *Timers) Term() uint64 {
	if tb := t.table.Load(); tb != nil {
		return tb.term
	}
	return 0
}

// Publish tells what was applied. The apply goroutine calls it for every outcome, in order; it never waits.
func (t *Timers) Publish(o storage.Outcome) {
	t.metrics.sessions.Set(float64(o.Applied.Sessions))
	t.grantsLeft.Store(o.Applied.GrantsLeft)
	t.endMarks.Store(o.Applied.EndMarks)
	t.mu.Lock()
	if t.loading != nil {
		t.backlog = append(t.backlog, o)
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	if term := t.terms.Load(); term != nil && t.apply(term, o.Events) {
		t.wake()
	}
}

// apply brings a term's timers up to date. It reports whether renewals may wait for one of the events.
func (t *Timers) apply(term *term, events []*storev1.Event) bool {
	lease := t.lease()
	waited := false
	for _, e := range after(events, term.revision) {
		switch kind := e.GetKind().(type) {
		case *storev1.Event_SessionBegun:
			s := kind.SessionBegun
			if id, err := storage.SessionIDFromBytes(s.GetSessionId()); err == nil {
				t.begin(term, session{id: id, ttlMs: s.GetTtlMs(), epoch: 1}, lease)
			}
		case *storev1.Event_SessionTakenOver:
			if id, err := storage.SessionIDFromBytes(kind.SessionTakenOver.GetSessionId()); err == nil {
				term.table.raise(id, kind.SessionTakenOver.GetEpoch())
			}
		case *storev1.Event_SessionEnded:
			waited = t.sessionEnded(term, kind.SessionEnded) || waited
		case *storev1.Event_LockDelayBegun:
			d := kind.LockDelayBegun
			term.delays.begin(delayID{d.GetKey(), d.GetLockIndex()},
				delay{token: d.GetFencingToken(), deadline: lease + ms(d.GetDelayMs())})
		case *storev1.Event_LockDelayEnded:
			term.delays.end(delayID{kind.LockDelayEnded.GetKey(), kind.LockDelayEnded.GetLockIndex()})
		case *storev1.Event_LockQueued:
			q := kind.LockQueued
			if id, err := storage.SessionIDFromBytes(q.GetSessionId()); err == nil && q.GetWaitMs() > 0 {
				term.waits.begin(waitID{q.GetKey(), q.GetPlace()}, wait{session: id, deadline: lease + ms(q.GetWaitMs())})
			}
		case *storev1.Event_LockLeft:
			term.waits.end(waitID{kind.LockLeft.GetKey(), kind.LockLeft.GetPlace()})
		case *storev1.Event_LockGranted:
			if place := kind.LockGranted.GetPlace(); place != 0 {
				term.waits.end(waitID{kind.LockGranted.GetKey(), place})
			}
		}
	}
	return waited
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// begin starts the timer of a session.
func (t *Timers) begin(term *term, s session, lease time.Duration) {
	if term.table.begin(s, lease) && s.ttlMs == 0 {
		t.metrics.withoutTTL.Set(float64(t.withoutTTL.Add(1)))
	}
}

// sessionEnded stops the timer of a session. It reports whether renewals wait for it.
func (t *Timers) sessionEnded(term *term, s *storev1.SessionEnded) bool {
	id, err := storage.SessionIDFromBytes(s.GetSessionId())
	if err != nil {
		return false
	}
	gone := term.table.end(id)
	if gone.known && gone.ttlMs == 0 {
		t.metrics.withoutTTL.Set(float64(t.withoutTTL.Add(-1)))
	}
	if gone.known && s.GetCause() == storev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED {
		t.metrics.expired.Inc()
		t.metrics.lag.Observe((t.lease() - gone.deadline).Seconds())
	}
	term.ends.put(s)
	return gone.waited
}

// SessionLeft returns how long a session lives on without a renewal, and when it was last renewed in this term (the zero
// time: not yet). It is false for a session without TTL, and where only the leader knows.
func (t *Timers) SessionLeft(id storage.SessionID) (left time.Duration, lastRenewal time.Time, ok bool) {
	tb := t.table.Load()
	if tb == nil {
		return 0, time.Time{}, false
	}
	sh, _ := tb.shard(&id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.byID[id]
	if e == nil || e.ttlMs == 0 {
		return 0, time.Time{}, false
	}
	now := t.now()
	if e.renewed >= 0 {
		lastRenewal = t.wallNow().Add(e.renewed - now)
	}
	return max(e.deadline-(now-t.stalled()), 0), lastRenewal, true
}

// DelayLeft returns how long a lost hold still counts. It is false where only the leader knows.
func (t *Timers) DelayLeft(key string, lockIndex uint64) (time.Duration, bool) {
	term := t.terms.Load()
	if term == nil {
		return 0, false
	}
	d, ok := term.delays.get(delayID{key, lockIndex})
	if !ok {
		return 0, false
	}
	return max(d.deadline-t.lease(), 0), true
}
