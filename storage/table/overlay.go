package table

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/btree"

	"github.com/tenure-io/tenure/internal/invariants"
)

// overlayDegree is the width of the overlay's tree.
const overlayDegree = 16

// Pending is one row as the batch will leave it; a nil value means that it is deleted. It is never changed once it
// is in the tree, only replaced.
type Pending struct {
	Row   []byte
	Value []byte

	hot bool // whether it is read again soon
}

// undo remembers what a write replaced: nil means that the overlay had nothing for the row.
type undo struct {
	wrote  *Pending
	before *Pending
	bytes  uint64 // of all rows, before the write
}

// Overlay is the working set of one Apply: the writes of all its commands, in order, above the rows on disk. A command
// that breaks a rule is rolled back exactly by the journal. Nothing reaches the disk before the end of the batch.
type Overlay struct {
	disk    pebble.Reader
	Hot     *Hot   // of the disk; nil keeps none
	Voids   *Voids // nil knows none
	Index   uint64 // as of which voids are used; zero uses none
	Meter   *Meter // of the present command; nil if it has no budget
	tree    *btree.BTreeG[*Pending]
	journal []undo
	Bytes   uint64 // of all rows, as the present command would leave them
	err     error  // of the first write whose row could not be read; final
	// RowsWritten and BytesWritten are what the commit gave to Pebble.
	RowsWritten, BytesWritten int
	Reads                     Reads
}

// Reads counts the rows that were found on disk, also those of which only the size was wanted. A nil one counts nothing.
type Reads struct {
	Rows, Bytes int
}

func (r *Reads) count(row, value []byte) {
	if r == nil {
		return
	}
	r.Rows++
	r.Bytes += len(row) + len(value)
}

// NewOverlay returns an empty overlay above disk, whose rows are so many bytes.
func NewOverlay(disk pebble.Reader, rowBytes uint64) *Overlay {
	return &Overlay{
		disk:  disk,
		tree:  btree.NewG(overlayDegree, func(a, b *Pending) bool { return bytes.Compare(a.Row, b.Row) < 0 }),
		Index: math.MaxUint64,
		Bytes: rowBytes,
	}
}

// Get returns the value of a row, or false. The caller must not change the value; it stays good.
func (o *Overlay) Get(row []byte) ([]byte, bool, error) {
	value, found, err := o.lookUp(row)
	switch {
	case err != nil:
	case found:
		err = o.Meter.spend(row, value)
	default:
		err = o.Meter.spendNone()
	}
	return value, found, err
}

// lookUp is get without counting.
func (o *Overlay) lookUp(row []byte) ([]byte, bool, error) {
	if p, ok := o.tree.Get(&Pending{Row: row}); ok {
		return p.Value, p.Value != nil, nil
	}
	return o.getOnDisk(row)
}

// getOnDisk returns the value of a row as the last commit left it.
func (o *Overlay) getOnDisk(row []byte) ([]byte, bool, error) {
	if value, known := o.Hot.get(row); known {
		if invariants.Enabled {
			return value, value != nil, o.verifyHot(row, value)
		}
		return value, value != nil, nil
	}
	value, found, err := GetRow(o.disk, row)
	if err == nil {
		o.Hot.keep(row, value)
	}
	if found {
		o.Reads.count(row, value)
	}
	return value, found, err
}

// View shows the value of a row, and reports whether there is one. The value must not be kept. Unlike get it copies only what
// the hot rows keep.
func (o *Overlay) View(row []byte, look func(value []byte) error) (bool, error) {
	found, err := o.lookUpView(row, func(value []byte) error {
		if err := o.Meter.spend(row, value); err != nil {
			return err
		}
		return look(value)
	})
	if err == nil && !found {
		err = o.Meter.spendNone()
	}
	return found, err
}

// lookUpView is view without counting.
func (o *Overlay) lookUpView(row []byte, look func(value []byte) error) (bool, error) {
	if p, ok := o.tree.Get(&Pending{Row: row}); ok {
		return lookAt(p.Value, look)
	}
	if value, known := o.Hot.get(row); known {
		return lookAt(value, look)
	}
	found, err := ViewRow(o.disk, row, func(value []byte) error {
		o.Reads.count(row, value)
		if o.Hot.takes(row, value) {
			o.Hot.keep(row, append([]byte{}, value...))
		}
		return look(value)
	})
	if err == nil && !found {
		o.Hot.keep(row, nil)
	}
	return found, err
}

// lookAt shows a value, and reports whether it is one; nil is none.
func lookAt(value []byte, look func(value []byte) error) (bool, error) {
	if value == nil {
		return false, nil
	}
	return true, look(value)
}

// Set writes a row. Row and value belong to the overlay from then on. No write refuses: who set the meter looks at it again.
func (o *Overlay) Set(row, value []byte) {
	if value == nil {
		value = []byte{}
	}
	o.write(&Pending{Row: row, Value: value})
}

// Remove deletes a row; the row belongs to the overlay from then on.
func (o *Overlay) Remove(row []byte) {
	o.write(&Pending{Row: row})
}

// RemoveSized deletes a row that is there and counts so many bytes, which it need not read; the row belongs to the overlay
// from then on.
func (o *Overlay) RemoveSized(row []byte, size uint64) {
	p := &Pending{Row: row}
	_ = o.Meter.spendNone()
	before, _ := o.tree.ReplaceOrInsert(p)
	o.journal = append(o.journal, undo{wrote: p, before: before, bytes: o.Bytes})
	o.Bytes -= size
	o.Voids.wrote(row, false)
}

// Insert writes a row that is known not to be there. Row and value belong to the overlay from then on.
func (o *Overlay) Insert(row, value []byte) { o.insert(&Pending{Row: row, Value: value}) }

