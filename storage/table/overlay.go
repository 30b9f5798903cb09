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
	"github.com/tenure-io/tenure/storage/layout"
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
	Runs    *Runs  // over the disk; nil reads each row by itself
	Index   uint64 // as of which voids are used; zero uses none
	Meter   *Meter // of the present command; nil if it has no budget
	tree    *btree.BTreeG[*Pending]
	probe   Pending // for what is looked up in the tree, which does not keep it
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

// pending returns what the overlay has for a row.
func (o *Overlay) pending(row []byte) (*Pending, bool) {
	o.probe.Row = row
	return o.tree.Get(&o.probe)
}

// lookUp is get without counting.
func (o *Overlay) lookUp(row []byte) ([]byte, bool, error) {
	if p, ok := o.pending(row); ok {
		return p.Value, p.Value != nil, nil
	}
	if row[0] == layout.RowLock {
		return o.getLock(row)
	}
	return o.getOnDisk(row)
}

// lockVoidsMax is how many voids among the heads of locks are worth it to look for more.
const lockVoidsMax = 512

// getLock is getOnDisk for the head of a lock. Every put asks for one, and most keys were never locked: where a head is missing, it looks
// once for the next one behind it, and the void between them answers from then on.
func (o *Overlay) getLock(row []byte) ([]byte, bool, error) {
	if _, in := o.Voids.end(row, o.Index); in {
		if invariants.Enabled {
			_, there, err := GetRow(o.disk, row)
			invariants.That(err != nil || !there, "the head of a lock lives in a void: %q", row)
		}
		return nil, false, nil
	}
	value, found, err := o.getOnDisk(row)
	if err != nil || found || o.Voids.count(layout.RowLock) >= lockVoidsMax {
		return value, found, err
	}
	return nil, false, o.learnVoid(row)
}

// learnVoid notes that no row of a kind lives from row on to the next one that does.
func (o *Overlay) learnVoid(row []byte) error {
	end := layout.RowsEnd(row[:1])
	next := end
	s := scan{to: end, tree: o.tree, voids: o.Voids, index: o.Index, visit: func(live, _ []byte) (bool, error) {
		next = bytes.Clone(live)
		return false, nil
	}}
	if err := s.run(o.disk, row); err != nil {
		return err
	}
	o.Voids.add(row, next, o.Index)
	return nil
}

// getOnDisk returns the value of a row as the last commit left it.
func (o *Overlay) getOnDisk(row []byte) ([]byte, bool, error) {
	if value, known := o.Hot.get(row); known {
		if invariants.Enabled {
			return value, value != nil, verifyHot(o.disk, row, value)
		}
		return value, value != nil, nil
	}
	var value []byte
	found, err := o.viewOnDisk(row, func(on []byte, inRun bool) error {
		value = make([]byte, len(on))
		copy(value, on)
		if !inRun {
			o.Hot.keep(row, value)
		}
		return nil
	})
	return value, found, err
}

// viewOnDisk shows what the disk holds for a row that is not among the hot ones, and whether a run read it. Rows of a run are too many to be
// kept.
func (o *Overlay) viewOnDisk(row []byte, look func(value []byte, inRun bool) error) (bool, error) {
	found, inRun, err := o.Runs.view(row, func(value []byte) error {
		o.Reads.count(row, value)
		return look(value, true)
	})
	if inRun {
		return found, err
	}
	found, err = ViewRow(o.disk, row, func(value []byte) error {
		o.Reads.count(row, value)
		return look(value, false)
	})
	if err == nil && !found {
		o.Hot.keep(row, nil)
	}
	return found, err
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
	if p, ok := o.pending(row); ok {
		return lookAt(p.Value, look)
	}
	if value, known := o.Hot.get(row); known {
		return lookAt(value, look)
	}
	return o.viewOnDisk(row, func(value []byte, inRun bool) error {
		if !inRun && o.Hot.takes(row, value) {
			o.Hot.keep(row, append([]byte{}, value...))
		}
		return look(value)
	})
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
	count := func(value []byte) error {
		o.Reads.count(row, value)
		size = uint64(len(row) + len(value))
		return nil
	}
	_, inRun, err := o.Runs.view(row, count)
	if !inRun {
		_, err = ViewRow(o.disk, row, count)
	}
	if err != nil && o.err == nil {
		o.err = err
	}
	return size
}

// Rollback takes back the writes of the present command.
func (o *Overlay) Rollback() { o.RollbackTo(0) }

// Mark returns a point in the present command to which RollbackTo can come back.
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
	added := 0
	for _, u := range o.journal[mark:] {
		if u.before == nil {
			added++
		}
	}
	alone := added == o.tree.Len() // Nothing was written before.
	if alone {
		o.tree.Clear(true)
	}
	for _, u := range slices.Backward(o.journal[mark:]) {
		switch {
		case alone:
		case u.before != nil:
			o.tree.ReplaceOrInsert(u.before)
		default:
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
		return false, fmt.Errorf("read row: %w", ReadError(err))
	}
	err = look(value)
	if closeErr := closer.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("read row: %w", ReadError(closeErr))
	}
	return err == nil, err
}
