package layout

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// FormatMessage returns a message as text on one line, fields in the order of their numbers, the same for equal
// messages in every build. Fields that are unset or hold the present record format are left out.
func FormatMessage(m proto.Message) string {
	var b strings.Builder
	formatFields(&b, m.ProtoReflect())
	return b.String()
}

func formatFields(b *strings.Builder, m protoreflect.Message) {
	b.WriteByte('{')
	fields := m.Descriptor().Fields()
	first := true
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) || (f.Name() == "format_version" && m.Get(f).Uint() == RecordFormat) {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		b.WriteString(string(f.Name()))
		b.WriteByte('=')
		if f.IsList() {
			formatList(b, f, m.Get(f).List())
			continue
		}
		formatValue(b, f, m.Get(f))
	}
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		fmt.Fprintf(b, " unknown=%x", []byte(unknown))
	}
	b.WriteByte('}')
}

func formatList(b *strings.Builder, f protoreflect.FieldDescriptor, list protoreflect.List) {
	b.WriteByte('[')
	for i := range list.Len() {
		if i > 0 {
			b.WriteByte(' ')
		}
		formatValue(b, f, list.Get(i))
	}
	b.WriteByte(']')
}

func formatValue(b *strings.Builder, f protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch {
	case f.Message() != nil:
		formatFields(b, v.Message())
	case f.Enum() != nil:
		b.WriteString(FormatEnum(f.Enum(), v.Enum()))
	case f.Kind() == protoreflect.BytesKind:
		b.WriteString(formatBytes(string(f.Name()), v.Bytes()))
	case f.Kind() == protoreflect.StringKind:
		b.WriteString(strconv.Quote(v.String()))
	default:
		fmt.Fprint(b, v.Interface())
	}
}

// FormatEnum returns an enum value without the name of its enum.
func FormatEnum(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	value := e.Values().ByNumber(n)
	if value == nil {
		return strconv.Itoa(int(n))
	}
	prefix := strings.TrimSuffix(string(e.Values().ByNumber(0).Name()), "UNSPECIFIED")
	return strings.TrimPrefix(string(value.Name()), prefix)
}

// formatBytes shows ids as ids, hashes as hex, and values quoted.
func formatBytes(field string, value []byte) string {
	id, err := SessionIDFromBytes(value)
	switch {
	case err == nil && (strings.HasSuffix(field, "session_id") || strings.HasSuffix(field, "session_ids")):
		return id.String()
	case field == "value" || field == "put":
		return strconv.Quote(string(value))
	default:
		return fmt.Sprintf("%x", value)
	}
}
