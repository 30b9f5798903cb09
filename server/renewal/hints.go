package renewal

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/storage"
)

const (
	// hintBatchesMax is how many batches of events may wait for the hinter; what comes then gives no hints.
	hintBatchesMax = 256
	// contendedInterval is how often a holder is told at most that somebody queues.
	contendedInterval = time.Second
	// contendedHoldsMax is how many holders of a lock are told that somebody queues.
	contendedHoldsMax = 1024
	// contendedToldMax is how many holds may be told in an interval; others are not.
	contendedToldMax = 64 << 10
)

// Hinter tells KeepAlive streams early what happens to the locks of their sessions. Hints are best effort: what comes
// too fast is dropped, for AttachSession tells the truth. A batch without lock events costs one look at each event, and
// a member without streams nothing.
type Hinter struct {
	events chan []*storev1.Event
	known  atomic.Int64 // length of keepers

	mu      sync.RWMutex // guards keepers; no other lock is taken under it
	keepers map[storage.SessionID]*keeper
}

// NewHinter returns a hinter that knows of no stream.
func NewHinter() *Hinter {
	return &Hinter{
		events:  make(chan []*storev1.Event, hintBatchesMax),
		keepers: map[storage.SessionID]*keeper{},
	}
}

// add notes which stream renewed a session last: that one gets the hints.
func (h *Hinter) add(id storage.SessionID, k *keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keepers[id] = k
	h.known.Store(int64(len(h.keepers)))
}

// remove notes that a stream renews a session no more.
func (h *Hinter) remove(k *keeper, ids ...storage.SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if h.keepers[id] == k {
			delete(h.keepers, id)
		}
	}
	h.known.Store(int64(len(h.keepers)))
}

