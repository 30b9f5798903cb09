package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// History walks over kept events, oldest first. It is for one goroutine and must be closed before its Reader.
type History struct {
	it      *pebble.Iterator
	event   *storev1.Event
	started bool
	err     error
}

// History returns the events from a revision and an index inside it on. It fails with ErrCompacted if some of them are
// forgotten, and with ErrFuture if the revision is more than one ahead of the store.
func (r *Reader) History(revision uint64, index uint32) (*History, error) {
	a, err := r.Applied()
	if err != nil {
		return nil, err
	}
	if revision <= a.CompactedRevision {
		return nil, fmt.Errorf("history from revision %d: %w: kept from %d", revision, ErrCompacted, a.CompactedRevision+1)
	}
	if revision > a.Revision+1 {
		return nil, fmt.Errorf("history from revision %d: %w: it is at %d", revision, ErrFuture, a.Revision)
	}
	it, err := r.rows.Disk.NewIter(&pebble.IterOptions{
		LowerBound: layout.HistoryRow(revision, index),
		UpperBound: []byte{layout.RowHistory + 1},
	})
	if err != nil {
		return nil, fmt.Errorf("history: %w", table.ReadError(err))
	}
	return &History{it: it}, nil
}

// Next moves to the next event; false is the end, or an error that Err returns.
func (h *History) Next() bool {
	if h.err != nil {
		return false
	}
	var ok bool
	if h.started {
		ok = h.it.Next()
	} else {
		ok = h.it.First()
		h.started = true
	}
	if !ok {
		h.err = table.ReadError(h.it.Error())
		return false
	}
	rec := &storev1.HistoryRecord{}
	if h.err = layout.Decode(h.it.Value(), rec); h.err != nil {
		return false
	}
	h.event = rec.GetEvent()
	return true
}

// Event returns the present event. It is the caller's.
func (h *History) Event() *storev1.Event { return h.event }

// Err returns why Next ended before the end, or nil.
func (h *History) Err() error { return h.err }

// Close ends the walk.
func (h *History) Close() error {
	if err := h.it.Close(); err != nil {
		return fmt.Errorf("close history: %w", table.ReadError(err))
	}
	return nil
}

// PreviousEvent returns the event that holds a previous value, or false if it is forgotten.
func (r *Reader) PreviousEvent(p *storev1.PreviousValue) (*storev1.Event, bool, error) {
	a, err := r.Applied()
	if err != nil {
		return nil, false, err
	}
	if p.GetRevision() <= a.CompactedRevision {
		return nil, false, nil
	}
	value, ok, err := r.rows.Get(layout.HistoryRow(p.GetRevision(), p.GetIndex()))
	if err != nil || !ok {
		return nil, false, err
	}
	rec := &storev1.HistoryRecord{}
	if err := layout.Decode(value, rec); err != nil {
		return nil, false, err
	}
	return rec.GetEvent(), true, nil
}
