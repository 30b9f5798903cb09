package wake

import (
	"context"
	"sync"
)

// answers are what requests that one change has woken share.
type answers struct {
	mu sync.Mutex // guards by
	by map[string]*making
}

// making is an answer that a request makes for all.
type making struct {
	done   chan struct{} // closed once the others are set
	value  any
	shared bool
	err    error
	gone   bool // the request that made it has gone
}

// Once returns what the first of the requests with the same name makes; the others wait for it. If that says that it is not for others, each makes
// its own. The watch must have ended.
func (w *Watch) Once(ctx context.Context, name string, do func() (value any, shared bool, err error)) (any, error) {
	for {
		m, mine := w.making(name)
		if mine {
			w.fill(ctx, name, m, do)
			return m.value, m.err
		}
		select {
		case <-m.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch {
		case m.gone:
		case m.err == nil && !m.shared:
			value, _, err := do()
			return value, err
		default:
			return m.value, m.err
		}
	}
}

// making returns the answer with a name, and whether the caller has to make it.
func (a *answers) making(name string) (m *making, mine bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if m = a.by[name]; m != nil {
		return m, false
	}
	if a.by == nil {
		a.by = map[string]*making{}
	}
	m = &making{done: make(chan struct{}), gone: true}
	a.by[name] = m
	return m, true
}

// fill makes an answer. One that ends with its own request, or panics, is left to another.
func (a *answers) fill(ctx context.Context, name string, m *making, do func() (any, bool, error)) {
	defer func() {
		if m.gone {
			a.mu.Lock()
			delete(a.by, name)
			a.mu.Unlock()
		}
		close(m.done)
	}()
	m.value, m.shared, m.err = do()
	m.gone = m.err != nil && ctx.Err() != nil
}
