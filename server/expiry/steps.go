package expiry

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// TickInterval is how often the timers of a term are looked at.
const TickInterval = tickInterval

// Steps are the timers of one term for a caller who brings clock and order with him, as a simulator does: what Lead does
// on goroutines of its own, step by step. One goroutine uses it.
type Steps struct {
	l *leader
}

// Decision is a command that the timers want in the log.
type Decision struct {
	// Command carries the term in which it was decided.
	Command *storev1.Command
	lane    *lane
}

// Begin starts the timers of a term as Lead does. It must be told of every Decision's outcome, and be ended.
func (t *Timers) Begin(number uint64) (*Steps, error) {
	tm, err := t.load(number)
	if err != nil {
		return nil, fmt.Errorf("start the timers of term %d: %w", number, err)
	}
	t.wake()
	return &Steps{l: newLeader(t, tm)}, nil
}

// Tick looks at what is due; it is called every TickInterval.
func (s *Steps) Tick() { s.l.tick(s.l.timers.now()) }

// Decide returns what is to be proposed now. It is called after every Tick and Finish.
func (s *Steps) Decide() []Decision {
	var out []Decision
	for _, p := range s.l.due(s.l.timers.now()) {
		out = append(out, Decision{Command: p.command, lane: p.lane})
	}
	return out
}

// Finish takes the outcome of a Decision.
func (s *Steps) Finish(d Decision, result *storev1.Result, err error) {
	s.l.finish(outcome{lane: d.lane, result: result, err: err})
}

// End ends the term.
func (s *Steps) End() { s.l.timers.leave() }
