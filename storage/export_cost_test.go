package storage

import (
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tenure-io/tenure/storage/machine"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/table"
)

// BytesWritten returns how many bytes a batch of entries would write to the state. It applies nothing.
func (s *Store) BytesWritten(entries []Entry) (int, error) {
	rows := table.NewOverlay(s.db, s.Applied().StoreBytes)
	w := machine.NewWork(rows, s.Applied())
	for _, e := range entries {
		if _, err := w.Entry(e); err != nil {
			return 0, err
		}
	}
	batch := s.db.NewBatch()
	err := rows.WriteTo(batch)
	n := batch.Len()
	return n, errors.Join(err, batch.Close())
}

// DeadRows returns how many deleted rows the scans of the store have stepped over.
func (s *Store) DeadRows() uint64 { return s.voids.Stepped() }

// CheckVoids fails if a row lives where the store believes that none does. It returns how many voids there are.
func (s *Store) CheckVoids() (int, error) {
	var err error
	n := s.voids.All(func(from, to []byte) bool {
		err = s.checkVoid(from, to)
		return err == nil
	})
	return n, err
}

func (s *Store) checkVoid(from, to []byte) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	if it.First() {
		err = fmt.Errorf("row %x lives in the void from %x to %x", it.Key(), from, to)
	}
	return errors.Join(err, it.Close())
}

// RowsSeen returns how many rows the commands of a batch of entries would read and write, with their bytes. It applies nothing.
func (s *Store) RowsSeen(entries []Entry) (rows, bytes uint64, err error) {
	overlay := table.NewOverlay(s.db, s.Applied().StoreBytes)
	w := machine.NewWork(overlay, s.Applied())
	overlay.Meter = &table.Meter{RowsMax: math.MaxUint64, BytesMax: math.MaxUint64}
	for _, e := range entries {
		if _, err = w.Entry(e); err != nil {
			return 0, 0, err
		}
	}
	return overlay.Meter.Rows, overlay.Meter.Bytes, nil
}

// CountReads returns what is read from now on through the readers of locks and of sessions.
func (r *Reader) CountReads() *table.Reads {
	r.rows.Reads = &table.Reads{}
	r.LockReader, r.SessionReader = records.NewLockReader(r.rows), records.NewSessionReader(r.rows)
	return r.rows.Reads
}
