package records

import (
	"fmt"

	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// queuePartSize is how many waiters, by the order in which they joined, are counted together. A place finds its
// position from the counts of the parts before its own and from the places of its own part, however long the queue is.
// It must never change: the counts are state.
const queuePartSize = 256

// QueuePart is one part of a queue: how many of it still wait, and where it begins.
type QueuePart struct {
	Waiters, FirstPlace uint64
}

// QueuePartRow returns the row of the part that a waiter of an ordinal belongs to.
func QueuePartRow(n layout.Name, ordinal uint64) []byte {
	return layout.NumberedRow(layout.RowQueuePart, n, ordinal/queuePartSize)
}

func decodeQueuePart(value []byte) (QueuePart, error) {
	v, err := layout.CutUint64s(value, 2)
	if err != nil {
		return QueuePart{}, fmt.Errorf("part of a queue: %w", err)
	}
	return QueuePart{Waiters: v[0], FirstPlace: v[1]}, nil
}

// ReadQueuePart returns the part that a waiter of an ordinal belongs to; one where nobody waits is empty.
func ReadQueuePart(rows table.Reader, n layout.Name, ordinal uint64) (QueuePart, error) {
	value, ok, err := rows.Get(QueuePartRow(n, ordinal))
	if err != nil || !ok {
		return QueuePart{}, err
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
	from, own := QueuePartRow(n, first[0].Record.GetOrdinal()), QueuePartRow(n, w.GetOrdinal())
	err = r.rows.Scan(from, own, func(_, value []byte) (bool, error) {
		earlier, partErr := decodeQueuePart(value)
		before += earlier.Waiters
		return true, partErr
	})
	if err != nil {
		return 0, err
	}
	part, err := ReadQueuePart(r.rows, n, w.GetOrdinal())
	if err != nil {
		return 0, err
	}
	from, own = layout.NumberedRow(layout.RowPlace, n, part.FirstPlace), layout.NumberedRow(layout.RowPlace, n, place)
	if place <= part.FirstPlace {
		return int(before), nil
	}
	err = r.rows.Scan(from, own, func(_, _ []byte) (bool, error) {
		before++
		return true, nil
	})
	return int(before), err
}
