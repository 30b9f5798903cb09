package nodes

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

// Bind decides what a new session is bound to, and binds it.
func (c *Change) Bind(id layout.SessionID, s *storev1.CreateSession, r *storev1.SessionRecord) error {
	if c.State.ClusterVersion < layout.Version2 {
		return nil
	}
	ids := s.GetChecks().GetCheckIds()
	if err := refused(catalog.CheckBoundChecks(ids)); err != nil {
		return err
	}
	n, err := c.node(s.GetNode())
	switch {
	case err != nil:
		return err
	case n == nil && len(ids) > 0 && s.GetNode() == "":
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_CHECKS_WITHOUT_NODE)
	case n == nil && len(ids) > 0:
		return noNode(s.GetNode())
	case n == nil:
		return nil
	}
	if s.GetChecks() == nil {
		if ids, err = n.defaultChecks(); err != nil {
			return err
		}
	}
	r.BoundNode, r.NodeId = n.key, n.record.GetNode().GetNodeId()
	for _, check := range ids {
		k, err := n.check(check)
		switch {
		case err != nil:
			return err
		case k == nil:
			return noCheck(n.record.GetNode().GetName(), check)
		case k.GetCheck().GetStatus() == storev1.CheckStatus_CHECK_STATUS_CRITICAL:
			return rule.Broken(storev1.FailureReason_FAILURE_REASON_CHECK_CRITICAL,
				storev1.FailureDetail_FAILURE_DETAIL_CHECK_IS_CRITICAL, check, n.record.GetNode().GetName())
		case k.GetCheck().GetServiceId() == "":
			r.NodeChecks = append(r.NodeChecks, check)
		default:
			r.ServiceChecks = append(r.ServiceChecks, check)
		}
	}
	for _, subject := range records.SubjectsOf(r) {
		c.Rows.Set(layout.BindingRow(subject, id), nil)
	}
	return nil
}

// defaultChecks returns the checks of a session that names none: what the pool says of its node. If the node takes part in gossip,
// its check is sure to come.
func (n *node) defaultChecks() ([]string, error) {
	k, err := n.check(catalog.LivenessID)
	switch {
	case err != nil:
		return nil, err
	case k != nil:
		return []string{catalog.LivenessID}, nil
	case n.record.GetNode().GetGossipAddress() != "":
		return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_CHECK_NOT_FOUND,
			storev1.FailureDetail_FAILURE_DETAIL_LIVENESS_NOT_YET, n.record.GetNode().GetName())
	default:
		return nil, nil
	}
}

// Unbind forgets what a session was bound to.
func (c *Change) Unbind(id layout.SessionID, r *storev1.SessionRecord) {
	for _, subject := range records.SubjectsOf(r) {
		c.Rows.Remove(layout.BindingRow(subject, id))
	}
}

// scanBound visits the sessions that are bound to a subject, behind one of them, in the order of their ids.
func (c *Change) scanBound(s layout.Subject, after []byte, visit func(id layout.SessionID) (bool, error)) error {
	prefix := layout.SubjectRows(layout.RowBinding, s)
	from := prefix
	if len(after) > 0 {
		from = append(append(append([]byte{}, prefix...), after...), 0)
	}
	return c.Rows.Scan(from, layout.RowsEnd(prefix), func(row, _ []byte) (bool, error) {
		id, err := layout.SessionIDFromBytes(row[len(prefix):])
		if err != nil {
			return false, fmt.Errorf("%w: binding %x", layout.ErrCorrupt, row)
		}
		return visit(id)
	})
}

// isBound reports whether a session that was created before a revision is bound to a subject.
func (c *Change) isBound(s layout.Subject, before uint64) (bool, error) {
	found := false
	err := c.scanBound(s, nil, func(id layout.SessionID) (bool, error) {
		r, err := records.LiveSession(c.Rows, id)
		found = r != nil && r.GetCreateRevision() < before
		return !found, err
	})
	return found, err
}
