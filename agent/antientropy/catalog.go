package antientropy

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// catalogRows are a node's part of the catalog, as far as the agent knows it.
type catalogRows struct {
	rows
	// checksOf are the ids of the checks of each service that has any, so that what is about one service costs what that has.
	checksOf map[string]map[string]bool
}

// newCatalogRows returns rows that were read. It owns their maps from then on.
func newCatalogRows(of rows) catalogRows {
	r := catalogRows{rows: of, checksOf: map[string]map[string]bool{}}
	for _, c := range of.checks {
		r.index(c)
	}
	return r
}

// apply makes the changes of a batch, as the catalog did. It returns the ids of the checks that went with their service.
func (r *catalogRows) apply(b *batch) (along []string) {
	if b.node != nil {
		r.node = b.node
	}
	for _, s := range b.services {
		r.services[s.GetServiceId()] = s
	}
	for _, c := range b.checks {
		r.deleteCheck(c.GetCheckId())
		r.checks[c.GetCheckId()] = c
		r.index(c)
	}
	for _, id := range b.deleteServices {
		delete(r.services, id)
		for check := range r.checksOf[id] {
			r.deleteCheck(check)
			along = append(along, check)
		}
	}
	for _, id := range b.deleteChecks {
		r.deleteCheck(id)
	}
	return along
}

// index notes whose a check is.
func (r *catalogRows) index(c *tenurev1.Check) {
	of := r.checksOf[c.GetServiceId()]
	if of == nil {
		of = map[string]bool{}
		r.checksOf[c.GetServiceId()] = of
	}
	of[c.GetCheckId()] = true
}

// deleteCheck deletes a check, if it is there.
func (r *catalogRows) deleteCheck(id string) {
	c, found := r.checks[id]
	if !found {
		return
	}
	delete(r.checks, id)
	of := r.checksOf[c.GetServiceId()]
	if delete(of, id); len(of) == 0 {
		delete(r.checksOf, c.GetServiceId())
	}
}
