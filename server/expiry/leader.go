package expiry

import (
	"context"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage"
)

const (
	// commandMax is how many things one command ends.
	commandMax = 256
	// retryMin and retryMax bound how long a proposal that failed waits for the next attempt.
	retryMin = 50 * time.Millisecond
	retryMax = time.Second
)

// lane is one kind of thing that ends. It has one command under way at most; that paces the ends of very many.
type lane struct {
	name string
	// next returns the command that ends what is due, or nil if nothing is. It is called with none under way.
	next func(lease time.Duration) *storev1.Command
	// done takes the result of that command.
	done func(*storev1.Result)
	// failed takes back what that command named, so that it is named again.
	failed func()

	busy    bool
	retryAt time.Duration // clock; no attempt before it
	backoff time.Duration
}

// outcome is what a lane's command came to.
type outcome struct {
	lane   *lane
	result *storev1.Result
	err    error
}

// leader drives the timers of one term. All its state belongs to the goroutine of run.
type leader struct {
	timers   *Timers
	term     *term
	sessions *wheel[Ref]
	delays   *firing[delayID, delay]
	waits    *firing[waitID, wait]

	joinTokens  joinTokens
	endedTokens endedTokens
	dueSessions []Ref // filed under a time that has come, oldest first
	// What the command under way names. A session stays named until its end has an outcome.
	proposed       []Ref
	proposedGrants uint64 // locks that waited for GrantWaiters when it was proposed

	lanes    []*lane
	grants   *lane // one of them
	outcomes chan outcome
	lastTick time.Duration // clock
	behind   behind
	graceEnd time.Duration // lease time; see decidedAt
}

// behind knows whether the state here stands behind what is committed. Under load it always does for a moment, so it is
// asked for what was committed a while ago.
type behind struct {
	commit uint64        // what was committed at since
	since  time.Duration // clock
	is     bool
	// ever is false until the state has caught up for the first time in this term, as it does after a start.
	ever bool
}

// look compares what is applied with what was committed before.
func (b *behind) look(applied, commit uint64, now time.Duration) {
	if applied >= b.commit {
		*b = behind{commit: commit, since: now, ever: b.ever || b.commit > 0}
		return
	}
	b.is = now-b.since > stallMin
}

func newLeader(t *Timers, tm *term) *leader {
	lease := t.lease()
	l := &leader{
		timers:   t,
		term:     tm,
		sessions: newWheel[Ref](lease),
		delays:   newFiring(tm.delays, lease),
		waits:    newFiring(tm.waits, lease),
		lastTick: t.now(),
		graceEnd: lease,
	}
	l.grants = &lane{name: "grants", next: l.grantWaiters, done: l.waitersGranted}
	l.lanes = []*lane{
		{name: "sessions", next: l.expireSessions, done: l.sessionsExpired},
		{name: "delays", next: l.endDelays, done: func(*storev1.Result) { l.delays.ended() }, failed: l.delays.failed},
		{name: "waits", next: l.endWaits, done: func(*storev1.Result) { l.waits.ended() }, failed: l.waits.failed},
		l.grants,
		{name: "freeze", next: l.endFreeze, done: l.freezeEnded},
		{name: "end list", next: l.endMarked, done: func(*storev1.Result) {}},
		{name: "join tokens", next: l.endJoinTokens, done: l.joinTokensEnded, failed: func() { l.joinTokens.looked = false }},
		{name: "tokens", next: l.endTokens, done: l.tokensEnded, failed: func() { l.endedTokens = endedTokens{} }},
	}
	l.outcomes = make(chan outcome, len(l.lanes))
	return l
}

// run ticks until ctx ends. Proposals run beside it, as children of g.
func (l *leader) run(ctx context.Context, g *errgroup.Group) error {
	timer := time.NewTimer(tickInterval)
	defer timer.Stop()
	for {
		var now time.Duration
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			// What is due as of the tick is proposed although the process may stop again meanwhile: else nothing ever is if it always does.
			now = l.timers.now()
			l.tick(now)
			timer.Reset(tickInterval)
		case o := <-l.outcomes:
			l.finish(o)
			now = l.timers.now()
		}
		for _, c := range l.due(now) {
			g.Go(func() error {
				result, err := l.timers.propose(ctx, c.command)
				l.outcomes <- outcome{lane: c.lane, result: result, err: err}
				return nil
			})
		}
	}
}

