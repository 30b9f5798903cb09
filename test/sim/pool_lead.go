package sim

import (
	"slices"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/server/pool"
	"github.com/tenure-io/tenure/storage"
)

// askTimeout is how long a voter has to answer.
const askTimeout = time.Second

// poolKeeper keeps the catalog like the pool in one term.
type poolKeeper struct {
	term  uint64
	steps *pool.Steps
}

// poolView is how a life sees the pool.
type poolView struct{ of *gossip.View }

// Nodes returns all nodes.
func (v poolView) Nodes() []gossip.Node { return v.of.List() }

// Node returns one node.
func (v poolView) Node(k gossip.Key) gossip.Node { return v.of.Node(k) }

// lead starts the task of a term, if this member still leads in it.
func (r pooling) lead(term uint64) {
	if r.pool == nil || !r.leads() || r.view.Lead().Term != term || r.keeper != nil {
		return
	}
	r.keeper = &poolKeeper{term: term, steps: pool.NewSteps(pool.StepsOptions{
		Term: term, Pool: poolView{r.pool}, Store: func() *storage.Store { return r.store },
		Now: r.m.clock, WallNow: func() time.Time { return time.UnixMilli(1_700_000_000_000).Add(r.m.clock()) },
	})}
	r.tickKeeper(r.keeper)
}

// endLead ends the task of a term.
func (r pooling) endLead() { r.keeper = nil }

func (r pooling) tickKeeper(k *poolKeeper) {
	r.after(pool.TickEvery, func() {
		if r.keeper != k {
			return
		}
		r.keep(func(k *poolKeeper) error {
			k.steps.Tick()
			return nil
		})
		r.tickKeeper(k)
	})
}

// keep tells the task something, and does what it wants.
func (r pooling) keep(tell func(*poolKeeper) error) {
	k := r.keeper
	if k == nil {
		return
	}
	err := tell(k)
	if err == nil {
		err = k.steps.Sweep(false)
	}
	if err != nil {
		r.w.violated("pool", "member %d: %v", r.m.id, err)
		return
	}
	for asked := k.steps.Ask(); asked != nil; asked = k.steps.Ask() {
		r.ask(k, asked)
	}
	for p, found := k.steps.Propose(); found; p, found = k.steps.Propose() {
		r.proposeLater(k, p)
	}
}

// published tells the task what changed in the catalog.
func (r pooling) published(o storage.Outcome) {
	if r.keeper == nil {
		return
	}
	for _, e := range o.Events {
		if name := pool.NodeOf(e); name != "" {
			r.after(50*time.Microsecond, func() {
				r.keep(func(k *poolKeeper) error { return k.steps.CatalogChanged(name) })
			})
		}
	}
}

// ask asks all voters.
func (r pooling) ask(k *poolKeeper, asked []gossip.Asked) {
	var voters []uint64
	for id := range r.core.Status().Config.Voters.IDs() {
		voters = append(voters, id)
	}
	slices.Sort(voters)
	r.w.truth.pool.asks(k.term, asked, len(voters))
	tally := pool.Tally{Failed: make([]int, len(asked)), Voters: len(voters)}
	left, over := len(voters), false
	end := func() {
		if over {
			return
		}
		over = true
		if r.keeper == k {
			r.keep(func(k *poolKeeper) error {
				k.steps.Judged(asked, tally)
				return nil
			})
		}
	}
	take := func(failed []bool) {
		if over {
			return
		}
		for i, f := range failed {
			tally.Failed[i] += int(boolNumber(f))
		}
		if left--; left == 0 {
			end()
		}
	}
	for _, id := range voters {
		if id == r.m.id {
			r.after(expo(r.dice, taskDelay), func() { take(r.judge(asked)) })
			continue
		}
		r.w.net.call(r.m.id, id, func() {
			to := r.w.memberByID(id)
			if to == nil || to.life == nil {
				return
			}
			to.life.soon(func(o *life) {
				if o.pool == nil {
					return
				}
				failed := pooling{o}.judge(asked)
				r.w.net.call(id, r.m.id, func() { r.soon(func(*life) { take(failed) }) })
			})
		})
	}
	r.after(askTimeout, end)
}

// proposeLater proposes a command a moment later, or in some plans seconds later.
func (r pooling) proposeLater(k *poolKeeper, p pool.Proposal) {
	flip := p.Command.GetSetLiveness() != nil
	if flip {
		r.w.truth.pool.flips = append(r.w.truth.pool.flips, expiryInFlight{r.m.id, k.term, r.w.now})
	}
	r.after(timing(r).late(), func() {
		if r.keeper != k && !r.w.plan.lateTasks() {
			return
		}
		if now := r.view.Lead(); flip && now.Term != k.term && r.leads() {
			r.w.floors.OldFlips++
		}
		r.propose(p.Command, func(result *storev1.Result, err error) {
			if r.keeper != k {
				return
			}
			r.keep(func(k *poolKeeper) error {
				return k.steps.Finish(p.Effect.Key, err != nil || result.GetFailure() != nil)
			})
		})
	})
}
