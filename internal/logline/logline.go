// Package logline bounds the lines of a log, whatever clients and other members sent: their texts, and errors that repeat them, are
// cut where they are too long. All else is as it was written.
package logline

import (
	"fmt"
	"strconv"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// TextBytesMax is how much of a text a line shows.
	TextBytesMax = 2 << 10
	// StackBytesMax is how much of a stack it shows.
	StackBytesMax = 16 << 10
	// stackKey is the name of fields that hold stacks.
	stackKey = "stack"
)

// Bounded returns a core that cuts what is too long and has the given one write the rest.
func Bounded(core zapcore.Core) zapcore.Core { return bounded{core} }

// bounded is such a core.
type bounded struct{ zapcore.Core }

// With adds fields to each line.
func (b bounded) With(fields []zapcore.Field) zapcore.Core {
	return bounded{b.Core.With(short(fields))}
}

// Check has this core write lines of levels that are enabled.
func (b bounded) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if b.Enabled(e.Level) {
		return ce.AddCore(e, b)
	}
	return ce
}

// Write writes a line.
func (b bounded) Write(e zapcore.Entry, fields []zapcore.Field) error {
	e.Message, e.Stack = cut(e.Message, TextBytesMax), cut(e.Stack, StackBytesMax)
	return b.Core.Write(e, short(fields))
}

// short returns fields none of which is too long. Those that were given are not changed.
func short(fields []zapcore.Field) []zapcore.Field {
	out := fields
	for i, f := range fields {
		changed, long := shortField(f)
		if !long {
			continue
		}
		if &out[0] == &fields[0] {
			out = append([]zapcore.Field{}, fields...)
		}
		out[i] = changed
	}
	return out
}

// shortField returns the field in place of one that is too long.
func shortField(f zapcore.Field) (out zapcore.Field, long bool) {
	most := TextBytesMax
	if f.Key == stackKey {
		most = StackBytesMax
	}
	switch f.Type {
	case zapcore.StringType:
		return zap.String(f.Key, cut(f.String, most)), len(f.String) > most
	case zapcore.ByteStringType, zapcore.BinaryType, zapcore.StringerType, zapcore.ErrorType, zapcore.ReflectType,
		zapcore.ArrayMarshalerType, zapcore.ObjectMarshalerType, zapcore.InlineMarshalerType:
	default:
		return f, false // A number, or what is as short as one.
	}
	// The encoder knows what the field would write, and bears values that fail.
	written := zapcore.NewMapObjectEncoder()
	f.AddTo(written)
	var text strings.Builder
	for _, value := range written.Fields {
		_, _ = fmt.Fprint(&text, value) // A builder never fails.
	}
	if text.Len() <= most {
		return f, false
	}
	if value, ok := written.Fields[f.Key].(string); ok { // An error has more than one.
		return zap.String(f.Key, cut(value, most)), true
	}
	return zap.String(f.Key, cut(text.String(), most)), true
}

// cut returns the beginning of a text that is too long, and says how much is missing.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "… (" + strconv.Itoa(len(text)-most) + " bytes more)"
}
