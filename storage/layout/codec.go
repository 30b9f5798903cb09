package layout

import (
	"encoding/binary"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// What every put reads and writes is encoded and decoded by hand: as proto does it, to the byte, in a third of the time. What these
// codecs do not know, such as a field of a newer program or a text that is not UTF-8, they leave to proto, so there is one
// answer to everything.

// smallBytes is the length up to which a record is built on the stack, to be copied into memory of exactly its size.
const smallBytes = 1 << 10

// plain reports whether a message has no fields but those that this program knows.
func plain(m proto.Message) bool { return len(m.ProtoReflect().GetUnknown()) == 0 }

// appendNumber appends a field that holds a number, unless that is zero.
func appendNumber[N uint32 | uint64 | int64 | int32](b []byte, field protowire.Number, n N) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(n))
}

func appendBool(b []byte, field protowire.Number, set bool) []byte {
	if !set {
		return b
	}
	return append(protowire.AppendTag(b, field, protowire.VarintType), 1)
}

// appendContent appends a field that holds bytes or a text, unless it is empty.
func appendContent[C ~string | ~[]byte](b []byte, field protowire.Number, content C) []byte {
	if len(content) == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(content)))
	return append(b, content...)
}

// appendSet appends a field that holds a number, be it zero: it says that it is set.
func appendSet(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

// appendSetContent appends a field that holds bytes, be they none: it says that it is set.
func appendSetContent(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}

// openMessage begins a field that holds a message, and returns where its content begins.
func openMessage(b []byte, field protowire.Number) ([]byte, int) {
	b = append(protowire.AppendTag(b, field, protowire.BytesType), 0)
	return b, len(b)
}

// closeMessage ends what openMessage began: it makes room for the length, where that takes more than one byte.
func closeMessage(b []byte, begin int) []byte {
	n := len(b) - begin
	size := protowire.SizeVarint(uint64(n))
	for range size - 1 {
		b = append(b, 0)
	}
	if size > 1 {
		copy(b[begin+size-1:], b[begin:begin+n])
	}
	binary.PutUvarint(b[begin-1:], uint64(n))
	return b
}

// field is one field of an encoded message. A number is in number, bytes and texts are in content, which lies in the message.
type field struct {
	id      uint64 // number of the field and its wire type, as in the message
	number  uint64
	content []byte
}

// What begins a field that holds a number, and one that holds bytes, a text or a message, is its number times 8 plus one of these.
const (
	isNumber  = uint64(protowire.VarintType)
	isContent = uint64(protowire.BytesType)
)

// cutField cuts the first field off an encoded message, if it is of a kind that the codecs know.
func cutField(b []byte) (f field, rest []byte, ok bool) {
	id, n := binary.Uvarint(b)
	if n <= 0 {
		return field{}, nil, false
	}
	f.id, b = id, b[n:]
	if f.number, n = binary.Uvarint(b); n <= 0 {
		return field{}, nil, false
	}
	b = b[n:]
	switch protowire.Type(id & 7) {
	case protowire.VarintType:
		return f, b, true
	case protowire.BytesType:
		if f.number > uint64(len(b)) {
			return field{}, nil, false
		}
		f.content = b[:f.number:f.number]
		return f, b[f.number:], true
	default:
		return field{}, nil, false
	}
}

// text sets a text to that of a field, and reports whether it is UTF-8.
func (f field) text(to *string) bool {
	*to = string(f.content)
	return utf8.Valid(f.content)
}

// bytes returns the bytes of a field, in memory of their own.
func (f field) bytes() []byte { return append([]byte(nil), f.content...) }
