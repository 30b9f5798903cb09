package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// The verbs of a command are divided into families, a type each. They share the command under way, which knows one of every
// family, and call each other through it.

// sessionVerbs begin, take over and end sessions, and count what a session owns.
type sessionVerbs struct{ *command }

// lockVerbs acquire and release locks, and begin and end holds and their delays.
type lockVerbs struct{ *command }

// breakVerbs end holds and places of others, as an operator asks.
type breakVerbs struct{ *command }

// queueVerbs let waiters stand in queues, leave them, and be granted.
type queueVerbs struct{ *command }

// keyVerbs put, delete and move keys.
type keyVerbs struct{ *command }

// txnVerbs check guards and run transactions.
type txnVerbs struct{ *command }

// memberVerbs change the members, who may join them, the limits and the cluster version.
type memberVerbs struct{ *command }

// memoryVerbs forget history, and what is remembered above the limits.
type memoryVerbs struct{ *command }

// verbs holds one of every family.
type verbs struct {
	sessions sessionVerbs
	locks    lockVerbs
	breaks   breakVerbs
	queue    queueVerbs
	keys     keyVerbs
	ops      txnVerbs
	members  memberVerbs
	memory   memoryVerbs
}

// verbsOf returns the verbs of a command.
func verbsOf(c *command) verbs {
	return verbs{
		sessions: sessionVerbs{c},
		locks:    lockVerbs{c},
		breaks:   breakVerbs{c},
		queue:    queueVerbs{c},
		keys:     keyVerbs{c},
		ops:      txnVerbs{c},
		members:  memberVerbs{c},
		memory:   memoryVerbs{c},
	}
}

// asked is a command as the rooms see it that do a part of it.
type asked struct{ *command }

// Emit adds an event.
func (a asked) Emit(e *storev1.Event) { a.emit(e) }

// NeedSpace refuses what makes the state grow, once the store is full.
func (a asked) NeedSpace() error { return a.needSpace() }

// Limits returns the limits in force; nobody may change them.
func (a asked) Limits() (*storev1.Limits, error) { return a.effectiveLimits() }

// AddObject counts one more object of a live session, DropObject one less.
func (a asked) AddObject(id layout.SessionID) error { return a.sessions.addObject(id) }

// DropObject is AddObject's opposite.
func (a asked) DropObject(id layout.SessionID) error { return a.sessions.dropObject(id) }

// ActsAs returns why the command must not act as a session, or nil.
func (a asked) ActsAs(ref *storev1.SessionRef) error {
	_, err := a.sessions.session(ref)
	return err
}
