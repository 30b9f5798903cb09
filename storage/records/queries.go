package records

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// ReadQuery returns a prepared query, or nil.
func ReadQuery(rows table.Reader, id layout.QueryID) (*storev1.QueryRecord, error) {
	r := &storev1.QueryRecord{}
	found, err := ReadCatalog(rows, layout.QueryRow(id), r)
	if err != nil || !found {
		return nil, err
	}
	return r, nil
}

// QueryReader reads the prepared queries of a Reader's snapshot.
type QueryReader struct{ rows table.Snapshot }

// NewQueryReader returns a reader of rows.
func NewQueryReader(rows table.Snapshot) QueryReader { return QueryReader{rows} }

// QueryEntry is a prepared query.
type QueryEntry struct {
	// ID is its own.
	ID layout.QueryID
	// Record is the query.
	Record *storev1.QueryRecord
}

// Query returns the query with an id, or false.
func (r *QueryReader) Query(id layout.QueryID) (QueryEntry, bool, error) {
	q, err := ReadQuery(r.rows, id)
	return QueryEntry{ID: id, Record: q}, q != nil, err
}

// QueryNamed returns the query that has a name, or false.
func (r *QueryReader) QueryNamed(name string) (QueryEntry, bool, error) {
	id, _, found, err := r.named(name)
	if err != nil || !found {
		return QueryEntry{}, false, err
	}
	return r.listed(id)
}

// QueryFor returns the query that a name runs, or false: the one that has it, or the one that matches longer names and whose own is
// the longest with which this one begins.
func (r *QueryReader) QueryFor(name string) (QueryEntry, bool, error) {
	for length := min(len(name), catalog.QueryNameBytesMax); length >= 0; length-- {
		id, prefix, found, err := r.named(name[:length])
		switch {
		case err != nil:
			return QueryEntry{}, false, err
		case found && (prefix || length == len(name)):
			return r.listed(id)
		}
	}
	return QueryEntry{}, false, nil
}

// named returns the id of the query that has a name, and whether longer names run it too.
func (r *QueryReader) named(name string) (id layout.QueryID, prefix, found bool, err error) {
	value, found, err := r.rows.Get(layout.QueryNameRow(name))
	if err != nil || !found {
		return layout.QueryID{}, false, false, err
	}
	id, prefix, ok := layout.CutQueryNameValue(value)
	if !ok {
		return layout.QueryID{}, false, false, fmt.Errorf("%w: name of a query", layout.ErrCorrupt)
	}
	return id, prefix, true, nil
}

// listed returns a query that a row leads to.
func (r *QueryReader) listed(id layout.QueryID) (QueryEntry, bool, error) {
	q, found, err := r.Query(id)
	if err == nil && !found {
		err = fmt.Errorf("%w: query %s has a name and no row", layout.ErrCorrupt, id)
	}
	return q, found, err
}

// Queries visits the queries with a higher id than after, in order, until visit returns false. A zero after starts at the first.
func (r *QueryReader) Queries(after layout.QueryID, visit func(QueryEntry) (bool, error)) error {
	from := []byte{layout.RowQuery}
	if after != (layout.QueryID{}) {
		from = append(layout.QueryRow(after), 0)
	}
	return r.rows.Scan(from, []byte{layout.RowQuery + 1}, func(row, value []byte) (bool, error) {
		id, ok := layout.CutSessionRow(row)
		if !ok {
			return false, fmt.Errorf("%w: query row", layout.ErrCorrupt)
		}
		q := &storev1.QueryRecord{}
		if err := layout.Decode(value, q); err != nil {
			return false, fmt.Errorf("query %s: %w", id, err)
		}
		return visit(QueryEntry{ID: id, Record: q})
	})
}
