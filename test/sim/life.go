package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/identity"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/turn"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/expiry"
	renewal "github.com/tenure-io/tenure/server/renewal/core"
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
	turn     *turn.Turn
	view     turn.View
	self     *identity.Self
	peers    membership.Peers
	mail     []core.Event
	turning  bool // a turn is due
	appender *core.Appender
	applier  *core.Applier
	applies  turn.Applies
	// appendWork and applyWork wait for the worker; applyRest it has taken.
	appendWork, applyWork turn.Work
	applyRest             []*raftpb.Message
	// appending and applying say that the worker is busy; apply work may be finished by an installation meanwhile.
	appending, applying bool
	sinceCheckpoint     int
	unflushed           int // bytes applied since the last flush
	// changed are the members after a change that is being applied: the state has to know them when it is.
	changed *raftpb.ConfState
	// led says that it led before the last change.
	led bool
	// hung ends a write of the log that waits for the disk to work again.
	hung func()
	// survives says what becomes of writes that were not synced when the disk fails, stopping that it did.
	survives, stopping bool

	queue    *envelope.Queue
	waiting  []*waiter // for proposals, in the order they came
	readers  *turn.Readers
	readings []*reading // that wait for a proof, in the order they came
	confs    *membership.ConfChanges
	arrivals []arrival // who waits until an index or a revision is applied

	timers    *expiry.Timers
	steps     *expiry.Steps // nil unless this life's timers run
	stepsTerm uint64
	hub       *watch.Hub

	pool   *gossip.View
	faces  []face // what gossip brings of each machine
	keeper *poolKeeper

	relay   relay
	carrier carrier
	keepers []*keeper // streams of renewals, those of other members too
	streams map[*client]*keepAlive
	wires   []*wire

	authority   *access.Authority // nil where the plan has no tokens
	connected   connections
	authChanges uint64 // when it looked last which streams must end
	opens       []*opened
	tasks       []*task

	ticks    int
	heard    map[uint64]int // tick at which a message came from a peer
	ledSince int            // tick
	early    early
}

// open opens the member's disk and makes a life of it.
func (m *member) open() (*life, error) {
	d, err := m.openDisk()
	if err != nil {
		return nil, err
	}
	r := &life{
		disk: d, w: m.w, m: m, dice: m.w.dice(fmt.Sprintf("life %d of member %d", m.w.floors.Lives, m.id)),
		heard: map[uint64]int{}, streams: map[*client]*keepAlive{},
	}
	r.relay.r, r.carrier = r, carrier{r: r, of: renewal.NewCarrier()}
	m.w.floors.Lives++
	if err = r.build(); err != nil {
		d.close()
		return nil, err
	}
	return r, nil
}

func (r *life) build() error {
	if err := errors.Join(r.know(), (mending{r}).greet()); err != nil {
		return err
	}
	hs, err := r.hardState()
	if err != nil {
		return err
	}
	applied := r.store.Applied()
	members, err := core.UnmarshalConfState(applied.ConfState)
	if err != nil {
		return err
	}
	cfg := turn.Timed(r.w.plan.tick(), r.w.plan.ElectionTicks)
	cfg.ID, cfg.Applied, cfg.ReadSeed, cfg.Logger = r.m.id, applied.Index, r.dice.Uint64(), quietLogger{}
	cfg.Storage = &raftStorage{Log: r.log, r: r, hs: hs, members: members}
	if r.w.draw(func() { r.core, err = core.New(cfg) }); err != nil {
		return err
	}
	r.appender = core.NewAppender(core.AppenderOptions{Log: r.log, Install: keeping{r}.install})
	r.applier = core.NewApplier(core.ApplierOptions{
		State: func() core.StateMachine { return r.store },
		ConfChange: func(cc *raftpb.ConfChangeV2) (*raftpb.ConfState, error) {
			r.w.floors.ConfChanges++
			r.ledSince = r.ticks // Another quorum counts from now on.
			var members *raftpb.ConfState
			r.w.draw(func() { members = r.core.ApplyConfChange(cc) })
			r.changed = members
			r.confs.Note(cc, members)
			r.wake()
			return members, nil
		},
		BatchBytesMax: []int{1, 300, 2000, 1 << 20}[r.dice.IntN(4)],
	})
	r.queue = envelope.New(r.m.id, r.dice.Uint64(), 4<<20)
	r.connect(applied)
	if r.timers, err = expiry.New(expiry.Options{
		Snapshot: func() expiry.Snapshot { return r.store.NewReader() },
		Now:      r.m.clock,
		WallNow:  func() time.Time { return time.UnixMilli(1_700_000_000_000).Add(r.m.clock()) },
	}); err != nil {
		return err
	}
	if r.hub, err = watch.New(watch.Options{
		History:       watch.FromStore(func() *storage.Store { return r.store }),
		RingEventsMax: r.w.plan.RingEvents,
	}); err != nil {
		return err
	}
	return guarding{r}.build()
}

const (
	// turnDelay is after how long, at most, the loop turns that was woken; taskDelay is after how long, on average, a task
	// of the leader begins.
	turnDelay = 60 * time.Microsecond
	taskDelay = 300 * time.Microsecond
)

