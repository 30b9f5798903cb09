package sim

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Parse reads a plan that was written down.
func Parse(b []byte) (*Plan, error) {
	p := &Plan{}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	return p, nil
}

func (p *Plan) clone() *Plan {
	c := *p
	c.Clients, c.Faults = slices.Clone(p.Clients), slices.Clone(p.Faults)
	return &c
}

// Shrink makes a failing plan smaller as long as it fails, in so many tries: fewer faults, a shorter run, fewer clients.
// Any violation counts, because a smaller run may show the same mistake in another way. It returns the last one that
// failed.
func Shrink(p *Plan, tries int) *Plan {
	s := &shrinker{best: p, tries: tries}
	s.shorten()
	for chunk := max(len(s.best.Faults)/2, 1); chunk >= 1; chunk /= 2 {
		for i := 0; i < len(s.best.Faults); {
			c := s.best.clone()
			c.Faults = slices.Delete(c.Faults, i, min(i+chunk, len(c.Faults)))
			if !s.fails(c) {
				i += chunk
			}
		}
	}
	for i := len(s.best.Clients) - 1; i >= 0; i-- {
		c := s.best.clone()
		c.Clients[i] = RoleNobody
		s.fails(c)
	}
	for _, simpler := range []func(*Plan){
		func(c *Plan) { c.Duplicates = 0 },
		func(c *Plan) { c.Loss = 0 },
		func(c *Plan) { c.Tokens = false },
		func(c *Plan) { c.LateTasks = 0 },
		func(c *Plan) { c.InstallCrashes = 0 },
		func(c *Plan) { c.BrokenStreams = 0 },
		func(c *Plan) { c.FIFO = true },
		func(c *Plan) { c.Breaks, c.Deaths = false, false },
		func(c *Plan) { c.LocksAtOnce = 0 },
	} {
		c := s.best.clone()
		simpler(c)
		s.fails(c)
	}
	s.shorten()
	return s.best
}

type shrinker struct {
	best  *Plan
	tries int
}

// fails runs a plan and keeps it if it fails.
func (s *shrinker) fails(p *Plan) bool {
	if s.tries <= 0 {
		return false
	}
	s.tries--
	if !Run(p, nil).Failed() {
		return false
	}
	s.best = p
	return true
}

// shorten lets the faults end earlier.
func (s *shrinker) shorten() {
	for step := s.best.FaultsMs / 2; step >= 1000; step /= 2 {
		c := s.best.clone()
		if c.FaultsMs -= step; c.FaultsMs < 1000 {
			continue
		}
		c.Faults = slices.DeleteFunc(c.Faults, func(f Fault) bool { return f.AtMs > c.FaultsMs })
		s.fails(c)
	}
}
