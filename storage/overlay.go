package storage

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

// pending is one row as the batch will leave it; a nil value means that it is deleted. It is never changed once it
// is in the tree, only replaced.
type pending struct {
	row   []byte
	value []byte
}

// undo remembers what a write replaced: nil means that the overlay had nothing for the row.
type undo struct {
	wrote  *pending
	before *pending
	bytes  uint64 // of all rows, before the write
}

// overlay is the working set of one Apply: the writes of all its commands, in order, above the rows on disk. A command
// that breaks a rule is rolled back exactly by the journal. Nothing reaches the disk before the end of the batch.
type overlay struct {
	disk    pebble.Reader
	hot     *hotRows // of the disk; nil keeps none
	voids   *voids   // nil knows none
	index   uint64   // as of which voids are used; zero uses none
	meter   *meter   // of the present command; nil if it has no budget
	tree    *btree.BTreeG[*pending]
	journal []undo
	bytes   uint64 // of all rows, as the present command would leave them
	err     error  // of the first write whose row could not be read; final
	// rowsWritten and bytesWritten are what the commit gave to Pebble.
	rowsWritten, bytesWritten int
	reads                     reads
}

// reads counts the rows that were found on disk, also those of which only the size was wanted. A nil one counts nothing.
type reads struct {
	rows, bytes int
}

func (r *reads) count(row, value []byte) {
	if r == nil {
		return
	}
	r.rows++
	r.bytes += len(row) + len(value)
}

// newOverlay returns an empty overlay above disk, whose rows are so many bytes.
func newOverlay(disk pebble.Reader, rowBytes uint64) *overlay {
	return &overlay{
		disk:  disk,
		tree:  btree.NewG(overlayDegree, func(a, b *pending) bool { return bytes.Compare(a.row, b.row) < 0 }),
		index: math.MaxUint64,
		bytes: rowBytes,
	}
}

// get returns the value of a row, or false. The caller must not change the value; it stays good.
func (o *overlay) get(row []byte) ([]byte, bool, error) {
	value, found, err := o.lookUp(row)
	switch {
	case err != nil:
	case found:
		err = o.meter.spend(row, value)
	default:
		err = o.meter.spendNone()
	}
	return value, found, err
}

// lookUp is get without counting.
func (o *overlay) lookUp(row []byte) ([]byte, bool, error) {
	if p, ok := o.tree.Get(&pending{row: row}); ok {
		return p.value, p.value != nil, nil
	}
	return o.getOnDisk(row)
}

// getOnDisk returns the value of a row as the last commit left it.
func (o *overlay) getOnDisk(row []byte) ([]byte, bool, error) {
	if value, known := o.hot.get(row); known {
		if invariants.Enabled {
			return value, value != nil, o.verifyHot(row, value)
		}
		return value, value != nil, nil
	}
	value, found, err := getRow(o.disk, row)
	if err == nil {
		o.hot.keep(row, value)
	}
	if found {
		o.reads.count(row, value)
	}
	return value, found, err
}

// view shows the value of a row, and reports whether there is one. The value must not be kept. Unlike get it copies only what
// the hot rows keep.
func (o *overlay) view(row []byte, look func(value []byte) error) (bool, error) {
	found, err := o.lookUpView(row, func(value []byte) error {
		if err := o.meter.spend(row, value); err != nil {
			return err
		}
		return look(value)
	})
	if err == nil && !found {
		err = o.meter.spendNone()
	}
	return found, err
}