// due returns what is to be proposed now: nothing if the next tick will see a stall, because nothing is decided before, or
// while the state stands behind what is committed.
func (l *leader) due(now time.Duration) []proposal {
	if now-l.lastTick > tickInterval+stallMin || l.behind.is {
		return nil
	}
	return l.commands(now)
}

// tick extends all timers if it comes late, files what is new, and gathers what is due.
func (l *leader) tick(now time.Duration) {
	before := l.lastTick - l.timers.stalled()
	elapsed := now - l.lastTick
	if late := elapsed - tickInterval; late > stallMin {
		l.timers.stall.Add(int64(late))
		l.timers.metrics.stalls.Add(late.Seconds())
		level := zap.InfoLevel // A busy machine is late by some tenths of a second every few minutes.
		if late >= stallToWarn {
			level = zap.WarnLevel
		}
		l.timers.log.Log(level, "this process was paused; all timers are extended", zap.Duration("stalled", late))
		elapsed = tickInterval
		l.grace(now)
	}
	l.lastTick = now
	l.lookBehind(now, elapsed)
	invariants.That(now-l.timers.stalled() >= before, "lease time went back")
	l.gather(l.decidedAt(now))
	l.timers.tell(l.term.ends.take())
}

// grace begins a grace.
func (l *leader) grace(now time.Duration) { l.graceEnd = now - l.timers.stalled() + stallGrace }

// decidedAt returns the lease time by which it is decided what has run out. In a grace it is so long ago that renewals which
// came meanwhile have been read. A grace lasts for a lease time, of which a late tick takes no more than others: so stalls that
// follow one another put nothing off for longer than one grace.
func (l *leader) decidedAt(now time.Duration) time.Duration {
	lease := now - l.timers.stalled()
	if lease < l.graceEnd {
		return lease - stallGrace
	}
	return lease
}

// lookBehind lets the timers stand while the state stands behind what is committed.
func (l *leader) lookBehind(now, elapsed time.Duration) {
	was := l.behind.is
	applied, commit := l.timers.progress()
	l.behind.look(applied, commit, now)
	switch {
	case l.behind.is:
		l.timers.stall.Add(int64(elapsed))
		if !was {
			level := zap.WarnLevel
			if !l.behind.ever {
				level = zap.InfoLevel
			}
			l.timers.log.Log(level, "this member is catching up; all timers are paused")
		}
	case was:
		l.grace(now)
		l.timers.log.Info("this member has caught up; all timers run again")
	}
}

// gather files what is new and looks at what is due.
func (l *leader) gather(lease time.Duration) {
	for _, r := range l.term.table.fresh.take() {
		l.file(r, lease)
	}
	l.sessions.due(lease, func(r Ref) { l.file(r, lease) })
	l.delays.gather(lease)
	l.waits.gather(lease)
}

// file puts a session into the wheel, or among the due.
func (l *leader) file(r Ref, lease time.Duration) {
	switch f, deadline := l.term.table.judge(r, lease, false); f {
	case fateLater:
		l.sessions.file(deadline, r)
	case fateHeld, fateDue:
		l.dueSessions = append(l.dueSessions, r)
	case fateGone:
	}
}

// proposal is a command of a lane.
type proposal struct {
	lane    *lane
	command *storev1.Command
}

// commands returns what is to be proposed now.
func (l *leader) commands(now time.Duration) []proposal {
	var out []proposal
	lease := l.decidedAt(now)
	for _, ln := range l.lanes {
		if ln.busy || now < ln.retryAt {
			continue
		}
		c := ln.next(lease)
		if c == nil {
			continue
		}
		c.WallTimeMs = l.timers.wallNow().UnixMilli()
		ln.busy = true
		out = append(out, proposal{lane: ln, command: c})
	}
	return out
}