// begin starts what runs for ever.
func (r *life) begin() {
	r.w.truth.sum(r.m.id, r.store.Applied())
	if r.core.SoleVoter() {
		r.post(core.Campaign{})
	}
	r.wake()
	r.tickLater()
	r.relay.run()
	r.carrier.run()
	pooling{r}.run()
	mending{r}.mend()
	guarding{r}.run()
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
		r.ticks++
		r.post(core.Tick{At: r.m.clock()})
		r.tickLater()
		timing{r}.watchLeadership()
	})
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

func (r *life) leads() bool { return r.view.Lead().Role == core.RoleLeader }

func (r *life) leadershipChanged(l core.Leadership) {
	r.w.note("leadership", r.m.id, l.Term, l.Leader, uint64(l.Role))
	r.w.calm = max(r.w.calm, r.w.now)
	if l.Role != core.RoleLeader && r.core.Hangs() {
		r.w.floors.HungSteppedDown += int(boolNumber(r.led))
	}
	r.led = l.Role == core.RoleLeader
	suspecting{r}.watchCampaign(l)
	timing{r}.endLead()
	pooling{r}.endLead()
	if l.Role == core.RoleLeader {
		r.ledSince = r.ticks
		r.w.floors.LeaderChanges++
		r.w.truth.leads(r.m.id, l.Term)
	}
}

// kickAppend starts append work, if there is some and the worker is idle. What is written reaches the disk at the
// beginning or at the end of the time that it takes, so a crash meanwhile finds it there, or not.
func (r *life) kickAppend() {
	if r.appending || !r.appendWork.Urgent() {
		return
	}
	r.appending = true
	work := r.appendWork.Take(nil)
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
		turn.Written(r.m.id, done, func(msgs []*raftpb.Message) { r.w.net.send(r, msgs) }, r.post)
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

// applying hands what was committed to the state.
type applying struct{ *life }

// mayApply reports whether there is apply work.
func (r applying) mayApply() bool { return len(r.applyRest) > 0 || r.applyWork.Urgent() }

// kickApply starts apply work.
func (r applying) kickApply() {
	if r.applying || !r.mayApply() {
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
func (r applying) applySome() {
	if len(r.applyRest) == 0 {
		r.applyRest = r.applyWork.Take(nil)
	}
	if len(r.applyRest) == 0 {
		return
	}
	done, err := r.applier.Apply(r.applyRest)
	if err != nil {
		r.w.violated("apply", "member %d: %v", r.m.id, err)
		return
	}
	r.knowsMembers()
	r.w.truth.committed(r.m.id, r.applyRest[:done.Messages])
	r.w.truth.tokens.applied(r.applyRest[:done.Messages], done.Outcome.Entries)
	r.w.truth.syncs.applied(r.applyRest[:done.Messages], done.Outcome.Entries)
	r.w.truth.requests.applied(r.applyRest[:done.Messages], done.Outcome.Entries)
	r.applyRest = r.applyRest[done.Messages:]
	for i := done.Index + 1 - uint64(done.Entries); i <= done.Index && done.Entries > 0; i++ {
		if sum, ok := r.store.ChecksumAt(i); ok {
			r.w.truth.sumAt(r.m.id, i, sum)
		}
	}
	r.w.note("applied", r.m.id, done.Index, done.Outcome.Applied.Checksum)
	r.applies.Publish(done)
	r.sweep()
	r.keepSmall(done)
}

// knowsMembers demands that the state has recorded a change of the members that was applied.
func (r applying) knowsMembers() {
	want := r.changed
	if want == nil {
		return
	}
	r.changed = nil
	got, err := core.UnmarshalConfState(r.store.Applied().ConfState)
	if err == nil {
		err = want.Equivalent(got)
	}
	if err != nil {
		r.w.violated("raft", "member %d applied a change of the members, and its state does not know them: %v", r.m.id, err)
	}
}

// keepSmall makes checkpoints and flushes at points that depend on the entries alone, so that Pebble's own goroutines
// have nothing to decide.
func (r applying) keepSmall(done core.Applied) {
	const (
		flushBytes = 60 << 10
		cutEntries = 40
	)
	r.sinceCheckpoint += done.Entries
	r.unflushed += done.Bytes
	if r.sinceCheckpoint >= r.w.plan.CheckpointEntries {
		r.sinceCheckpoint = 0
		r.after(expo(r.dice, 5*time.Millisecond), keeping(r).makeCheckpoint)
	}
	if m := r.snaps.Newest(); m != nil && r.sinceCheckpoint%cutEntries < done.Entries {
		keeping(r).cutLog(m.Index)
	}
	if r.unflushed >= flushBytes {
		r.unflushed = 0
		r.diskWork("flush", r.store.Flush)
	}
}

// applyAll finishes apply work before an installation.
func (r applying) applyAll() {
	for r.mayApply() && len(r.w.broken) == 0 {
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
	pooling{r}.published(o)
	renewing{r}.timersChanged()
	guarding{r}.rightsChanged()
}

// close ends the life.
func (r *life) close() {
	for _, t := range append([]*task(nil), r.tasks...) {
		t.end()
	}
	for len(r.wires) > 0 {
		r.wires[0].cut()
	}
	timing{r}.endLead()
	pooling{r}.endLead()
	r.disk.close()
}
