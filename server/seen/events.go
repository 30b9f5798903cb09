package seen

import (
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// Sight is what a caller sees.
type Sight interface {
	authz.Coverer
	// SeesBeyondNames reports whether the caller may see sessions by more than their names.
	SeesBeyondNames() bool
}

// Events shows events that a watch selects to a caller with a sight.
type Events struct {
	// Sight is what the caller sees.
	Sight Sight
	// Selectors are what the watch selects.
	Selectors watch.Selectors
	// Store knows the sessions that older events are about.
	Store func() *storage.Store
}

// Show returns those events that the caller sees, in order. Of what it saw and sees no longer it gets that it was deleted, in place of the event. The events
// that it is given stay as they are.
func (v *Events) Show(events []*storev1.Event) (shown []*storev1.Event, err error) {
	s := sessions{store: v.Store}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, e := range events {
		as, err := v.show(e, &s)
		if err != nil {
			return nil, err
		}
		if as != nil {
			shown = append(shown, as)
		}
	}
	return shown, nil
}

// show returns an event as the caller sees it; nil: it does not.
func (v *Events) show(e *storev1.Event, s *sessions) (*storev1.Event, error) {
	if key, ok := watch.KeyOf(e); ok {
		verbs := authz.Read | authz.Watch
		if !v.Selectors.Names(e) {
			verbs = watchedVerbs
		}
		return onlyIf(authz.SeesKey(v.Sight, key, verbs), e), nil
	}
	if id, ok := watch.SessionOf(e); ok {
		if v.Selectors.Names(e) { // It needs the right to it, as a watch of nothing else does.
			return e, nil
		}
		sees, err := v.seesSession(id, e, s)
		return onlyIf(sees, e), err
	}
	switch kind := e.GetKind().(type) {
	case *storev1.Event_QueryPut:
		return v.queryPut(e, kind.QueryPut), nil
	case *storev1.Event_QueryDeleted:
		return onlyIf(authz.SeesQuery(v.Sight, kind.QueryDeleted.GetName()), e), nil
	default:
		return v.ofCatalog(e), nil
	}
}

// onlyIf returns an event if the caller sees it.
func onlyIf(sees bool, e *storev1.Event) *storev1.Event {
	if !sees {
		return nil
	}
	return e
}

// queryPut shows a query that was put. One that has another name now is gone for a caller that sees only the old one.
func (v *Events) queryPut(e *storev1.Event, p *storev1.QueryPut) *storev1.Event {
	if authz.SeesQuery(v.Sight, p.GetQuery().GetName()) {
		return e
	}
	if old := p.GetPreviousName(); old != "" && authz.SeesQuery(v.Sight, old) {
		return inPlaceOf(e, &storev1.Event{Kind: &storev1.Event_QueryDeleted{
			QueryDeleted: &storev1.QueryDeleted{QueryId: p.GetQueryId(), Name: old},
		}})
	}
	return nil
}

// inPlaceOf returns an event at the place and the time of another one.
func inPlaceOf(e, as *storev1.Event) *storev1.Event {
	as.Revision, as.Index, as.WallTimeMs = e.GetRevision(), e.GetIndex(), e.GetWallTimeMs()
	return as
}

// ofCatalog shows an event of the catalog. What is selected because of a service is so only if the caller sees the service.
func (v *Events) ofCatalog(e *storev1.Event) *storev1.Event {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_NodePut:
		return onlyIf(v.sees(kind.NodePut.GetNode().GetName(), "", kind.NodePut.GetServiceNames()...), e)
	case *storev1.Event_NodeDeleted:
		return onlyIf(v.sees(kind.NodeDeleted.GetNode(), ""), e)
	case *storev1.Event_ServicePut:
		return v.servicePut(e, kind.ServicePut)
	case *storev1.Event_ServiceDeleted:
		d := kind.ServiceDeleted
		return onlyIf(v.sees(d.GetNode(), d.GetName(), d.GetName()), e)
	case *storev1.Event_CheckPut:
		return v.checkPut(e, kind.CheckPut)
	case *storev1.Event_CheckStatus:
		return onlyIf(v.sees(kind.CheckStatus.GetNode(), kind.CheckStatus.GetServiceName(), kind.CheckStatus.GetServiceNames()...), e)
	case *storev1.Event_CheckDeleted:
		return onlyIf(v.sees(kind.CheckDeleted.GetNode(), kind.CheckDeleted.GetServiceName(), kind.CheckDeleted.GetServiceNames()...), e)
	default:
		return nil
	}
}

// sees reports whether the caller sees an entry on a node that is about a service, or about none, and whether it is selected because of its node, or of a
// service for which it counts and that the caller sees.
func (v *Events) sees(node, service string, counts ...string) bool {
	if !authz.SeesCheck(v.Sight, node, service) {
		return false
	}
	key := storage.NodeKey(node)
	if v.Selectors.SelectsOn(key) {
		return true
	}
	for _, name := range counts {
		if v.Selectors.SelectsOn(key, name) && authz.SeesService(v.Sight, name) {
			return true
		}
	}
	return false
}

// servicePut shows an instance that was put. One that is of another service now is gone for a caller that sees only the old one.
func (v *Events) servicePut(e *storev1.Event, p *storev1.ServicePut) *storev1.Event {
	node, name, old := p.GetNode(), p.GetService().GetName(), p.GetPreviousName()
	counts := []string{name}
	if old != "" {
		counts = append(counts, old)
	}
	switch {
	case v.sees(node, name, counts...):
		return e
	case old != "" && v.sees(node, old, old):
		return inPlaceOf(e, &storev1.Event{Kind: &storev1.Event_ServiceDeleted{
			ServiceDeleted: &storev1.ServiceDeleted{Node: node, ServiceId: p.GetService().GetServiceId(), Name: old},
		}})
	default:
		return nil
	}
}

// checkPut shows a check that was put. One that moved, or whose instance is of another service now, is gone for a caller that sees only what it was about
// before.
func (v *Events) checkPut(e *storev1.Event, p *storev1.CheckPut) *storev1.Event {
	node, old := p.GetNode(), p.GetPreviousServiceName()
	gone := &storev1.CheckDeleted{Node: node, CheckId: p.GetCheck().GetCheckId()}
	switch {
	case v.sees(node, p.GetServiceName(), p.GetServiceNames()...):
		return e
	case p.GetPreviousNode() && v.sees(node, "", p.GetServiceNames()...):
	case old != "" && v.sees(node, old, old):
		gone.ServiceId, gone.ServiceName = p.GetPreviousServiceId(), old
		if gone.GetServiceId() == "" {
			gone.ServiceId = p.GetCheck().GetServiceId()
		}
	default:
		return nil
	}
	return inPlaceOf(e, &storev1.Event{Kind: &storev1.Event_CheckDeleted{CheckDeleted: gone}})
}
