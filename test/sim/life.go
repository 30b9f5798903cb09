package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// life is a member from one start to its next crash.
type life struct {
	*disk
	w    *World
	m    *member
	dice *rand.Rand

	core     *core.Core
	fx       core.Effects
	mail     []core.Event
	turning  bool
	appender *core.Appender
	applier  *core.Applier
	appendQ  []*raftpb.Message
	applyQ   []*raftpb.Message
	// appending and applying say that the worker is busy; apply work may be finished by an installation meanwhile.
	appending, applying bool
	term                uint64 // of the newest applied entry
	sinceCheckpoint     int
	unflushed           int // bytes applied since the last flush
	// led says that it led before the last change.
	led bool
	// hung ends a write of the log that waits for the disk to work again.
	hung func()
	// survives says what becomes of writes that were not synced when the disk fails, stopping that it did.
	survives, stopping bool

	queue    *envelope.Queue
	waiting  []*waiter // for proposals, in the order they came
	reads    map[uint64]func(core.ReadDone)
	changes  map[uint64]func(error)
	handle   uint64
	arrivals []arrival // who waits until an index or a revision is applied

	timers    *expiry.Timers
	steps     *expiry.Steps // nil unless this life's timers run
	stepsTerm uint64
	hub       *watch.Hub
	renewals  []*renewal // that wait for the outcome of an expiry, or for the timers to begin
	ticks     int
	heard     map[uint64]int // tick at which a message came from a peer
	ledSince  int            // tick
}

// open opens the member's disk and makes a life of it.
func (m *member) open() (*life, error) {
	d, err := m.openDisk()
	if err != nil {
		return nil, err
	}
	r := &life{
		disk: d, w: m.w, m: m, dice: m.w.dice(fmt.Sprintf("life %d of member %d", m.w.floors.Lives, m.id)),
		reads: map[uint64]func(core.ReadDone){}, changes: map[uint64]func(error){}, heard: map[uint64]int{},
	}
	m.w.floors.Lives++
	if err = r.build(); err != nil {
		d.close()
		return nil, err
	}
	return r, nil
}

func (r *life) build() error {
	hs, err := r.hardState()
	if err != nil {
		return err
	}
	applied := r.store.Applied()
	members, err := core.UnmarshalConfState(applied.ConfState)
	if err != nil {
		return err
	}
	r.term = applied.Term
	r.w.draw(func() {
		r.core, err = core.New(core.Config{
			ID: r.m.id, Storage: &raftStorage{Log: r.log, r: r, hs: hs, members: members}, Applied: applied.Index,
			Logger: quietLogger{}, ElectionTicks: r.w.plan.ElectionTicks, ReadSeed: r.dice.Uint64(),
		})
	})
	if err != nil {
		return err
	}
	r.appender = core.NewAppender(core.AppenderOptions{Log: r.log, Install: r.install})
	r.applier = core.NewApplier(core.ApplierOptions{
		State: func() core.StateMachine { return r.store },
		ConfChange: func(cc *raftpb.ConfChangeV2) (*raftpb.ConfState, error) {
			r.w.floors.ConfChanges++
			r.ledSince = r.ticks // Another quorum counts from now on.
			var members *raftpb.ConfState
			r.w.draw(func() { members = r.core.ApplyConfChange(cc) })
			return members, nil
		},
		BatchBytesMax: []int{1, 300, 2000, 1 << 20}[r.dice.IntN(4)],
	})
	r.queue = envelope.New(r.m.id, r.dice.Uint64(), 4<<20)
	if r.timers, err = expiry.New(expiry.Options{
		Snapshot: func() expiry.Snapshot { return r.store.NewReader() },
		Now:      r.m.clock,
		WallNow:  func() time.Time { return time.UnixMilli(1_700_000_000_000).Add(r.m.clock()) },
	}); err != nil {
		return err
	}
	r.hub, err = watch.New(watch.Options{
		History:       watch.FromStore(func() *storage.Store { return r.store }),
		RingEventsMax: r.w.plan.RingEvents,
	})
	return err
}

// begin starts what runs for ever.
func (r *life) begin() {
	r.w.truth.sum(r.m.id, r.store.Applied())
	if r.core.SoleVoter() {
		r.mail = append(r.mail, core.Campaign{})
	}
	r.wake()
	r.tickLater()
}

// after lets something happen later in this life, on the member's clock. While the member is paused it waits.
func (r *life) after(d time.Duration, do func()) {
	r.w.after(r.m.local(d), func() { r.soon(func(*life) { do() }) })
}

