package nodes

import (
	"errors"
	"fmt"
	"math"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// Command is what a Change needs of the command that it is a part of.
type Command interface {
	// Emit adds an event to those of the command.
	Emit(e *storev1.Event)
	// NeedSpace refuses what makes the state grow, once the store is full.
	NeedSpace() error
}

// Change is a command under way, as far as it is about the catalog: its own, an operation of a transaction, or a session that it
// binds or ends.
type Change struct {
	Rows     *table.Overlay
	State    *layout.Applied
	Command  Command
	Revision uint64 // that the command will have if it emits events
	Term     uint64 // of the entry
	WallMs   int64

	// bound are the subjects whose sessions the command is to end, in order.
	bound []boundEnd
	// serviceNames are the names of services by node, as far as they were asked for.
	serviceNames map[string][]string
}

// Forget forgets what an operation of a transaction left behind that was taken back.
func (c *Change) Forget() { c.bound, c.serviceNames = nil, nil }

// Verb returns what a command does, before it ends sessions.
func (c *Change) Verb(cmd *storev1.Command) (func(out *storev1.CatalogResult) error, error) {
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_RegisterNode:
		return func(out *storev1.CatalogResult) error { return c.registerNode(kind.RegisterNode, out) }, nil
	case *storev1.Command_SyncNode:
		return func(out *storev1.CatalogResult) error { return c.syncNode(kind.SyncNode, out) }, nil
	case *storev1.Command_UpdateCheck:
		return func(out *storev1.CatalogResult) error { return c.updateCheck(kind.UpdateCheck, out) }, nil
	case *storev1.Command_Deregister:
		return func(out *storev1.CatalogResult) error { return c.deregister(kind.Deregister, out) }, nil
	case *storev1.Command_SetLiveness:
		return func(*storev1.CatalogResult) error { return c.setLiveness(kind.SetLiveness) }, nil
	case *storev1.Command_EndMarked:
		return func(*storev1.CatalogResult) error { return rule.CheckTerm(kind.EndMarked.GetTerm(), c.Term) }, nil
	default:
		return nil, fmt.Errorf("%w: command kind %T", layout.ErrUnknownFormat, kind)
	}
}

// refused returns the failure of a registration that is out of bounds.
func refused(err error) error {
	if m, ok := errors.AsType[*catalog.MalformedError](err); ok {
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REGISTRATION_MALFORMED, m.Field)
	}
	return err
}

// write writes a record of the catalog.
func (c *Change) write(row []byte, r layout.Record) error {
	value, err := layout.Encode(r)
	if err == nil {
		c.Rows.Set(row, value)
	}
	return err
}

// registerNode writes a node with services and checks.
func (c *Change) registerNode(r *storev1.RegisterNode, out *storev1.CatalogResult) error {
	origin := storev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT
	if r.GetOrigin() == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL {
		origin = r.GetOrigin()
		if err := rule.CheckTerm(r.GetTerm(), c.Term); err != nil {
			return err
		}
	}
	if err := refused(catalog.CheckRegistration(r.GetServices(), r.GetChecks(), origin, 1)); err != nil {
		return err
	}
	n, err := c.putNode(nodePut{
		node: r.GetNode(), drawn: r.GetDrawnNodeId(), origin: origin, skip: r.GetSkipNodeUpdate(),
	})
	if err != nil {
		return err
	}
	out.NodeId = n.record.GetNode().GetNodeId()
	return n.putEntries(r.GetServices(), r.GetChecks(), origin)
}

// syncNode writes and deletes what a node's agent registers.
func (c *Change) syncNode(s *storev1.SyncNode, out *storev1.CatalogResult) error {
	const origin = storev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
	others := len(s.GetDeleteServices()) + len(s.GetDeleteChecks()) + 1
	if err := refused(catalog.CheckRegistration(s.GetServices(), s.GetChecks(), origin, others)); err != nil {
		return err
	}
	if len(s.GetNodeId()) != len(layout.SessionID{}) || s.GetSync().GetBoot() == 0 || s.GetSync().GetNumber() == 0 {
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REGISTRATION_MALFORMED, "sync")
	}
	if err := c.checkSync(s); err != nil {
		return err
	}
	var n *node
	var err error
	if s.GetNode() != nil {
		n, err = c.putNode(nodePut{node: s.GetNode(), id: s.GetNodeId(), origin: origin})
	} else {
		n, err = c.nodeByID(s.GetNodeId())
	}
	switch {
	case err != nil:
		return err
	case n == nil:
		return noNode(layout.SessionID(s.GetNodeId()).String())
	}
	n.tally.LastSync = s.GetSync()
	if err = n.saveTally(); err != nil {
		return err
	}
	for _, id := range s.GetDeleteChecks() {
		if err = n.deleteCheckOf(id, origin); err != nil {
			return err
		}
	}
	for _, id := range s.GetDeleteServices() {
		if err = n.deleteServiceOf(id, origin, s.GetChecks()); err != nil {
			return err
		}
	}
	out.NodeId = s.GetNodeId()
	return n.putEntries(s.GetServices(), s.GetChecks(), origin)
}

