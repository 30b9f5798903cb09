package nodes

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

// node is a node of the catalog.
type node struct {
	counts
	record *storev1.NodeRecord
}

// node returns a node by its name, or nil.
func (c *Change) node(name string) (*node, error) {
	if !catalog.IsNodeName(name) {
		return nil, nil
	}
	n := &node{counts: c.countsOf(name), record: &storev1.NodeRecord{}}
	found, err := records.ReadCatalog(c.Rows, layout.NodeRow(layout.RowNode, n.key), n.record)
	if err != nil || !found {
		return nil, err
	}
	n.name = n.record.GetNode().GetName() // As it is written there.
	_, err = records.ReadCatalog(c.Rows, layout.NodeRow(layout.RowNodeTally, n.key), n.tally)
	return n, err
}

// nodeByID returns a node by its id, or nil.
func (c *Change) nodeByID(id []byte) (*node, error) {
	key, found, err := c.Rows.Get(layout.NodeIDRow(id))
	if err != nil || !found {
		return nil, err
	}
	n, err := c.node(string(key))
	if err == nil && n == nil {
		err = fmt.Errorf("%w: no node %q", layout.ErrCorrupt, key)
	}
	return n, err
}

// noNode returns the failure for a node that is missing.
func noNode(name string) error {
	return rule.Broken(storev1.FailureReason_FAILURE_REASON_NODE_NOT_FOUND, storev1.FailureDetail_FAILURE_DETAIL_NODE_MISSING, name)
}

// nodePut is a node to be written.
type nodePut struct {
	node   *storev1.Node
	id     []byte // that it must have; nil: as the node says
	drawn  []byte // for a new node without id
	origin storev1.CatalogOrigin
	skip   bool // leave a node as it is that is there, if it is the same machine
}

// originAfter returns who an entry belongs to after a write: what an agent or the pool made stays theirs.
func originAfter(before, by storev1.CatalogOrigin) storev1.CatalogOrigin {
	const direct, agent = storev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT, storev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
	switch {
	case before == storev1.CatalogOrigin_CATALOG_ORIGIN_UNSPECIFIED, before == direct, by == agent:
		return by
	default:
		return before
	}
}

// putNode writes a node, and returns it as it is then.
func (c *Change) putNode(p nodePut) (*node, error) {
	if err := refused(catalog.CheckNode(p.node)); err != nil {
		return nil, err
	}
	id := p.node.GetNodeId()
	if p.id != nil {
		if len(id) > 0 && !bytes.Equal(id, p.id) {
			return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REGISTRATION_MALFORMED, "node_id")
		}
		id = p.id
	}
	before, err := c.node(p.node.GetName())
	if err != nil {
		return nil, err
	}
	switch {
	case before != nil && (p.skip && !before.isAnother(id) || before.isAgents(p.origin, id)):
		return before, nil
	case before != nil && len(id) == 0:
		id = before.record.GetNode().GetNodeId()
	case len(id) == 0:
		id = p.drawn
	}
	if len(id) != len(layout.SessionID{}) {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REGISTRATION_MALFORMED, "node_id")
	}
	if before != nil && !bytes.Equal(id, before.record.GetNode().GetNodeId()) {
		if err = before.replace(p); err != nil {
			return nil, err
		}
	}
	if err = c.leaveOtherName(id, catalog.NodeKey(p.node.GetName())); err != nil {
		return nil, err
	}
	n := proto.CloneOf(p.node)
	n.NodeId = id
	if before == nil {
		return c.addNode(n, p.origin)
	}
	return before, before.change(n, p.origin)
}

// isAnother reports whether an id is that of another machine. Before version 3, a registration that leaves nodes as they are did
// not compare ids.
func (n *node) isAnother(id []byte) bool {
	return n.State.ClusterVersion >= layout.Version3 && len(id) > 0 && !bytes.Equal(id, n.record.GetNode().GetNodeId())
}

