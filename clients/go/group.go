package tenure

import (
	"context"
	"sync"
)

// group is goroutines that end together: each gets a context that ends when the group is stopped, and stopping waits for all.
type group struct {
	running sync.WaitGroup

	mu      sync.Mutex // Guards what follows.
	stopped bool
	next    int
	cancels map[int]context.CancelFunc
}

// start runs f in a goroutine, unless the group was stopped.
func (g *group) start(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return false
	}
	if g.cancels == nil {
		g.cancels = map[int]context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	number := g.next
	g.next++
	g.cancels[number] = cancel
	g.running.Go(func() {
		defer g.forget(number)
		f(ctx)
	})
	return true
}

func (g *group) forget(number int) {
	g.mu.Lock()
	cancel := g.cancels[number]
	delete(g.cancels, number)
	g.mu.Unlock()
	cancel()
}

// stop ends the contexts of all goroutines, and waits for them. Nothing can be started after.
func (g *group) stop() {
	g.mu.Lock()
	g.stopped = true
	for _, cancel := range g.cancels {
		cancel()
	}
	g.mu.Unlock()
	g.running.Wait()
}
