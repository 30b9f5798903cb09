package registry

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenure-io/tenure/agent/check"
)

// plan is a change that was found to be possible.
type plan struct {
	services map[string]Service
	checks   map[string]check.Definition
	// dropServices and dropChecks go.
	dropServices map[string]bool
	dropChecks   map[string]bool
}

// plan finds out whether all of an addition can be registered.
func (r *Registry) plan(a Addition) (*plan, error) {
	p := &plan{
		services: map[string]Service{}, checks: map[string]check.Definition{},
		dropServices: map[string]bool{}, dropChecks: map[string]bool{},
	}
	for _, s := range a.Services {
		if v := s.Violations(); len(v) > 0 {
			return nil, &InvalidError{Of: fmt.Sprintf("service %q", check.Cut(s.ID+s.Name)), Violations: v}
		}
		s = s.WithDefaults()
		if of, found := r.services[s.ID]; found && of.source == File && a.Source == API {
			return nil, fmt.Errorf("service %q: %w", s.ID, ErrFromFile)
		}
		p.services[s.ID] = s
	}
	for _, d := range a.Checks {
		if err := r.planCheck(p, a, d); err != nil {
			return nil, err
		}
	}
	if a.Replace {
		r.planDrops(p, a.Source)
	}
	return p, r.planned(p)
}

func (r *Registry) planCheck(p *plan, a Addition, d check.Definition) error {
	if _, maintenance := d.Kind.(check.Maintenance); !maintenance {
		if v := d.Violations(); len(v) > 0 {
			return &InvalidError{Of: fmt.Sprintf("check %q", check.Cut(d.ID)), Violations: v}
		}
	}
	if _, is := d.Kind.(check.Exec); is && ((a.Source == File && !r.options.ExecFromFile) || (a.Source == API && !r.options.ExecFromAPI)) {
		return fmt.Errorf("check %q: %w", d.ID, ErrExecOff)
	}
	if of, found := r.checks[d.ID]; found && of.source == File && a.Source == API {
		return fmt.Errorf("check %q: %w", d.ID, ErrFromFile)
	}
	if alias, is := d.Kind.(check.Alias); is && check.SameNode(alias.Node, r.options.Node) {
		alias.Node = r.options.Node // Then its name can be compared as it is.
		d.Kind = alias
	}
	p.checks[d.ID] = d.WithDefaults()
	return nil
}

// planDrops adds what an addition replaces.
func (r *Registry) planDrops(p *plan, source Source) {
	for id, s := range r.services {
		if _, stays := p.services[id]; source == File && s.source == File && !stays {
			p.dropServices[id] = true
		}
	}
	for id, e := range r.checks {
		if _, stays := p.checks[id]; stays || e.source != source {
			continue
		}
		_, named := p.services[e.machine.Definition().ServiceID]
		if source == File || (named && !strings.HasPrefix(id, check.MaintenancePrefix)) {
			p.dropChecks[id] = true
		}
	}
}

// planned checks what holds for all that would then be registered.
func (r *Registry) planned(p *plan) error {
	services, checks := len(p.services)-len(p.dropServices), len(p.checks)-len(p.dropChecks)
	for id := range r.services {
		if _, again := p.services[id]; !again {
			services++
		}
	}
	for id, e := range r.checks {
		if _, again := p.checks[id]; again {
			continue
		}
		checks++
		// A check whose service goes goes with it.
		if p.dropServices[e.machine.Definition().ServiceID] && !p.dropChecks[id] {
			p.dropChecks[id] = true
			checks--
		}
	}
	if services > ServicesMax {
		return fmt.Errorf("%d services: %w, which holds at most %d", services, ErrTooMany, ServicesMax)
	}
	if checks > ChecksMax {
		return fmt.Errorf("%d checks: %w, which holds at most %d", checks, ErrTooMany, ChecksMax)
	}
	for _, d := range p.checks {
		if d.ServiceID == "" {
			continue
		}
		_, planned := p.services[d.ServiceID]
		_, there := r.services[d.ServiceID]
		if !planned && (!there || p.dropServices[d.ServiceID]) {
			return fmt.Errorf("check %q is about service %q: %w", d.ID, d.ServiceID, ErrServiceNotFound)
		}
	}
	return nil
}

// carryOut makes a change that was planned.
func (r *Registry) carryOut(p *plan, source Source, now time.Time) Change {
	var changed Change
	for id := range p.dropChecks {
		changed.Registered = changed.Registered || r.checks[id].source == API
		r.deleteCheck(id)
		changed.Rows = true
	}
	for id := range p.dropServices {
		r.deleteService(id)
		changed.Rows = true
	}
	for id, s := range p.services {
		of, found := r.services[id]
		if found && of.Service.Equal(s) && of.source == source {
			continue
		}
		r.setService(id, service{Service: s, source: source})
		changed.Rows = true
		changed.Registered = changed.Registered || source == API || (found && of.source == API)
	}
	for _, d := range p.checks {
		changed.merge(r.put(d, source, now))
	}
	changed.Registered = changed.Registered || (source == API && changed.Rows)
	return changed
}

// put registers one check. One that is there keeps its state, unless a call says which it has.
func (r *Registry) put(d check.Definition, source Source, now time.Time) Change {
	stored := r.restored[d.ID]
	delete(r.restored, d.ID)
	of, found := r.checks[d.ID]
	if found {
		stored = of.machine.State()
		says := source == API && d.Status != check.Unset
		if of.machine.Definition().Equal(d) && of.source == source && !says {
			return Change{}
		}
		if says {
			stored = check.State{Status: d.Status}
		}
	}
	m := check.NewMachine(d, stored, now)
	r.setCheck(d.ID, &entry{machine: m, source: source})
	return Change{
		Rows: true, Status: !found || m.State().Status != of.machine.State().Status,
		Registered: source == API || (found && of.source == API),
	}
}
