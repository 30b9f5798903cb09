package cli

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// marshal returns a message as JSON in one line, in which the values of enums have the words that text output has for them.
func marshal(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	w := &wordWriter{decoder: json.NewDecoder(bytes.NewReader(raw))}
	w.decoder.UseNumber()
	if err := w.message(m.ProtoReflect().Descriptor()); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

// wordWriter copies the JSON of a message, value by value, and writes words for the names of enums' values.
type wordWriter struct {
	decoder *json.Decoder
	out     bytes.Buffer
}

// message copies a whole message.
func (w *wordWriter) message(d protoreflect.MessageDescriptor) error {
	if _, err := w.decoder.Token(); err != nil {
		return err
	}
	return w.object(func(name string) protoreflect.FieldDescriptor { return d.Fields().ByJSONName(name) })
}

// object copies what follows the beginning of an object. Field returns what describes the value of a name; nil: no enum is in it.
func (w *wordWriter) object(field func(name string) protoreflect.FieldDescriptor) error {
	w.out.WriteByte('{')
	for first := true; w.decoder.More(); first = false {
		if !first {
			w.out.WriteByte(',')
		}
		name, err := w.decoder.Token()
		if err != nil {
			return err
		}
		if err := w.plain(name); err != nil {
			return err
		}
		w.out.WriteByte(':')
		text, _ := name.(string)
		if err := w.value(field(text)); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	_, err := w.decoder.Token()
	return err
}

// value copies one value.
func (w *wordWriter) value(d protoreflect.FieldDescriptor) error {
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		return w.list(d)
	case json.Delim('{'):
		return w.object(func(name string) protoreflect.FieldDescriptor {
			switch {
			case d == nil || d.Message() == nil:
				return nil
			case d.IsMap():
				return d.MapValue()
			default:
				return d.Message().Fields().ByJSONName(name)
			}
		})
	}
	if name, ok := token.(string); ok && d != nil && d.Enum() != nil {
		token = EnumWord(d.Enum(), name)
	}
	return w.plain(token)
}

// list copies what follows the beginning of a list.
func (w *wordWriter) list(d protoreflect.FieldDescriptor) error {
	w.out.WriteByte('[')
	for first := true; w.decoder.More(); first = false {
		if !first {
			w.out.WriteByte(',')
		}
		if err := w.value(d); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	_, err := w.decoder.Token()
	return err
}

// plain writes a value that is neither an object nor a list.
func (w *wordWriter) plain(token json.Token) error {
	encoder := json.NewEncoder(&w.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(token); err != nil {
		return err
	}
	w.out.Truncate(w.out.Len() - 1) // The line break.
	return nil
}

// EnumWord returns the word for the value of an enum: its name without that of the enum, as in "session-expired". Changes of holders are
// called as text calls them, "granted" and not "holder-granted".
func EnumWord(d protoreflect.EnumDescriptor, name string) string {
	prefix := strings.TrimSuffix(string(d.Values().Get(0).Name()), "UNSPECIFIED")
	word := strings.ReplaceAll(Words(name, prefix), " ", "-")
	return strings.TrimPrefix(word, "holder-")
}
