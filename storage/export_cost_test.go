package storage

import "errors"

// BytesWritten returns how many bytes a batch of entries would write to the state. It applies nothing.
func (s *Store) BytesWritten(entries []Entry) (int, error) {
	w := newWork(s.db, s.Applied())
	for _, e := range entries {
		if _, err := w.entry(e); err != nil {
			return 0, err
		}
	}
	batch := s.db.NewBatch()
	err := w.rows.writeTo(batch)
	n := batch.Len()
	return n, errors.Join(err, batch.Close())
}
