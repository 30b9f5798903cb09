package manifest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The format of a MANIFEST: blocks of chunks, of which none crosses the end of its block. A chunk begins with its checksum,
// the length of its data and its type. A record is one chunk, or a first one, any number in its middle, and a last one.
const (
	blockBytes  = 32 << 10
	headerBytes = 7
	typeFull    = 1
	typeFirst   = 2
	typeLast    = 4
)

// reader counts the records of one MANIFEST.
type reader struct {
	// least is how many records the file had when it came into use.
	least int
	// records are those that could be read.
	records int
	// within is set between the first chunk of a record and its last one.
	within bool
	// bad is where the first chunk begins that cannot be read; -1 while there is none.
	bad int64
}

// readBlock reads the chunks of a block that begins at an offset. It returns false if records can be read behind one that
// cannot.
func (r *reader) readBlock(block []byte, at int64) bool {
	i := 0
	for r.bad < 0 {
		left := len(block) - i
		if left < headerBytes && (left == 0 || len(block) == blockBytes) {
			return true // Too little room for another chunk.
		}
		c := chunkOf(block[i:])
		if !c.valid {
			r.bad = at + int64(i)
			i++
			break
		}
		if c.begins == r.within {
			// A record that another one interrupts, or of which the beginning is missing.
			r.bad = at + int64(i)
			return false
		}
		if r.within = !c.ends; c.ends {
			r.records++
		}
		i += c.size
	}
	for ; i+headerBytes <= len(block); i++ {
		if resumes(block[i:], len(block) == blockBytes) {
			return false
		}
	}
	return true
}

// close returns what is wrong with a file that was read up to its end.
func (r *reader) close(end int64) string {
	if r.bad < 0 && r.within {
		r.bad = end
	}
	if r.records >= r.least {
		return ""
	}
	bad := r.bad
	if bad < 0 {
		bad = end
	}
	return fmt.Sprintf("it cannot be read at offset %d, though that was synced before the file was used", bad)
}

// resumes reports whether a record begins here, and everything up to the end of the block can be read. What only looks like
// a record, as a key in the data of one may, is followed by something else.
func resumes(rest []byte, whole bool) bool {
	c := chunkOf(rest)
	if !c.valid || !c.begins {
		return false
	}
	for c.valid {
		rest = rest[c.size:]
		if len(rest) == 0 || whole && len(rest) < headerBytes {
			return true
		}
		c = chunkOf(rest)
	}
	return false
}

// chunk is a piece of a record.
type chunk struct {
	valid, begins, ends bool
	size                int
}

// chunkOf returns the chunk that begins here; it is not valid if none does.
func chunkOf(b []byte) chunk {
	if len(b) < headerBytes {
		return chunk{}
	}
	kind, size := b[6], headerBytes+int(binary.LittleEndian.Uint16(b[4:]))
	if kind < typeFull || kind > typeLast || size > len(b) || binary.LittleEndian.Uint32(b) != checksum(b[6:size]) {
		return chunk{}
	}
	return chunk{
		valid: true, begins: kind == typeFull || kind == typeFirst, ends: kind == typeFull || kind == typeLast, size: size,
	}
}

// checksum is Pebble's, of a chunk from its type on.
func checksum(b []byte) uint32 {
	const mask = 0xa282ead8
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + mask
}
