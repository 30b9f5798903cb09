package storage

import (
	"sync/atomic"

	"github.com/tenure-io/tenure/storage/layout"
)

// RightsState says which changes of tokens, policies, bindings and the mode are applied.
type RightsState = layout.RightsState

// Rights say which changes of tokens, policies, bindings and the mode a store has applied. Every call asks, several times, and they seldom
// change: apart from the rest of what is applied they stay in the caches of all processors. Any goroutine may ask.
type Rights struct{ now atomic.Pointer[RightsState] }

// Now returns what is applied. It is never older than what Applied returned before.
func (r *Rights) Now() RightsState { return *r.now.Load() }

// follow takes what was applied.
func (r *Rights) follow(a *Applied) {
	if now := a.Rights(); r.now.Load() == nil || r.Now() != now {
		kept := now // Only what is kept takes memory of its own.
		r.now.Store(&kept)
	}
}
