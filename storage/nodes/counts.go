package nodes

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
)

// counts are how many services and checks a node has, and how large they are. They hold the limits of a node and of the catalog.
type counts struct {
	*Change
	name  string
	key   string // its name as rows have it
	tally *storev1.NodeTally
}

// countsOf returns the counts of a node that has nothing yet.
func (c *Change) countsOf(node string) counts {
	return counts{Change: c, name: node, key: catalog.NodeKey(node), tally: &storev1.NodeTally{}}
}

// saveTally writes what a node counts.
func (n *counts) saveTally() error {
	n.tally.FormatVersion = layout.RecordFormat
	return n.write(layout.NodeRow(layout.RowNodeTally, n.key), n.tally)
}

// full returns the failure of a node that has as many entries as it may.
func (n *counts) full(limit string, most uint64) error {
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED,
		storev1.FailureDetail_FAILURE_DETAIL_NODE_IS_FULL, n.name, most, limit)
	f.Failure.LimitName, f.Failure.Limit = limit, most
	return f
}

// grow counts how much an entry of the node had before a write, and has after it.
func (n *counts) grow(before, after uint64) error {
	total := n.tally.GetBytes() - before + after
	if after > before && total > catalog.NodeBytesMax {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED, storev1.FailureDetail_FAILURE_DETAIL_NODE_TOO_LARGE,
			n.name, total, uint64(catalog.NodeBytesMax))
		f.Failure.LimitName, f.Failure.Limit = "node_bytes_max", catalog.NodeBytesMax
		return f
	}
	n.tally.Bytes = total
	return nil
}

// countService counts an instance after a write, and as it was before, if it was.
func (n *counts) countService(before, after *storev1.Service) error {
	was, is := uint64(0), catalog.ServiceBytes(after)
	if before != nil {
		was = catalog.ServiceBytes(before)
	}
	if err := n.grow(was, is); err != nil {
		return err
	}
	switch {
	case was == is:
		return nil
	case before != nil:
		return n.saveTally()
	}
	if n.tally.GetServices() >= catalog.NodeServicesMax {
		return n.full("node_services_max", catalog.NodeServicesMax)
	}
	if n.State.Services >= catalog.ServicesMax {
		return rule.Exceeded("services_max", catalog.ServicesMax)
	}
	n.State.Services++
	n.tally.Services++
	return n.saveTally()
}

// countCheck counts a check after a write, and as it was before, if it was.
func (n *counts) countCheck(before, after *storev1.Check) error {
	was, is := uint64(0), catalog.CheckBytes(after)
	if before != nil {
		was = catalog.CheckBytes(before)
	}
	if err := n.grow(was, is); err != nil {
		return err
	}
	switch {
	case was == is:
		return nil
	case before != nil:
		return n.saveTally()
	}
	if n.tally.GetChecks() >= catalog.NodeChecksMax {
		return n.full("node_checks_max", catalog.NodeChecksMax)
	}
	if n.State.Checks >= catalog.ChecksMax {
		return rule.Exceeded("checks_max", catalog.ChecksMax)
	}
	n.State.Checks++
	n.tally.Checks++
	return n.saveTally()
}
