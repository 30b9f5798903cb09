package authz

import (
	"cmp"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// nodeNamed adds a need on a node; without a name, on all.
func (v *visit) nodeNamed(name string, verb Verb) { v.add(nodeNeed(name, verb)) }

// nodeNeed returns a need on a node; without a name, on all.
func nodeNeed(name string, verb Verb) Need {
	if name == "" {
		return Need{Kind: Node, Verb: verb, Match: Prefix}
	}
	return Need{Kind: Node, Verb: verb, Match: Exact, Text: lowerASCII(name)}
}

// nodeWithID adds a need on the node that has an id, which somebody has to look up: a message that gives the id another name takes the node that
// has it away. name is the one that the message gives, if it does.
func (v *visit) nodeWithID(id, name string) {
	if id != "" || name == "" {
		v.add(Need{Kind: Node, Verb: Write, Match: Prefix, By: ByNode, ID: id, Node: lowerASCII(name)})
	}
}

// nodeOf adds a need on the node of an entry: by its name, or by the id of its message's node.
func (v *visit) nodeOf(name string, verb Verb) {
	if id, is := strings.CutPrefix(name, idMark); is {
		v.nodeWithID(id, "")
		return
	}
	v.nodeNamed(name, verb)
}

// serviceNamed adds a need on a service; without a name, on all.
func (v *visit) serviceNamed(name string, verb Verb) { v.add(serviceNeed(name, verb)) }

// serviceNeed returns a need on a service; without a name, on all.
func serviceNeed(name string, verb Verb) Need {
	if name == "" {
		return Need{Kind: Service, Verb: verb, Match: Prefix}
	}
	return Need{Kind: Service, Verb: verb, Match: Exact, Text: name}
}

// nodeAndServices adds what is needed to see a node with all services on it.
func (v *visit) nodeAndServices(m selective, name string) {
	v.of(m, nodeNeed(name, Read))
	v.of(m, serviceNeed("", Read))
}

// serviceAndNodes adds what is needed to see a service with all nodes that it is on.
func (v *visit) serviceAndNodes(m selective, name string) {
	v.of(m, serviceNeed(name, Read))
	v.of(m, nodeNeed("", Read))
}

// instance adds a need on the service of an instance, which somebody has to look up.
func (v *visit) instance(node, id string, verb Verb) {
	if id != "" {
		v.add(Need{Kind: Service, Verb: verb, Node: lowerASCII(node), By: ByService, ID: id})
	}
}

// check adds a need on the service that a check is of, which somebody has to look up.
func (v *visit) check(node, id string, verb Verb) {
	if id != "" {
		v.add(Need{Kind: Service, Verb: verb, Node: lowerASCII(node), By: ByCheck, ID: id})
	}
}

// on returns the node that an entry names, which it may leave to its message.
func (v *visit) on(node string) string { return cmp.Or(node, v.node) }

// home returns the node that an entry of a message goes to. The message's is first: where it has one, an entry that names another is refused, or its
// node is not heeded.
func (v *visit) home(node string) string { return cmp.Or(v.node, node) }

// addCatalog adds the messages of CatalogService that change it, and what they hold.
func addCatalog(t *Table) {
	set[*tenurev1.Node](t, with(
		nones("the content of a node that may be written", "address", "gossip_address", "tagged_addresses", "zone", "meta",
			"create_revision", "mod_revision", "origin", "last_sync"),
		needs("name", func(v *visit, m *tenurev1.Node) { v.nodeNamed(m.GetName(), Write) }),
		needs("node_id", func(v *visit, m *tenurev1.Node) { v.nodeWithID(m.GetNodeId(), m.GetName()) }),
	)...)
	set[*tenurev1.Service](t, with(
		nones("the content of a service that may be written", "tags", "address", "port", "meta", "weights", "tag_override",
			"create_revision", "mod_revision", "origin"),
		needs("node", func(v *visit, m *tenurev1.Service) { v.nodeOf(v.on(m.GetNode()), Write) }),
		needs("service_id", func(v *visit, m *tenurev1.Service) {
			v.instance(v.home(m.GetNode()), cmp.Or(m.GetServiceId(), m.GetName()), Write) // Its id is its name then.
		}),
		needs("name", func(v *visit, m *tenurev1.Service) { v.serviceNamed(m.GetName(), Write) }),
	)...)
	set[*tenurev1.Check](t, with(
		nones("the content of a check that may be written", "name", "service_name", "status", "output", "notes", "kind", "definition",
			"create_revision", "mod_revision", "origin"),
		needs("node", func(v *visit, m *tenurev1.Check) { v.nodeOf(v.on(m.GetNode()), Write) }),
		needs("check_id", func(v *visit, m *tenurev1.Check) {
			v.check(v.home(m.GetNode()), cmp.Or(m.GetCheckId(), m.GetName()), Write) // Its id is its name then.
		}),
		needs("service_id", func(v *visit, m *tenurev1.Check) { v.instance(v.home(m.GetNode()), m.GetServiceId(), Write) }),
	)...)
	set[*tenurev1.RegisterNodeRequest](t,
		needs("node", func(v *visit, m *tenurev1.RegisterNodeRequest) {
			v.node = m.GetNode().GetName()
			if m.GetNode() == nil {
				v.nodeNamed("", Write)
			}
			part(v, m.GetNode())
		}),
		none("skip_node_update", "it changes less"),
		needs("services", func(v *visit, m *tenurev1.RegisterNodeRequest) { v.services(m.GetServices()) }),
		needs("checks", func(v *visit, m *tenurev1.RegisterNodeRequest) { v.checks(m.GetChecks()) }),
		options(),
	)
	set[*tenurev1.SyncNodeRequest](t,
		needs("node_id", func(v *visit, m *tenurev1.SyncNodeRequest) {
			v.nodeWithID(m.GetNodeId(), m.GetNode().GetName())
			if v.node = m.GetNode().GetName(); m.GetNode() == nil { // The node stays as it is, and the id says which it is.
				v.node = idMark + m.GetNodeId()
			}
		}),
		needs("node", func(v *visit, m *tenurev1.SyncNodeRequest) { part(v, m.GetNode()) }),
		none("sync", "it numbers the messages of an agent"),
		needs("services", func(v *visit, m *tenurev1.SyncNodeRequest) { v.services(m.GetServices()) }),
		needs("checks", func(v *visit, m *tenurev1.SyncNodeRequest) { v.checks(m.GetChecks()) }),
		needs("delete_services", func(v *visit, m *tenurev1.SyncNodeRequest) {
			for _, id := range m.GetDeleteServices() {
				v.instance(v.node, id, Write)
			}
		}),
		needs("delete_checks", func(v *visit, m *tenurev1.SyncNodeRequest) {
			for _, id := range m.GetDeleteChecks() {
				v.check(v.node, id, Write)
			}
		}),
	)
	addCatalogChanges(t)
}

// services adds the needs of instances.
func (v *visit) services(services []*tenurev1.Service) {
	for _, s := range services {
		v.message(s)
	}
}

// checks adds the needs of checks.
func (v *visit) checks(checks []*tenurev1.Check) {
	for _, c := range checks {
		v.message(c)
	}
}

// addCatalogChanges adds the messages that change one entry.
func addCatalogChanges(t *Table) {
	set[*tenurev1.UpdateCheckRequest](t, with(nones("the content of a check that may be written", "status", "output"),
		needs("node", func(v *visit, m *tenurev1.UpdateCheckRequest) { v.nodeNamed(m.GetNode(), Write) }),
		needs("check_id", func(v *visit, m *tenurev1.UpdateCheckRequest) { v.check(m.GetNode(), m.GetCheckId(), Write) }),
		options(),
	)...)
	set[*tenurev1.DeregisterNodeRequest](t,
		needs("node", func(v *visit, m *tenurev1.DeregisterNodeRequest) { v.nodeNamed(m.GetNode(), Write) }),
		none("if_node_id", "a condition on a node that may be written"),
		options(),
	)
	set[*tenurev1.DeregisterServiceRequest](t,
		needs("node", func(v *visit, m *tenurev1.DeregisterServiceRequest) { v.nodeNamed(m.GetNode(), Write) }),
		needs("service_id", func(v *visit, m *tenurev1.DeregisterServiceRequest) { v.instance(m.GetNode(), m.GetServiceId(), Write) }),
		none("if_node_id", "a condition on a node that may be written"),
		options(),
	)
	set[*tenurev1.DeregisterCheckRequest](t,
		needs("node", func(v *visit, m *tenurev1.DeregisterCheckRequest) { v.nodeNamed(m.GetNode(), Write) }),
		needs("check_id", func(v *visit, m *tenurev1.DeregisterCheckRequest) { v.check(m.GetNode(), m.GetCheckId(), Write) }),
		none("if_node_id", "a condition on a node that may be written"),
		options(),
	)
	set[*tenurev1.CatalogOp](t,
		needs("put_node", func(v *visit, m *tenurev1.CatalogOp) { part(v, m.GetPutNode()) }),
		needs("put_service", func(v *visit, m *tenurev1.CatalogOp) { v.node = ""; part(v, m.GetPutService()) }),
		needs("put_check", func(v *visit, m *tenurev1.CatalogOp) { v.node = ""; part(v, m.GetPutCheck()) }),
		needs("get", func(v *visit, m *tenurev1.CatalogOp) { v.entry(m.GetGet(), Read) }),
		needs("delete", func(v *visit, m *tenurev1.CatalogOp) { v.entry(m.GetDelete(), Write) }),
		none("if_revision", "a condition on an entry that may be written"),
	)
	set[*tenurev1.CatalogName](t, nones("the operation that names the entry says what it needs", "node", "service_id", "check_id")...)
}

// entry adds the needs of an entry that an operation names.
func (v *visit) entry(name *tenurev1.CatalogName, verb Verb) {
	if name == nil {
		return
	}
	v.nodeNamed(name.GetNode(), verb)
	v.instance(name.GetNode(), name.GetServiceId(), verb)
	v.check(name.GetNode(), name.GetCheckId(), verb)
}

// addCatalogReads adds the messages of CatalogService that read it.
func addCatalogReads(t *Table) {
	set[*tenurev1.GetNodeRequest](t,
		needs("node", func(v *visit, m *tenurev1.GetNodeRequest) { v.nodeAndServices(m, m.GetNode()) }),
		none("page_token", "the next part of the same node"),
		read(),
		visible[*tenurev1.GetNodeRequest](),
	)
	set[*tenurev1.ListNodesRequest](t, with(page(),
		needs("name_prefix", func(v *visit, m *tenurev1.ListNodesRequest) {
			v.of(m, Need{Kind: Node, Verb: Read, Match: Prefix, Text: lowerASCII(m.GetNamePrefix())})
		}),
		none("zone", "the node itself shows it"),
		read(),
		visible[*tenurev1.ListNodesRequest](),
	)...)
	set[*tenurev1.ListServicesRequest](t, with(page(),
		needs("name_prefix", func(v *visit, m *tenurev1.ListServicesRequest) {
			v.of(m, Need{Kind: Service, Verb: Read, Match: Prefix, Text: m.GetNamePrefix()})
		}),
		read(),
		visible[*tenurev1.ListServicesRequest](),
	)...)
	set[*tenurev1.ListInstancesRequest](t, with(append(page(), nones("the instance itself shows it", "passing", "tag", "zone")...),
		needs("service", func(v *visit, m *tenurev1.ListInstancesRequest) { v.of(m, serviceNeed(m.GetService(), Read)) }),
		needs("node", func(v *visit, m *tenurev1.ListInstancesRequest) { v.of(m, nodeNeed(m.GetNode(), Read)) }),
		read(),
		visible[*tenurev1.ListInstancesRequest](),
	)...)
	set[*tenurev1.ListChecksRequest](t, with(append(page(), none("status", "the check itself shows it")),
		needs("service", func(v *visit, m *tenurev1.ListChecksRequest) { v.of(m, serviceNeed(m.GetService(), Read)) }),
		needs("node", func(v *visit, m *tenurev1.ListChecksRequest) { v.of(m, nodeNeed(m.GetNode(), Read)) }),
		read(),
		visible[*tenurev1.ListChecksRequest](),
	)...)
}
