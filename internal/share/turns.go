package share

import (
	"context"
	"slices"
	"sync"
)

// Turns let so many requests work at a time, and divide that between callers as a Pool does: one may have as many turns as it leaves free, and those
// that wait get theirs in order, a caller after the other. So one that asks for much delays another by little. Its methods may be called by any
// goroutine.
type Turns struct {
	pool *Pool
	each int64 // that a caller has at most; zero: what the pool gives it

	mu    sync.Mutex                   // guards what follows; the pool's lock is taken under it
	queue map[Caller][]chan<- struct{} // without those where nothing waits
	order []Caller                     // who waits, the next one first
}

// NewTurns returns so many turns. With fewer than two, one caller may have them all.
func NewTurns(total int) *Turns {
	return &Turns{pool: NewPool(int64(total)), queue: map[Caller][]chan<- struct{}{}}
}

// NewTurnsEach returns so many turns, of which a caller has at most each, unless it is exempt.
func NewTurnsEach(total, each int) *Turns {
	t := NewTurns(total)
	t.each = int64(each)
	return t
}

// Used returns how many requests have a turn.
func (t *Turns) Used() int64 { return t.pool.Used() }

// Take waits for a turn, and returns what ends it, which must be called once. An error is that of the context.
func (t *Turns) Take(ctx context.Context, c Caller) (end func(), _ error) {
	end = func() { t.give(c) }
	t.mu.Lock()
	if len(t.queue[c]) == 0 && t.tryTake(c) {
		t.mu.Unlock()
		return end, nil
	}
	granted := make(chan struct{}, 1)
	if len(t.queue[c]) == 0 {
		t.order = append(t.order, c)
	}
	t.queue[c] = append(t.queue[c], granted)
	t.mu.Unlock()
	select {
	case <-granted:
		return end, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	waits := t.forget(c, granted)
	t.mu.Unlock()
	if !waits {
		end() // It came at the same time.
	}
	return nil, ctx.Err()
}

// tryTake takes a turn, if there is one for a caller. The caller holds mu.
func (t *Turns) tryTake(c Caller) bool {
	return (t.each == 0 || c.exempt || t.pool.of(c) < t.each) && t.pool.Take(c, 1)
}

// forget takes a request out of its queue, and reports whether it was still in it. The caller holds mu.
func (t *Turns) forget(c Caller, granted chan<- struct{}) bool {
	i := slices.Index(t.queue[c], granted)
	if i < 0 {
		return false
	}
	t.queue[c] = slices.Delete(t.queue[c], i, i+1)
	if len(t.queue[c]) == 0 {
		delete(t.queue, c)
		t.order = slices.DeleteFunc(t.order, func(other Caller) bool { return other == c })
	}
	return true
}

// give gives a turn back, and grants those that are free.
func (t *Turns) give(c Caller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pool.Give(c, 1)
	for tries := len(t.order); tries > 0 && t.pool.Used() < t.pool.Total(); tries-- {
		next := t.order[0]
		t.order = t.order[1:]
		if !t.tryTake(next) {
			t.order = append(t.order, next)
			continue
		}
		waiting := t.queue[next]
		waiting[0] <- struct{}{}
		if len(waiting) > 1 {
			t.queue[next] = waiting[1:]
			t.order = append(t.order, next)
		} else {
			delete(t.queue, next)
		}
	}
}
