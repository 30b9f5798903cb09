package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// EnumNames returns the JSON of a message in which the words for the values of enums, as this program prints them, are replaced by
// their names. All else stays as it is, byte for byte; what is no JSON, too: whoever reads the message says why.
func EnumNames(raw []byte, of protoreflect.MessageDescriptor) ([]byte, error) {
	r := &wordReader{raw: raw, decoder: json.NewDecoder(bytes.NewReader(raw))}
	r.decoder.UseNumber()
	r.value(func(name string) protoreflect.FieldDescriptor { return of.Fields().ByJSONName(name) }, nil)
	if r.unknown != nil {
		return nil, r.unknown
	}
	return append(r.out, raw[r.copied:]...), nil
}

// wordReader copies the JSON of a message, and writes names for the words of enums' values.
type wordReader struct {
	raw     []byte
	decoder *json.Decoder
	out     []byte
	copied  int   // bytes of raw that out has
	unknown error // a word that no value has
	depth   int   // of the objects and lists around the present value
}

// depthMax is how deep objects and lists may be nested to be read; it is far more than a transaction has.
const depthMax = 100

// value reads one value. Inside finds the fields of an object; enum is the enum of a text. Either is nil where there is none. It
// reports whether there was a value to read.
func (r *wordReader) value(inside func(name string) protoreflect.FieldDescriptor, enum protoreflect.EnumDescriptor) bool {
	from := int(r.decoder.InputOffset())
	token, err := r.decoder.Token()
	if err != nil || r.unknown != nil || r.depth == depthMax {
		return false
	}
	r.depth++
	defer func() { r.depth-- }()
	switch token {
	case json.Delim('{'):
		for r.decoder.More() {
			name, broken := r.decoder.Token()
			text, ok := name.(string)
			if broken != nil || !ok || !r.field(inside, text) {
				return false
			}
		}
		_, err = r.decoder.Token()
	case json.Delim('['):
		for r.decoder.More() {
			if !r.value(inside, enum) {
				return false
			}
		}
		_, err = r.decoder.Token()
	default:
		if word, ok := token.(string); ok && enum != nil {
			r.word(word, enum, from)
		}
	}
	return err == nil && r.unknown == nil
}

// field reads the value of a field.
func (r *wordReader) field(of func(name string) protoreflect.FieldDescriptor, name string) bool {
	var d protoreflect.FieldDescriptor
	if of != nil {
		d = of(name)
	}
	if d == nil || d.IsMap() { // No map of a transaction has enums.
		return r.value(nil, nil)
	}
	if d.Message() == nil {
		return r.value(nil, d.Enum())
	}
	return r.value(func(name string) protoreflect.FieldDescriptor { return d.Message().Fields().ByJSONName(name) }, nil)
}

// word replaces a word by the name of its value; before the text, from an offset on, there is nothing but separators.
func (r *wordReader) word(word string, enum protoreflect.EnumDescriptor, from int) {
	var allowed []string
	for i := range enum.Values().Len() {
		name := string(enum.Values().Get(i).Name())
		known := EnumWord(enum, name)
		if word == name {
			return
		}
		if word == known && enum.Values().Get(i).Number() != 0 {
			begin := from + bytes.IndexByte(r.raw[from:], '"')
			r.out = fmt.Appendf(append(r.out, r.raw[r.copied:begin]...), "%q", name)
			r.copied = int(r.decoder.InputOffset())
			return
		}
		if enum.Values().Get(i).Number() != 0 {
			allowed = append(allowed, known)
		}
	}
	last := len(allowed) - 1
	r.unknown = fmt.Errorf("%s is none of %s and %s", Quoted(word), strings.Join(allowed[:last], ", "), allowed[last])
}
