package seen

import (
	"context"
	"maps"
	"slices"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/storage"
)

// sendCatalog sends the nodes, services and checks that a watch selects: node by node, in order.
func (i *State) sendCatalog(ctx context.Context) error {
	s := &i.Selectors
	switch {
	case !s.SelectsCatalog():
		return nil
	case i.Sight != nil && (s.AllNodes || s.AllServices && NodesFirst(i.Sight)):
		return i.sendSeenNodes(ctx)
	}
	wanted, err := i.wantedNodes(ctx)
	if err != nil {
		return err
	}
	if i.Sight != nil {
		return i.sendWanted(ctx, wanted)
	}
	every := s.AllNodes || s.AllServices
	return i.At.Nodes("", "", func(n storage.NodeEntry) (bool, error) {
		if !every && !wanted[n.Key] {
			return true, alive(ctx)
		}
		return true, i.sendNode(n)
	})
}

// spanned are rights of which the names that they cover are known.
type spanned interface {
	Spans(kind authz.Kind, verbs authz.Verb, prefix string) []authz.Span
}

// NodesFirst reports whether what a caller sees of all services is found sooner on the nodes that it sees than among the instances of the services that it
// sees: these are all services, or its nodes are named one by one.
func NodesFirst(who spanned) bool {
	services := who.Spans(authz.Service, authz.Read, "")
	if slices.Contains(services, authz.Span{}) {
		return true
	}
	return !slices.ContainsFunc(who.Spans(authz.Node, authz.Read, ""), func(s authz.Span) bool { return !s.Exact })
}

// wantedNodes returns the nodes on which something may be selected, but for those that are selected all at once: with a sight, those on which the caller
// may see an instance are among them.
func (i *State) wantedNodes(ctx context.Context) (map[string]bool, error) {
	s := &i.Selectors
	wanted := map[string]bool{}
	for _, n := range s.Nodes {
		wanted[n] = true
	}
	var services []authz.Span
	if i.Sight != nil && s.AllServices {
		services = i.Sight.Spans(authz.Service, authz.Read, "")
	}
	for _, name := range s.Services {
		services = append(services, authz.Span{Text: name, Exact: true})
	}
	looked := 0
	for _, sp := range services {
		err := i.At.Instances(sp.Text, !sp.Exact, storage.EntryAt{}, func(at storage.EntryAt) (bool, error) {
			wanted[at.Node] = true
			if looked++; looked%aliveEvery != 0 {
				return true, nil
			}
			return true, alive(ctx)
		})
		if err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// sendSeenNodes sends what the caller sees of all nodes.
func (i *State) sendSeenNodes(ctx context.Context) error {
	for _, sp := range i.Sight.Spans(authz.Node, authz.Read, "") {
		if sp.Exact {
			if err := i.sendNodeNamed(ctx, sp.Text); err != nil {
				return err
			}
			continue
		}
		err := i.At.Nodes(sp.Text, "", func(n storage.NodeEntry) (bool, error) {
			if err := alive(ctx); err != nil {
				return false, err
			}
			return true, i.sendNode(n)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sendWanted sends what the caller sees of some nodes.
func (i *State) sendWanted(ctx context.Context, wanted map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !authz.SeesNode(i.Sight, name) {
			continue
		}
		if err := i.sendNodeNamed(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// sendNodeNamed sends what is selected of a node, if it is there.
func (i *State) sendNodeNamed(ctx context.Context, name string) error {
	if err := alive(ctx); err != nil {
		return err
	}
	n, found, err := i.At.Node(name)
	if err != nil || !found {
		return err
	}
	return i.sendNode(n)
}

// sendNode sends what is selected of a node, which the caller sees.
func (i *State) sendNode(n storage.NodeEntry) error {
	s := &i.Selectors
	whole := s.AllNodes || slices.Contains(s.Nodes, n.Key)
	selected := map[string]bool{} // instances of it
	err := i.At.Services(n.Key, storage.EntryAt{}, func(at storage.EntryAt, r *storev1.ServiceRecord) (bool, error) {
		name := r.GetService().GetName()
		if !whole && !s.AllServices && !slices.Contains(s.Services, name) || !i.seesService(name) {
			return true, nil
		}
		selected[at.ID] = true
		service := catalog.ServiceToProto(r)
		i.part.Services = append(i.part.Services, service)
		return true, i.add(service)
	})
	if err != nil || !whole && len(selected) == 0 {
		return err
	}
	node := catalog.NodeToProto(n.Record, n.Tally)
	i.part.Nodes = append(i.part.Nodes, node)
	if err = i.add(node); err != nil {
		return err
	}
	return i.At.Checks(n.Key, storage.EntryAt{}, func(_ storage.EntryAt, r *storev1.CheckRecord) (bool, error) {
		if id := r.GetCheck().GetServiceId(); !whole && id != "" && !selected[id] || id != "" && !i.seesService(r.GetServiceName()) {
			return true, nil
		}
		check := catalog.CheckToProto(r)
		i.part.Checks = append(i.part.Checks, check)
		return true, i.add(check)
	})
}

// seesService reports whether the caller sees a service.
func (i *State) seesService(name string) bool {
	return i.Sight == nil || authz.SeesService(i.Sight, name)
}
