package expiry

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

const (
	// tickInterval is how often the wheels are looked at.
	tickInterval = 50 * time.Millisecond
	// stallMin is how late a tick must be for this process to have stood still.
	stallMin = 200 * time.Millisecond
	// stallToWarn is from what stall on the log warns of it.
	stallToWarn = time.Second
	// stallGrace is for how long after a stall a timer must have run out before anything is proposed: meanwhile what waits in
	// the sockets is read. It is as long as five late ticks, in lease time.
	stallGrace = 250 * time.Millisecond
	// loadPage is how many sessions a new leader reads at once.
	loadPage = 1024
)

// term is what the timers of one term run on.
type term struct {
	number uint64
	// revision is that of the snapshot the timers began from; what it shows already is not applied again.
	revision uint64
	table    *table
	delays   *shots[delayID, delay]
	waits    *shots[waitID, wait]
	freeze   atomic.Pointer[freeze]       // of grants; nil: not frozen, as far as is known
	ends     queue[*storev1.SessionEnded] // to be told to people
}

// Lead runs the timers of one term until ctx ends. It is a leader task: it starts after the first entry of the term was
// applied, and all timers begin in full.
func (t *Timers) Lead(ctx context.Context, number uint64) error {
	tm, err := t.load(number)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("start the timers of term %d: %w", number, err)
	}
	t.wake()
	defer t.leave()
	g, ctx := errgroup.WithContext(ctx)
	l := newLeader(t, tm)
	g.Go(func() error { return l.run(ctx, g) })
	if err := g.Wait(); err != nil {
		return fmt.Errorf("timers of term %d: %w", number, err)
	}
	return nil
}

// leave ends the term.
func (t *Timers) leave() {
	t.mu.Lock()
	t.loading, t.backlog = nil, nil
	t.table.Store(nil)
	t.terms.Store(nil)
	t.mu.Unlock()
	t.withoutTTL.Store(0)
	t.metrics.withoutTTL.Set(0)
	t.wake()
}

// load starts all timers from a snapshot, and then from what was published since. What the snapshot shows already is
// recognised by its revision. Lease time stands still meanwhile: nobody can be renewed before all are known, so nobody's
// time runs.
func (t *Timers) load(number uint64) (*term, error) {
	began := t.now()
	hold := func() {
		now := t.now()
		t.stall.Add(int64(now - began))
		began = now
	}
	t.mu.Lock()
	t.serial++
	tm := &term{
		number: number,
		table:  newTable(t.serial, number),
		delays: newShots[delayID, delay](),
		waits:  newShots[waitID, wait](),
	}
	t.loading = tm
	t.mu.Unlock()
	if err := t.loadSnapshot(tm); err != nil {
		t.leave()
		return nil, err
	}
	for {
		hold()
		t.mu.Lock()
		backlog := t.backlog
		t.backlog = nil
		if len(backlog) == 0 {
			t.loading = nil
			t.terms.Store(tm)
			t.table.Store(tm.table)
			t.mu.Unlock()
			return tm, nil
		}
		t.mu.Unlock()
		for _, o := range backlog {
			t.apply(tm, o.Events)
		}
	}
}

// after returns the events of later revisions than revision.
func after(events []*storev1.Event, revision uint64) []*storev1.Event {
	for i, e := range events {
		if e.GetRevision() > revision {
			return events[i:]
		}
	}
	return nil
}

func (t *Timers) loadSnapshot(tm *term) (err error) {
	s := t.snapshot()
	defer func() { err = errors.Join(err, s.Close()) }()
	at, err := s.Applied()
	if err != nil {
		return err
	}
	tm.revision = at.Revision
	t.withoutTTL.Store(0)
	lease := t.lease()
	if err = t.loadSessions(tm, s, lease); err != nil {
		return err
	}
	if err = loadFreeze(tm, s, lease); err != nil {
		return err
	}
	delays, err := s.Delays()
	if err != nil {
		return err
	}
	for _, d := range delays {
		tm.delays.begin(delayID{d.Key, d.LockIndex}, delay{token: d.FencingToken, deadline: lease + ms(d.DelayMs)})
	}
	waits, err := s.Waits()
	if err != nil {
		return err
	}
	for _, w := range waits {
		tm.waits.begin(waitID{w.Key, w.Place}, wait{session: w.SessionID, deadline: lease + ms(w.WaitMs)})
	}
	return nil
}

func (t *Timers) loadSessions(tm *term, s Snapshot, lease time.Duration) error {
	var last storage.SessionID
	for more := true; more; {
		page, rest, err := s.Sessions(last, loadPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			t.begin(tm, session{
				id: e.ID, ttlMs: e.Record.GetTtlMs(), epoch: e.Record.GetEpoch(), secret: e.Record.GetSecretSha256(), told: true,
			}, lease)
			last = e.ID
		}
		more = rest && len(page) > 0
	}
	t.metrics.withoutTTL.Set(float64(t.withoutTTL.Load()))
	return nil
}

// tell logs the sessions that ended since the last call: one line each, or one for all when they are many.
func (t *Timers) tell(ends []*storev1.SessionEnded) {
	const lines = 16
	if len(ends) > lines {
		causes := map[storev1.SessionEndCause]int{}
		holds := uint32(0)
		for _, e := range ends {
			causes[e.GetCause()]++
			holds += e.GetHolds()
		}
		t.log.Info("many sessions ended", zap.Int("sessions", len(ends)), zap.Uint32("holds", holds),
			zap.Int("expired", causes[storev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED]),
			zap.Int("destroyed", causes[storev1.SessionEndCause_SESSION_END_CAUSE_DESTROYED]),
			zap.Int("forced", causes[storev1.SessionEndCause_SESSION_END_CAUSE_FORCED]))
		return
	}
	for _, e := range ends {
		fields := []zap.Field{
			zap.String("session_id", sessionText(e.GetSessionId())),
			zap.String("name", e.GetName()),
			zap.String("cause", causeText(e.GetCause())),
			zap.Uint32("holds", e.GetHolds()),
			zap.Uint32("ephemeral_keys", e.GetEphemeralKeys()),
		}
		if e.GetReason() != "" {
			fields = append(fields, zap.String("reason", e.GetReason()))
		}
		t.log.Info("session ended", fields...)
	}
}

func sessionText(id []byte) string {
	sid, err := storage.SessionIDFromBytes(id)
	if err != nil {
		return ""
	}
	return sid.String()
}

// causeText returns a cause for people.
func causeText(c storev1.SessionEndCause) string {
	switch c {
	case storev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED:
		return "expired"
	case storev1.SessionEndCause_SESSION_END_CAUSE_DESTROYED:
		return "destroyed"
	case storev1.SessionEndCause_SESSION_END_CAUSE_FORCED:
		return "forced"
	case storev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED:
		return "node_deregistered"
	case storev1.SessionEndCause_SESSION_END_CAUSE_CHECK_DEREGISTERED:
		return "check_deregistered"
	case storev1.SessionEndCause_SESSION_END_CAUSE_CHECK_CRITICAL:
		return "check_critical"
	case storev1.SessionEndCause_SESSION_END_CAUSE_RESTORED:
		return "restored"
	default:
		return "unknown"
	}
}