// soon lets something happen now, or when the member goes on, if this life has not ended.
func (r *life) soon(do func(*life)) {
	switch {
	case r.m.life != r:
	case r.m.paused:
		r.m.backlog = append(r.m.backlog, func() { r.soon(do) })
	default:
		do(r)
	}
}

func (r *life) tickLater() {
	r.after(r.w.plan.tick(), func() {
		r.mail = append(r.mail, core.Tick{})
		r.ticks++
		r.wake()
		r.tickLater()
		r.watchLeadership()
	})
}

// wake lets the loop turn.
func (r *life) wake() {
	if r.turning {
		return
	}
	r.turning = true
	r.after(between(r.dice, 0, 60*time.Microsecond), r.turn)
}

// turn is one round of the loop.
func (r *life) turn() {
	defer r.failed()
	r.turning = false
	r.fx.Reset()
	mail := r.mail
	r.mail = nil
	r.w.step(r.core, &r.fx, mail...)
	r.watchHang()
	if r.core.CanPropose() {
		if ps := r.queue.Take(r.core.Leadership().Term, nil); len(ps) > 0 {
			r.w.floors.Proposals += len(ps)
			r.w.step(r.core, &r.fx, core.Propose{Proposals: ps})
		}
	}
	r.perform()
}

// failed ends a member whose raft panicked: it found its state impossible.
func (r *life) failed() {
	p := recover()
	if broken, ok := p.(invariants.BrokenError); ok {
		panic(broken)
	}
	if p != nil {
		r.w.violated("raft", "member %d: %v", r.m.id, p)
	}
}

// perform carries out the effects of a turn.
func (r *life) perform() {
	fx := &r.fx
	if l := fx.Leadership; l != nil {
		r.leadershipChanged(*l)
	}
	r.appendQ = append(r.appendQ, fx.Append...)
	r.applyQ = append(r.applyQ, fx.Apply...)
	r.w.net.send(r, append([]*raftpb.Message(nil), fx.Send...))
	r.kickAppend()
	r.kickApply()
	for _, d := range fx.Reads {
		do := r.reads[d.Handle]
		delete(r.reads, d.Handle)
		if do != nil {
			do(d)
		}
	}
	for _, d := range fx.Dropped {
		if do := r.changes[d.Handle]; d.Handle != 0 && do != nil {
			delete(r.changes, d.Handle)
			do(d.Err)
			continue
		}
		r.queue.Drop(d.Sequence, d.Err)
	}
	if len(fx.Dropped) > 0 {
		r.sweep()
	}
	if term := fx.Started; term != 0 {
		// Tasks are goroutines: they begin a little later.
		r.after(expo(r.dice, 300*time.Microsecond), func() { r.lead(term) })
	}
}

func (r *life) leads() bool { return r.core.Leadership().Role == core.RoleLeader }

func (r *life) leadershipChanged(l core.Leadership) {
	r.w.note("leadership", r.m.id, l.Term, l.Leader, uint64(l.Role))
	if l.Role != core.RoleLeader && r.core.Hangs() {
		r.w.floors.HungSteppedDown += int(boolNumber(r.led))
	}
	r.led = l.Role == core.RoleLeader
	r.endLead()
	if l.Role == core.RoleLeader {
		r.ledSince = r.ticks
		r.w.floors.LeaderChanges++
		r.w.truth.leads(r.m.id, l.Term)
	}
}

// kickAppend starts append work, if there is some and the worker is idle. What is written reaches the disk at the
// beginning or at the end of the time that it takes, so a crash meanwhile finds it there, or not.
func (r *life) kickAppend() {
	if r.appending || len(r.appendQ) == 0 {
		return
	}
	r.appending = true
	work := r.appendQ
	r.appendQ = nil
	var done core.Appended
	write := func() bool {
		var err error
		ok := r.diskWork("append", func() error {
			if done, err = r.appender.Append(work); errors.Is(err, errCrashed) {
				return nil
			}
			return err
		})
		switch {
		case errors.Is(err, errCrashed):
			r.w.crashNow(r)
			return false
		case !ok && err == nil && done.Synced:
			r.w.violated("disk", "member %d: a sync that failed was told to have worked", r.m.id)
		}
		return ok
	}
	early := r.dice.IntN(2) == 0
	if early && !write() {
		return
	}
	r.whenWritten(func() {
		defer r.failed()
		if !early && !write() {
			return
		}
		r.appending = false
		r.answerAppend(done)
		r.kickAppend()
	})
}

