package layout

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// lockPastField is the number of the field of a lock's head that holds what it remembers of a hold that ended.
const lockPastField = 12

// PastHolds are the holds that a lock remembers after they ended, oldest first, as they stand in the record of its head: whoever changes the
// lock writes them again, and only people look at them. They do not change.
type PastHolds struct {
	fields []byte // of the record, one behind the other
	count  int
}

// DecodeLock decodes the head of a lock into an empty one, without its past holds, which lie in the record.
func DecodeLock(record []byte, h *storev1.LockHead) (PastHolds, error) {
	p, begin, end := PastHolds{}, 0, 0
	known := cutLock(record, h, func(from, to int, _ []byte) bool {
		if p.count == 0 {
			begin, end = from, from
		}
		together := from == end
		p.count, end = p.count+1, to
		return together
	})
	if known {
		p.fields = record[begin:end:end]
		return p, checkFormat(h)
	}
	proto.Reset(h)
	if err := Decode(record, h); err != nil {
		return PastHolds{}, err
	}
	past := h.GetPast()
	h.Past = nil
	fields, err := Encode(&storev1.LockHead{Past: past})
	return PastHolds{fields: fields, count: len(past)}, err
}

// EncodeLock encodes the head of a lock with its past holds. The head has none itself.
func EncodeLock(h *storev1.LockHead, past PastHolds) ([]byte, error) {
	const rest = 256
	if plain(h) {
		b := appendLockUse(make([]byte, 0, rest+len(past.fields)), h)
		b = append(b, past.fields...)
		return appendNumber(b, 13, h.GetQueued()), nil
	}
	whole := proto.CloneOf(h)
	holds, err := past.Holds()
	whole.Past = holds
	if err != nil {
		return nil, err
	}
	return Encode(whole)
}

// Add returns the past holds with more, without the oldest beyond so many.
func (p PastHolds) Add(ended []*storev1.PastHold, most int) (PastHolds, error) {
	ended = ended[max(0, len(ended)-most):]
	added, err := Encode(&storev1.LockHead{Past: ended})
	if err != nil {
		return p, err
	}
	kept, count := p.fields, p.count
	for ; count > 0 && count+len(ended) > most; count-- {
		_, _, n := protowire.ConsumeField(kept)
		if n < 0 {
			return p, fmt.Errorf("%w: past holds: %w", ErrCorrupt, protowire.ParseError(n))
		}
		kept = kept[n:]
	}
	fields := make([]byte, 0, len(kept)+len(added))
	return PastHolds{fields: append(append(fields, kept...), added...), count: count + len(ended)}, nil
}

// Holds decodes them.
func (p PastHolds) Holds() ([]*storev1.PastHold, error) {
	h := &storev1.LockHead{}
	if err := decode(p.fields, h); err != nil {
		return nil, fmt.Errorf("%w: past holds: %w", ErrCorrupt, err)
	}
	return h.GetPast(), nil
}
