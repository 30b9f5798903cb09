package share

import "sync"

// Pool is a bounded amount of something. Its methods may be called by any goroutine; none blocks. A nil Pool has no bound.
type Pool struct {
	total int64

	mu      sync.Mutex // guards what follows; no other lock is taken under it
	used    int64
	refused int64
	by      map[Caller]int64 // without those who have nothing
}

// NewPool returns a pool of total.
func NewPool(total int64) *Pool { return &Pool{total: total, by: map[Caller]int64{}} }

// Take takes n for a caller, or reports false if that is more than its share or than is left.
func (p *Pool) Take(c Caller, n int64) bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.total - p.used
	if n > free || !c.exempt && p.by[c]+n > free {
		p.refused++
		return false
	}
	p.used += n
	p.by[c] += n
	return true
}

// Give gives back n that a caller took.
func (p *Pool) Give(c Caller, n int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	if left := p.by[c] - n; left > 0 {
		p.by[c] = left
	} else {
		delete(p.by, c)
	}
}

// of returns how much a caller has.
func (p *Pool) of(c Caller) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.by[c]
}

// Total returns how much there is.
func (p *Pool) Total() int64 { return p.total }

// Used returns how much is taken.
func (p *Pool) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// Refused returns how often the pool refused.
func (p *Pool) Refused() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}