// isAgents reports whether the pool registers a machine that its agent has registered: the agent knows more of it, such as its zone and facts, and
// may have done so since the leader looked. Before version 3, the pool's word replaced the agent's.
func (n *node) isAgents(by storev1.CatalogOrigin, id []byte) bool {
	return n.State.ClusterVersion >= layout.Version3 && by == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL &&
		n.record.GetOrigin() == storev1.CatalogOrigin_CATALOG_ORIGIN_AGENT && !n.isAnother(id)
}

// addNode writes a new node.
func (c *Change) addNode(n *storev1.Node, origin storev1.CatalogOrigin) (*node, error) {
	if err := c.Command.NeedSpace(); err != nil {
		return nil, err
	}
	if c.State.Nodes >= catalog.NodesMax {
		return nil, rule.Exceeded("nodes_max", catalog.NodesMax)
	}
	c.State.Nodes++
	out := &node{counts: c.countsOf(n.GetName()), record: &storev1.NodeRecord{CreateRevision: c.Revision, Origin: origin, Node: n}}
	c.Rows.Set(layout.NodeIDRow(n.GetNodeId()), []byte(out.key))
	if err := out.saveTally(); err != nil {
		return nil, err
	}
	return out, out.save()
}

// change writes a node that is there; writing what is there is no change.
func (n *node) change(to *storev1.Node, origin storev1.CatalogOrigin) error {
	to.Name = n.record.GetNode().GetName()
	after := originAfter(n.record.GetOrigin(), origin)
	if proto.Equal(n.record.GetNode(), to) {
		if after == n.record.GetOrigin() {
			return nil
		}
		n.record.Origin = after
		return n.write(layout.NodeRow(layout.RowNode, n.key), n.record)
	}
	if err := n.Command.NeedSpace(); err != nil {
		return err
	}
	if !bytes.Equal(to.GetNodeId(), n.record.GetNode().GetNodeId()) {
		n.Rows.Remove(layout.NodeIDRow(n.record.GetNode().GetNodeId()))
		n.Rows.Set(layout.NodeIDRow(to.GetNodeId()), []byte(n.key))
		n.record.CreateRevision = n.Revision
		after = origin
	}
	n.record.Node, n.record.Origin = to, after
	return n.save()
}

// save writes a node that changed, and tells of it.
func (n *node) save() error {
	r := n.record
	r.FormatVersion, r.ModRevision = layout.RecordFormat, n.Revision
	put := &storev1.NodePut{Node: proto.CloneOf(r.GetNode()), CreateRevision: r.GetCreateRevision(), Origin: r.GetOrigin()}
	if n.State.ClusterVersion >= layout.Version3 {
		names, err := n.countedNames()
		if err != nil {
			return err
		}
		put.ServiceNames = names
	}
	n.Command.Emit(&storev1.Event{Kind: &storev1.Event_NodePut{NodePut: put}})
	return n.write(layout.NodeRow(layout.RowNode, n.key), r)
}

// liveness returns what is known of a node; unspecified if nothing is.
func (n *node) liveness() (storev1.CheckStatus, error) {
	k, err := n.check(catalog.LivenessID)
	return k.GetCheck().GetStatus(), err
}

// isDoubted reports whether nobody has seen the machine since a restore or a recovery: see DoubtLiveness.
func (n *node) isDoubted() (bool, error) {
	k, err := n.check(catalog.LivenessID)
	return k.GetOrigin() == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL && k.GetCheck().GetStatus() == storev1.CheckStatus_CHECK_STATUS_WARNING, err
}

