package table

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/btree"
)

// Scan calls visit for the rows in [from, to) in order, overlay and disk merged, until visit returns false. A nil to
// is the end, and a range that ends before it begins is empty. visit must not keep row and value, nor write to the overlay.
func (o *Overlay) Scan(from, to []byte, visit func(row, value []byte) (bool, error)) error {
	s := scan{to: to, visit: o.metered(visit), tree: o.tree, voids: o.Voids, index: o.Index, reads: &o.Reads}
	return s.run(o.disk, from)
}

// metered returns visit with every row counted.
func (o *Overlay) metered(visit func(row, value []byte) (bool, error)) func(row, value []byte) (bool, error) {
	if o.Meter == nil {
		return visit
	}
	return func(row, value []byte) (bool, error) {
		if err := o.Meter.spend(row, value); err != nil {
			return false, err
		}
		return visit(row, value)
	}
}

// scan is one walk over a range of rows.
type scan struct {
	to    []byte
	visit func(row, value []byte) (bool, error)
	it    *pebble.Iterator
	tree  *btree.BTreeG[*Pending] // over the rows on disk; nil is none
	voids *Voids
	index uint64 // as of which voids are used; zero uses none
	reads *Reads // where the rows on disk are counted

	at      []byte // what comes before it was visited, or is dead
	entered bool   // a void ends at at
	dead    int    // rows that were stepped over since at
	steps   int    // of the iterator, so far
	ended   bool   // by visit, or by an error
	err     error
}

// run walks from one void to the next.
func (s *scan) run(disk pebble.Reader, from []byte) error {
	if s.to != nil && bytes.Compare(from, s.to) >= 0 {
		return nil
	}
	it, err := disk.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: s.to})
	if err != nil {
		return fmt.Errorf("scan: %w", ReadError(err))
	}
	s.it, s.at = it, bytes.Clone(from)
	for again := true; again; {
		var end []byte
		if end, s.entered = s.voids.end(s.at, s.index); s.entered {
			s.at = append(s.at[:0], end...)
			if s.to != nil && bytes.Compare(s.at, s.to) >= 0 {
				break
			}
		}
		again = s.walk()
	}
	err = it.Error()
	if closeErr := it.Close(); err == nil {
		err = closeErr // It is the same one again, else.
	}
	return errors.Join(s.err, ReadError(err))
}

// walk visits all rows from at on. It returns true where it comes to a void, and goes on behind that.
func (s *scan) walk() bool {
	s.it.SeekGE(s.at)
	s.count(0)
	whole := true
	if s.tree != nil {
		if s.to == nil {
			s.tree.AscendGreaterOrEqual(&Pending{Row: s.at}, s.pending(&whole))
		} else {
			s.tree.AscendRange(&Pending{Row: s.at}, &Pending{Row: s.to}, s.pending(&whole))
		}
	}
	for whole && s.it.Valid() {
		if whole = s.liveOnDisk(); whole {
			s.next()
		}
	}
	if whole && s.it.Error() == nil {
		s.endGap(s.to)
	}
	return !whole && !s.ended
}

// pending returns what visits a pending row, and before it the rows on disk that come first.
func (s *scan) pending(whole *bool) func(*Pending) bool {
	return func(p *Pending) bool {
		for s.it.Valid() && bytes.Compare(s.it.Key(), p.Row) < 0 {
			if *whole = s.liveOnDisk(); !*whole {
				return false
			}
			s.next()
		}
		if s.it.Valid() && bytes.Equal(s.it.Key(), p.Row) {
			s.next()
		}
		if p.Value == nil {
			s.step(1)
		} else {
			*whole = s.live(p.Row, p.Value)
		}
		return *whole
	}
}

// next moves to the next row on disk.
func (s *scan) next() {
	s.it.Next()
	s.count(1)
}

// count adds the dead rows that the iterator stepped over, beside the steps that it had to make.
func (s *scan) count(needed int) {
	steps := s.it.Stats().ForwardStepCount[pebble.InternalIterCall]
	s.step(max(0, steps-s.steps-needed))
	s.steps = steps
}

func (s *scan) step(dead int) {
	if dead > 0 && s.voids != nil {
		s.dead += dead
		s.voids.dead.Add(uint64(dead))
	}
}

// liveOnDisk visits the row at which the iterator stands.
func (s *scan) liveOnDisk() bool {
	row, value := s.it.Key(), s.it.Value()
	s.reads.count(row, value)
	return s.live(row, value)
}

// live visits a row. It returns false at the end, and where a void begins behind the row.
func (s *scan) live(row, value []byte) bool {
	s.endGap(row)
	more, err := s.visit(row, value)
	if err != nil || !more {
		s.ended, s.err = true, err
		return false
	}
	s.at = append(append(s.at[:0], row...), 0)
	s.dead, s.entered = 0, false
	_, void := s.voids.end(s.at, s.index)
	return !void
}

// endGap tells voids of the range before the next living row, if it is worth it. A void that was entered grows with every
// dead row behind it.
func (s *scan) endGap(next []byte) {
	if s.index > 0 && (s.dead >= voidDeadMin || s.entered && s.dead > 0) {
		s.voids.add(s.at, next, s.index)
	}
}
