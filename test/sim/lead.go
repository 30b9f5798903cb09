package sim

import (
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
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
		late := r.late()
		if expire := command.GetExpireSessions(); expire != nil {
			r.w.floors.ExpiriesProposed++
			r.w.truth.expiring(r.life, len(expire.GetSessionIds()))
			for _, id := range expire.GetSessionIds() {
				r.w.comeBack(storage.SessionID(id), late+time.Millisecond)
			}
		}
		r.after(late, func() {
			if r.steps != steps && !r.w.plan.lateTasks() {
				return
			}
			r.proposeDecision(steps, d, command)
		})
	}
}

// late draws how long it takes until a decision is proposed. In some plans that may be seconds; mostly another member leads meanwhile.
func (r timing) late() time.Duration {
	late := expo(r.dice, 200*time.Microsecond)
	if r.dice.IntN(4) == 0 {
		late += expo(r.dice, 10*time.Millisecond)
	}
	if r.w.plan.LateTasks == 0 || r.w.quiet || r.dice.Float64() >= r.w.plan.LateTasks {
		return late
	}
	late += between(r.dice, 0, 6*time.Second)
	if r.dice.IntN(2) == 0 {
		away := between(r.dice, 0, late)
		r.after(away, func() { trouble{r.w}.transfer(r.m) })
		r.after(between(r.dice, away, late), func() { trouble{r.w}.handTo(r.m) })
	}
	return late
}

func (r timing) proposeDecision(steps *expiry.Steps, d expiry.Decision, command *storev1.Command) {
	r.propose(command, func(result *storev1.Result, err error) {
		if r.steps == steps {
			steps.Finish(d, result, err)
			renewing(r).timersChanged()
		}
		if result.GetFailure().GetReason() == storev1.FailureReason_FAILURE_REASON_TERM_MISMATCH {
			r.w.floors.OldDecisions++
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
