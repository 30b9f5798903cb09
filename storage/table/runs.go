package table

import (
	"bytes"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
)

// runRowsMin is how many rows of a kind must be read in ascending order before an iterator reads the next ones.
const runRowsMin = 32

// Runs reads rows that commands with thousands of objects look up one after the other, in ascending order within each kind of
// rows: their locks, holds and keys. A point read of Pebble begins anew in every level, while an iterator goes on from where it stands. What
// it answers is what a point read would. It belongs to the goroutine of Apply, for one Apply: iterators show the state
// of their begin. A nil one reads nothing.
type Runs struct {
	disk  pebble.Reader
	kinds [256]*run
}

// run is what was read of one kind of rows.
type run struct {
	last   []byte // the row that was looked up last
	rows   int    // that were looked up in ascending order, up to last
	it     *pebble.Iterator
	at     bool   // whether the iterator stands at a row, and there is none between last and it
	sought bool   // whether the iterator was moved to last, or to the first row behind it
	after  []byte // the first possible row behind the one that is sought
}

// NewRuns returns runs of which none has begun.
func NewRuns(disk pebble.Reader) *Runs { return &Runs{disk: disk} }

// End closes the iterators; the next Apply begins new ones.
func (r *Runs) End() error {
	var err error
	for _, one := range r.kinds {
		if one == nil {
			continue
		}
		one.last, one.rows, one.at, one.sought = one.last[:0], 0, false, false
		if one.it != nil {
			if closeErr := one.it.Close(); err == nil && closeErr != nil {
				err = fmt.Errorf("read rows: %w", ReadError(closeErr))
			}
			one.it = nil
		}
	}
	return err
}

// view shows the value of a row and reports whether there is one, if the row goes on a run; else it is for a point read. The value
// must not be kept.
func (r *Runs) view(row []byte, look func(value []byte) error) (found, inRun bool, err error) {
	if r == nil || !r.note(row) {
		return false, false, nil
	}
	one := r.kinds[row[0]]
	if one.it == nil {
		one.it, err = r.disk.NewIter(&pebble.IterOptions{LowerBound: []byte{row[0]}, UpperBound: layout.RowsEnd(row[:1])})
		if err != nil {
			return false, true, fmt.Errorf("read rows: %w", ReadError(err))
		}
	}
	if !one.sought {
		one.seek(row)
	}
	if err = one.it.Error(); err != nil {
		return false, true, fmt.Errorf("read rows: %w", ReadError(err))
	}
	found = one.it.Valid() && bytes.Equal(one.it.Key(), row)
	if invariants.Enabled {
		there, viewErr := ViewRow(r.disk, row, func([]byte) error { return nil })
		invariants.That(viewErr != nil || there == found, "a run reads row %q as there: %t", row, found)
	}
	if found {
		err = look(one.it.Value())
	}
	return found && err == nil, true, err
}

// seek moves the iterator to a row, or to the first one behind it, which need not be found if it is not the next one.
func (r *run) seek(row []byte) {
	// The limit keeps the iterator from stepping over the deleted rows behind a row that is not there.
	r.after = append(append(r.after[:0], row...), 0)
	r.sought = true
	if r.at {
		if bytes.Compare(r.it.Key(), row) >= 0 {
			return
		}
		// A command that looks up all rows of a kind always wants the next one, and a step costs less than a search.
		r.at = r.it.NextWithLimit(r.after) == pebble.IterValid
		if !r.at || bytes.Compare(r.it.Key(), row) >= 0 {
			return
		}
	}
	r.at = r.it.SeekGEWithLimit(row, r.after) == pebble.IterValid
}

// note notes that a row is looked up. It reports whether the row goes on a run that is long enough.
func (r *Runs) note(row []byte) bool {
	if len(row) < 2 {
		return false
	}
	one := r.kinds[row[0]]
	if one == nil {
		one = &run{}
		r.kinds[row[0]] = one
	}
	switch c := bytes.Compare(row, one.last); {
	case c == 0:
		return one.rows >= runRowsMin
	case c < 0:
		one.rows, one.at = 0, false
	default:
		one.rows++
	}
	one.last, one.sought = append(one.last[:0], row...), false
	return one.rows >= runRowsMin
}
