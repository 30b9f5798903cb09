package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// ErrDamaged means that a file is no backup, or one that is damaged or cut off; the text says where.
var ErrDamaged = errors.New("backup is damaged")

// Info is what a backup holds.
type Info struct {
	// ClusterID, HistoryID, Revision, Index and ClusterVersion are those of the state that was backed up.
	ClusterID, HistoryID [16]byte
	Revision, Index      uint64
	ClusterVersion       uint32
	// Keys, Sessions and LiveBytes count live keys, sessions, and the bytes of keys with their values.
	Keys, Sessions, LiveBytes uint64
	// LongestTTLMs is the longest TTL of a live session, in milliseconds.
	LongestTTLMs int64
	// Meta is what the backup says of its making.
	Meta Meta
	// Rows and RowBytes count all rows, SizeBytes is the size of the file.
	Rows, RowBytes uint64
	SizeBytes      int64
}

// Verify reads a backup to its end and says what it holds. It returns ErrDamaged, with where, for a file that was
// changed or cut off at any byte, and ErrUnknownFormat for one that a newer program wrote.
func Verify(r io.Reader) (Info, error) {
	info, _, err := Read(r, func(_, _ []byte) error { return nil })
	return info, err
}

// Read checks a whole backup and calls visit for its rows in order, which it must not keep. That visit saw rows
// proves nothing before Read has returned.
func Read(r io.Reader, visit func(row, value []byte) error) (Info, layout.Applied, error) {
	b := &reader{
		r: bufio.NewReaderSize(r, frameBytes), sum: sha256.New(), table: crc32.MakeTable(crc32.Castagnoli), visit: visit,
	}
	if err := b.readAll(); err != nil {
		return Info{}, layout.Applied{}, err
	}
	b.info.RowBytes, b.info.SizeBytes = b.rowBytes, b.offset
	return b.info, b.applied, nil
}

// reader reads and checks frames.
type reader struct {
	catalog layout.Applied // what was counted of it
	r       *bufio.Reader
	sum     hash.Hash
	table   *crc32.Table
	visit   func(row, value []byte) error
	number  uint64 // of the next frame
	begin   int64  // of the present frame in the file
	offset  int64  // of what comes next
	frame   []byte

	applied  layout.Applied
	info     Info
	last     []byte // row
	sections []*storev1.BackupSection
	rowBytes uint64
}

// damaged returns ErrDamaged with where the reader is.
func (b *reader) damaged(format string, args ...any) error {
	where := "at its start"
	if len(b.last) > 0 {
		where = "after row " + layout.RowName(b.last)
	}
	return fmt.Errorf("%w: frame %d at byte %d, %s: %s", ErrDamaged, b.number, b.begin, where, fmt.Sprintf(format, args...))
}

func (b *reader) readAll() error {
	magic := make([]byte, len(fileMagic))
	if err := b.readFull(magic); err != nil {
		return err
	}
	if string(magic) != fileMagic {
		return fmt.Errorf("%w: the file does not start as a backup does", ErrDamaged)
	}
	b.sum.Write(magic)
	kind, payload, err := b.next()
	if err != nil {
		return err
	}
	if kind != frameHeader {
		return b.damaged("it should be the header")
	}
	if err = b.header(payload); err != nil {
		return err
	}
	for {
		before := b.sum.Sum(nil)
		if kind, payload, err = b.next(); err != nil {
			return err
		}
		switch kind {
		case frameRows:
			err = b.rows(payload)
		case frameTrailer:
			return b.trailer(payload, before)
		default:
			err = b.damaged("it has the unknown kind %q", kind)
		}
		if err != nil {
			return err
		}
	}
}

// readFull fills p with what comes next.
func (b *reader) readFull(p []byte) error {
	n, err := io.ReadFull(b.r, p)
	b.offset += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return b.damaged("the file ends after %d bytes, before its trailer", b.offset)
	}
	if err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	return nil
}

// next reads the next frame and checks it. The payload is good until the next call.
func (b *reader) next() (kind byte, payload []byte, err error) {
	if len(b.frame) > 0 {
		b.number++
	}
	b.begin = b.offset
	b.frame = append(b.frame[:0], make([]byte, frameHeadBytes)...)
	if err = b.readFull(b.frame); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(b.frame[1:])
	if size > frameBytesMax {
		return 0, nil, b.damaged("its length of %d bytes cannot be", size)
	}
	b.frame = slices.Grow(b.frame, int(size)+crc32.Size)[:frameHeadBytes+int(size)+crc32.Size]
	if err = b.readFull(b.frame[frameHeadBytes:]); err != nil {
		return 0, nil, err
	}
	body, sum := b.frame[:frameHeadBytes+int(size)], b.frame[frameHeadBytes+int(size):]
	if frameCRC(b.table, b.number, body) != binary.BigEndian.Uint32(sum) {
		return 0, nil, b.damaged("its checksum does not fit")
	}
	b.sum.Write(b.frame)
	return body[0], body[frameHeadBytes:], nil
}

