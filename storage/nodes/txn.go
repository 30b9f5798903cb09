package nodes

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/rule"
)

// nameOf returns the entry of the catalog that an operation is about.
func nameOf(op *storev1.CatalogOp) *storev1.CatalogName {
	switch kind := op.GetKind().(type) {
	case *storev1.CatalogOp_PutNode:
		return &storev1.CatalogName{Node: kind.PutNode.GetNode().GetName()}
	case *storev1.CatalogOp_PutService:
		return &storev1.CatalogName{Node: kind.PutService.GetNode(), ServiceId: kind.PutService.GetService().GetServiceId()}
	case *storev1.CatalogOp_PutCheck:
		return &storev1.CatalogName{Node: kind.PutCheck.GetNode(), CheckId: kind.PutCheck.GetCheck().GetCheckId()}
	case *storev1.CatalogOp_Get:
		return kind.Get
	default:
		return op.GetDelete()
	}
}

// entryText returns the name of an entry as one text.
func entryText(name *storev1.CatalogName) string {
	switch node := catalog.NodeKey(name.GetNode()); {
	case name.GetServiceId() != "":
		return node + "/services/" + name.GetServiceId()
	case name.GetCheckId() != "":
		return node + "/checks/" + name.GetCheckId()
	default:
		return node
	}
}

// EntryChanged returns the entry that an operation changes; empty if it changes none.
func EntryChanged(op *storev1.CatalogOp) string {
	if _, reads := op.GetKind().(*storev1.CatalogOp_Get); reads {
		return ""
	}
	return entryText(nameOf(op))
}

// Op does one operation of a transaction on the catalog. Sessions that it ends get marks, which later operations see.
func (c *Change) Op(op *storev1.CatalogOp) (*storev1.CatalogOpResult, error) {
	if err := rule.NeedVersion2(c.State.ClusterVersion); err != nil {
		return nil, err
	}
	name := nameOf(op)
	if name.GetServiceId() != "" && name.GetCheckId() != "" {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REGISTRATION_MALFORMED, "check_id")
	}
	n, err := c.node(name.GetNode())
	if err != nil {
		return nil, err
	}
	before, err := c.entry(n, name)
	if err != nil {
		return nil, err
	}
	if op.IfRevision != nil && op.GetIfRevision() != before.revision {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED,
			storev1.FailureDetail_FAILURE_DETAIL_ENTRY_AT_OTHER_REVISION, entryText(name), before.revision, op.GetIfRevision())
		f.Failure.Actual = before.revision
		return nil, f
	}
	switch kind := op.GetKind().(type) {
	case *storev1.CatalogOp_Get:
		return before.result, nil
	case *storev1.CatalogOp_Delete:
		out := &storev1.CatalogOpResult{}
		if n != nil {
			if out.Deleted, err = n.deleteEntry(name); err != nil {
				return nil, err
			}
		}
		return out, c.markBound()
	default:
		if err = c.putOp(n, name, kind); err != nil {
			return nil, err
		}
		if n, err = c.node(name.GetNode()); err != nil {
			return nil, err
		}
		after, err := c.entry(n, name)
		if err != nil {
			return nil, err
		}
		return after.result, c.markBound()
	}
}

// putOp writes one entry.
func (c *Change) putOp(n *node, name *storev1.CatalogName, kind any) error {
	const origin = storev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT
	if put, ok := kind.(*storev1.CatalogOp_PutNode); ok {
		_, err := c.putNode(nodePut{node: put.PutNode.GetNode(), drawn: put.PutNode.GetDrawnNodeId(), origin: origin})
		return err
	}
	var services []*storev1.Service
	var checks []*storev1.Check
	switch put := kind.(type) {
	case *storev1.CatalogOp_PutService:
		services = []*storev1.Service{put.PutService.GetService()}
	case *storev1.CatalogOp_PutCheck:
		checks = []*storev1.Check{put.PutCheck.GetCheck()}
	default:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_OPERATION_WITHOUT_KIND)
	}
	if err := refused(catalog.CheckRegistration(services, checks, origin, 0)); err != nil {
		return err
	}
	if n == nil {
		return noNode(name.GetNode())
	}
	return n.putEntries(services, checks, origin)
}

// entry is an entry of the catalog as an operation sees it.
type entry struct {
	revision uint64 // of its last change; zero if it is missing
	result   *storev1.CatalogOpResult
}

// entry returns an entry of the catalog.
func (c *Change) entry(n *node, name *storev1.CatalogName) (entry, error) {
	out := entry{result: &storev1.CatalogOpResult{}}
	switch {
	case n == nil:
	case name.GetServiceId() != "":
		s, err := n.service(name.GetServiceId())
		if err != nil || s == nil {
			return out, err
		}
		out.revision, out.result.Entry = s.GetModRevision(), &storev1.CatalogOpResult_Service{Service: s}
	case name.GetCheckId() != "":
		k, err := n.check(name.GetCheckId())
		if err != nil || k == nil {
			return out, err
		}
		out.revision, out.result.Entry = k.GetModRevision(), &storev1.CatalogOpResult_Check{Check: k}
	default:
		out.revision, out.result.Entry = n.record.GetModRevision(), &storev1.CatalogOpResult_Node{Node: n.record}
	}
	return out, nil
}
