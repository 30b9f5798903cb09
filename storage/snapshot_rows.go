package storage

import "github.com/cockroachdb/pebble/v2"

// rowReader reads rows: the overlay of a batch, or a snapshot.
type rowReader interface {
	get(row []byte) ([]byte, bool, error)
	scan(from, to []byte, visit func(row, value []byte) (bool, error)) error
}

// snapshotRows reads the rows of a snapshot.
type snapshotRows struct {
	disk  *pebble.Snapshot
	voids *voids
	index uint64 // of the snapshot; zero if it is not known
	dead  error
}

func (r snapshotRows) get(row []byte) ([]byte, bool, error) {
	if r.dead != nil {
		return nil, false, r.dead
	}
	return getRow(r.disk, row)
}

// view shows the value of a row, and reports whether there is one. The value must not be kept.
func (r snapshotRows) view(row []byte, look func(value []byte) error) (bool, error) {
	if r.dead != nil {
		return false, r.dead
	}
	return viewRow(r.disk, row, look)
}

func (r snapshotRows) scan(from, to []byte, visit func(row, value []byte) (bool, error)) error {
	if r.dead != nil {
		return r.dead
	}
	s := scan{to: to, visit: visit, voids: r.voids, index: r.index}
	return s.run(r.disk, from)
}
