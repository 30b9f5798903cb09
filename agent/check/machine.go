package check

import (
	"fmt"
	"time"

	"github.com/tenure-io/tenure/internal/invariants"
)

// stallMin is how late a deadline must be noticed to count as a stall of the agent.
const stallMin = 200 * time.Millisecond

// Result is what a run found, or what a service reported.
type Result struct {
	Status Status
	// Output is for people.
	Output string
}

// State is what others see of a check.
type State struct {
	Status Status
	Output string
}

// Effect says what a step of the machine asks of its caller.
type Effect struct {
	// Changed: the status is another.
	Changed bool
	// Annotated: only the output is another.
	Annotated bool
	// Deregister: the check was critical for as long as its definition allows, so its service goes.
	Deregister bool
}

// Machine is one check: (state, event, time) → (state, effect). Its caller guards it.
type Machine struct {
	def       Definition
	state     State
	successes int
	failures  int
	// last is the output of the last report, for a TTL that runs out.
	last string
	// expires is when the TTL runs out; zero: it did, or there is none.
	expires time.Time
	// extended: the TTL was extended once since the last report, because the agent had stalled.
	extended bool
	// criticalSince is zero while the check is not critical.
	criticalSince time.Time
	// removing: Deregister was asked for.
	removing bool
	// ran: there was a result, in this run of the agent or before.
	ran bool
}

// NewMachine begins a check. A check that ran before begins with the state it had, which is stored; the zero State is
// that of one which never ran. A TTL begins anew and in full.
func NewMachine(d Definition, stored State, now time.Time) *Machine {
	invariants.That(d.Kind != nil, "a check without a kind was started")
	m := &Machine{def: d.WithDefaults(), state: stored, ran: stored.Status != Unset}
	if m.state.Status == Unset {
		m.state = State{Status: d.Status}
	}
	if m.state.Status == Unset {
		m.state.Status = Critical
	}
	if _, is := d.Kind.(Maintenance); is {
		m.state = State{Status: Critical, Output: d.Notes}
	}
	m.last = m.state.Output
	if ttl, is := d.Kind.(TTL); is && m.state.Status != Critical {
		m.expires = now.Add(ttl.TTL)
	}
	if m.state.Status == Critical {
		m.criticalSince = now
	}
	return m
}

// State returns what others see.
func (m *Machine) State() State { return m.state }

// Ran reports whether there ever was a result.
func (m *Machine) Ran() bool { return m.ran }

// Definition returns the check's definition, with its defaults.
func (m *Machine) Definition() Definition { return m.def }

// Found takes the result of a run.
func (m *Machine) Found(r Result, now time.Time) Effect {
	invariants.That(m.def.Probes(), "a check that nothing is run for had a result")
	m.ran = true
	status := r.Status
	if status == Critical || status == Unset {
		m.successes, m.failures = 0, min(m.failures+1, ThresholdMax)
		switch {
		case m.failures >= m.def.FailuresBeforeCritical:
			status = Critical
		case m.failures >= m.def.FailuresBeforeWarning:
			// A check that is critical does not get better by failing.
			if m.state.Status == Critical {
				return Effect{}
			}
			status = Warning
		default:
			return Effect{}
		}
	} else {
		m.successes, m.failures = min(m.successes+1, ThresholdMax), 0
		if m.successes < m.def.SuccessBeforePassing {
			return Effect{}
		}
	}
	return m.set(State{Status: status, Output: Cut(r.Output)}, now)
}

// Report takes what a service reports about itself.
func (m *Machine) Report(r Result, now time.Time) Effect {
	if ttl, is := m.def.Kind.(TTL); is {
		m.expires = now.Add(ttl.TTL)
		m.extended = false
	}
	m.last = Cut(r.Output)
	return m.set(State{Status: r.Status, Output: m.last}, now)
}

// Mirror takes the status of what an alias stands for.
func (m *Machine) Mirror(r Result, now time.Time) Effect {
	return m.set(State{Status: r.Status, Output: Cut(r.Output)}, now)
}

// Tick takes the time. It need not be called before Deadline.
func (m *Machine) Tick(now time.Time) Effect {
	var fx Effect
	if ttl, is := m.def.Kind.(TTL); is && !m.expires.IsZero() && !now.Before(m.expires) {
		if late := now.Sub(m.expires); late > stallMin && !m.extended {
			// The agent stood still, and reports may wait where it has not read yet.
			m.extended = true
			m.expires = now.Add(min(late, ttl.TTL))
		} else {
			m.expires = time.Time{}
			output := fmt.Sprintf("no report for %s", ttl.TTL)
			if m.last != "" {
				output += "; the last one was: " + m.last
			}
			fx = m.set(State{Status: Critical, Output: Cut(output)}, now)
		}
	}
	if at := m.removal(); !at.IsZero() && !now.Before(at) {
		m.removing, fx.Deregister = true, true
	}
	return fx
}

// Deadline returns when Tick has something to do; zero: never.
func (m *Machine) Deadline() time.Time {
	at := m.removal()
	if at.IsZero() || (!m.expires.IsZero() && m.expires.Before(at)) {
		return m.expires
	}
	return at
}

// removal returns when the check's service goes; zero: it stays.
func (m *Machine) removal() time.Time {
	if m.criticalSince.IsZero() || m.removing || m.def.DeregisterCriticalAfter == 0 {
		return time.Time{}
	}
	return m.criticalSince.Add(m.def.DeregisterCriticalAfter)
}

// set changes what others see.
func (m *Machine) set(to State, now time.Time) Effect {
	from := m.state
	m.state = to
	switch {
	case to.Status != Critical:
		m.criticalSince, m.removing = time.Time{}, false
	case m.criticalSince.IsZero():
		m.criticalSince = now
	}
	return Effect{Changed: to.Status != from.Status, Annotated: to.Status == from.Status && to.Output != from.Output}
}