// finish takes the outcome of a command. After an error nothing is known, so the same is proposed again: that is without
// effect if the first one was applied.
func (l *leader) finish(o outcome) {
	ln := o.lane
	ln.busy = false
	if o.err != nil || o.result.GetFailure() != nil {
		ln.backoff = min(max(2*ln.backoff, retryMin), retryMax)
		ln.retryAt = l.timers.now() + ln.backoff
		if ln.failed != nil {
			ln.failed()
		}
		l.timers.log.Debug("proposal of the timers failed", zap.String("kind", ln.name), zap.Error(o.err),
			zap.String("failure", storage.FailureText(o.result.GetFailure())))
		return
	}
	ln.backoff, ln.retryAt = 0, 0
	ln.done(o.result)
}

// expireSessions names sessions that are due: first those that were named before and have no outcome yet.
func (l *leader) expireSessions(lease time.Duration) *storev1.Command {
	held := l.dueSessions[:0:0]
	n := 0
	for _, r := range l.dueSessions {
		if len(l.proposed) >= commandMax {
			break
		}
		n++
		switch f, deadline := l.term.table.judge(r, lease, true); f {
		case fateLater:
			l.sessions.file(deadline, r)
		case fateHeld:
			held = append(held, r)
		case fateDue:
			l.proposed = append(l.proposed, r)
		case fateGone:
		}
	}
	l.dueSessions = append(held, l.dueSessions[n:]...)
	ids := l.term.table.ids(l.proposed)
	if len(ids) == 0 {
		l.proposed = l.proposed[:0]
		return nil
	}
	return &storev1.Command{Kind: &storev1.Command_ExpireSessions{ExpireSessions: &storev1.ExpireSessions{
		Term:       l.term.number,
		SessionIds: ids,
	}}}
}

// sessionsExpired takes out of the table what ended; what was left is named again.
func (l *leader) sessionsExpired(r *storev1.Result) {
	left := map[string]bool{}
	for _, id := range r.GetEndSessions().GetLeftSessionIds() {
		left[string(id)] = true
	}
	again := l.proposed[:0]
	for _, ref := range l.proposed {
		id, ok := l.term.table.id(ref)
		switch {
		case !ok: // Publish was here before.
		case left[string(id[:])]:
			again = append(again, ref)
		default:
			l.term.table.end(id)
		}
	}
	clear(l.proposed[len(again):])
	l.proposed = again
	l.timers.wake()
}

// endDelays names delayed holds whose delay has run.
func (l *leader) endDelays(lease time.Duration) *storev1.Command {
	c := &storev1.EndDelays{Term: l.term.number}
	if !l.delays.name(lease, func(id delayID, d delay) {
		c.Delays = append(c.Delays, &storev1.DelayRef{Key: id.key, LockIndex: id.index, FencingToken: d.token})
	}) {
		return nil
	}
	return &storev1.Command{Kind: &storev1.Command_EndDelays{EndDelays: c}}
}

// endWaits names places whose time ran out.
func (l *leader) endWaits(lease time.Duration) *storev1.Command {
	c := &storev1.EndWaits{Term: l.term.number}
	if !l.waits.name(lease, func(id waitID, w wait) {
		c.Places = append(c.Places, &storev1.PlaceRef{Key: id.key, Place: id.place, SessionId: w.session[:]})
	}) {
		return nil
	}
	return &storev1.Command{Kind: &storev1.Command_EndWaits{EndWaits: c}}
}

// grantWaiters goes on where a command reached its limit of grants. While grants are frozen there is nothing to go on with.
func (l *leader) grantWaiters(time.Duration) *storev1.Command {
	l.proposedGrants = l.timers.grantsLeft.Load()
	if l.proposedGrants == 0 {
		return nil
	}
	if l.term.freeze.Load() != nil && l.stillFrozen() {
		l.waitGrants()
		return nil
	}
	return &storev1.Command{Kind: &storev1.Command_GrantWaiters{GrantWaiters: &storev1.GrantWaiters{Term: l.term.number}}}
}

// waitersGranted waits a little before the next attempt if this one changed nothing.
func (l *leader) waitersGranted(r *storev1.Result) {
	if !r.GetChanged() {
		l.waitGrants()
	}
}

// waitGrants puts the next look at the locks whose waiters are left off.
func (l *leader) waitGrants() { l.grants.retryAt = l.timers.now() + retryMax }
