package records

import (
	"fmt"
	"math/bits"

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
	// waiting says which of the part still wait, a bit for each ordinal, so that nobody reads their places, which have values, to
	// count them. It is nil in a part that began under version 1.
	waiting []uint64
}

const (
	// queuePartWords is how many words the bits of a part fill.
	queuePartWords = queuePartSize / 64
	// queuePartHead is how many numbers a part of version 1 has.
	queuePartHead = 2
)

// QueuePartRow returns the row of the part that a waiter of an ordinal belongs to.
func QueuePartRow(n layout.Name, ordinal uint64) []byte {
	return layout.NumberedRow(layout.RowQueuePart, n, ordinal/queuePartSize)
}

func decodeQueuePart(value []byte) (QueuePart, error) {
	numbers := queuePartHead
	if len(value) > 8*queuePartHead {
		numbers += queuePartWords
	}
	v, err := layout.CutUint64s(value, numbers)
	if err != nil {
		return QueuePart{}, fmt.Errorf("part of a queue: %w", err)
	}
	p := QueuePart{Waiters: v[0], FirstPlace: v[1]}
	if numbers > queuePartHead {
		p.waiting = v[queuePartHead:]
	}
	return p, nil
}

// Row returns the value of the part's row.
func (p QueuePart) Row() []byte {
	return layout.AppendUint64s(nil, append([]uint64{p.Waiters, p.FirstPlace}, p.waiting...)...)
}

// Begin begins the part with a place. One that begins under version 2 tells who of it waits.
func (p *QueuePart) Begin(place uint64, told bool) {
	p.FirstPlace, p.waiting = place, nil
	if told {
		p.waiting = make([]uint64, queuePartWords)
	}
}

// Join counts the waiter of an ordinal.
func (p *QueuePart) Join(ordinal uint64) {
	p.Waiters++
	p.flip(ordinal)
}

// Leave counts the waiter of an ordinal no more.
func (p *QueuePart) Leave(ordinal uint64) {
	p.Waiters--
	p.flip(ordinal)
}

// flip notes that the waiter of an ordinal waits, or waits no more.
func (p QueuePart) flip(ordinal uint64) {
	if p.waiting != nil {
		p.waiting[ordinal%queuePartSize/64] ^= 1 << (ordinal % 64)
	}
}

// waits reports whether the waiter of an ordinal waits.
func (p QueuePart) waits(ordinal uint64) bool {
	return p.waiting[ordinal%queuePartSize/64]&(1<<(ordinal%64)) != 0
}

// before returns how many of the part wait before an ordinal.
func (p QueuePart) before(ordinal uint64) int {
	n, word := 0, ordinal%queuePartSize/64
	for _, w := range p.waiting[:word] {
		n += bits.OnesCount64(w)
	}
	return n + bits.OnesCount64(p.waiting[word]&(1<<(ordinal%64)-1))
}

// ReadQueuePart returns the part that a waiter of an ordinal belongs to; one where nobody waits is empty.
func ReadQueuePart(rows table.Reader, n layout.Name, ordinal uint64) (QueuePart, error) {
	value, ok, err := rows.Get(QueuePartRow(n, ordinal))
	if err != nil || !ok {
		return QueuePart{}, err
	}
	return decodeQueuePart(value)
}

// Position returns how many waiters stand before a place; zero if nobody has it. It reads a few hundred rows at most, however
// long the queue is, and no values of others than the first; of a part that began under version 1 it reads the places.
func (r *LockReader) Position(key string, place uint64) (int, error) {
	n := layout.Name{Key: key}
	w, err := r.Waiter(key, place)
	if err != nil || w == nil {
		return 0, err
	}
	// The parts before that of the first waiter are gone, and there may have been many.
	first, err := r.firstOrdinal(n)
	if err != nil {
		return 0, err
	}
	before := uint64(0)
	err = r.rows.Scan(QueuePartRow(n, first), QueuePartRow(n, w.GetOrdinal()), func(_, value []byte) (bool, error) {
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
	if part.waiting != nil {
		return int(before) + part.before(w.GetOrdinal()), nil
	}
	from, own := layout.NumberedRow(layout.RowPlace, n, part.FirstPlace), layout.NumberedRow(layout.RowPlace, n, place)
	err = r.rows.Scan(from, own, func(_, _ []byte) (bool, error) {
		before++
		return true, nil
	})
	return int(before), err
}

// firstOrdinal returns the ordinal of the first waiter.
func (r *LockReader) firstOrdinal(n layout.Name) (uint64, error) {
	ordinal, from := uint64(0), layout.NameRows(layout.RowPlace, n)
	err := r.rows.Scan(from, layout.RowsEnd(from), func(_, value []byte) (bool, error) {
		w, err := decodeWaiter(value)
		ordinal = w.GetOrdinal()
		return false, err
	})
	return ordinal, err
}
