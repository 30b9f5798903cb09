package tenure

import (
	"context"
	"sync"
)

// instanceName names an instance of a service.
type instanceName struct{ node, id string }

// takebacks let one registration of an instance be made, or taken back, at a time: else what takes back one whose caller gave up would delete the
// next one.
type takebacks struct {
	mu    sync.Mutex                     // Guards under.
	under map[instanceName]chan struct{} // Under way; each is closed at its end.
}

// begin waits for its turn with an instance, and returns what ends it.
func (t *takebacks) begin(ctx context.Context, name instanceName) (end func(), err error) {
	for {
		over := make(chan struct{})
		before := t.claim(name, over)
		if before == nil {
			return func() {
				t.mu.Lock()
				delete(t.under, name)
				t.mu.Unlock()
				close(over)
			}, nil
		}
		select {
		case <-before:
		case <-ctx.Done():
			return nil, interrupted(ctx, false, nil)
		}
	}
}

// claim notes who has an instance, unless somebody has it, whose end it returns.
func (t *takebacks) claim(name instanceName, over chan struct{}) (before <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.under[name]; other != nil {
		return other
	}
	if t.under == nil {
		t.under = map[instanceName]chan struct{}{}
	}
	t.under[name] = over
	return nil
}

// takeBack deregisters in the background, for a few seconds at most, what a registration that failed may have left, and then calls end.
func (r *Registration) takeBack(end func()) {
	if !r.client.openings.start(func(context.Context) {
		defer end()
		ctx, cancel := context.WithTimeout(context.Background(), closePatience)
		defer cancel()
		_ = r.at.takeBack(ctx, &r.service, r.health) // Nobody is there to take its error. At an agent, the check shows what is left.
	}) {
		end()
	}
}
