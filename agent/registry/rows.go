package registry

import "github.com/tenure-io/tenure/agent/check"

// rows are services and checks. They remember which of them changed.
type rows struct {
	services map[string]service
	checks   map[string]*entry
	// aliases are the ids of the checks that are aliases, so that a change does not look through all checks for them.
	aliases map[string]bool
	// touched are the ids of those that changed since take.
	touched struct{ services, checks map[string]bool }
}

func newRows() rows {
	r := rows{services: map[string]service{}, checks: map[string]*entry{}, aliases: map[string]bool{}}
	r.touched.services, r.touched.checks = map[string]bool{}, map[string]bool{}
	return r
}

type service struct {
	Service
	source Source
}

type entry struct {
	machine *check.Machine
	source  Source
}

// shown returns the check as others see it.
func (e *entry) shown() Check {
	return Check{Definition: e.machine.Definition(), State: e.machine.State(), Source: e.source, Ran: e.machine.Ran()}
}

// Touched are services and checks that changed, as they are now; nil: it is gone.
type Touched struct {
	Services map[string]*Service
	Checks   map[string]*Check
}

// setService, setCheck, deleteService and deleteCheck are how rows come and go, so that Take returns them.
func (r *rows) setService(id string, s service) {
	r.services[id] = s
	r.touched.services[id] = true
}

func (r *rows) setCheck(id string, e *entry) {
	r.checks[id] = e
	if _, is := e.machine.Definition().Kind.(check.Alias); is {
		r.aliases[id] = true
	} else {
		delete(r.aliases, id)
	}
	r.touched.checks[id] = true
}

func (r *rows) deleteService(id string) {
	delete(r.services, id)
	r.touched.services[id] = true
}

func (r *rows) deleteCheck(id string) {
	delete(r.checks, id)
	delete(r.aliases, id)
	r.touched.checks[id] = true
}

// touchAll has take return everything.
func (r *rows) touchAll() {
	for id := range r.services {
		r.touched.services[id] = true
	}
	for id := range r.checks {
		r.touched.checks[id] = true
	}
}

// take returns what changed since it was called last.
func (r *rows) take() Touched {
	if len(r.touched.services) == 0 && len(r.touched.checks) == 0 {
		return Touched{}
	}
	t := Touched{Services: make(map[string]*Service, len(r.touched.services)), Checks: make(map[string]*Check, len(r.touched.checks))}
	for id := range r.touched.services {
		t.Services[id] = nil
		if s, found := r.services[id]; found {
			t.Services[id] = &s.Service
		}
	}
	for id := range r.touched.checks {
		t.Checks[id] = nil
		if e, found := r.checks[id]; found {
			of := e.shown()
			t.Checks[id] = &of
		}
	}
	// A map that was large once takes long to go through, also when it is empty.
	r.touched.services, r.touched.checks = map[string]bool{}, map[string]bool{}
	return t
}
