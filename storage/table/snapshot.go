package table

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tenure-io/tenure/internal/database"
	"github.com/tenure-io/tenure/storage/layout"
)

// ReadError is the error of a read of the database: ErrCorrupt, with the file, if that is damaged.
func ReadError(err error) error { return database.Mark(err, layout.ErrCorrupt) }

// Reader reads rows: the overlay of a batch, or a snapshot.
type Reader interface {
	Get(row []byte) ([]byte, bool, error)
	Scan(from, to []byte, visit func(row, value []byte) (bool, error)) error
}

// Snapshot reads the rows of a snapshot.
type Snapshot struct {
	Disk  *pebble.Snapshot
	Voids *Voids
	Index uint64 // of the snapshot; zero if it is not known
	Dead  error
	Reads *Reads // counts what is read; nil counts nothing
}

// Get returns the value of a row, or false.
func (r Snapshot) Get(row []byte) ([]byte, bool, error) {
	if r.Dead != nil {
		return nil, false, r.Dead
	}
	value, found, err := GetRow(r.Disk, row)
	r.Reads.count(row, value)
	return value, found, err
}

// View shows the value of a row, and reports whether there is one. The value must not be kept.
func (r Snapshot) View(row []byte, look func(value []byte) error) (bool, error) {
	if r.Dead != nil {
		return false, r.Dead
	}
	return ViewRow(r.Disk, row, func(value []byte) error {
		r.Reads.count(row, value)
		return look(value)
	})
}

// Scan calls visit for the rows in [from, to) in order, until visit returns false. A nil to is the end. visit must not keep row
// and value.
func (r Snapshot) Scan(from, to []byte, visit func(row, value []byte) (bool, error)) error {
	if r.Dead != nil {
		return r.Dead
	}
	s := scan{to: to, visit: visit, voids: r.Voids, index: r.Index, reads: r.Reads}
	return s.run(r.Disk, from)
}
