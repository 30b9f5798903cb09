package registry

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenure-io/tenure/agent/check"
)

// Report takes what a service says about itself.
func (r *Registry) Report(id string, result check.Result) error {
	if result.Status == check.Unset || result.Status > check.Critical {
		return fmt.Errorf("check %q: %w", id, ErrNoStatus)
	}
	return r.change(func(now time.Time) (Change, error) {
		e, found := r.checks[id]
		if !found {
			return Change{}, fmt.Errorf("check %q: %w", id, ErrCheckNotFound)
		}
		if _, is := e.machine.Definition().Kind.(check.TTL); !is {
			return Change{}, fmt.Errorf("check %q is of kind %s: %w", id, e.machine.Definition().Kind.Name(), ErrNotTTL)
		}
		return r.changeOf(id, e.machine.Report(result, now)), nil
	})
}

// Found takes the result of a run, unless the check has another definition by now.
func (r *Registry) Found(d check.Definition, result check.Result) {
	_ = r.change(func(now time.Time) (Change, error) {
		e, found := r.checks[d.ID]
		if !found || !e.machine.Definition().Equal(d) {
			return Change{}, nil
		}
		if _, is := d.Kind.(check.Alias); is {
			return r.changeOf(d.ID, e.machine.Mirror(result, now)), nil
		}
		return r.changeOf(d.ID, e.machine.Found(result, now)), nil
	})
}

// Tick takes the time: TTLs run out, and services whose checks stay critical go. It returns when it is due again; zero:
// not before there is a change.
func (r *Registry) Tick() time.Time {
	var next time.Time
	_ = r.change(func(now time.Time) (Change, error) {
		var changed Change
		var due, gone []string
		for id, e := range r.checks {
			if at := e.machine.Deadline(); !at.IsZero() && !now.Before(at) {
				due = append(due, id)
			}
		}
		slices.Sort(due)
		for _, id := range due {
			m := r.checks[id].machine
			fx := m.Tick(now)
			changed.merge(r.changeOf(id, fx))
			if fx.Deregister {
				gone = append(gone, m.Definition().ServiceID)
			}
		}
		for _, id := range gone {
			changed.merge(r.drop(id))
		}
		for _, e := range r.checks {
			if at := e.machine.Deadline(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		return changed, nil
	})
	return next
}

// RemoveService removes a service and its checks; false if it is not there.
func (r *Registry) RemoveService(id string) (bool, error) {
	var removed bool
	err := r.change(func(time.Time) (Change, error) {
		s, found := r.services[id]
		if !found {
			return Change{}, nil
		}
		if s.source == File {
			return Change{}, fmt.Errorf("service %q: %w", id, ErrFromFile)
		}
		removed = true
		return r.drop(id), nil
	})
	return removed, err
}

// drop removes a service, whoever registered it.
func (r *Registry) drop(id string) Change {
	changed := Change{Rows: true, Registered: r.services[id].source == API}
	r.deleteService(id)
	for checkID, e := range r.checks {
		if e.machine.Definition().ServiceID == id {
			changed.Registered = changed.Registered || e.source == API
			r.deleteCheck(checkID)
		}
	}
	return changed
}

// RemoveCheck removes a check; false if it is not there.
func (r *Registry) RemoveCheck(id string) (bool, error) {
	var removed bool
	err := r.change(func(time.Time) (Change, error) {
		e, found := r.checks[id]
		if !found {
			return Change{}, nil
		}
		if e.source == File {
			return Change{}, fmt.Errorf("check %q: %w", id, ErrFromFile)
		}
		removed = true
		r.deleteCheck(id)
		return Change{Rows: true, Registered: true}, nil
	})
	return removed, err
}

// SetMaintenance puts a service, or with an empty id the node, into maintenance or takes it out.
func (r *Registry) SetMaintenance(serviceID string, on bool, reason string) error {
	return r.change(func(now time.Time) (Change, error) {
		id := check.MaintenancePrefix
		if serviceID != "" {
			if _, found := r.services[serviceID]; !found {
				return Change{}, fmt.Errorf("service %q: %w", serviceID, ErrServiceNotFound)
			}
			id += ":" + serviceID
		}
		if !on {
			if _, found := r.checks[id]; !found {
				return Change{}, nil
			}
			r.deleteCheck(id)
			return Change{Rows: true, Status: true, Registered: true}, nil
		}
		if len(id) > check.IDBytesMax {
			return Change{}, &InvalidError{Of: "maintenance of a service", Violations: []check.Violation{{
				Field: "service_id", Problem: fmt.Sprintf("is %d bytes long; a service in maintenance may have an id of at most %d bytes",
					len(serviceID), check.IDBytesMax-len(check.MaintenancePrefix)-1),
			}}}
		}
		if _, found := r.checks[id]; !found && len(r.checks) >= ChecksMax {
			return Change{}, fmt.Errorf("%d checks: %w, which holds at most %d", len(r.checks)+1, ErrTooMany, ChecksMax)
		}
		if reason == "" {
			reason = "maintenance"
		}
		d := check.Definition{ID: id, Name: "maintenance", Notes: check.Cut(reason), ServiceID: serviceID, Kind: check.Maintenance{}}
		return r.put(d, API, now), nil
	})
}

// mirrorAliases gives every alias of something on this node the state of that. Aliases do not see each other, so two
// of them cannot keep each other critical.
func (r *Registry) mirrorAliases(now time.Time, changed *Change) {
	for id := range r.aliases {
		m := r.checks[id].machine
		alias, is := m.Definition().Kind.(check.Alias)
		if is && (alias.Node == "" || alias.Node == r.options.Node) {
			changed.merge(r.changeOf(id, m.Mirror(r.worst(alias.Service), now)))
		}
	}
}

// worst returns how a service of this node is, or with an empty id the node itself.
func (r *Registry) worst(serviceID string) check.Result {
	if _, found := r.services[serviceID]; serviceID != "" && !found {
		return check.Result{Status: check.Critical, Output: fmt.Sprintf("service %q is not registered at this agent", serviceID)}
	}
	worst, first := check.Passing, ""
	for id, e := range r.checks {
		of := e.machine.Definition()
		if r.aliases[id] || (of.ServiceID != "" && of.ServiceID != serviceID) {
			continue
		}
		if s := e.machine.State().Status; s > worst || (s == worst && id < first) {
			worst, first = s, id
		}
	}
	if worst == check.Passing {
		return check.Result{Status: worst, Output: "all checks pass"}
	}
	return check.Result{Status: worst, Output: fmt.Sprintf("check %q is %s", first, worst)}
}

// changeOf returns what happened to a check.
func (r *Registry) changeOf(id string, fx check.Effect) Change {
	if fx.Changed || fx.Annotated {
		r.touched.checks[id] = true
	}
	return Change{Status: fx.Changed, Output: fx.Annotated}
}
