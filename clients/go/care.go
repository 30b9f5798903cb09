package tenure

import (
	"slices"
	"sync"
)

// care is what a client closes when it is closed: sessions and registrations.
type care struct {
	mu            sync.Mutex // Guards what follows.
	closed        bool
	sessions      []*Session
	registrations []*Registration
}

// add takes a session under the client's care.
func (c *care) add(s *Session) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClientClosed()
	}
	c.sessions = append(c.sessions, s)
	return nil
}

// release ends what a session that is over still does, and forgets it.
func (c *care) release(s *Session) {
	s.work.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions = slices.DeleteFunc(c.sessions, func(other *Session) bool { return other == s })
}

// keep takes a registration under the client's care.
func (c *care) keep(r *Registration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.registrations = append(c.registrations, r)
	return true
}

// registered reports whether a registration of an instance is open.
func (c *care) registered(name instanceName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.registrations, func(r *Registration) bool { return r.service.name() == name })
}

// drop gives a registration up.
func (c *care) drop(r *Registration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registrations = slices.DeleteFunc(c.registrations, func(other *Registration) bool { return other == r })
}

// close takes nothing more, and returns what is to be closed.
func (c *care) close() ([]*Session, []*Registration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return slices.Clone(c.sessions), slices.Clone(c.registrations)
}
