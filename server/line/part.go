package line

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Fields of line.proto that are written by hand. TestParts reads them with the generated code.
const (
	fieldParts   = 4 // LineResponse
	fieldNumbers = 1 // LinePart
)

const (
	// partBytes is more than what a part needs beside its message and its numbers.
	partBytes = 32
	// numberBytes is as much as a number needs, or nearly.
	numberBytes = 4
)

// item is the message of a part, which other calls may be sent, too, if it is shared.
type item struct {
	data   []byte
	shared bool
}

// part is a message for one call or more that waits to be sent.
type part struct {
	at      uint64 // among all parts of the line, from 1 on
	numbers []uint64
	field   protowire.Number
	data    []byte
	shared  *byte // nil: no other call is sent the same
}

// size is about what it takes on the line.
func (p *part) size() int { return len(p.data) + partBytes }

// parts are those that wait to be sent. They need a lock.
type parts struct {
	count  uint64 // that there ever were
	bytes  int
	shared map[*byte]*part // by the bytes of the message
	room   chan struct{}   // closed when there may be room; nil when nobody waits
}

func (p *parts) init() { p.shared = map[*byte]*part{} }

// same returns a part with the same bytes that comes after the last one of a call; nil if there is none.
func (p *parts) same(m item, last uint64) *part {
	if !m.shared || len(m.data) == 0 {
		return nil
	}
	if found := p.shared[&m.data[0]]; found != nil && found.at > last {
		return found
	}
	return nil
}

// full returns what to wait for; nil if there is room.
func (p *parts) full() <-chan struct{} {
	if p.bytes < partBytesMax {
		return nil
	}
	if p.room == nil {
		p.room = make(chan struct{})
	}
	return p.room
}

// add adds a part.
func (p *parts) add(c *call, m item) *part {
	p.count++
	added := &part{at: p.count, numbers: []uint64{c.number}, field: c.verb.field, data: m.data}
	p.bytes += added.size()
	if m.shared && len(m.data) > 0 {
		added.shared = &m.data[0]
		p.shared[added.shared] = added
	}
	return added
}

// taken says that a part is being sent.
func (p *parts) taken(gone *part) {
	p.bytes -= gone.size()
	if gone.shared != nil && p.shared[gone.shared] == gone {
		delete(p.shared, gone.shared)
	}
	if p.room != nil && p.bytes < partBytesMax {
		close(p.room)
		p.room = nil
	}
}

// joined is a LineResponse with parts, encoded.
type joined []byte

// Encoded returns its bytes.
func (j joined) Encoded() []byte { return j }

// join encodes parts with the rest of their message. Parts come first: the answers of their calls come after them.
func join(all []*part, rest *tenurev1.LineResponse) (joined, error) {
	size := proto.Size(rest)
	for _, p := range all {
		size += p.size() + numberBytes*len(p.numbers)
	}
	data := make([]byte, 0, size)
	for _, p := range all {
		data = p.append(data)
	}
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(data, rest)
}

// append appends the part as a field of LineResponse.
func (p *part) append(data []byte) []byte {
	numbers := 0
	for _, n := range p.numbers {
		numbers += protowire.SizeVarint(n)
	}
	size := protowire.SizeTag(fieldNumbers) + protowire.SizeBytes(numbers) + protowire.SizeTag(p.field) + protowire.SizeBytes(len(p.data))
	data = protowire.AppendTag(data, fieldParts, protowire.BytesType)
	data = protowire.AppendVarint(data, uint64(size))
	data = protowire.AppendTag(data, fieldNumbers, protowire.BytesType)
	data = protowire.AppendVarint(data, uint64(numbers))
	for _, n := range p.numbers {
		data = protowire.AppendVarint(data, n)
	}
	data = protowire.AppendTag(data, p.field, protowire.BytesType)
	return protowire.AppendBytes(data, p.data)
}