func (b *reader) header(payload []byte) error {
	h := &storev1.BackupHeader{}
	if err := proto.Unmarshal(payload, h); err != nil {
		return b.damaged("header: %v", err)
	}
	if v := h.GetFormatVersion(); v != format {
		return fmt.Errorf("%w: backup of format %d; this program reads %d", layout.ErrUnknownFormat, v, format)
	}
	if v := h.GetApplied().GetFormatVersion(); v != layout.RecordFormat {
		return fmt.Errorf("%w: AppliedRecord of format %d", layout.ErrUnknownFormat, v)
	}
	a, err := layout.AppliedOf(h.GetApplied())
	if err != nil {
		return b.damaged("header: %v", err)
	}
	if err = layout.CheckVersion(a.ClusterVersion); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	b.applied = a
	b.info = Info{
		ClusterID: a.ClusterID, HistoryID: a.HistoryID, Revision: a.Revision, Index: a.Index, ClusterVersion: a.ClusterVersion,
		Meta: Meta{CreateTimeMs: h.GetCreateTimeMs(), BinaryVersion: h.GetBinaryVersion(), Member: h.GetMember()},
	}
	return nil
}

// rows checks and visits the rows of a frame.
func (b *reader) rows(payload []byte) error {
	for len(payload) > 0 {
		row, rest, ok := cutBytes(payload)
		if !ok {
			return b.damaged("a row is truncated")
		}
		value, rest, ok := cutBytes(rest)
		if !ok {
			return b.damaged("the value of a row is truncated")
		}
		payload = rest
		if err := b.row(row, value); err != nil {
			return err
		}
	}
	return nil
}

func (b *reader) row(row, value []byte) error {
	if len(row) == 0 || !slices.Contains(kinds[:], row[0]) {
		return b.damaged("row %x does not belong into a backup", row)
	}
	if bytes.Compare(row, b.last) <= 0 {
		return b.damaged("row %s is out of order", layout.RowName(row))
	}
	if err := CheckRow(row, value); err != nil {
		if errors.Is(err, layout.ErrUnknownFormat) {
			return fmt.Errorf("backup: %w", err)
		}
		return b.damaged("row %s: %v", layout.RowName(row), err)
	}
	if n := len(b.sections); n == 0 || b.sections[n-1].GetKind() != uint32(row[0]) {
		b.sections = append(b.sections, &storev1.BackupSection{Kind: uint32(row[0])})
	}
	b.sections[len(b.sections)-1].Rows++
	b.info.Rows++
	b.rowBytes += uint64(len(row) + len(value))
	if err := b.count(row, value); err != nil {
		return err
	}
	b.last = append(b.last[:0], row...)
	return b.visit(row, value)
}

// count counts what the header has counted, too.
func (b *reader) count(row, value []byte) error {
	switch row[0] {
	case layout.RowKey:
		n, _ := layout.CutNameRow(row)
		k := &storev1.KeyRecord{}
		if err := layout.Decode(value, k); err != nil {
			return err
		}
		b.info.Keys++
		b.info.LiveBytes += uint64(len(n.Key) + len(k.GetValue()))
	case layout.RowSession:
		s := &storev1.SessionRecord{}
		if err := layout.Decode(value, s); err != nil {
			return err
		}
		b.info.Sessions++
		b.info.LongestTTLMs = max(b.info.LongestTTLMs, s.GetTtlMs())
	case layout.RowNode:
		b.catalog.Nodes++
	case layout.RowService:
		b.catalog.Services++
	case layout.RowCheck:
		b.catalog.Checks++
	case layout.RowEndMark:
		b.catalog.EndMarks++
	case layout.RowQuery:
		b.catalog.Queries++
	}
	return nil
}

// trailer checks that all before it was read; sum is that of all before it.
func (b *reader) trailer(payload, sum []byte) error {
	want := &storev1.BackupTrailer{}
	if err := proto.Unmarshal(payload, want); err != nil {
		return b.damaged("trailer: %v", err)
	}
	got := &storev1.BackupTrailer{Sections: b.sections, RowBytes: b.rowBytes, Sha256: sum}
	if !proto.Equal(got, want) {
		return b.damaged("the trailer speaks of %s, the file has %s", layout.FormatMessage(want), layout.FormatMessage(got))
	}
	a := b.applied
	if a.Keys != b.info.Keys || a.Sessions != b.info.Sessions || a.LiveBytes != b.info.LiveBytes {
		return b.damaged("the header speaks of %d keys of %d bytes and %d sessions, the file has %d of %d and %d",
			a.Keys, a.LiveBytes, a.Sessions, b.info.Keys, b.info.LiveBytes, b.info.Sessions)
	}
	if c := b.catalog; a.Nodes != c.Nodes || a.Services != c.Services || a.Checks != c.Checks || a.EndMarks != c.EndMarks {
		return b.damaged("the header speaks of %d nodes, %d services, %d checks and %d marks, the file has %d, %d, %d and %d",
			a.Nodes, a.Services, a.Checks, a.EndMarks, c.Nodes, c.Services, c.Checks, c.EndMarks)
	}
	if a.Queries != b.catalog.Queries {
		return b.damaged("the header speaks of %d prepared queries, the file has %d", a.Queries, b.catalog.Queries)
	}
	if _, err := b.r.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return fmt.Errorf("read backup: %w", err)
		}
		return b.damaged("the file continues after its trailer")
	}
	return nil
}
