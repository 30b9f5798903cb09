package authz

import (
	"strings"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func (n *naive) nodeEntry(m *tenurev1.Node) {
	if m != nil {
		n.node("write", m.GetName())
		n.nodeID(m.GetNodeId(), m.GetName())
	}
}

// nodeID takes the node that has an id away from its name, if the message gives it another one.
func (n *naive) nodeID(id, name string) {
	known := nodeFacts[id]
	switch {
	case id == "" && name != "":
	case known == "" && name == "":
		*n = append(*n, ask{noun: "any"})
	case known != "" && known != strings.ToLower(name):
		n.one("node", "write", known)
	}
}

func (n *naive) serviceEntry(on string, m *tenurev1.Service) {
	on = n.onBoth(on, m.GetNode())
	n.named("service", "write", m.GetName())
	n.instance(on, or(m.GetServiceId(), m.GetName()))
}

func (n *naive) checkEntry(on string, m *tenurev1.Check) {
	on = n.onBoth(on, m.GetNode())
	n.check("write", on, or(m.GetCheckId(), m.GetName()))
	n.instance(on, m.GetServiceId())
}

func (n *naive) catalogOp(m *tenurev1.CatalogOp) {
	entry := func(verb string, name *tenurev1.CatalogName) {
		n.node(verb, name.GetNode())
		if service, there := instanceFacts[strings.ToLower(name.GetNode())+"/"+name.GetServiceId()]; there {
			n.one("service", verb, service)
		}
		n.check(verb, name.GetNode(), name.GetCheckId())
	}
	switch is := m.GetKind().(type) {
	case *tenurev1.CatalogOp_PutNode:
		n.nodeEntry(is.PutNode)
	case *tenurev1.CatalogOp_PutService:
		n.serviceEntry("", is.PutService)
	case *tenurev1.CatalogOp_PutCheck:
		n.checkEntry("", is.PutCheck)
	case *tenurev1.CatalogOp_Get:
		entry("read", is.Get)
	case *tenurev1.CatalogOp_Delete:
		entry("write", is.Delete)
	}
}

func (n *naive) ofCatalog(request proto.Message) bool {
	switch m := request.(type) {
	case *tenurev1.RegisterNodeRequest:
		if m.GetNode() == nil {
			n.node("write", "")
		}
		n.nodeEntry(m.GetNode())
		n.entries(m.GetNode().GetName(), m.GetServices(), m.GetChecks())
		n.options(m.GetOptions())
	case *tenurev1.SyncNodeRequest:
		on := m.GetNode().GetName()
		n.nodeID(m.GetNodeId(), on)
		if m.GetNode() == nil {
			on = "id of " + m.GetNodeId()
			if known := nodeFacts[m.GetNodeId()]; known != "" {
				on = known
			}
		}
		n.nodeEntry(m.GetNode())
		n.entries(on, m.GetServices(), m.GetChecks())
		for _, id := range m.GetDeleteServices() {
			n.instance(on, id)
		}
		for _, id := range m.GetDeleteChecks() {
			n.check("write", on, id)
		}
	case *tenurev1.UpdateCheckRequest:
		n.node("write", m.GetNode())
		n.check("write", m.GetNode(), m.GetCheckId())
		n.options(m.GetOptions())
	case *tenurev1.DeregisterNodeRequest:
		n.node("write", m.GetNode())
		n.options(m.GetOptions())
	case *tenurev1.DeregisterServiceRequest:
		n.node("write", m.GetNode())
		n.instance(m.GetNode(), m.GetServiceId())
		n.options(m.GetOptions())
	case *tenurev1.DeregisterCheckRequest:
		n.node("write", m.GetNode())
		n.check("write", m.GetNode(), m.GetCheckId())
		n.options(m.GetOptions())
	case *tenurev1.GetNodeRequest:
		n.node("read", m.GetNode())
		n.prefix("service", "read", "")
	case *tenurev1.ListNodesRequest:
		n.prefix("node", "read", strings.ToLower(m.GetNamePrefix()))
	case *tenurev1.ListServicesRequest:
		n.prefix("service", "read", m.GetNamePrefix())
	case *tenurev1.ListInstancesRequest:
		n.named("service", "read", m.GetService())
		n.node("read", m.GetNode())
	case *tenurev1.ListChecksRequest:
		n.named("service", "read", m.GetService())
		n.node("read", m.GetNode())
	case *tenurev1.ListPoolRequest:
		n.prefix("node", "read", "")
	case *tenurev1.ForceLeaveRequest:
		n.one("operator", "write", "")
	default:
		return false
	}
	return true
}

// query is named by its id, or by a name.
func (n *naive) query(verb, idOrName string) {
	f, stored := queryFacts[idOrName]
	switch {
	case stored && f.byPrefix && verb == "write":
		n.prefix("query", verb, f.name)
	case stored:
		n.one("query", verb, f.name)
	case idOrName == noQuery:
		*n = append(*n, ask{noun: "any"})
	default:
		n.named("query", verb, idOrName)
	}
}

func (n *naive) queryContent(q *tenurev1.Query) {
	if q == nil {
		return
	}
	if q.GetMatch() == tenurev1.QueryMatch_QUERY_MATCH_PREFIX {
		n.prefix("query", "write", q.GetName())
	} else {
		n.named("query", "write", q.GetName())
	}
	n.session("write", q.GetSessionId())
}

func (n *naive) ofQueries(request proto.Message) bool {
	switch m := request.(type) {
	case *tenurev1.CreateQueryRequest:
		if m.GetQuery() == nil {
			n.prefix("query", "write", "")
		}
		n.queryContent(m.GetQuery())
		n.options(m.GetOptions())
	case *tenurev1.UpdateQueryRequest:
		n.query("write", m.GetQueryId())
		n.queryContent(m.GetQuery())
		n.options(m.GetOptions())
	case *tenurev1.DeleteQueryRequest:
		n.query("write", m.GetQueryId())
		n.options(m.GetOptions())
	case *tenurev1.GetQueryRequest:
		n.query("read", m.GetIdOrName())
	case *tenurev1.ExplainQueryRequest:
		n.query("read", m.GetIdOrName())
	case *tenurev1.ExecuteQueryRequest:
		n.query("read", m.GetIdOrName())
	case *tenurev1.ListQueriesRequest:
		n.prefix("query", "read", m.GetNamePrefix())
	default:
		return false
	}
	return true
}

// on is the node of an entry.
// onBoth asks for the node that an entry names itself, or for that of its message, and returns where the entry goes.
func (n *naive) onBoth(message, own string) string {
	if own == "" {
		own = message
	}
	n.on(own)
	if message == "" {
		return own
	}
	return message
}

func (n *naive) on(node string) {
	if strings.HasPrefix(node, "id of ") {
		*n = append(*n, ask{noun: "any"})
		return
	}
	n.node("write", node)
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func (n *naive) entries(on string, services []*tenurev1.Service, checks []*tenurev1.Check) {
	for _, s := range services {
		n.serviceEntry(on, s)
	}
	for _, c := range checks {
		n.checkEntry(on, c)
	}
}