// checkSync refuses a sync that is not later than the last one.
func (c *Change) checkSync(s *storev1.SyncNode) error {
	n, err := c.nodeByID(s.GetNodeId())
	if err != nil || n == nil {
		return err
	}
	last, now := n.tally.GetLastSync(), s.GetSync()
	if now.GetBoot() > last.GetBoot() || now.GetBoot() == last.GetBoot() && now.GetNumber() > last.GetNumber() {
		return nil
	}
	return rule.Broken(storev1.FailureReason_FAILURE_REASON_SYNC_OUTDATED, storev1.FailureDetail_FAILURE_DETAIL_SYNC_LATE,
		last.GetNumber(), last.GetBoot())
}

// updateCheck writes the status of a check.
func (c *Change) updateCheck(u *storev1.UpdateCheck, out *storev1.CatalogResult) error {
	if u.GetStatus() <= 0 || u.GetStatus() > storev1.CheckStatus_CHECK_STATUS_CRITICAL {
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REGISTRATION_MALFORMED, "status")
	}
	if err := refused(catalog.CheckOutput(u.GetOutput())); err != nil {
		return err
	}
	n, err := c.node(u.GetNode())
	if err != nil {
		return err
	}
	if n == nil {
		return noCheck(u.GetNode(), u.GetCheckId())
	}
	before, err := n.check(u.GetCheckId())
	if err != nil {
		return err
	}
	if before == nil {
		return noCheck(u.GetNode(), u.GetCheckId())
	}
	out.NodeId, out.Previous = n.record.GetNode().GetNodeId(), before.GetCheck().GetStatus()
	return n.setStatus(before, u.GetStatus(), u.GetOutput())
}

// setLiveness writes what the pool says of a node. A monitor outside of the cluster that reports liveness itself is left alone.
func (c *Change) setLiveness(s *storev1.SetLiveness) error {
	if s.GetTerm() != c.Term {
		return nil
	}
	if err := refused(catalog.CheckOutput(s.GetOutput())); err != nil {
		return err
	}
	n, err := c.nodeByID(s.GetNodeId())
	if err != nil || n == nil {
		return err
	}
	before, err := n.check(catalog.LivenessID)
	switch {
	case err != nil:
		return err
	case before != nil && before.GetOrigin() != storev1.CatalogOrigin_CATALOG_ORIGIN_POOL:
		return nil
	case s.GetStatus() == storev1.CheckStatus_CHECK_STATUS_UNSPECIFIED && before == nil:
		return nil
	case s.GetStatus() == storev1.CheckStatus_CHECK_STATUS_UNSPECIFIED:
		return n.deleteCheck(before)
	case before != nil:
		return n.setStatus(before, s.GetStatus(), s.GetOutput())
	}
	return n.putCheck(&storev1.Check{
		CheckId: catalog.LivenessID, Name: catalog.LivenessID, Kind: "gossip", Status: s.GetStatus(), Output: s.GetOutput(),
	}, storev1.CatalogOrigin_CATALOG_ORIGIN_POOL)
}

// deregister deletes a node, an instance of a service or a check.
func (c *Change) deregister(d *storev1.Deregister, out *storev1.CatalogResult) error {
	if d.GetTerm() != 0 {
		if err := rule.CheckTerm(d.GetTerm(), c.Term); err != nil {
			return err
		}
	}
	n, err := c.node(d.GetName().GetNode())
	if err != nil || n == nil {
		return err
	}
	if id := d.GetIfNodeId(); len(id) > 0 && string(id) != string(n.record.GetNode().GetNodeId()) {
		return nil
	}
	if d.GetUnlessBound() {
		bound, failed := c.isBound(layout.Subject{Node: n.key}, math.MaxUint64)
		if failed != nil || bound {
			return failed
		}
	}
	out.NodeId = n.record.GetNode().GetNodeId()
	out.Deleted, err = n.deleteEntry(d.GetName())
	return err
}
