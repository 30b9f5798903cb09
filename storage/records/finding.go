package records

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// FindingsMax is how many findings a command may have: several times what one with as many entries as it may have needs.
const FindingsMax = 1024

// Find returns a finding with what is there now under its id.
func Find(rows table.Reader, of *storev1.Finding) (*storev1.Finding, error) {
	now := &storev1.Finding{Kind: of.GetKind(), Node: of.GetNode(), EntryId: of.GetEntryId(), Id: of.GetId()}
	var err error
	switch of.GetKind() {
	case storev1.FindingKind_FINDING_KIND_NODE:
		var key []byte
		key, now.Found, err = rows.Get(layout.NodeIDRow(of.GetId()))
		now.Name = string(key)
	case storev1.FindingKind_FINDING_KIND_SERVICE:
		now.Name, now.Found, err = serviceOf(rows, of.GetNode(), of.GetEntryId())
	case storev1.FindingKind_FINDING_KIND_CHECK:
		k := &storev1.CheckRecord{}
		now.Found, err = ReadCatalog(rows, layout.EntryRow(layout.RowCheck, catalog.NodeKey(of.GetNode()), of.GetEntryId()), k)
		if id := k.GetCheck().GetServiceId(); err == nil && id != "" {
			now.Name, now.Found, err = serviceOf(rows, of.GetNode(), id)
		}
	case storev1.FindingKind_FINDING_KIND_QUERY:
		var q *storev1.QueryRecord
		if id, failed := layout.SessionIDFromBytes(of.GetId()); failed == nil {
			q, err = ReadQuery(rows, id)
		}
		now.Found, now.Name = q != nil, q.GetQuery().GetName()
		now.ByPrefix = q.GetQuery().GetMatch() == storev1.QueryMatch_QUERY_MATCH_PREFIX
	case storev1.FindingKind_FINDING_KIND_UNSPECIFIED:
	}
	return now, err
}

// serviceOf returns the name of the service whose instance has an id, or false.
func serviceOf(rows table.Reader, node, id string) (string, bool, error) {
	s := &storev1.ServiceRecord{}
	found, err := ReadCatalog(rows, layout.EntryRow(layout.RowService, catalog.NodeKey(node), id), s)
	return s.GetService().GetName(), found, err
}
