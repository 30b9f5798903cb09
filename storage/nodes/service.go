package nodes

import (
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

// service returns an instance of a service, or nil.
func (n *node) service(id string) (*storev1.ServiceRecord, error) {
	r := &storev1.ServiceRecord{}
	found, err := records.ReadCatalog(n.Rows, layout.EntryRow(layout.RowService, n.key, id), r)
	if err != nil || !found {
		return nil, err
	}
	return r, nil
}

// putService writes an instance of a service that is within its bounds.
func (n *node) putService(s *storev1.Service, origin storev1.CatalogOrigin) error {
	r, err := n.service(s.GetServiceId())
	if err != nil {
		return err
	}
	row := layout.EntryRow(layout.RowService, n.key, s.GetServiceId())
	previous := ""
	if err = n.countService(r.GetService(), s); err != nil {
		return err
	}
	switch {
	case r == nil:
		r = &storev1.ServiceRecord{CreateRevision: n.Revision, Node: n.record.GetNode().GetName()}
	case proto.Equal(r.GetService(), s):
		if after := originAfter(r.GetOrigin(), origin); after != r.GetOrigin() {
			r.Origin = after
			return n.write(row, r)
		}
		return nil
	case r.GetService().GetName() != s.GetName():
		previous = r.GetService().GetName()
		n.Rows.Remove(layout.InstanceRow(previous, n.key, s.GetServiceId()))
	}
	if err = n.Command.NeedSpace(); err != nil {
		return err
	}
	delete(n.serviceNames, n.key)
	n.Rows.Set(layout.InstanceRow(s.GetName(), n.key, s.GetServiceId()), nil)
	r.FormatVersion, r.ModRevision = layout.RecordFormat, n.Revision
	r.Service, r.Origin = s, originAfter(r.GetOrigin(), origin)
	n.Command.Emit(&storev1.Event{Kind: &storev1.Event_ServicePut{ServicePut: &storev1.ServicePut{
		Node: r.GetNode(), Service: proto.CloneOf(s), CreateRevision: r.GetCreateRevision(), Origin: r.GetOrigin(), PreviousName: previous,
	}}})
	if err = n.write(row, r); err != nil || previous == "" {
		return err
	}
	return n.renameChecks(s)
}

// renameChecks gives the checks of an instance the new name of its service.
func (n *node) renameChecks(s *storev1.Service) error {
	checks, err := n.checksOf(s.GetServiceId())
	if err != nil {
		return err
	}
	for _, k := range checks {
		before := proto.CloneOf(k)
		k.ServiceName = s.GetName()
		if err := n.saveCheck(k, before); err != nil {
			return err
		}
	}
	return nil
}

// namesOf returns the names of the services on a node, sorted.
func (n *node) namesOf() ([]string, error) {
	if names, known := n.serviceNames[n.key]; known {
		return names, nil
	}
	names := []string{}
	from := layout.EntryRows(layout.RowService, n.key)
	err := n.Rows.Scan(from, layout.RowsEnd(from), func(_, value []byte) (bool, error) {
		s := &storev1.ServiceRecord{}
		if err := layout.Decode(value, s); err != nil {
			return false, err
		}
		names = append(names, s.GetService().GetName())
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if n.serviceNames == nil {
		n.Change.serviceNames = map[string][]string{}
	}
	n.serviceNames[n.key] = names
	return names, nil
}

// countedNames returns the names of the services on a node for an event. They are part of it, so they count in the budget of the
// command.
func (n *node) countedNames() ([]string, error) {
	names, err := n.namesOf()
	if err != nil || n.Rows.Meter == nil {
		return names, err
	}
	for _, name := range names {
		n.Rows.Meter.Bytes += uint64(len(name))
	}
	return names, n.Rows.Meter.Over()
}

// deleteServiceOf deletes an instance that is of an origin; others stay. The checks that the command is about to put stay, too: they move to
// another instance. Before version 3, such a check was deleted and made anew, which ended the sessions that were bound to it.
func (n *node) deleteServiceOf(id string, origin storev1.CatalogOrigin, puts []*storev1.Check) error {
	s, err := n.service(id)
	if err != nil || s == nil || s.GetOrigin() != origin {
		return err
	}
	if n.State.ClusterVersion < layout.Version3 {
		puts = nil
	}
	return n.deleteService(s, puts)
}

// deleteService deletes an instance of a service with its checks but those that are put after it.
func (n *node) deleteService(s *storev1.ServiceRecord, puts []*storev1.Check) error {
	checks, err := n.checksOf(s.GetService().GetServiceId())
	if err != nil {
		return err
	}
	for _, k := range checks {
		if slices.ContainsFunc(puts, func(put *storev1.Check) bool { return put.GetCheckId() == k.GetCheck().GetCheckId() }) {
			continue
		}
		if err = n.deleteCheck(k); err != nil {
			return err
		}
	}
	return n.dropService(s)
}

// dropService deletes an instance alone.
func (n *node) dropService(s *storev1.ServiceRecord) error {
	id, name := s.GetService().GetServiceId(), s.GetService().GetName()
	n.Rows.Remove(layout.EntryRow(layout.RowService, n.key, id))
	n.Rows.Remove(layout.InstanceRow(name, n.key, id))
	delete(n.serviceNames, n.key)
	n.State.Services--
	n.tally.Services--
	n.tally.Bytes -= catalog.ServiceBytes(s.GetService())
	n.Command.Emit(&storev1.Event{Kind: &storev1.Event_ServiceDeleted{ServiceDeleted: &storev1.ServiceDeleted{
		Node: s.GetNode(), ServiceId: id, Name: name,
	}}})
	return n.saveTally()
}
