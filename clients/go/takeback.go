package tenure

import (
	"context"
	"sync"
)

// instanceName names an instance of a service.
type instanceName struct{ node, id string }

// takebacks are the registrations that are being taken back, because their callers gave up and have nothing to close.
type takebacks struct {
	mu    sync.Mutex                     // Guards under.
	under map[instanceName]chan struct{} // Under way; each is closed at its end.
}

// await waits until an instance is not being taken back: that would take another registration of it back, too.
func (t *takebacks) await(ctx context.Context, name instanceName) error {
	t.mu.Lock()
	over := t.under[name]
	t.mu.Unlock()
	if over == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return interrupted(ctx, false, nil)
	}
}

// begin notes one, and returns what ends it; the last of a name is the one to wait for.
func (t *takebacks) begin(name instanceName) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.under == nil {
		t.under = map[instanceName]chan struct{}{}
	}
	over := make(chan struct{})
	t.under[name] = over
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.under[name] == over {
			delete(t.under, name)
		}
		close(over)
	}
}

// takeBack deregisters in the background, for a few seconds at most, what a registration that failed may have left.
func (r *Registration) takeBack() {
	end := r.client.takebacks.begin(r.service.name())
	if !r.client.openings.start(func(context.Context) {
		defer end()
		ctx, cancel := context.WithTimeout(context.Background(), closePatience)
		defer cancel()
		_ = r.at.takeBack(ctx, &r.service, r.health) // If nobody can be told, the check of an agent tells.
	}) {
		end()
	}
}
