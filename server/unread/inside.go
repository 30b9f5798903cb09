package unread

import (
	"strconv"
	"sync"
)

// Inside has the turns of large answers that callers inside this process have not yet: gRPC would keep any number of them, in turns on one
// connection, and nothing counts there. The caller says when it has its answer, or wants none: gRPC forgets some of what it drops. The zero
// value is ready.
type Inside struct {
	mu    sync.Mutex        // guards what follows
	last  uint64            // the number of the last call
	calls map[string]func() // under way, with what ends the turn of its answer; nil: it has none
}

// Begin begins a call. The caller sends its name along, and calls end when the call has ended.
func (i *Inside) Begin() (name string, end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calls == nil {
		i.calls = map[string]func(){}
	}
	i.last++
	name = strconv.FormatUint(i.last, 10)
	i.calls[name] = nil
	return name, func() {
		i.mu.Lock()
		turn := i.calls[name]
		delete(i.calls, name)
		i.mu.Unlock()
		if turn != nil {
			turn()
		}
	}
}

// Keep calls end once the caller of that name has its answer: at once if it waits for none any more.
func (i *Inside) Keep(name string, end func()) {
	i.mu.Lock()
	earlier, waits := i.calls[name]
	if waits = waits && earlier == nil; waits {
		i.calls[name] = end
	}
	i.mu.Unlock()
	if !waits {
		end()
	}
}
