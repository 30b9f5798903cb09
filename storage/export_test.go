package storage

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tenure-io/tenure/storage/backup"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/requests"
	"github.com/tenure-io/tenure/storage/table"
)

// What the tests of package storage_test see of the inside.
var (
	FormatMessage = layout.FormatMessage
)

// CountBytes counts the bytes of all rows, one by one.
func (r *Reader) CountBytes() (uint64, error) { return countBytes(r.rows) }

// LimitBounds are the bounds of one limit.
type LimitBounds struct {
	Name        string
	Least, Most uint64
}

// BoundsOfLimits returns the bounds of all limits.
func BoundsOfLimits() []LimitBounds {
	var all []LimitBounds
	for _, b := range quota.AllBounds() {
		all = append(all, LimitBounds{b.Name, b.Least, b.Most})
	}
	return all
}

// CheckRow checks a row as it is checked in a backup.
var CheckRow = backup.CheckRow

// HotBytesMax bounds the hot rows.
const HotBytesMax = table.HotBytesMax

// HotRows compares the hot rows with the disk. It returns how many there are, and their bytes.
func (s *Store) HotRows() (rows, size int, err error) {
	s.hot.All(func(row string, value table.HotRow) {
		onDisk, found, readErr := table.GetRow(s.db, []byte(row))
		if err = errors.Join(err, readErr); readErr == nil && (found != (value != nil) || !bytes.Equal(onDisk, value)) {
			err = errors.Join(err, fmt.Errorf("row %x: kept %x, on disk %x", row, value, onDisk))
		}
		rows++
	})
	return rows, s.HotBytes(), err
}

// HotBytes returns how many bytes the hot rows have.
func (s *Store) HotBytes() int {
	size := 0
	s.hot.All(func(row string, value table.HotRow) { size += len(row) + len(value) })
	return size
}

// KnowKeys begins to learn idempotency keys anew, when so many at most are remembered; never, if that is less than none.
func (s *Store) KnowKeys(most int) {
	s.keys = nil
	if most >= 0 {
		s.keys = requests.NewKnownKeys(most)
	}
}

// KnownKeys returns how many idempotency keys the store knows.
func (s *Store) KnownKeys() int { return s.keys.Len() }

// CopyRow copies a row on the disk, behind the back of the store.
func (s *Store) CopyRow(from, to []byte) error {
	value, found, err := table.GetRow(s.db, from)
	if err == nil && !found {
		err = fmt.Errorf("no row %x", from)
	}
	return errors.Join(err, s.db.Set(to, value, pebble.NoSync))
}