// whenWritten does something when a write of the log comes to its end.
func (r *life) whenWritten(do func()) {
	r.after(r.diskDelay(), func() {
		if r.m.hangs() {
			r.hung = do
			return
		}
		do()
	})
}

// watchHang ends what waits at a member that does not lead and whose disk hangs, as production does.
func (r *life) watchHang() {
	if !r.core.Hangs() || r.leads() {
		return
	}
	r.queue.Abandon(core.ErrNotLeader)
	r.sweep()
}

// crashNow crashes a member in the middle of something.
func (w *World) crashNow(r *life) {
	w.after(0, func() {
		if r.m.life == r {
			r.m.crash(false)
			w.after(500*time.Millisecond, r.m.start)
		}
	})
}

func (r *life) diskDelay() time.Duration {
	return 100*time.Microsecond + expo(r.dice, 300*time.Microsecond) + expo(r.dice, r.m.lag)
}

func (r *life) answerAppend(done core.Appended) {
	var own, peers []*raftpb.Message
	for _, m := range done.Responses {
		if m.GetTo() == r.m.id {
			own = append(own, m)
		} else {
			peers = append(peers, m)
		}
	}
	r.w.net.send(r, peers)
	done.Responses = own
	r.mail = append(r.mail, core.AppendDone{Done: done})
	r.wake()
}

// kickApply starts apply work.
func (r *life) kickApply() {
	if r.applying || len(r.applyQ) == 0 {
		return
	}
	r.applying = true
	r.after(30*time.Microsecond+expo(r.dice, 100*time.Microsecond)+expo(r.dice, r.m.lag/4), func() {
		defer r.failed()
		r.applying = false
		r.applySome()
		r.kickApply()
	})
}

// applySome applies one batch.
func (r *life) applySome() {
	if len(r.applyQ) == 0 {
		return
	}
	done, err := r.applier.Apply(r.applyQ)
	if err != nil {
		r.w.violated("apply", "member %d: %v", r.m.id, err)
		return
	}
	r.w.truth.committed(r.m.id, r.applyQ[:done.Messages])
	r.applyQ = append([]*raftpb.Message(nil), r.applyQ[done.Messages:]...)
	for i := done.Index + 1 - uint64(done.Entries); i <= done.Index && done.Entries > 0; i++ {
		if sum, ok := r.store.ChecksumAt(i); ok {
			r.w.truth.sumAt(r.m.id, i, sum)
		}
	}
	r.w.note("applied", r.m.id, done.Index, done.Outcome.Applied.Checksum)
	r.published(done.Outcome)
	r.queue.Applied(done.Outcome.Entries)
	if done.Term > r.term {
		r.queue.Outrun(done.Term, core.ErrNotLeader)
		r.term = done.Term
	}
	r.sweep()
	done.Outcome.Entries, done.Outcome.Events = nil, nil
	r.mail = append(r.mail, core.ApplyDone{Done: done})
	r.wake()
	r.keepSmall(done)
}

// keepSmall makes checkpoints and flushes at points that depend on the entries alone, so that Pebble's own goroutines
// have nothing to decide.
func (r *life) keepSmall(done core.Applied) {
	const (
		flushBytes = 60 << 10
		cutEntries = 40
	)
	r.sinceCheckpoint += done.Entries
	r.unflushed += done.Bytes
	if r.sinceCheckpoint >= r.w.plan.CheckpointEntries {
		r.sinceCheckpoint = 0
		r.after(expo(r.dice, 5*time.Millisecond), r.makeCheckpoint)
	}
	if m := r.snaps.Newest(); m != nil && r.sinceCheckpoint%cutEntries < done.Entries {
		r.cutLog(m.Index)
	}
	if r.unflushed >= flushBytes {
		r.unflushed = 0
		r.diskWork("flush", r.store.Flush)
	}
}

// applyAll finishes apply work before an installation.
func (r *life) applyAll() {
	for len(r.applyQ) > 0 && len(r.w.broken) == 0 {
		r.applySome()
	}
}

// published tells everybody what was applied.
func (r *life) published(o storage.Outcome) {
	r.w.truth.applied(o)
	r.timers.Publish(o)
	r.hub.Publish(o)
	r.hub.Step()
	r.reached()
	r.retryRenewals()
}

// close ends the life.
func (r *life) close() {
	r.endLead()
	r.disk.close()
}