// InsertHot is Insert for a row that is read again soon, and worth being kept in memory.
func (o *Overlay) InsertHot(row, value []byte) {
	o.insert(&Pending{Row: row, Value: value, hot: true})
}

func (o *Overlay) insert(p *Pending) {
	_ = o.Meter.spend(p.Row, p.Value)
	before, _ := o.tree.ReplaceOrInsert(p)
	o.journal = append(o.journal, undo{wrote: p, before: before, bytes: o.Bytes})
	o.Bytes += p.size()
	o.Voids.wrote(p.Row, true)
}

// Replace writes over a row that is there and counts so many bytes, which it need not read. Row and value belong to the overlay
// from then on.
func (o *Overlay) Replace(row, value []byte, size uint64) {
	p := &Pending{Row: row, Value: value}
	_ = o.Meter.spend(row, value)
	before, _ := o.tree.ReplaceOrInsert(p)
	o.journal = append(o.journal, undo{wrote: p, before: before, bytes: o.Bytes})
	o.Bytes += p.size() - size
	o.Voids.wrote(row, true)
}

func (o *Overlay) write(p *Pending) {
	if p.Value == nil {
		_ = o.Meter.spendNone()
	} else {
		_ = o.Meter.spend(p.Row, p.Value)
	}
	before, found := o.tree.ReplaceOrInsert(p)
	o.journal = append(o.journal, undo{wrote: p, before: before, bytes: o.Bytes})
	replaced := before.size()
	if !found {
		replaced = o.sizeOnDisk(p.Row)
	}
	o.Bytes += p.size() - replaced
	o.Voids.wrote(p.Row, p.Value != nil)
}

// size is what a row counts in the bytes of the store.
func (p *Pending) size() uint64 {
	if p == nil || p.Value == nil {
		return 0
	}
	return uint64(len(p.Row) + len(p.Value))
}

// sizeOnDisk returns what a row on disk counts. A row that cannot be read fails the batch at its end.
func (o *Overlay) sizeOnDisk(row []byte) uint64 {
	if value, known := o.Hot.get(row); known {
		return (&Pending{Row: row, Value: value}).size()
	}
	size := uint64(0)
	_, err := ViewRow(o.disk, row, func(value []byte) error {
		o.Reads.count(row, value)
		size = uint64(len(row) + len(value))
		return nil
	})
	if err != nil && o.err == nil {
		o.err = err
	}
	return size
}

// Rollback takes back the writes of the present command.
func (o *Overlay) Rollback() { o.RollbackTo(0) }

// Mark returns a point in the present command to which rollbackTo can come back.
func (o *Overlay) Mark() int { return len(o.journal) }

// WrittenSince returns the bytes of the rows that the present command wrote behind a mark.
func (o *Overlay) WrittenSince(mark int) (bytes uint64) {
	for _, u := range o.journal[mark:] {
		bytes += u.wrote.size()
	}
	return bytes
}

// RollbackTo takes back the writes of the present command behind a mark.
func (o *Overlay) RollbackTo(mark int) {
	for _, u := range slices.Backward(o.journal[mark:]) {
		if u.before != nil {
			o.tree.ReplaceOrInsert(u.before)
		} else {
			o.tree.Delete(u.wrote)
		}
		o.Voids.wrote(u.wrote.Row, true) // Perhaps it lives again.
		o.Bytes = u.bytes
	}
	clear(o.journal[mark:])
	o.journal = o.journal[:mark]
}

// Seal makes the writes of the present command final and adds them to sum, in the order they were made.
func (o *Overlay) Seal(sum *Checksum) {
	for _, u := range o.journal {
		sum.addRow(u.wrote)
	}
	clear(o.journal)
	o.journal = o.journal[:0]
}

// BatchBytes returns about how many bytes writeTo adds to a batch.
func (o *Overlay) BatchBytes() int {
	const batchHead, rowHead, appliedBytes = 12, 8, 1 << 10
	size := batchHead + rowHead + appliedBytes // The applied record comes behind.
	o.tree.Ascend(func(p *Pending) bool {
		size += rowHead + len(p.Row) + len(p.Value)
		return true
	})
	return size
}

// WriteTo adds the pending rows to a batch, in the order of rows.
func (o *Overlay) WriteTo(batch *pebble.Batch) error {
	err := o.err
	if err != nil {
		return err
	}
	o.tree.Ascend(func(p *Pending) bool {
		if p.Value == nil {
			err = batch.Delete(p.Row, nil)
		} else {
			err = batch.Set(p.Row, p.Value, nil)
		}
		return err == nil
	})
	return err
}

// NoteCommit tells the hot rows what a commit of the overlay, and of more rows, has left on disk.
func (o *Overlay) NoteCommit(hot *Hot, more []Pending) {
	o.tree.Ascend(func(p *Pending) bool {
		hot.wrote(p.Row, p.Value, p.hot)
		return true
	})
	for _, p := range more {
		hot.wrote(p.Row, p.Value, p.hot)
	}
}

// GetRow reads a row from disk into memory of its own.
func GetRow(disk pebble.Reader, row []byte) (out []byte, found bool, err error) {
	found, err = ViewRow(disk, row, func(value []byte) error {
		out = make([]byte, len(value))
		copy(out, value)
		return nil
	})
	return out, found, err
}

// ViewRow shows the value of a row on disk, and reports whether there is one. The value must not be kept.
func ViewRow(disk pebble.Reader, row []byte, look func(value []byte) error) (bool, error) {
	value, closer, err := disk.Get(row)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read row: %w", err)
	}
	err = look(value)
	if closeErr := closer.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("read row: %w", closeErr)
	}
	return err == nil, err
}
