package gate

import (
	"bytes"
	"fmt"
	"runtime"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// gRPC answers INTERNAL when a codec fails, before any interceptor is called. So this codec never fails on what a client
// sends: it leaves an empty message with a mark among its unknown fields, and the interceptors refuse marked messages
// with a reason. A client that sends the mark itself only has its own message refused.
const (
	markField     = protowire.MaxValidNumber
	markMalformed = "malformed"
	markTooLarge  = "too large"
	markTooMany   = "too many parts"
)

// markOf returns the unknown field that marks a message.
func markOf(text string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, markField, protowire.BytesType), text)
}

// refusal returns the error for a message that the codec marked, or nil.
func refusal(message any, requestBytesMax int) error {
	m, ok := message.(proto.Message)
	if !ok {
		return nil
	}
	unknown := m.ProtoReflect().GetUnknown()
	switch {
	case len(unknown) == 0:
		return nil
	case bytes.Equal(unknown, markOf(markMalformed)):
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST,
			"the message is not a valid %s: it is damaged, or a text in it is not UTF-8", m.ProtoReflect().Descriptor().FullName())
	case bytes.Equal(unknown, markOf(markTooLarge)):
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE,
			"the message is larger than %d bytes", requestBytesMax).With("limit", "request_bytes_max").
			With("limit_value", fmt.Sprint(requestBytesMax))
	case bytes.Equal(unknown, markOf(markTooMany)):
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the message consists of more than %d messages", partsMax).
			With("limit", "request_parts_max").With("limit_value", fmt.Sprint(partsMax))
	default:
		return nil
	}
}

// encoder is what encodes itself: answers and messages of streams, which count until they are sent.
type encoder interface {
	Encode() (mem.BufferSlice, error)
}

// largeBytes is the size of a message from which on it takes turns with others to be decoded: that takes a processor for milliseconds, and what many
// clients sent at once would have everybody else wait.
const largeBytes = 64 << 10

// codec is gRPC's own for protobuf, but for messages that cannot be decoded or are too large; see above.
type codec struct {
	encoding.CodecV2
	requestBytesMax int
	large           chan struct{} // has one for each large message that is being decoded
}

// NewCodec returns the codec for the server.
func NewCodec(requestBytesMax int) encoding.CodecV2 {
	return codec{
		CodecV2: encoding.GetCodecV2(grpcproto.Name), requestBytesMax: requestBytesMax,
		large: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
	}
}

// Marshal encodes a message.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(encoder); ok {
		return m.Encode()
	}
	return c.CodecV2.Marshal(v)
}

// unmarshal decodes data, or returns the mark that says why it does not. What this version does not know is dropped: a call that waits would keep it.
func unmarshal(data mem.BufferSlice, m proto.Message) (mark string) {
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	content := buffer.ReadOnlyData()
	if tooMany(content, m.ProtoReflect().Descriptor()) {
		return markTooMany
	}
	if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(content, m) != nil {
		return markMalformed
	}
	return ""
}

// Unmarshal decodes data, or marks v. It fails only if v is no message, which is a mistake of this program.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("cannot decode into a %T", v)
	}
	mark := markTooLarge
	if size := data.Len(); size <= c.requestBytesMax {
		if size > largeBytes {
			c.large <- struct{}{}
			defer func() { <-c.large }()
		}
		if mark = unmarshal(data, m); mark == "" {
			return nil
		}
	}
	proto.Reset(m)
	m.ProtoReflect().SetUnknown(markOf(mark))
	return nil
}
