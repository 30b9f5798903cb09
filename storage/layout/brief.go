package layout

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

const (
	// BriefValueMin is the length from which on a value makes a brief of its row. It never changes: whoever deletes the row
	// concludes from it whether there is one.
	BriefValueMin = 4 << 10
	// BriefHeadBytes is the length of what each brief begins with: how many bytes the row has, and its value.
	BriefHeadBytes = 16
)

// Brief is what a row says besides a value that may be large. From version 2 on the brief of a row with a large value has a row
// of its own, so that whoever deletes thousands of keys, or takes thousands of waiters out of their queues, need not read
// the values. A row that was last written before the raise has none.
type Brief struct {
	// Record is the row's, without the value.
	Record []byte
	// RowBytes is the length of the whole row, ValueBytes that of the value.
	RowBytes   uint64
	ValueBytes int
}

// BriefOf returns the brief of a row whose record has its value in a field.
func BriefOf(row, value []byte, field protowire.Number) (Brief, error) {
	record, content, err := WithoutField(value, field)
	return Brief{Record: record, RowBytes: uint64(len(row) + len(value)), ValueBytes: len(content)}, err
}

// Row returns the value of a brief's row.
func (b Brief) Row() []byte {
	return append(AppendUint64s(nil, b.RowBytes, uint64(b.ValueBytes)), b.Record...)
}

// CutBrief undoes Row.
func CutBrief(value []byte) (Brief, error) {
	if len(value) < BriefHeadBytes {
		return Brief{}, fmt.Errorf("%w: %d bytes of a brief", ErrCorrupt, len(value))
	}
	return Brief{
		RowBytes:   binary.BigEndian.Uint64(value),
		ValueBytes: int(binary.BigEndian.Uint64(value[8:])),
		Record:     value[BriefHeadBytes:],
	}, nil
}

// KeyValueField is the number of the field of a key's record that holds the value.
const KeyValueField = 2

// DecodeKeyFacts decodes the record of a key into an empty one, without the value, and returns the length of that.
func DecodeKeyFacts(record []byte, k *storev1.KeyRecord) (valueBytes int, err error) {
	if value, ok := cutKeyFacts(record, k); ok {
		return len(value), checkFormat(k)
	}
	short, value, err := WithoutField(record, KeyValueField)
	if err != nil {
		return 0, err
	}
	proto.Reset(k)
	return len(value), Decode(short, k)
}
