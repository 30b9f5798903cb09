package storage

import (
	"fmt"

	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// queuePartSize is how many waiters, by the order in which they joined, are counted together. A place finds its
// position from the counts of the parts before its own and from the places of its own part, however long the queue is.
// It must never change: the counts are state.
const queuePartSize = 256

// queuePart is one part of a queue: how many of it still wait, and where it begins.
type queuePart struct {
	waiters, firstPlace uint64
}

func queuePartRow(n layout.Name, ordinal uint64) []byte {
	return layout.NumberedRow(layout.RowQueuePart, n, ordinal/queuePartSize)
}

func decodeQueuePart(value []byte) (queuePart, error) {
	v, err := layout.CutUint64s(value, 2)
	if err != nil {
		return queuePart{}, fmt.Errorf("part of a queue: %w", err)
	}
	return queuePart{waiters: v[0], firstPlace: v[1]}, nil
}

// readQueuePart returns the part that a waiter of an ordinal belongs to; one where nobody waits is empty.
func readQueuePart(rows table.Reader, n layout.Name, ordinal uint64) (queuePart, error) {
	value, ok, err := rows.Get(queuePartRow(n, ordinal))
	if err != nil || !ok {
		return queuePart{}, err
	}
	return decodeQueuePart(value)
}

// Position returns how many waiters stand before a place; zero if nobody has it. It reads a few hundred rows, however
// long the queue is.
func (r *LockReader) Position(key string, place uint64) (int, error) {
	n := layout.Name{Key: key}
	w, err := r.Waiter(key, place)
	if err != nil || w == nil {
		return 0, err
	}
	// The parts before that of the first waiter are gone, and there may have been many.
	first, _, err := r.Waiters(key, 0, 1)
	if err != nil {
		return 0, err
	}
	before := uint64(0)
	from, own := queuePartRow(n, first[0].Record.GetOrdinal()), queuePartRow(n, w.GetOrdinal())
	err = r.rows.Scan(from, own, func(_, value []byte) (bool, error) {
		earlier, partErr := decodeQueuePart(value)
		before += earlier.waiters
		return true, partErr
	})
	if err != nil {
		return 0, err
	}
	part, err := readQueuePart(r.rows, n, w.GetOrdinal())
	if err != nil {
		return 0, err
	}
	from, own = layout.NumberedRow(layout.RowPlace, n, part.firstPlace), layout.NumberedRow(layout.RowPlace, n, place)
	if place <= part.firstPlace {
		return int(before), nil
	}
	err = r.rows.Scan(from, own, func(_, _ []byte) (bool, error) {
		before++
		return true, nil
	})
	return int(before), err
}
