package gate

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// looseBytesMax is how large a message may be before anybody counts what it consists of. Clients put no more than this into a message of a line.
	looseBytesMax = 64 << 10
	// partsMax is how many messages there may be within a message: no smaller one has more. One takes 2 bytes on the wire, and a hundred once it is decoded,
	// so that a client without any right could make 90 MB of 1.5. No service takes nearly as many in one call.
	partsMax = looseBytesMax / 2
)

// tooMany reports whether a message as it is on the wire consists of too many others. Of one that cannot be decoded it reports anything.
func tooMany(data []byte, of protoreflect.MessageDescriptor) bool {
	return len(data) > looseBytesMax && left(data, of, partsMax) < 0
}

// left returns how many of so many messages are left after those within a message; negative: none, and there are more. Each level takes one, so they
// bound the depth, too.
func left(data []byte, of protoreflect.MessageDescriptor, parts int) int {
	fields := of.Fields()
	for len(data) > 0 && parts >= 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return parts
		}
		size := protowire.ConsumeFieldValue(number, kind, data[n:])
		if size < 0 {
			return parts
		}
		if kind == protowire.BytesType {
			if f := fields.ByNumber(number); f != nil && f.Message() != nil {
				value, _ := protowire.ConsumeBytes(data[n:])
				parts = left(value, f.Message(), parts-1)
			}
		}
		data = data[n+size:]
	}
	return parts
}
