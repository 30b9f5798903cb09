package table

import "github.com/tenure-io/tenure/storage/layout"

// HotBytesMax bounds what the hot rows of a store take; a row larger than hotRowBytesMax is not kept.
const (
	HotBytesMax    = 16 << 20
	hotRowBytesMax = 16 << 10
	// hotRowOverhead is what a row takes beside its own bytes.
	hotRowOverhead = 96
)

// Hot keeps what Apply read from disk, or found missing there, and what became of it since: the same few rows of a
// lock, of a session, of a key are read again and again, and a read of Pebble costs more than all else that most
// commands do. What it answers is what the disk would answer, so it has no part in what a command does. Every write of
// the store passes through wrote. It belongs to the goroutine of Apply.
//
// Rows are forgotten by generation: when the young ones fill half of the room, the old ones go and the young ones take
// their place. A row that is read moves to the young ones, so the bound is on both together. A nil one knows nothing.
type Hot struct {
	young, old map[string]*HotRow
	youngBytes int // of young, with overhead
}

// HotRow is the value of a row; nil means that there is none. Nobody changes the value.
type HotRow []byte

// NewHot returns rows of which none is known yet.
func NewHot() *Hot {
	return &Hot{young: make(map[string]*HotRow)}
}

// get returns what the disk holds for a row, and whether it is known.
func (h *Hot) get(row []byte) (value HotRow, known bool) {
	if h == nil {
		return nil, false
	}
	if at := h.young[string(row)]; at != nil {
		return *at, true
	}
	at := h.old[string(row)]
	if at == nil {
		return nil, false
	}
	value = *at
	delete(h.old, string(row))
	h.keep(row, value)
	return value, true
}

// takes reports whether a row is small enough to be kept.
func (h *Hot) takes(row, value []byte) bool {
	return h != nil && len(row)+len(value) <= hotRowBytesMax
}

// keep remembers what the disk holds for a row that is not known yet.
func (h *Hot) keep(row []byte, value HotRow) {
	if !h.takes(row, value) {
		return
	}
	h.young[string(row)] = &value
	h.youngBytes += hotSize(len(row), value)
	h.age()
}

// wrote notes what a commit has left on disk for a row. A row that nobody read is not kept, as most are never read, unless the writer
// says that this one will be. A request that is done is forgotten: nobody asks for it again, and
// that it is gone would take the place of a row that is read.
func (h *Hot) wrote(row []byte, value HotRow, soon bool) {
	if value == nil && row[0] == layout.RowRequest {
		h.forget(row)
		return
	}
	if _, ok := h.old[string(row)]; ok {
		delete(h.old, string(row))
		h.keep(row, value)
		return
	}
	at, ok := h.young[string(row)]
	if !ok {
		if soon {
			h.keep(row, value)
		}
		return
	}
	h.youngBytes -= hotSize(len(row), *at)
	if !h.takes(row, value) {
		delete(h.young, string(row))
		return
	}
	*at = value
	h.youngBytes += hotSize(len(row), value)
	h.age()
}

// forget drops what is known of a row.
func (h *Hot) forget(row []byte) {
	delete(h.old, string(row))
	if at, ok := h.young[string(row)]; ok {
		h.youngBytes -= hotSize(len(row), *at)
		delete(h.young, string(row))
	}
}

func (h *Hot) age() {
	if h.youngBytes >= HotBytesMax/2 {
		h.old, h.young, h.youngBytes = h.young, make(map[string]*HotRow, len(h.young)), 0
	}
}

func hotSize(row int, value HotRow) int { return row + len(value) + hotRowOverhead }

// All visits the rows that are kept, in no order.
func (h *Hot) All(visit func(row string, value HotRow)) {
	for _, generation := range []map[string]*HotRow{h.young, h.old} {
		for row, value := range generation {
			visit(row, *value)
		}
	}
}
