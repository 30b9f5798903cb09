package rest

import (
	"bytes"
	"fmt"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Content types of answers.
const (
	contentTypeJSON   = "application/json"
	contentTypeLines  = "application/x-ndjson"
	contentTypeText   = "text/plain; charset=utf-8"
	contentTypeBinary = "application/octet-stream"
)

// jsonMarshaler is REST's JSON: lowerCamel names, 64-bit integers as texts, false, zero and empty values written out, in
// one line with its end, and strict when read.
type jsonMarshaler struct{}

var _ runtime.Marshaler = jsonMarshaler{}

// ContentType returns the type of every answer.
func (jsonMarshaler) ContentType(any) string { return contentTypeJSON }

// Marshal returns a message as a line of JSON. Protobuf's own encoder varies its spacing on purpose, which would make
// scripts that look for text depend on the build, so all spacing is taken out.
func (jsonMarshaler) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("cannot write a %T as JSON", v)
	}
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return append(unspaced(text), '\n'), nil
}

// unspaced takes the spaces between tokens out of JSON, in place. It knows no other characters that may stand there: protobuf
// writes none in one line. Most of a large answer is in long strings, which it steps over at once.
func unspaced(text []byte) []byte {
	out := text[:0]
	for len(text) > 0 {
		between, found := len(text), false
		if quote := bytes.IndexByte(text, '"'); quote >= 0 {
			between, found = quote, true
		}
		for _, b := range text[:between] {
			if b != ' ' {
				out = append(out, b)
			}
		}
		text = text[between:]
		if found {
			n := quoted(text)
			out = append(out, text[:n]...)
			text = text[n:]
		}
	}
	return out
}

// quoted returns the length of the string that begins a text, with its quotes.
func quoted(text []byte) int {
	for at := 1; ; {
		end := bytes.IndexByte(text[at:], '"')
		if end < 0 {
			return len(text)
		}
		at += end + 1
		escapes := 0
		for text[at-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 { // Else the quote is one of the string's characters.
			return at
		}
	}
}

// Unmarshal reads a message. An empty text is an empty message.
func (jsonMarshaler) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("cannot read JSON into a %T", v)
	}
	if len(data) == 0 {
		return nil
	}
	if err := protojson.Unmarshal(data, m); err != nil {
		return malformed("body", "it is not a %s", m.ProtoReflect().Descriptor().Name())
	}
	return nil
}

// NewDecoder returns a decoder for the one message that r holds.
func (j jsonMarshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		if body, ok := r.(*bodyReader); ok {
			end, e := body.turns.take(body.left)
			if e != nil {
				return e
			}
			defer end()
			return j.Unmarshal(body.take(), v)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("read body: %w", err)
		}
		return j.Unmarshal(data, v)
	})
}

// NewEncoder returns an encoder that writes messages to w.
func (j jsonMarshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := j.Marshal(v)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
		return nil
	})
}
