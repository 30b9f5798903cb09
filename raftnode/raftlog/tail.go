package raftlog

import (
	"math"
	"slices"

	raftpb "go.etcd.io/raft/v3/raftpb"
)

// tail holds the newest entries in memory, so that raft in steady state never reads the disk. It is bounded by bytes and
// entries; what falls out at the front is read from Pebble.
type tail struct {
	entries    []*raftpb.Entry // contiguous; empty only when the log is empty or everything was cut
	bytes      int
	bytesMax   int
	entriesMax int
}

// first returns the index of the first entry in memory; the caller checks that there is one.
func (t *tail) first() uint64 { return t.entries[0].GetIndex() }

// has reports whether the entry at index is in memory.
func (t *tail) has(index uint64) bool {
	return len(t.entries) > 0 && index >= t.first() && index-t.first() < uint64(len(t.entries))
}

func (t *tail) at(index uint64) *raftpb.Entry { return t.entries[index-t.first()] }

// append adds entries that connect, and drops what they replace.
func (t *tail) append(ents []*raftpb.Entry) {
	if len(ents) == 0 {
		return
	}
	index := ents[0].GetIndex()
	switch {
	case len(t.entries) == 0:
	case index <= t.first():
		t.clear()
	case t.has(index):
		keep := index - t.first()
		for _, e := range t.entries[keep:] {
			t.bytes -= entrySize(e)
		}
		clear(t.entries[keep:])
		t.entries = t.entries[:keep]
	}
	t.entries = append(t.entries, ents...)
	for _, e := range ents {
		t.bytes += entrySize(e)
	}
	t.trim()
}

// cutTo forgets all entries up to index.
func (t *tail) cutTo(index uint64) {
	for len(t.entries) > 0 && t.first() <= index {
		t.dropFirst()
	}
}

func (t *tail) trim() {
	for len(t.entries) > 1 && (t.bytes > t.bytesMax || len(t.entries) > t.entriesMax) {
		t.dropFirst()
	}
}

func (t *tail) dropFirst() {
	t.bytes -= entrySize(t.entries[0])
	t.entries[0] = nil
	t.entries = t.entries[1:]
}

func (t *tail) clear() {
	t.entries = nil
	t.bytes = 0
}

// entrySize is what one entry counts in every bound of this package: its data and a flat sum for the rest.
func entrySize(e *raftpb.Entry) int { return len(e.GetData()) + entryOverhead }

// entryOverhead stands for key, header and Pebble's own bytes of one entry.
const entryOverhead = 32

// sizer knows how many bytes lie in the log behind an index, to within markBytes.
type sizer struct {
	marks []mark
	total uint64 // bytes of all entries ever counted, minus those replaced
}

// mark says that before the entry at index lay so many bytes.
type mark struct {
	index  uint64
	before uint64
}

// markBytes is the distance of marks.
const markBytes = 256 << 10

func (s *sizer) add(index uint64, size int) {
	if n := len(s.marks); n == 0 || s.total-s.marks[n-1].before >= markBytes {
		s.marks = append(s.marks, mark{index: index, before: s.total})
	}
	s.total += uint64(size)
}

// replaceFrom forgets the marks at and behind index. The bytes since the last mark stay counted, at most markBytes.
func (s *sizer) replaceFrom(index uint64) {
	for n := len(s.marks); n > 0 && s.marks[n-1].index >= index; n = len(s.marks) {
		s.total = s.marks[n-1].before
		s.marks = s.marks[:n-1]
	}
}

// cutTo forgets the marks of entries up to index.
func (s *sizer) cutTo(index uint64) {
	i := 0
	for i+1 < len(s.marks) && s.marks[i+1].index <= index+1 {
		i++
	}
	s.marks = append(s.marks[:0], s.marks[i:]...)
}

// from returns the bytes of the entries behind index.
func (s *sizer) from(index uint64) uint64 {
	if len(s.marks) == 0 {
		return 0
	}
	before := s.marks[0].before
	for _, m := range s.marks {
		if m.index > index+1 {
			break
		}
		before = m.before
	}
	return s.total - before
}

// behind returns the lowest index whose entries up to and with the one at index have at most so many bytes, as the marks
// tell.
func (s *sizer) behind(index, bytesMax uint64) uint64 {
	end := s.total
	for _, m := range slices.Backward(s.marks) {
		if m.index > index {
			end = m.before
		} else if end-m.before > bytesMax {
			return min(index, s.next(m.index)-1)
		}
	}
	return 0
}

// next returns the index of the mark after the one at index, or the largest there is.
func (s *sizer) next(index uint64) uint64 {
	for _, m := range s.marks {
		if m.index > index {
			return m.index
		}
	}
	return math.MaxUint64
}

func (s *sizer) reset() { *s = sizer{} }
