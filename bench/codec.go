package main

import (
	"fmt"

	"google.golang.org/grpc/mem"
)

// verdictCodec is the codec of the renewers: messages out, verdicts in.
type verdictCodec struct{}

// Name is that of the standard codec, whose wire format this is.
func (verdictCodec) Name() string { return "proto" }

// Marshal encodes a message.
func (verdictCodec) Marshal(v any) (mem.BufferSlice, error) {
	bytes, err := marshalMessage(v)
	return mem.BufferSlice{mem.SliceBuffer(bytes)}, err
}

// Unmarshal reads verdicts.
func (verdictCodec) Unmarshal(data mem.BufferSlice, v any) error {
	got, ok := v.(*verdicts)
	if !ok {
		return fmt.Errorf("%T is not verdicts", v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	return got.unmarshal(buffer.ReadOnlyData())
}
