package leader

import (
	"context"
	"sync"
)

// Asked is who asks for a command to be ordered, where an attempt that is under way goes on without them, to learn what comes of it. No other attempt
// begins once they have gone. Any goroutine may call its methods. For nil, all ends with the context of the call.
type Asked struct {
	ctx context.Context //nolint:containedctx // It is the asker's life, not that of the attempts.

	mu    sync.Mutex // guards what follows
	under bool       // an attempt is under way, or was made
	gone  bool
}

// NewAsked returns one who waits until ctx ends.
func NewAsked(ctx context.Context) *Asked { return &Asked{ctx: ctx} }

// Gone has no attempt begin from now on, and reports whether one is under way, or made and not known here yet. If not, there soon is an error that says
// that nothing was applied.
func (a *Asked) Gone() (underWay bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = true
	return a.under
}

// life returns how long somebody asks, at most as long as the call's context lasts.
func (a *Asked) life(ctx context.Context) context.Context {
	if a == nil {
		return ctx
	}
	return a.ctx
}

// begins reports whether an attempt may begin, which is then under way.
func (a *Asked) begins() bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.under = !a.gone
	return a.under
}

// ended takes how an attempt ended. One that succeeded is known only when its result is returned.
func (a *Asked) ended(err error) {
	if a == nil || err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.under = false
}
