package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/zap"
)

// The format of Pebble's write-ahead log: blocks of chunks, of which none crosses the end of its block. A chunk begins with
// its checksum, the length of its data, its type and the number of the log; newer types add how far the log was synced when
// the chunk was written. Files are used again, so behind the end there may be chunks of older logs, which have lower numbers.
//
// Pebble does not count all of what it syncs (v2.1.7 forgets blocks that were full when they were flushed), so that what it
// writes of it is too low, by more with every block. But it grows with every sync, and one writer alone waits for each:
// between two chunks of which the later one names a higher offset there was a sync, and it covered the earlier one. The
// offset in a chunk may be that of the sync before the last one, so damage in the last two writes may not be provable.
// An offset that lies behind a chunk is proof alone: what is before it was synced. Pebble knows only this proof.
const (
	walBlock         = 32 << 10
	walHeaderLen     = 11
	walSyncHeaderLen = 19
	walTypeFull      = 5 // the first of four types without an offset
	walTypeSyncFull  = 9 // the first of four types with one
	walTypeLast      = 12
)

// walChunk is the header of a chunk.
type walChunk struct {
	checksum, number uint32
	length, header   int
	kind             byte
	synced           uint64
}

// walReader looks for damage in one write-ahead log.
type walReader struct {
	number uint32
	// synced is the offset that the last chunk named that could be read.
	synced uint64
	// bad is where the first chunk begins that cannot be read; -1 while there is none.
	bad int64
	// badSynced is the offset that the chunk at bad names, where that can be believed, and otherwise that of the first chunk
	// behind it that can be read. A higher one behind shows that the chunk at bad had been synced.
	badSynced uint64
	known     bool // badSynced is
	// torn is set when the chunk at bad is, by its header, one of this log.
	torn bool
	// end is set at the mark with which a log is closed.
	end bool
}

// checkWAL looks whether the write-ahead logs in a directory can be read as far as they were synced. Pebble takes
// much of what it cannot read for a write that a crash interrupted: acknowledged entries would be gone in silence.
// Damage that is known for certain is ErrCorrupt; an end that may be one that was never synced is only logged.
func checkWAL(fs vfs.FS, dir string, log *zap.Logger) error {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list raft log: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".log")
		number, err := strconv.ParseUint(digits, 10, 32)
		if !ok || err != nil {
			continue
		}
		r := walReader{number: uint32(number), bad: -1}
		if err := r.readFile(fs, fs.PathJoin(dir, name)); err != nil {
			return fmt.Errorf("check %s: %w", name, err)
		}
		if r.torn {
			log.Warn("the end of the raft log cannot be read: a crash interrupted its last write, or it is damaged",
				zap.String("file", name), zap.Int64("offset", r.bad))
		}
	}
	return nil
}

func (r *walReader) readFile(fs vfs.FS, path string) error {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, walBlock)
	for at := int64(0); !r.end; at += walBlock {
		n, err := io.ReadFull(f, block)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return err
		}
		if derr := r.readBlock(block[:n], at); derr != nil || err != nil {
			return derr
		}
	}
	return nil
}

// readBlock follows the chunks of a block for as long as their headers say where the next one begins.
func (r *walReader) readBlock(block []byte, at int64) error {
	for i := 0; i+walHeaderLen <= len(block); {
		c := walChunkOf(block[i:])
		if c.kind == 0 && c.checksum == 0 && c.length == 0 && len(block)-i < walSyncHeaderLen {
			return nil // Too little room for another chunk.
		}
		if c.kind == walTypeFull && c.checksum == 0 && c.length == 0 && c.number == r.number+1 {
			r.end = true
			if r.bad >= 0 {
				return r.damaged() // A log that was closed was synced up to here.
			}
			return nil
		}
		next := i + c.header + c.length
		if c.header == 0 || next > len(block) || c.number != r.number && c.number != r.number+1 {
			r.fail(at+int64(i), c)
			return nil
		}
		if c.number != r.number || c.checksum != walChecksum(block[i+6:next]) {
			r.fail(at+int64(i), c)
		} else if c.header == walSyncHeaderLen {
			if err := r.read(c.synced); err != nil {
				return err
			}
		}
		i = next
	}
	return nil
}

// fail notes where the log cannot be read.
func (r *walReader) fail(at int64, c walChunk) {
	if r.bad >= 0 {
		return
	}
	r.bad, r.torn = at, c.number >= r.number
	r.badSynced = c.synced
	r.known = c.header == walSyncHeaderLen && c.synced >= r.synced && c.synced <= uint64(at)
}

// read takes note of a chunk that can be read.
func (r *walReader) read(synced uint64) error {
	switch {
	case r.bad < 0:
		r.synced = synced
	case synced > uint64(r.bad):
		return r.damaged()
	case !r.known:
		r.badSynced, r.known = synced, true
	case synced > r.badSynced:
		return r.damaged()
	}
	return nil
}

func (r *walReader) damaged() error {
	return fmt.Errorf("%w: it cannot be read at offset %d, though that was synced", ErrCorrupt, r.bad)
}

func walChunkOf(b []byte) walChunk {
	c := walChunk{
		checksum: binary.LittleEndian.Uint32(b), length: int(binary.LittleEndian.Uint16(b[4:])), kind: b[6],
		number: binary.LittleEndian.Uint32(b[7:]),
	}
	switch {
	case c.kind >= walTypeSyncFull && c.kind <= walTypeLast:
		c.header = walSyncHeaderLen
		if len(b) >= walSyncHeaderLen {
			c.synced = binary.LittleEndian.Uint64(b[walHeaderLen:])
		}
	case c.kind >= walTypeFull && c.kind < walTypeSyncFull:
		c.header = walHeaderLen
	}
	return c
}

// walChecksum is Pebble's checksum of a chunk from its type on.
func walChecksum(b []byte) uint32 {
	const mask = 0xa282ead8
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + mask
}
