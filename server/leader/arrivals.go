package leader

import "sync"

// Arrivals wakes those who wait for the state machine to move.
type Arrivals struct {
	mu     sync.Mutex    // guards waiter
	waiter chan struct{} // closed by the next publish; nil when nobody waits
}

// Next returns a channel that is closed when something is applied after this call.
func (a *Arrivals) Next() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiter == nil {
		a.waiter = make(chan struct{})
	}
	return a.waiter
}

// Publish wakes all who wait. It never blocks.
func (a *Arrivals) Publish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiter != nil {
		close(a.waiter)
		a.waiter = nil
	}
}