// lookUpView is view without counting.
func (o *overlay) lookUpView(row []byte, look func(value []byte) error) (bool, error) {
	if p, ok := o.tree.Get(&pending{row: row}); ok {
		return lookAt(p.value, look)
	}
	if value, known := o.hot.get(row); known {
		return lookAt(value, look)
	}
	found, err := viewRow(o.disk, row, func(value []byte) error {
		o.reads.count(row, value)
		if o.hot.takes(row, value) {
			o.hot.keep(row, append([]byte{}, value...))
		}
		return look(value)
	})
	if err == nil && !found {
		o.hot.keep(row, nil)
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

// set writes a row. Row and value belong to the overlay from then on. No write refuses: who set the meter looks at it again.
func (o *overlay) set(row, value []byte) {
	if value == nil {
		value = []byte{}
	}
	o.write(&pending{row: row, value: value})
}

// remove deletes a row; the row belongs to the overlay from then on.
func (o *overlay) remove(row []byte) {
	o.write(&pending{row: row})
}

// removeSized deletes a row that is there and counts so many bytes, which it need not read; the row belongs to the overlay
// from then on.
func (o *overlay) removeSized(row []byte, size uint64) {
	p := &pending{row: row}
	_ = o.meter.spendNone()
	before, _ := o.tree.ReplaceOrInsert(p)
	o.journal = append(o.journal, undo{wrote: p, before: before, bytes: o.bytes})
	o.bytes -= size
	o.voids.wrote(row, false)
}

// insert writes a row that is known not to be there. Row and value belong to the overlay from then on.
func (o *overlay) insert(row, value []byte) {
	p := &pending{row: row, value: value}
	_ = o.meter.spend(row, value)
	before, _ := o.tree.ReplaceOrInsert(p)
	o.journal = append(o.journal, undo{wrote: p, before: before, bytes: o.bytes})
	o.bytes += p.size()
	o.voids.wrote(row, true)
}

// replace writes over a row that is there and counts so many bytes, which it need not read. Row and value belong to the overlay
// from then on.
func (o *overlay) replace(row, value []byte, size uint64) {
	p := &pending{row: row, value: value}
	_ = o.meter.spend(row, value)
	before, _ := o.tree.ReplaceOrInsert(p)
	o.journal = append(o.journal, undo{wrote: p, before: before, bytes: o.bytes})
	o.bytes += p.size() - size
	o.voids.wrote(row, true)
}

func (o *overlay) write(p *pending) {
	if p.value == nil {
		_ = o.meter.spendNone()
	} else {
		_ = o.meter.spend(p.row, p.value)
	}
	before, found := o.tree.ReplaceOrInsert(p)
	o.journal = append(o.journal, undo{wrote: p, before: before, bytes: o.bytes})
	replaced := before.size()
	if !found {
		replaced = o.sizeOnDisk(p.row)
	}
	o.bytes += p.size() - replaced
	o.voids.wrote(p.row, p.value != nil)
}

// size is what a row counts in the bytes of the store.
func (p *pending) size() uint64 {
	if p == nil || p.value == nil {
		return 0
	}
	return uint64(len(p.row) + len(p.value))
}

// sizeOnDisk returns what a row on disk counts. A row that cannot be read fails the batch at its end.
func (o *overlay) sizeOnDisk(row []byte) uint64 {
	if value, known := o.hot.get(row); known {
		return (&pending{row: row, value: value}).size()
	}
	size := uint64(0)
	_, err := viewRow(o.disk, row, func(value []byte) error {
		o.reads.count(row, value)
		size = uint64(len(row) + len(value))
		return nil
	})
	if err != nil && o.err == nil {
		o.err = err
	}
	return size
}

// rollback takes back the writes of the present command.
func (o *overlay) rollback() { o.rollbackTo(0) }

// mark returns a point in the present command to which rollbackTo can come back.
func (o *overlay) mark() int { return len(o.journal) }

// writtenSince returns the bytes of the rows that the present command wrote behind a mark.
func (o *overlay) writtenSince(mark int) (bytes uint64) {
	for _, u := range o.journal[mark:] {
		bytes += u.wrote.size()
	}
	return bytes
}

// rollbackTo takes back the writes of the present command behind a mark.
func (o *overlay) rollbackTo(mark int) {
	for _, u := range slices.Backward(o.journal[mark:]) {
		if u.before != nil {
			o.tree.ReplaceOrInsert(u.before)
		} else {
			o.tree.Delete(u.wrote)
		}
		o.voids.wrote(u.wrote.row, true) // Perhaps it lives again.
		o.bytes = u.bytes
	}
	clear(o.journal[mark:])
	o.journal = o.journal[:mark]
}

// seal makes the writes of the present command final and adds them to sum, in the order they were made.
func (o *overlay) seal(sum *checksum) {
	for _, u := range o.journal {
		sum.addRow(u.wrote)
	}
	clear(o.journal)
	o.journal = o.journal[:0]
}

// batchBytes returns about how many bytes writeTo adds to a batch.
func (o *overlay) batchBytes() int {
	const batchHead, rowHead, appliedBytes = 12, 8, 1 << 10
	size := batchHead + rowHead + appliedBytes // The applied record comes behind.
	o.tree.Ascend(func(p *pending) bool {
		size += rowHead + len(p.row) + len(p.value)
		return true
	})
	return size
}

// writeTo adds the pending rows to a batch, in the order of rows.
func (o *overlay) writeTo(batch *pebble.Batch) error {
	err := o.err
	if err != nil {
		return err
	}
	o.tree.Ascend(func(p *pending) bool {
		if p.value == nil {
			err = batch.Delete(p.row, nil)
		} else {
			err = batch.Set(p.row, p.value, nil)
		}
		return err == nil
	})
	return err
}

// noteCommit tells the hot rows what a commit of the overlay, and of more rows, has left on disk.
func (o *overlay) noteCommit(hot *hotRows, more []pending) {
	o.tree.Ascend(func(p *pending) bool {
		hot.wrote(p.row, p.value)
		return true
	})
	for _, p := range more {
		hot.wrote(p.row, p.value)
	}
}

// getRow reads a row from disk into memory of its own.
func getRow(disk pebble.Reader, row []byte) (out []byte, found bool, err error) {
	found, err = viewRow(disk, row, func(value []byte) error {
		out = make([]byte, len(value))
		copy(out, value)
		return nil
	})
	return out, found, err
}

// viewRow shows the value of a row on disk, and reports whether there is one. The value must not be kept.
func viewRow(disk pebble.Reader, row []byte, look func(value []byte) error) (bool, error) {
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