// replace makes room for another machine under the name of one that has failed, or of which nobody knows how it is. All that
// was registered of the old one goes; sessions that are bound to the name alone stay. From version 3 on, the pool may also say, with a registration that
// leaves no node as it is, that a machine of which nobody has heard since a restore is there under another id: all stays then.
func (n *node) replace(p nodePut) error {
	if p.origin == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL && !p.skip && n.State.ClusterVersion >= layout.Version3 {
		if doubted, err := n.isDoubted(); err != nil || doubted {
			n.tally.LastSync = nil
			return errors.Join(err, n.saveTally())
		}
	}
	status, err := n.liveness()
	if err != nil {
		return err
	}
	if status != storev1.CheckStatus_CHECK_STATUS_UNSPECIFIED && status != storev1.CheckStatus_CHECK_STATUS_CRITICAL {
		return rule.Broken(storev1.FailureReason_FAILURE_REASON_NODE_ID_CONFLICT,
			storev1.FailureDetail_FAILURE_DETAIL_NODE_NAME_IN_USE, n.record.GetNode().GetName())
	}
	if err = n.empty(); err != nil {
		return err
	}
	n.tally.LastSync = nil
	return n.saveTally()
}

// leaveOtherName deregisters the name under which a machine was known, unless it lives there.
func (c *Change) leaveOtherName(id []byte, key string) error {
	other, err := c.nodeByID(id)
	if err != nil || other == nil || other.key == key {
		return err
	}
	status, err := other.liveness()
	if err != nil {
		return err
	}
	if status == storev1.CheckStatus_CHECK_STATUS_PASSING {
		return rule.Broken(storev1.FailureReason_FAILURE_REASON_NODE_ID_CONFLICT,
			storev1.FailureDetail_FAILURE_DETAIL_NODE_ID_IN_USE, other.record.GetNode().GetName())
	}
	return other.delete()
}

// empty deletes all services and checks of a node: services first, so that a check of the node counts for none any more.
func (n *node) empty() error {
	var services []*storev1.ServiceRecord
	from := layout.EntryRows(layout.RowService, n.key)
	err := n.Rows.Scan(from, layout.RowsEnd(from), func(_, value []byte) (bool, error) {
		s := &storev1.ServiceRecord{}
		err := layout.Decode(value, s)
		services = append(services, s)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	checks, err := n.checksOf("")
	if err != nil {
		return err
	}
	for _, s := range services {
		if err = n.dropService(s); err != nil {
			return err
		}
	}
	for _, k := range checks {
		if err = n.deleteCheck(k); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes a node with all below it, and ends the sessions that are bound to it.
func (n *node) delete() error {
	// First, because it is why a session ends that is bound to a check of the node besides.
	n.endSubject(layout.Subject{Node: n.key}, storev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED)
	if err := n.empty(); err != nil {
		return err
	}
	n.State.Nodes--
	n.Rows.Remove(layout.NodeRow(layout.RowNode, n.key))
	n.Rows.Remove(layout.NodeRow(layout.RowNodeTally, n.key))
	n.Rows.Remove(layout.NodeIDRow(n.record.GetNode().GetNodeId()))
	n.Command.Emit(&storev1.Event{Kind: &storev1.Event_NodeDeleted{NodeDeleted: &storev1.NodeDeleted{
		Node: n.record.GetNode().GetName(), NodeId: n.record.GetNode().GetNodeId(),
	}}})
	return nil
}

// putEntries writes services and checks of a node.
func (n *node) putEntries(services []*storev1.Service, checks []*storev1.Check, origin storev1.CatalogOrigin) error {
	for _, s := range services {
		if err := n.putService(s, origin); err != nil {
			return err
		}
	}
	for _, k := range checks {
		if err := n.putCheck(k, origin); err != nil {
			return err
		}
	}
	return nil
}

// deleteEntry deletes a node, or what is named of it.
func (n *node) deleteEntry(name *storev1.CatalogName) (bool, error) {
	switch {
	case name.GetServiceId() != "":
		s, err := n.service(name.GetServiceId())
		if err != nil || s == nil {
			return false, err
		}
		return true, n.deleteService(s, nil)
	case name.GetCheckId() != "":
		k, err := n.check(name.GetCheckId())
		if err != nil || k == nil {
			return false, err
		}
		return true, n.deleteCheck(k)
	default:
		return true, n.delete()
	}
}
