package turn

import (
	"fmt"
	"sync/atomic"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/raftnode/core"
)

// View is what the loop shows to others after each turn. Anybody may read it, once the loop has shown something.
type View struct{ newest atomic.Pointer[shown] }

type shown struct {
	lead    core.Leadership
	commit  uint64
	changed chan struct{} // closed when another leadership is shown
}

// Show replaces what is shown. Only the loop does so, and whoever starts it.
func (v *View) Show(lead core.Leadership, commit uint64) {
	was := v.newest.Load()
	invariants.That(was == nil || was.commit <= commit && was.lead.Term <= lead.Term,
		"the view goes back, to term %d and index %d", lead.Term, commit)
	if was != nil && was.lead == lead {
		v.newest.Store(&shown{lead: lead, commit: commit, changed: was.changed})
		return
	}
	v.newest.Store(&shown{lead: lead, commit: commit, changed: make(chan struct{})})
	if was != nil {
		close(was.changed)
	}
}

// LeadChanged returns a channel that is closed when who leads, or the term, is not as it is now.
func (v *View) LeadChanged() <-chan struct{} { return v.newest.Load().changed }

// Lead returns who leads.
func (v *View) Lead() core.Leadership { return v.newest.Load().lead }

// Commit returns the highest index known to be committed.
func (v *View) Commit() uint64 { return v.newest.Load().commit }

// Both returns who leads, and the highest index known to be committed.
func (v *View) Both() (core.Leadership, uint64) {
	now := v.newest.Load()
	return now.lead, now.commit
}

// MayPropose refuses at once what the loop would drop.
func (v *View) MayPropose() error {
	l := v.Lead()
	switch {
	case l.Role == core.RoleLeader:
		return nil
	case l.Leader == 0:
		return core.ErrNoLeader
	default:
		return &NotLeaderError{Leader: l.Leader, Term: l.Term}
	}
}

// Explain adds the hint to what core says about a proposal or read.
func (v *View) Explain(err error) error {
	if err == core.ErrNotLeader { //nolint:errorlint // The bare sentinel is what core returns; a wrapped one has its hint.
		l := v.Lead()
		return &NotLeaderError{Leader: l.Leader, Term: l.Term}
	}
	return err
}

// NotLeaderError is core.ErrNotLeader with a hint.
type NotLeaderError struct {
	// Leader is the leader's member id as far as is known; 0 when unknown.
	Leader uint64
	// Term is the term in which that was known.
	Term uint64
}

// Error names the leader.
func (e *NotLeaderError) Error() string {
	if e.Leader == 0 {
		return fmt.Sprintf("%v in term %d", core.ErrNotLeader, e.Term)
	}
	return fmt.Sprintf("%v in term %d: member %x is", core.ErrNotLeader, e.Term, e.Leader)
}

// Unwrap returns core.ErrNotLeader.
func (e *NotLeaderError) Unwrap() error { return core.ErrNotLeader }
