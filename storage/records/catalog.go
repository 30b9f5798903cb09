package records

import (
	"fmt"
	"slices"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// ReadCatalog reads a record of the catalog, and reports whether there is one.
func ReadCatalog(rows table.Reader, row []byte, r layout.Record) (bool, error) {
	value, ok, err := rows.Get(row)
	if err != nil || !ok {
		return false, err
	}
	if err = layout.Decode(value, r); err != nil {
		return false, fmt.Errorf("%s: %w", layout.RowName(row), err)
	}
	return true, nil
}

// CatalogReader reads the nodes, services and checks of a Reader's snapshot.
type CatalogReader struct{ rows table.Snapshot }

// NewCatalogReader returns a reader of rows.
func NewCatalogReader(rows table.Snapshot) CatalogReader { return CatalogReader{rows} }

// NodeEntry is a node of the catalog.
type NodeEntry struct {
	// Key is its name in lower case, by which nodes are ordered.
	Key string
	// Record is the node, Tally what it counts.
	Record *storev1.NodeRecord
	Tally  *storev1.NodeTally
}

// Node returns a node by its name in any case of letters, or false.
func (r *CatalogReader) Node(name string) (NodeEntry, bool, error) {
	if !catalog.IsNodeName(name) {
		return NodeEntry{}, false, nil
	}
	n := NodeEntry{Key: catalog.NodeKey(name), Record: &storev1.NodeRecord{}, Tally: &storev1.NodeTally{}}
	found, err := ReadCatalog(r.rows, layout.NodeRow(layout.RowNode, n.Key), n.Record)
	if err != nil || !found {
		return NodeEntry{}, false, err
	}
	_, err = ReadCatalog(r.rows, layout.NodeRow(layout.RowNodeTally, n.Key), n.Tally)
	return n, true, err
}

// NodeWithID returns the key of the node with an id, of 16 bytes, or false.
func (r *CatalogReader) NodeWithID(id []byte) (key string, found bool, err error) {
	row, found, err := r.rows.Get(layout.NodeIDRow(id))
	return string(row), found, err
}

// Nodes visits the nodes whose key has a prefix and comes after another, in order, until visit returns false.
func (r *CatalogReader) Nodes(prefix, after string, visit func(NodeEntry) (bool, error)) error {
	prefix = catalog.NodeKey(prefix)
	from := layout.NodeRow(layout.RowNode, prefix)
	to := layout.RowsEnd(from)
	if after >= prefix && after != "" {
		from = append(layout.NodeRow(layout.RowNode, after), 0)
	}
	return r.rows.Scan(from, to, func(row, value []byte) (bool, error) {
		n := NodeEntry{Key: string(row[1:]), Record: &storev1.NodeRecord{}, Tally: &storev1.NodeTally{}}
		if err := layout.Decode(value, n.Record); err != nil {
			return false, fmt.Errorf("node: %w", err)
		}
		if _, err := ReadCatalog(r.rows, layout.NodeRow(layout.RowNodeTally, n.Key), n.Tally); err != nil {
			return false, err
		}
		return visit(n)
	})
}

// EntryAt is where a service or a check stands among all.
type EntryAt struct {
	// Service is the name of the service; only in the order of services.
	Service string
	// Node is the key of its node.
	Node string
	// ID is its own.
	ID string
}

// entries visits the rows of kind of a node, or of all nodes, behind one of them.
func (r *CatalogReader) entries(kind byte, node string, after EntryAt, visit func(at EntryAt, value []byte) (bool, error)) error {
	from, to := []byte{kind}, []byte{kind + 1}
	if node != "" {
		from = layout.EntryRows(kind, catalog.NodeKey(node))
		to = layout.RowsEnd(from)
	}
	if after.Node != "" {
		from = slices.MaxFunc([][]byte{from, append(layout.EntryRow(kind, after.Node, after.ID), 0)}, slices.Compare)
	}
	return r.rows.Scan(from, to, func(row, value []byte) (bool, error) {
		at := EntryAt{}
		var ok bool
		if at.Node, at.ID, ok = layout.CutEntryRow(row); !ok {
			return false, fmt.Errorf("%w: entry of the catalog", layout.ErrCorrupt)
		}
		return visit(at, value)
	})
}

// Services visits the instances of services on a node, or on all nodes, behind one of them, by node and id.
func (r *CatalogReader) Services(node string, after EntryAt, visit func(EntryAt, *storev1.ServiceRecord) (bool, error)) error {
	return r.entries(layout.RowService, node, after, func(at EntryAt, value []byte) (bool, error) {
		s := &storev1.ServiceRecord{}
		if err := layout.Decode(value, s); err != nil {
			return false, fmt.Errorf("service: %w", err)
		}
		return visit(at, s)
	})
}

// Checks visits the checks of a node, or of all nodes, behind one of them, by node and id.
func (r *CatalogReader) Checks(node string, after EntryAt, visit func(EntryAt, *storev1.CheckRecord) (bool, error)) error {
	return r.entries(layout.RowCheck, node, after, func(at EntryAt, value []byte) (bool, error) {
		k := &storev1.CheckRecord{}
		if err := layout.Decode(value, k); err != nil {
			return false, fmt.Errorf("check: %w", err)
		}
		return visit(at, k)
	})
}

// Service returns an instance of a service, or false.
func (r *CatalogReader) Service(node, id string) (*storev1.ServiceRecord, bool, error) {
	s := &storev1.ServiceRecord{}
	found, err := ReadCatalog(r.rows, layout.EntryRow(layout.RowService, catalog.NodeKey(node), id), s)
	return s, found, err
}

// Check returns a check, or false.
func (r *CatalogReader) Check(node, id string) (*storev1.CheckRecord, bool, error) {
	k := &storev1.CheckRecord{}
	found, err := ReadCatalog(r.rows, layout.EntryRow(layout.RowCheck, catalog.NodeKey(node), id), k)
	return k, found, err
}

// Instances visits where the instances of a service are, or of all whose name has a prefix, behind one of them: by service, node
// and id.
func (r *CatalogReader) Instances(service string, isPrefix bool, after EntryAt, visit func(EntryAt) (bool, error)) error {
	from := layout.InstanceRows(service)
	if isPrefix {
		from = from[:len(from)-2] // Without what ends the name.
	}
	to := layout.RowsEnd(from)
	if after.Service != "" {
		next := append(layout.InstanceRow(after.Service, after.Node, after.ID), 0)
		if after.Node == "" { // Behind all of the service.
			next = layout.RowsEnd(layout.InstanceRows(after.Service))
		}
		from = slices.MaxFunc([][]byte{from, next}, slices.Compare)
	}
	return r.rows.Scan(from, to, func(row, _ []byte) (bool, error) {
		at := EntryAt{}
		var ok bool
		if at.Service, at.Node, at.ID, ok = layout.CutInstanceRow(row); !ok {
			return false, fmt.Errorf("%w: instance of a service", layout.ErrCorrupt)
		}
		return visit(at)
	})
}

// EndMark says when and why a session ended whose end is not carried out yet.
type EndMark struct {
	// Revision and TimeMs are those of the command that ended it.
	Revision uint64
	TimeMs   int64
	// Cause is why.
	Cause storev1.SessionEndCause
}

// EndMark returns the mark of the end list that has ended a session, or false. Such a session is dead to all who ask.
func (r *CatalogReader) EndMark(s *storev1.SessionRecord) (EndMark, bool, error) {
	if s.GetBoundNode() == "" {
		return EndMark{}, false, nil
	}
	m, err := MarkOn(r.rows, s)
	if err != nil || m == nil {
		return EndMark{}, false, err
	}
	return EndMark{Revision: m.Revision, TimeMs: m.Record.GetTimeMs(), Cause: m.Record.GetCause()}, true, nil
}
