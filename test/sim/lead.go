package sim

import (
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/server/expiry"
)

// timing drives the timers of a life that leads.
type timing struct{ *life }

// lead begins the timers of a term, if it is still this member's.
func (r timing) lead(term uint64) {
	if l := r.view.Lead(); l.Role != core.RoleLeader || l.Term != term || r.stepsTerm == term {
		return
	}
	steps, err := r.timers.Begin(term)
	if err != nil {
		r.w.violated("timers", "member %d: %v", r.m.id, err)
		return
	}
	r.w.note("timers begin", r.m.id, term)
	r.steps, r.stepsTerm = steps, term
	renewing(r).timersChanged()
	r.timersTick(steps)
}

func (r timing) timersTick(steps *expiry.Steps) {
	r.after(expiry.TickInterval, func() {
		if r.steps != steps {
			return
		}
		steps.Tick()
		r.decide(steps)
		r.timersTick(steps)
	})
}

// decide proposes what the timers decided. A goroutine does so, which may be late.
func (r timing) decide(steps *expiry.Steps) {
	for _, d := range steps.Decide() {
		command := d.Command
		if expire := command.GetExpireSessions(); expire != nil {
			r.w.floors.ExpiriesProposed++
			r.w.truth.expiring(r.life, len(expire.GetSessionIds()))
			for _, id := range expire.GetSessionIds() {
				r.w.comeBack(id)
			}
		}
		late := expo(r.dice, 200*time.Microsecond)
		if r.w.plan.LateTasks > 0 && !r.w.quiet && r.dice.Float64() < r.w.plan.LateTasks {
			late += between(r.dice, 0, 6*time.Second)
		}
		r.after(late, func() {
			if r.steps != steps && !r.w.plan.lateTasks() {
				return
			}
			r.proposeDecision(steps, d, command)
		})
	}
}

func (r timing) proposeDecision(steps *expiry.Steps, d expiry.Decision, command *storev1.Command) {
	r.propose(command, func(result *storev1.Result, err error) {
		if r.steps == steps {
			steps.Finish(d, result, err)
			renewing(r).timersChanged()
		}
	})
}

// endLead ends the timers of a term.
func (r timing) endLead() {
	if r.steps == nil {
		return
	}
	r.steps.End()
	r.steps = nil
	r.w.note("timers end", r.m.id)
	renewing(r).timersChanged()
}

// watchLeadership looks for a leader that nobody follows any more and that leads on.
func (r timing) watchLeadership() {
	if !r.leads() {
		return
	}
	limit := 4 * r.w.plan.ElectionTicks
	if r.ticks < r.ledSince+limit || r.ticks%r.w.plan.ElectionTicks != 0 {
		return
	}
	silent := map[uint64]struct{}{}
	for id := range r.core.Status().Config.Voters.IDs() {
		if id != r.m.id && r.ticks > r.heard[id]+limit {
			silent[id] = struct{}{}
		}
	}
	for _, half := range r.core.Status().Config.Voters {
		deaf := 0
		for id := range half {
			if _, ok := silent[id]; ok {
				deaf++
			}
		}
		if len(half) > 0 && len(half)-deaf < len(half)/2+1 {
			r.w.violated("raft", "member %d leads on, %d ticks after it heard from a quorum", r.m.id, limit)
		}
	}
}
