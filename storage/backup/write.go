package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// A backup is a file of a magic, one header, frames of rows and one trailer. A frame is its kind, the length of its
// payload, the payload, and a CRC-32C over these and the frame's number, so that none can be changed, left out or moved.
// The trailer counts the rows of each kind and has the SHA-256 of all before it: a file without it is cut off. Rows stand
// in their order, as they are in the store: what they are does not depend on the database below, and never changes.
const (
	format = 1
	// fileMagic begins with what people read; its end breaks when a transfer changes ends of lines.
	fileMagic = "tenure backup\r\n\x1a\n"

	frameHeader  byte = 'H'
	frameRows    byte = 'R'
	frameTrailer byte = 'T'

	// frameBytes is how large a frame of rows grows before the next begins; one row may make it larger.
	frameBytes = 64 << 10
	// frameBytesMax is the largest payload that a reader takes: larger than any row.
	frameBytesMax = 4 << 20
	// frameHeadBytes is what stands before a payload.
	frameHeadBytes = 1 + 4
)

// kinds are the kinds of rows that a backup holds, in order. What belongs to the cluster, its history or the
// moment is left out: members, join tokens, events, the applied record and a freeze.
var kinds = [...]byte{
	layout.RowAuth, layout.RowPolicy, layout.RowTokenHash, layout.RowToken, layout.RowAuthBinding, layout.RowProvider,
	layout.RowNode, layout.RowNodeID, layout.RowService, layout.RowCheck, layout.RowInstance, layout.RowBinding,
	layout.RowNodeTally, layout.RowQuery, layout.RowEndMark, layout.RowQueryName,
	layout.RowUnmoved, layout.RowKeyBrief, layout.RowPlaceBrief,
	layout.RowBlocked, layout.RowObjects, layout.RowDelay, layout.RowEnded, layout.RowUngranted, layout.RowHold,
	layout.RowIdempotency, layout.RowKeyed, layout.RowKey, layout.RowLock, layout.RowLimits, layout.RowObject, layout.RowQueuePart,
	layout.RowPlace, layout.RowRequest, layout.RowSession, layout.RowTombstone, layout.RowWait, layout.RowEndedIndex, layout.RowSweep,
	layout.RowWindow,
}

// Meta is what a backup says of its making; all for people.
type Meta struct {
	// CreateTimeMs is the wall clock, in milliseconds since the Unix epoch.
	CreateTimeMs int64
	// BinaryVersion is the version of the program.
	BinaryVersion string
	// Member is the name of the member that writes it.
	Member string
}

// Scan visits the rows in [from, to) in order, until visit returns false.
type Scan func(from, to []byte, visit func(row, value []byte) (bool, error)) error

// Write writes a backup of the rows of a state.
func Write(w io.Writer, a layout.Applied, scan Scan, meta Meta) error {
	a.ConfState = nil
	b := &writer{w: w, sum: sha256.New(), table: crc32.MakeTable(crc32.Castagnoli)}
	err := b.write([]byte(fileMagic))
	if err == nil {
		err = b.message(frameHeader, &storev1.BackupHeader{
			FormatVersion: format,
			Applied:       a.Record(),
			CreateTimeMs:  meta.CreateTimeMs,
			BinaryVersion: meta.BinaryVersion,
			Member:        meta.Member,
		})
	}
	if err == nil {
		err = b.rows(scan)
	}
	if err == nil {
		b.trailer.Sha256 = b.sum.Sum(nil)
		err = b.message(frameTrailer, &b.trailer)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// writer writes frames.
type writer struct {
	w       io.Writer
	sum     hash.Hash
	table   *crc32.Table
	number  uint64 // of the next frame
	frame   []byte // rows that are not written yet, behind room for the head
	trailer storev1.BackupTrailer
}

func (b *writer) write(p []byte) error {
	b.sum.Write(p)
	_, err := b.w.Write(p)
	return err
}

// message writes a frame that holds a message.
func (b *writer) message(kind byte, m proto.Message) error {
	payload, err := layout.Encode(m)
	if err != nil {
		return err
	}
	return b.flush(kind, append(make([]byte, frameHeadBytes), payload...))
}

// flush writes a frame; its head is filled in.
func (b *writer) flush(kind byte, frame []byte) error {
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-frameHeadBytes))
	frame = binary.BigEndian.AppendUint32(frame, frameCRC(b.table, b.number, frame))
	b.number++
	return b.write(frame)
}

// frameCRC returns the checksum of a frame.
func frameCRC(table *crc32.Table, number uint64, frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(binary.BigEndian.AppendUint64(nil, number), table), table, frame)
}

// rows writes all rows of a snapshot that a backup holds.
func (b *writer) rows(scan Scan) error {
	b.frame = make([]byte, frameHeadBytes, frameBytes)
	for _, kind := range kinds {
		section := &storev1.BackupSection{Kind: uint32(kind)}
		err := scan([]byte{kind}, []byte{kind + 1}, func(row, value []byte) (bool, error) {
			section.Rows++
			b.trailer.RowBytes += uint64(len(row) + len(value))
			b.frame = appendBytes(appendBytes(b.frame, row), value)
			return true, b.flushRows(frameBytes)
		})
		if err != nil {
			return err
		}
		if section.GetRows() > 0 {
			b.trailer.Sections = append(b.trailer.Sections, section)
		}
	}
	return b.flushRows(frameHeadBytes + 1)
}

// flushRows writes the rows that were gathered, if they are so many bytes.
func (b *writer) flushRows(least int) error {
	if len(b.frame) < least {
		return nil
	}
	err := b.flush(frameRows, b.frame)
	b.frame = b.frame[:frameHeadBytes]
	return err
}

// appendBytes appends p behind its length.
func appendBytes(b, p []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(p))), p...)
}

// cutBytes undoes appendBytes.
func cutBytes(b []byte) (p, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	return b[size : size+int(n)], b[size+int(n):], true
}
