package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/machine"
	"github.com/tenure-io/tenure/storage/table"
)

// Apply applies a batch of entries and commits it as one write, which is not synced: the log is what is durable. A
// command that breaks a rule fails alone, through its Result. An error means that the disk failed or that the log
// holds what this program does not know; nothing of the batch is written, and the caller must stop.
func (s *Store) Apply(batch []Entry) (Outcome, error) {
	if err := s.usable(); err != nil {
		return Outcome{}, err
	}
	before := s.Applied()
	rows := table.NewOverlay(s.db, before.StoreBytes)
	rows.Hot, rows.Voids, rows.Runs = s.hot, s.voids, s.runs
	defer func() { _ = s.runs.End() }() // What could not be read has failed the batch already.
	w := machine.NewWork(rows, before)
	w.Keys = s.keys
	w.Gaps = s.gaps
	var entries []EntryOutcome
	sums := make([]uint64, 0, len(batch))
	for _, e := range batch {
		done, err := w.Entry(e)
		if err != nil {
			return Outcome{}, s.fail(fmt.Errorf("apply entry %d: %w", e.Index, err))
		}
		if len(done.Results) > 0 {
			entries = append(entries, done)
		}
		sums = append(sums, w.Checksum())
	}
	if invariants.Enabled {
		if err := rows.VerifyBytes(before.StoreBytes); err != nil {
			return Outcome{}, s.fail(err)
		}
	}
	out := w.Outcome()
	s.writes.Add(1)
	if err := s.commit(rows, out.Applied); err != nil {
		return Outcome{}, s.fail(err) // writes stays odd: readers ask their snapshots from now on.
	}
	s.publish(out.Applied, sums...)
	s.writes.Add(1)
	out.Entries = entries
	out.RowsWritten, out.BytesWritten = rows.RowsWritten, rows.BytesWritten
	return out, nil
}

// commit writes everything that the batch changed, with the applied record, at once.
func (s *Store) commit(rows *table.Overlay, state Applied) error {
	value, err := state.Encode()
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return s.commitRows(rows, table.Pending{Row: []byte{layout.RowApplied}, Value: value})
}

// commitRows writes what an overlay holds, and more, at once.
func (s *Store) commitRows(rows *table.Overlay, more ...table.Pending) error {
	batch := s.db.NewBatchWithSize(rows.BatchBytes())
	err := rows.WriteTo(batch)
	for _, p := range more {
		if err == nil {
			err = batch.Set(p.Row, p.Value, nil)
		}
	}
	rows.RowsWritten, rows.BytesWritten = int(batch.Count()), batch.Len()
	if err == nil {
		err = batch.Commit(pebble.NoSync)
	}
	if closeErr := batch.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = s.background.get()
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	rows.NoteCommit(s.hot, more)
	return nil
}
