package share

import (
	"context"
	"slices"
	"sync"
)

// Turns let few do at a time what keeps a processor busy for long, and the others wait. Who waits longest comes next among those of one caller,
// and callers take turns, however many of each wait: so one caller that asks for much delays another by little. Any goroutine may call any method.
type Turns struct {
	mu      sync.Mutex // guards what follows
	free    int
	callers []Caller                   // that wait, in the order of their turns
	waiting map[Caller][]chan struct{} // closed when its turn has come; never empty
}

// NewTurns returns turns of which some are taken at a time; at least one is.
func NewTurns(atOnce int) *Turns {
	return &Turns{free: max(1, atOnce), waiting: map[Caller][]chan struct{}{}}
}

// Take waits for a turn of a caller, which lasts until done is called, once. It fails only with the context, and then there is no done.
func (t *Turns) Take(ctx context.Context, caller Caller) (done func(), err error) {
	mine := t.queue(caller)
	select {
	case <-mine:
		return sync.OnceFunc(t.pass), nil
	case <-ctx.Done():
		if !t.leave(caller, mine) { // The turn has come in the meantime.
			t.pass()
		}
		return nil, ctx.Err()
	}
}

// Awaited reports whether anybody waits for a turn.
func (t *Turns) Awaited() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.callers) > 0
}

// queue takes a free turn, or a place among those of the caller that wait.
func (t *Turns) queue(caller Caller) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := make(chan struct{})
	if t.free > 0 { // Then nobody waits.
		t.free--
		close(mine)
		return mine
	}
	if len(t.waiting[caller]) == 0 {
		t.callers = append(t.callers, caller)
	}
	t.waiting[caller] = append(t.waiting[caller], mine)
	return mine
}

// pass gives a turn that has ended to the next that waits.
func (t *Turns) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.callers) == 0 {
		t.free++
		return
	}
	caller := t.callers[0]
	t.callers = slices.Delete(t.callers, 0, 1)
	close(t.waiting[caller][0])
	if t.drop(caller, 0); len(t.waiting[caller]) > 0 {
		t.callers = append(t.callers, caller)
	}
}

// leave gives a place up, and reports whether it was still waiting.
func (t *Turns) leave(caller Caller, mine chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.waiting[caller], mine)
	if at < 0 {
		return false
	}
	if t.drop(caller, at); len(t.waiting[caller]) == 0 {
		t.callers = slices.DeleteFunc(t.callers, func(c Caller) bool { return c == caller })
	}
	return true
}

// drop forgets a place of a caller. The caller of it holds mu.
func (t *Turns) drop(caller Caller, at int) {
	if t.waiting[caller] = slices.Delete(t.waiting[caller], at, at+1); len(t.waiting[caller]) == 0 {
		delete(t.waiting, caller)
	}
}
