package nodes

import (
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// check returns a check, or nil.
func (n *node) check(id string) (*storev1.CheckRecord, error) {
	r := &storev1.CheckRecord{}
	found, err := records.ReadCatalog(n.Rows, layout.EntryRow(layout.RowCheck, n.key, id), r)
	if err != nil || !found {
		return nil, err
	}
	return r, nil
}

// noCheck returns the failure for a check that is missing.
func noCheck(node, id string) error {
	return rule.Broken(storev1.FailureReason_FAILURE_REASON_CHECK_NOT_FOUND, storev1.FailureDetail_FAILURE_DETAIL_CHECK_MISSING, node, id)
}

// checksOf returns the checks of a node; with a service, only those of that instance.
func (n *node) checksOf(service string) ([]*storev1.CheckRecord, error) {
	var out []*storev1.CheckRecord
	from := layout.EntryRows(layout.RowCheck, n.key)
	err := n.Rows.Scan(from, layout.RowsEnd(from), func(_, value []byte) (bool, error) {
		k := &storev1.CheckRecord{}
		if err := layout.Decode(value, k); err != nil {
			return false, err
		}
		if service == "" || k.GetCheck().GetServiceId() == service {
			out = append(out, k)
		}
		return true, nil
	})
	return out, err
}

// putCheck writes a check that is within its bounds. Without status, an old one keeps its status
// and output, and a new one is critical.
func (n *node) putCheck(k *storev1.Check, origin storev1.CatalogOrigin) error {
	before, err := n.check(k.GetCheckId())
	if err != nil {
		return err
	}
	pool := storev1.CatalogOrigin_CATALOG_ORIGIN_POOL
	if before != nil && origin == pool && before.GetOrigin() != pool {
		return nil
	}
	k = proto.CloneOf(k)
	if k.GetStatus() == storev1.CheckStatus_CHECK_STATUS_UNSPECIFIED {
		k.Status = storev1.CheckStatus_CHECK_STATUS_CRITICAL
		if before != nil {
			k.Status, k.Output = before.GetCheck().GetStatus(), before.GetCheck().GetOutput()
		}
	}
	r := &storev1.CheckRecord{
		Check: k, CreateRevision: n.Revision, Origin: originAfter(before.GetOrigin(), origin), Node: n.record.GetNode().GetName(),
	}
	if k.GetServiceId() != "" {
		s, failed := n.service(k.GetServiceId())
		if failed != nil {
			return failed
		}
		if s == nil {
			return rule.Broken(storev1.FailureReason_FAILURE_REASON_SERVICE_NOT_FOUND,
				storev1.FailureDetail_FAILURE_DETAIL_SERVICE_MISSING, r.GetNode(), k.GetServiceId())
		}
		r.ServiceName = s.GetService().GetName()
	}
	if err = n.countCheck(before.GetCheck(), k); err != nil {
		return err
	}
	if before != nil {
		r.CreateRevision, r.ModRevision = before.GetCreateRevision(), before.GetModRevision()
	}
	return n.saveCheck(r, before)
}

// setStatus writes the status and output of a check that is there.
func (n *node) setStatus(before *storev1.CheckRecord, status storev1.CheckStatus, output string) error {
	r := proto.CloneOf(before)
	r.Check.Status, r.Check.Output = status, output
	return n.saveCheck(r, before)
}

// saveCheck writes a check and tells of it, unless it is as before, or differs only in its output. One that is critical ends the
// sessions that are bound to it, whether or not it was.
func (n *node) saveCheck(r, before *storev1.CheckRecord) error {
	r.FormatVersion = layout.RecordFormat
	if r.GetCheck().GetStatus() == storev1.CheckStatus_CHECK_STATUS_CRITICAL {
		n.endSubject(layout.Subject{Node: n.key, Check: r.GetCheck().GetCheckId()}, storev1.SessionEndCause_SESSION_END_CAUSE_CHECK_CRITICAL)
	}
	if before != nil && proto.Equal(r, before) {
		return nil
	}
	sameBut := proto.CloneOf(r)
	if before != nil {
		sameBut.Check.Output, sameBut.Origin, sameBut.FormatVersion = before.GetCheck().GetOutput(), before.GetOrigin(), before.GetFormatVersion()
	}
	if before == nil || !proto.Equal(sameBut, before) {
		if err := n.tellCheck(r, before, sameBut); err != nil {
			return err
		}
	}
	return n.write(layout.EntryRow(layout.RowCheck, n.key, r.GetCheck().GetCheckId()), r)
}

// tellCheck tells that a check changed.
func (n *node) tellCheck(r, before, sameBut *storev1.CheckRecord) error {
	names, err := n.countsFor(r)
	if err != nil {
		return err
	}
	r.ModRevision = n.Revision
	if before != nil {
		sameBut.Check.Status = before.GetCheck().GetStatus()
		if proto.Equal(sameBut, before) {
			n.Command.Emit(&storev1.Event{Kind: &storev1.Event_CheckStatus{CheckStatus: &storev1.CheckStatusChanged{
				Node: r.GetNode(), Check: proto.CloneOf(r.GetCheck()), CreateRevision: r.GetCreateRevision(), Origin: r.GetOrigin(),
				ServiceNames: names, ServiceName: r.GetServiceName(), Previous: before.GetCheck().GetStatus(),
			}}})
			return nil
		}
	}
	if err = n.Command.NeedSpace(); err != nil {
		return err
	}
	if names, err = n.withLeft(names, r, before); err != nil {
		return err
	}
	put := &storev1.CheckPut{
		Node: r.GetNode(), Check: proto.CloneOf(r.GetCheck()), CreateRevision: r.GetCreateRevision(), Origin: r.GetOrigin(),
		ServiceNames: names, ServiceName: r.GetServiceName(),
	}
	if n.State.ClusterVersion >= layout.Version3 && before != nil {
		addPrevious(put, before)
	}
	n.Command.Emit(&storev1.Event{Kind: &storev1.Event_CheckPut{CheckPut: put}})
	return nil
}

// addPrevious adds to an event of a check that moved what it was about before, so that a caller who may see only that can be told that the check is
// gone. Before version 3, it was not told.
func addPrevious(put *storev1.CheckPut, before *storev1.CheckRecord) {
	if left := before.GetCheck().GetServiceId(); left != put.GetCheck().GetServiceId() {
		put.PreviousServiceId, put.PreviousNode = left, left == ""
	}
	if left := before.GetServiceName(); left != put.GetServiceName() {
		put.PreviousServiceName = left
	}
}

// countsFor returns the names of the services for which a check counts.
func (n *node) countsFor(r *storev1.CheckRecord) ([]string, error) {
	if r.GetCheck().GetServiceId() != "" {
		return []string{r.GetServiceName()}, nil
	}
	return n.countedNames()
}

// withLeft adds the names of the services for which a check counted before it moved to another instance, or between an instance and the node: what is
// shown of them changes, too. Before version 3, they were not told.
func (n *node) withLeft(names []string, r, before *storev1.CheckRecord) ([]string, error) {
	if n.State.ClusterVersion < layout.Version3 || before == nil || before.GetCheck().GetServiceId() == r.GetCheck().GetServiceId() {
		return names, nil
	}
	left, err := n.countsFor(before)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(names, left)
	slices.Sort(all)
	return slices.Compact(all), nil
}

// deleteCheckOf deletes a check that is of an origin; others stay.
func (n *node) deleteCheckOf(id string, origin storev1.CatalogOrigin) error {
	k, err := n.check(id)
	if err != nil || k == nil || k.GetOrigin() != origin {
		return err
	}
	return n.deleteCheck(k)
}

// deleteCheck deletes a check, and ends the sessions that are bound to it.
func (n *node) deleteCheck(k *storev1.CheckRecord) error {
	names, err := n.countsFor(k)
	if err != nil {
		return err
	}
	id := k.GetCheck().GetCheckId()
	n.endSubject(layout.Subject{Node: n.key, Check: id}, storev1.SessionEndCause_SESSION_END_CAUSE_CHECK_DEREGISTERED)
	n.Rows.Remove(layout.EntryRow(layout.RowCheck, n.key, id))
	n.State.Checks--
	n.tally.Checks--
	n.tally.Bytes -= catalog.CheckBytes(k.GetCheck())
	n.Command.Emit(&storev1.Event{Kind: &storev1.Event_CheckDeleted{CheckDeleted: &storev1.CheckDeleted{
		Node: k.GetNode(), CheckId: id, ServiceId: k.GetCheck().GetServiceId(), ServiceName: k.GetServiceName(), ServiceNames: names,
	}}})
	return n.saveTally()
}

// DoubtLiveness sets what the pool said of nodes to WARNING: after a restore nobody knows how they are until they are seen.
func DoubtLiveness(rows *table.Overlay, revision uint64) error {
	type found struct {
		row    []byte
		record *storev1.CheckRecord
	}
	var all []found
	err := rows.Scan([]byte{layout.RowCheck}, []byte{layout.RowCheck + 1}, func(row, value []byte) (bool, error) {
		_, id, ok := layout.CutEntryRow(row)
		if !ok || id != catalog.LivenessID {
			return true, nil
		}
		r := &storev1.CheckRecord{}
		if err := layout.Decode(value, r); err != nil {
			return false, err
		}
		if r.GetOrigin() == storev1.CatalogOrigin_CATALOG_ORIGIN_POOL {
			all = append(all, found{append([]byte{}, row...), r})
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, f := range all {
		f.record.Check.Status, f.record.ModRevision = storev1.CheckStatus_CHECK_STATUS_WARNING, revision
		value, err := layout.Encode(f.record)
		if err != nil {
			return err
		}
		rows.Set(f.row, value)
	}
	return nil
}
