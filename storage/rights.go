package storage

import (
	"sync/atomic"

	"github.com/tenure-io/tenure/storage/layout"
)

// RightsState is how far tokens, policies, bindings and the mode are.
type RightsState = layout.RightsState

// Rights are how far a store's tokens, policies, bindings and mode are. Every call asks, several times, and they seldom change: apart from the rest
// of what is applied they stay in the caches of all processors. Any goroutine may ask.
type Rights struct{ now atomic.Pointer[RightsState] }

// Now returns how far they are after the last Apply, at least as far as what Applied returned before.
func (r *Rights) Now() RightsState { return *r.now.Load() }

// follow takes what was applied.
func (r *Rights) follow(a *Applied) {
	if now := a.Rights(); r.now.Load() == nil || r.Now() != now {
		r.now.Store(&now)
	}
}
