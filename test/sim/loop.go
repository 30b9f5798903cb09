package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/identity"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/turn"
	"github.com/tenure-io/tenure/storage"
)

// around carries out what the turns of a life decide, as raftnode's loop does with goroutines.
type around struct{ r *life }

var _ turn.Surroundings = around{}

// Stops reports whether the disk failed.
func (a around) Stops() bool { return a.r.stopping }

// Hangs counts.
func (a around) Hangs(hangs bool) { a.r.w.note("hangs", a.r.m.id, boolNumber(hangs)) }

// Changed ends the tasks of an earlier term.
func (a around) Changed(l core.Leadership) { a.r.leadershipChanged(l) }

// Started begins the tasks of a term. They are goroutines, so that is a little later.
func (a around) Started(term uint64) {
	a.r.after(expo(a.r.dice, taskDelay), func() {
		timing{a.r}.lead(term)
		pooling{a.r}.lead(term)
	})
}

// Append starts append work.
func (a around) Append(work []*raftpb.Message) {
	a.r.appendWork.Add(work)
	a.r.kickAppend()
}

// Apply starts apply work.
func (a around) Apply(work []*raftpb.Message) {
	a.r.applyWork.Add(work)
	applying{a.r}.kickApply()
}

// Send gives messages to the network.
func (a around) Send(msgs []*raftpb.Message) {
	a.r.w.net.send(a.r, append([]*raftpb.Message(nil), msgs...))
}

// Dropped counts.
func (a around) Dropped() { a.r.w.floors.Dropped++ }

// Gone holds against what is true that this member takes its leader for gone.
func (a around) Gone(asks bool) { suspecting{a.r}.leaderGone(asks) }

// Alarm lets the core know when its time has come.
func (a around) Alarm(at time.Duration) {
	a.r.after(at-a.r.m.clock(), func() { a.r.post(core.Alarm{At: a.r.m.clock()}) })
}

// Released does nothing: here the log is cut when something is applied.
func (a around) Released() {}

// drawn is a core whose raft draws the numbers of a world.
type drawn struct {
	*core.Core
	w *World
}

// Step counts the proposals, and lets raft draw.
func (d drawn) Step(fx *core.Effects, events ...core.Event) {
	for _, ev := range events {
		if p, ok := ev.(core.Propose); ok {
			d.w.floors.Proposals += len(p.Proposals)
		}
	}
	d.w.draw(func() { d.Core.Step(fx, events...) })
}

// post gives events to the next turn.
func (r *life) post(ev ...core.Event) {
	r.mail = append(r.mail, ev...)
	r.wake()
}

// wake lets the loop turn.
func (r *life) wake() {
	if r.turning {
		return
	}
	r.turning = true
	r.after(between(r.dice, 0, turnDelay), func() {
		defer r.failed()
		r.turning = false
		mail := r.mail
		r.mail = nil
		r.turn.Step(mail)
		r.sweep()
	})
}

// consensus is what a member's identity needs of it here: the state.
type consensus struct{ r *life }

var (
	_              membership.Consensus = consensus{}
	errNoGoroutine                      = errors.New("nobody may wait in a simulated member")
)

// Store returns the state in use.
func (c consensus) Store() *storage.Store { return c.r.store }

// Propose is not for those who wait.
func (consensus) Propose(context.Context, *storev1.Command) (*storev1.Result, error) {
	return nil, errNoGoroutine
}

// ReadIndexLeader is not for those who wait.
func (consensus) ReadIndexLeader(context.Context) (uint64, error) { return 0, errNoGoroutine }

// know makes what knows who the member is. It comes before raft reads the log.
func (r *life) know() (err error) {
	r.self, err = identity.New(identity.Options{
		Logger: zap.NewNop(), ElectionTimeout: r.w.plan.electionTimeout(),
	}, identity.Member{
		Identity: r.identity, Dir: r.dir, Log: r.log, Consensus: consensus{r}, Lead: r.view.Lead,
		Fail: func(err error) { r.w.violated("disk", "member %d stops: %v", r.m.id, err) }, Background: &sync.WaitGroup{},
		Doubted:       mending{r}.doubted,
		TermJumps:     prometheus.NewCounter(prometheus.CounterOpts{Name: "sim_term_jumps_total", Help: "Nobody reads it."}),
		StartsRefused: prometheus.NewCounter(prometheus.CounterOpts{Name: "sim_starts_refused_total", Help: "Nobody reads it."}),
	})
	return err
}

// connect brings the parts of the member together.
func (r *life) connect(applied storage.Applied) {
	r.readers = turn.NewReaders()
	r.confs = membership.NewConfChanges(membership.ConfOptions{
		Member: r.m.id, First: r.dice.Uint64(), MayPropose: r.view.MayPropose, Post: r.post,
	})
	r.turn = turn.New(turn.Options{
		Core: drawn{r.core, r.w}, View: &r.view, Readers: r.readers, Proposals: r.queue, Confs: r.confs, Peers: &r.peers,
		ElectionTicks: r.w.plan.ElectionTicks, Self: r.self, Surroundings: around{r},
		DenyRevision: func() uint64 { return r.store.Rights.Now().DenyRevision },
	})
	r.applies = turn.Applies{
		Proposals: r.queue, Confs: r.confs, View: &r.view, Term: applied.Term, Watch: r.published,
		MembersChanged: r.self.MembersChanged, Removed: r.gone, Post: r.post,
	}
}

// gone ends a member for good that was removed, and has heard of it.
func (r *life) gone() {
	r.w.after(0, func() {
		if r.m.life == r {
			r.w.note("removed", r.m.id)
			r.m.removed = true
			r.m.end()
		}
	})
}