// keeperOf returns the stream that renewed a session last; nil if there is none here.
func (h *Hinter) keeperOf(sessionID []byte) *keeper {
	id, err := storage.SessionIDFromBytes(sessionID)
	if err != nil {
		return nil
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.keepers[id]
}

// Publish takes what was applied. The apply goroutine calls it; it never waits.
func (h *Hinter) Publish(events []*storev1.Event) {
	if h.known.Load() == 0 || !slices.ContainsFunc(events, givesHint) {
		return
	}
	select {
	case h.events <- events:
	default:
	}
}

// givesHint tells whether somebody may want to hear of an event.
func givesHint(e *storev1.Event) bool {
	switch e.GetKind().(type) {
	case *storev1.Event_LockQueued, *storev1.Event_LockGranted, *storev1.Event_LockReleased, *storev1.Event_LockLost:
		return true
	default:
		return false
	}
}

// Run makes hints until ctx ends.
func (h *Hinter) Run(ctx context.Context, a *call.Caller) {
	teller := &hintTeller{hinter: h, api: a, told: map[holdName]time.Time{}}
	for {
		select {
		case <-ctx.Done():
			return
		case events := <-h.events:
			teller.tell(events)
		}
	}
}

// holdName names one possession of a lock.
type holdName struct {
	key       string
	lockIndex uint64
}

// hintTeller makes hints of events. One goroutine uses it.
type hintTeller struct {
	hinter *Hinter
	api    *call.Caller
	told   map[holdName]time.Time // when a holder was told that somebody queues
	swept  time.Time              // when those of long ago were forgotten
}

// tell makes hints of a batch.
func (t *hintTeller) tell(events []*storev1.Event) {
	var contended []string // keys of locks where somebody queues
	seen := map[string]bool{}
	look := func(key string) {
		if !seen[key] {
			seen[key] = true
			contended = append(contended, key)
		}
	}
	for _, e := range events {
		switch kind := e.GetKind().(type) {
		case *storev1.Event_LockQueued:
			look(kind.LockQueued.GetKey())
		case *storev1.Event_LockGranted:
			if g := kind.LockGranted; g.GetPlace() != 0 && t.granted(e, g) {
				look(g.GetKey()) // Others may stand behind it.
			}
		case *storev1.Event_LockReleased:
			t.released(e, kind.LockReleased)
		case *storev1.Event_LockLost:
			t.lost(e, kind.LockLost)
		}
	}
	t.contended(contended)
}

// granted tells of a grant to one who queued, if its session is on a stream here.
func (t *hintTeller) granted(e *storev1.Event, g *storev1.LockGranted) bool {
	k := t.hinter.keeperOf(g.GetSessionId())
	if k != nil {
		k.hint(&tenurev1.SessionHint{
			SessionId: call.SessionText(g.GetSessionId()),
			Kind:      &tenurev1.SessionHint_Granted{Granted: t.api.GrantedToProto(e)},
		})
	}
	return k != nil
}

// released tells of a hold that ended without delay, but not by a release. Who ended the session itself has given up the hold before.
func (t *hintTeller) released(e *storev1.Event, r *storev1.LockReleased) {
	switch r.GetCause() {
	case storev1.HoldEndCause_HOLD_END_CAUSE_TAKEN_OVER, storev1.HoldEndCause_HOLD_END_CAUSE_FORCE_RELEASED,
		storev1.HoldEndCause_HOLD_END_CAUSE_SESSION_CLOSED, storev1.HoldEndCause_HOLD_END_CAUSE_SESSION_FORCED:
		t.lost(e, &storev1.LockLost{
			Key: r.GetKey(), LockIndex: r.GetLockIndex(), FencingToken: r.GetFencingToken(),
			SessionId: r.GetSessionId(), Owner: r.GetOwner(), Mode: r.GetMode(), Permits: r.GetPermits(),
			SessionName: r.GetSessionName(),
		})
	default:
	}
}

// lost tells of a hold that was lost.
func (t *hintTeller) lost(e *storev1.Event, l *storev1.LockLost) {
	k := t.hinter.keeperOf(l.GetSessionId())
	if k == nil {
		return
	}
	hold := call.HoldToProto(&storev1.HoldState{
		Key: l.GetKey(), LockIndex: l.GetLockIndex(), FencingToken: l.GetFencingToken(),
		SessionId: l.GetSessionId(), Owner: l.GetOwner(), Mode: l.GetMode(), Permits: l.GetPermits(),
		SessionName: l.GetSessionName(), Delayed: true, LostTimeMs: e.GetWallTimeMs(),
	}, t.api.History(), t.api.Timers)
	if hold.GetDelayLeft().AsDuration() == 0 {
		hold.DelayLeft = nil // There is no delay, or only the leader knows of it.
	}
	k.hint(&tenurev1.SessionHint{SessionId: call.SessionText(l.GetSessionId()), Kind: &tenurev1.SessionHint_Lost{Lost: hold}})
}

// contended tells holders that somebody queues for their locks, if that is still so.
func (t *hintTeller) contended(keys []string) {
	if len(keys) == 0 {
		return
	}
	t.sweep()
	s, err := t.api.LocalSnapshot()
	if err != nil {
		t.api.Log.Debug("no hints", zap.Error(err))
		return
	}
	defer t.api.CloseSnapshot(s)
	for _, key := range keys {
		if err := t.contend(s, key); err != nil {
			t.api.Log.Debug("no hints", zap.Error(err))
			return
		}
	}
}

// contend tells the holders of one lock.
func (t *hintTeller) contend(s *call.Snapshot, key string) error {
	waiters, _, err := s.Waiters(key, 0, 1)
	if err != nil || len(waiters) == 0 {
		return err
	}
	holds, _, err := s.Holds(key, 0, contendedHoldsMax)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, hold := range holds {
		k := t.hinter.keeperOf(hold.GetSessionId())
		name := holdName{key: key, lockIndex: hold.GetLockIndex()}
		last, before := t.told[name]
		if k == nil || before && now.Sub(last) < contendedInterval || len(t.told) >= contendedToldMax {
			continue
		}
		t.told[name] = now
		k.hint(&tenurev1.SessionHint{
			SessionId: call.SessionText(hold.GetSessionId()),
			Kind:      &tenurev1.SessionHint_Contended{Contended: call.HoldToProto(hold, s.At.HistoryID, t.api.Timers)},
		})
	}
	return nil
}

// sweep forgets who was told long ago.
func (t *hintTeller) sweep() {
	now := time.Now()
	if now.Sub(t.swept) < contendedInterval {
		return
	}
	t.swept = now
	for name, told := range t.told {
		if now.Sub(told) >= contendedInterval {
			delete(t.told, name)
		}
	}
}
