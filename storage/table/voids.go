package table

import (
	"bytes"
	"math"
	"sync"
	"sync/atomic"

	"github.com/google/btree"
)

const (
	// voidsMax bounds how many voids a store knows.
	voidsMax = 4096
	// voidDeadMin is how many dead rows a new void is worth.
	voidDeadMin = 8
	// voidWritesMax is how many of the last writes are known to snapshots that tell of voids.
	voidWritesMax = 1024
	// voidsDegree is the width of the tree of voids.
	voidsDegree = 16
)

// void is a range [from, to) in which no row lives. It may be full of rows that were deleted.
type void struct {
	from, to []byte
	since    uint64 // index of the entry that made it what it is
}

// Voids keeps the ranges where scans met nothing but dead rows, so that the next scan enters behind them: Pebble keeps
// a deleted row until it is compacted, and steps over each of them. What a scan visits is the same with voids and
// without, so they have no part in what a command does, and a store that was just opened has none.
//
// They follow the state that Apply sees, also within a batch and a command: a row that is written cuts its void, one
// that is deleted beside a void joins it. A snapshot uses those that were there, as they are, at its index: what has
// been a void ever since was one then. What it finds itself is cut by what was written since; if that is too much to be
// known, nobody hears of it. A nil *Voids knows none.
type Voids struct {
	kinds [256]atomic.Int32 // how many there are, by the first byte of their rows
	dead  atomic.Uint64     // rows that scans stepped over

	mu    sync.Mutex // guards what follows; nothing is called while it is held
	tree  *btree.BTreeG[*void]
	probe void   // for what is looked up in the tree, which does not keep it
	index uint64 // of the entry under way
	hand  []byte // the void behind it is the next to be forgotten
	// writes are the last rows that began to live, in a ring; written is how many there ever were.
	writes  [voidWritesMax]voidWrite
	written int
}

// voidWrite is a row that began to live, or perhaps lives again.
type voidWrite struct {
	row   []byte
	index uint64 // of the entry
}

// NewVoids returns what knows no void yet.
func NewVoids() *Voids {
	return &Voids{tree: btree.NewG(voidsDegree, func(a, b *void) bool { return bytes.Compare(a.from, b.from) < 0 })}
}

// Begin says which entry makes the changes that follow.
func (v *Voids) Begin(index uint64) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.index = index
}

// know reports whether there is any void among rows of the kind of row.
func (v *Voids) know(row []byte) bool {
	return v != nil && len(row) > 0 && v.kinds[row[0]].Load() > 0
}

// count returns how many voids there are among rows of a kind; a nil one cannot learn any more.
func (v *Voids) count(kind byte) int {
	if v == nil {
		return math.MaxInt
	}
	return int(v.kinds[kind].Load())
}

// end returns the first row behind the void that row lies in, if that void was there at an index.
func (v *Voids) end(row []byte, index uint64) ([]byte, bool) {
	if !v.know(row) {
		return nil, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if in := v.around(row); in != nil && in.since <= index {
		return in.to, true
	}
	return nil, false
}

// around returns the void that row lies in, or nil.
func (v *Voids) around(row []byte) *void {
	if in := v.before(row); in != nil && bytes.Compare(row, in.to) < 0 {
		return in
	}
	return nil
}

// before returns the last void that begins at row or before it, or nil.
func (v *Voids) before(row []byte) *void {
	var last *void
	v.probe.from = row
	v.tree.DescendLessOrEqual(&v.probe, func(in *void) bool {
		last = in
		return false
	})
	return last
}

// add notes that no row lives in [from, to) as of an index. Both are of one kind of rows, or to is the end of that kind.
func (v *Voids) add(from, to []byte, index uint64) {
	if v == nil || len(from) == 0 || len(to) == 0 {
		return
	}
	if to[0] != from[0] && (len(to) > 1 || to[0] != from[0]+1) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if oldest := v.writes[v.written%voidWritesMax]; oldest.index > index {
		return
	}
	v.join(bytes.Clone(from), bytes.Clone(to))
	for _, w := range v.writes {
		if w.index > index {
			v.cut(w.row)
		}
	}
	for v.tree.Len() > voidsMax {
		v.forget()
	}
}

// join makes one void of [from, to) and all of its kind that overlap it or touch it. Voids of two kinds stay two: they are
// counted by kind.
func (v *Voids) join(from, to []byte) {
	if left := v.before(from); left != nil && left.from[0] == from[0] && bytes.Compare(left.to, from) >= 0 {
		from = left.from
	}
	var parts []*void
	v.tree.AscendGreaterOrEqual(&void{from: from}, func(in *void) bool {
		if in.from[0] != from[0] || bytes.Compare(in.from, to) > 0 {
			return false
		}
		parts = append(parts, in)
		return true
	})
	for _, in := range parts {
		v.drop(in)
		if bytes.Compare(in.to, to) > 0 {
			to = in.to
		}
	}
	v.insert(from, to, v.index)
}

func (v *Voids) insert(from, to []byte, since uint64) {
	if bytes.Compare(from, to) >= 0 {
		return
	}
	v.tree.ReplaceOrInsert(&void{from: from, to: to, since: since})
	v.kinds[from[0]].Add(1)
}

func (v *Voids) drop(in *void) {
	v.tree.Delete(in)
	v.kinds[in.from[0]].Add(-1)
}

// forget drops the next void in turn.
func (v *Voids) forget() {
	next, ok := v.tree.Min()
	v.tree.AscendGreaterOrEqual(&void{from: v.hand}, func(in *void) bool {
		next = in
		return false
	})
	if ok {
		v.hand = append(bytes.Clone(next.from), 0)
		v.drop(next)
	}
}

// wrote notes what a write, or the taking back of one, left of a row. Nobody may change the row.
func (v *Voids) wrote(row []byte, lives bool) {
	if v == nil || !lives && !v.know(row) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if lives {
		v.writes[v.written%voidWritesMax] = voidWrite{row: row, index: v.index}
		v.written++
		v.cut(row)
		return
	}
	if v.around(row) != nil {
		return
	}
	left, behind := v.before(row), append(bytes.Clone(row), 0)
	touches := left != nil && bytes.Equal(left.to, row)
	if _, right := v.tree.Get(&void{from: behind}); touches || right {
		v.join(row, behind)
	}
}

// cut takes a row out of the void that it lies in.
func (v *Voids) cut(row []byte) {
	if !v.know(row) {
		return
	}
	if in := v.around(row); in != nil {
		v.drop(in)
		v.insert(in.from, row, in.since)
		v.insert(append(bytes.Clone(row), 0), in.to, in.since)
	}
}

// All visits the voids in order, until visit returns false, and returns how many there are.
func (v *Voids) All(visit func(from, to []byte) bool) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tree.Ascend(func(in *void) bool { return visit(in.from, in.to) })
	return v.tree.Len()
}

// Stepped returns how many dead rows scans have stepped over.
func (v *Voids) Stepped() uint64 { return v.dead.Load() }
