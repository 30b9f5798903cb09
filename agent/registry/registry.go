package registry

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenure-io/tenure/agent/check"
)

// Source says who registered something.
type Source uint8

// The sources.
const (
	// API: a call registered it, and it is kept on disk.
	API Source = iota
	// File: a configuration file did.
	File
)

// Content is a set of services and checks.
type Content struct {
	Services []Service
	Checks   []check.Definition
}

// Check is one check and its state.
type Check struct {
	Definition check.Definition
	State      check.State
	Source     Source
	// Ran: it had a result once, perhaps before the agent was restarted.
	Ran bool
}

// Change says what happened to the registry.
type Change struct {
	// Status: the status of a check is another.
	Status bool
	// Rows: services or checks are others.
	Rows bool
	// Output: only what checks say is another.
	Output bool
	// Registered: what calls registered is another.
	Registered bool
}

// merge adds another change.
func (c *Change) merge(o Change) {
	c.Status, c.Rows = c.Status || o.Status, c.Rows || o.Rows
	c.Output, c.Registered = c.Output || o.Output, c.Registered || o.Registered
}

// Options say what a Registry needs.
type Options struct {
	// Node is the agent's own node, which aliases may name.
	Node string
	// ExecFromFile and ExecFromAPI allow checks of kind exec.
	ExecFromFile bool
	ExecFromAPI  bool
	// Changed is called after each change, without a lock held and perhaps from several goroutines. It must not block.
	Changed func(Change)
}

// Registry is what one agent holds.
type Registry struct {
	options Options

	// mu guards what follows. No other lock is taken while it is held.
	mu sync.Mutex
	rows
	// restored are states that were stored, of checks that are not registered again yet.
	restored map[string]check.State
	// loaded: all that was registered before the start is registered again. Until then aliases keep their state: what
	// they stand for may still be missing.
	loaded bool
}

// New returns an empty Registry. Checks that have a state in stored begin with it.
func New(options Options, stored map[string]check.State) *Registry {
	if options.Changed == nil {
		options.Changed = func(Change) {}
	}
	return &Registry{options: options, rows: newRows(), restored: maps.Clone(stored)}
}

// Addition is what one call registers, or all files together.
type Addition struct {
	Content
	Source Source
	// Replace removes what is not in it: for File all that files registered before, for API the other checks of its
	// services.
	Replace bool
}

// Add registers all of an addition, or nothing.
func (r *Registry) Add(a Addition) error {
	return r.change(func(now time.Time) (Change, error) {
		plan, err := r.plan(a)
		if err != nil {
			return Change{}, err
		}
		return r.carryOut(plan, a.Source, now), nil
	})
}

// change makes one change, and announces it.
func (r *Registry) change(step func(now time.Time) (Change, error)) error {
	now := time.Now()
	r.mu.Lock()
	changed, err := step(now)
	if r.loaded && (changed.Status || changed.Rows) {
		r.mirrorAliases(now, &changed)
	}
	r.mu.Unlock()
	if changed != (Change{}) {
		r.options.Changed(changed)
	}
	return err
}

// Rows returns all services and checks, in order of id.
func (r *Registry) Rows() ([]Service, []Check) {
	r.mu.Lock()
	defer r.mu.Unlock()
	services := make([]Service, 0, len(r.services))
	for _, id := range slices.Sorted(maps.Keys(r.services)) {
		services = append(services, r.services[id].Service)
	}
	checks := make([]Check, 0, len(r.checks))
	for _, id := range slices.Sorted(maps.Keys(r.checks)) {
		e := r.checks[id]
		checks = append(checks, e.shown())
	}
	return services, checks
}

// Take returns what changed since it was called last. No change is half in it. It is for the one that follows the registry row by row; until it is
// called, an id is kept of each row that changed, also of those that are gone.
func (r *Registry) Take() Touched {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.take()
}

// TakeAll returns everything, for the one that begins to follow the registry with Take.
func (r *Registry) TakeAll() Touched {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touchAll()
	return r.take()
}

// Size returns how many services and checks there are.
func (r *Registry) Size() (services, checks int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.services), len(r.checks)
}

// Source returns who registered a service.
func (r *Registry) Source(serviceID string) (Source, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, found := r.services[serviceID]
	return s.source, found
}

// ServiceName returns the name of the service of an instance; empty if the agent does not have the instance.
func (r *Registry) ServiceName(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.services[id].Name
}

// ServiceNameOfCheck returns the name of the service that a check is about; empty if the agent does not have the check, or it is one of the node.
func (r *Registry) ServiceNameOfCheck(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, found := r.checks[id]
	if !found {
		return ""
	}
	return r.services[e.machine.Definition().ServiceID].Name
}

// Check returns one check.
func (r *Registry) Check(id string) (Check, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, found := r.checks[id]
	if !found {
		return Check{}, fmt.Errorf("check %q: %w", id, ErrCheckNotFound)
	}
	return e.shown(), nil
}

// Registered returns what calls registered, maintenance included, in order of id.
func (r *Registry) Registered() Content {
	r.mu.Lock()
	defer r.mu.Unlock()
	var c Content
	for _, id := range slices.Sorted(maps.Keys(r.services)) {
		if s := r.services[id]; s.source == API {
			c.Services = append(c.Services, s.Service)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.checks)) {
		if e := r.checks[id]; e.source == API {
			c.Checks = append(c.Checks, e.machine.Definition())
		}
	}
	return c
}

// States returns the state of every check, and of those whose registration is still to come.
func (r *Registry) States() map[string]check.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	states := maps.Clone(r.restored)
	if states == nil {
		states = map[string]check.State{}
	}
	for id, e := range r.checks {
		states[id] = e.machine.State()
	}
	return states
}

// Loaded ends the start: all that was registered before is registered again. States of other checks are forgotten.
func (r *Registry) Loaded() {
	_ = r.change(func(time.Time) (Change, error) {
		r.loaded, r.restored = true, nil
		return Change{Rows: true}, nil
	})
}
