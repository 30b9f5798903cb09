package server

import "sync"

// arrivals wakes those who wait for the state machine to move.
type arrivals struct {
	mu     sync.Mutex    // guards waiter
	waiter chan struct{} // closed by the next publish; nil when nobody waits
}

// next returns a channel that is closed when something is applied after this call.
func (a *arrivals) next() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiter == nil {
		a.waiter = make(chan struct{})
	}
	return a.waiter
}

// publish wakes all who wait. It never blocks.
func (a *arrivals) publish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiter != nil {
		close(a.waiter)
		a.waiter = nil
	}
}
